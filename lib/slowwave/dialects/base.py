"""The protocol that every dialect implements; a new dialect is one new file, its marks and its samples."""

from collections.abc import Sequence
from typing import Protocol

from slowwave.dialects.model import Message, SessionFiles, Transcript


class Dialect(Protocol):
    """Pure rules of one client's format: bytes to records to messages, and what the client would send again."""

    name: str

    def read(self, files: SessionFiles) -> Transcript:
        """Read all parts of a session.

        Raises:
            UnreadableError: a file cannot be opened at all; damage inside a file is reported as problems instead.
        """
        ...

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return the messages that the client would send if the session were resumed now."""
        ...
