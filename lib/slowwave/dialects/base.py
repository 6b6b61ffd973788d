"""The protocol that every dialect implements; a new dialect is one new package, its marks and its samples."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol, runtime_checkable

from slowwave.dialects.model import Message, SessionFiles, SessionKind, Transcript
from slowwave.records.model import Span


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


class Notes(Protocol):
    """Where a dialect keeps what was dear to find out of a session; all of it can be gone at any time."""

    def get(self, name: str) -> bytes | None:
        """Return what was kept under a name that is fit for a file."""
        ...

    def put(self, name: str, note: bytes) -> None:
        """Keep something; where that cannot be done it is only found out again."""
        ...


@runtime_checkable
class NotedTailDialect(Protocol):
    """A dialect that has to look at a whole session for its end, and only at what is new when it may keep notes."""

    def noted_tail(self, files: SessionFiles, notes: Notes) -> Transcript | None:
        """Return what ``tail`` returns, with the help of notes.

        Raises:
            UnreadableError: a file cannot be opened at all.
        """
        ...


class Told(NamedTuple):
    """What one record tells of its session without those around it.

    Attributes:
        message: the message that it is; it names neither its parent nor the working folder, and counts as active.
        title: the name that it gives to the session ("" takes it away); None when it is about something else.
        kind: what the session is, when the record is its header.
        cwd: the working folder that a header names.
        parent: id of the session that a header says this one belongs to or was forked from.
        created: when a header says that the session was created, where messages tell no time.
    """

    message: Message | None = None
    title: str | None = None
    kind: SessionKind | None = None
    cwd: str = ""
    parent: str = ""
    created: datetime | None = None


@runtime_checkable
class RecordDialect(Protocol):
    """What a dialect has besides when records tell by themselves: listings and the index read only new ones then."""

    decoder: Any

    def told(self, span: Span, record: Any, *, is_first: bool = False, by_agent: bool = False) -> Told:
        """Return what a record tells.

        Args:
            span: where it stands.
            record: what ``decoder`` made of it.
            is_first: nothing stands before it in its session.
            by_agent: the session is a sub-agent's.
        """
        ...


@runtime_checkable
class RowDialect(Protocol):
    """What a dialect has besides when its client keeps sessions in a database: they can be passed through by rows."""

    def passed(self, files: SessionFiles, about: Transcript) -> Iterator[tuple[Message, bool]]:
        """Yield the messages of a session in a database in their order, none of which is held.

        A message with very many parts comes in pieces. Messages name no parent and count as active.

        Args:
            files: the session.
            about: gets everything but messages, also ``files``: its kind before the first message, records and
                problems meanwhile (the caller may take them out), the rest at the end.

        Yields:
            A message, and False when it goes on with the one before.

        Raises:
            UnreadableError: it is no database with such a session, or it cannot be read.
        """
        ...


def read_for_context(dialect: Dialect, files: SessionFiles, notes: Notes | None = None) -> Transcript:
    """Return what ``dialect.context`` needs of a session: its end where that is surely enough, else all of it.

    ``Transcript.is_tail`` says which of the two it is. Notes change nothing but the time that it takes.

    Raises:
        UnreadableError: a file cannot be opened at all.
    """
    if notes is not None and isinstance(dialect, NotedTailDialect):
        tail = dialect.noted_tail(files, notes)
    else:
        tail = dialect.tail(files) if isinstance(dialect, TailDialect) else None
    return dialect.read(files) if tail is None else tail
