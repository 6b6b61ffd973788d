"""The protocol that every dialect implements; a new dialect is one new package, its marks and its samples."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

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


@runtime_checkable
class TailDialect(Protocol):
    """What a dialect has besides when a context can be told from the end of a session."""

    def tail(self, files: SessionFiles) -> Transcript | None:
        """Return the end of a session, when ``context`` surely makes the same of it as of the whole; else None.

        It has what ``context`` needs: no messages, no title, and the problems of the part that was read.

        Raises:
            UnreadableError: a file cannot be opened at all.
        """
        ...


def read_for_context(dialect: Dialect, files: SessionFiles) -> Transcript:
    """Return what ``dialect.context`` needs of a session: its end where that is surely enough, else all of it.

    ``Transcript.is_tail`` says which of the two it is.

    Raises:
        UnreadableError: a file cannot be opened at all.
    """
    tail = dialect.tail(files) if isinstance(dialect, TailDialect) else None
    return dialect.read(files) if tail is None else tail
