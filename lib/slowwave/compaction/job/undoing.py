"""Undo: the last compaction that slowwave appended is cut off again, byte for byte, as long as nothing follows it."""

from pathlib import Path

from slowwave.clock import SystemClock
from slowwave.compaction.job.alone import alone
from slowwave.compaction.job.appending import found_of
from slowwave.compaction.job.book import Appended, read_book, write_book
from slowwave.compaction.job.growth import take_back
from slowwave.compaction.job.settling import finish_undo, growth_in, settle
from slowwave.errors import NotFoundError
from slowwave.stores.model import StoredSession
from slowwave.stores.writing.base import Means
from slowwave.stores.writing.opened import Writers, held
from slowwave.stores.writing.ulid import UlidWriter


def undo(session: StoredSession, folder: Path, home: Path) -> Appended:
    """Take back the last compaction of a session, and do not compact it again by itself until it has changed.

    Raises:
        NotFoundError: slowwave knows of no compaction that it appended.
        MovedError: something was appended behind it; nothing was changed.
        RefusedError: a client has the session open, or another run is at it.
    """
    with alone(session, folder):
        return _undone(session, folder, home)


def _undone(session: StoredSession, folder: Path, home: Path) -> Appended:
    means = Means(SystemClock(), home)
    book = read_book(folder, session.id, session.dialect, session.files.paths[0])
    settle(book, folder, session, means)
    if not book.compactions:
        raise NotFoundError(f"session {session.id}: slowwave has appended no compaction to it that could be taken back")
    opened = Writers(means).known(found_of(session))
    with held(opened):
        book.is_undoing = True
        write_book(folder, book)
        try:
            take_back(growth_in(book.compactions[-1]))
        except Exception:
            book.is_undoing = False
            write_book(folder, book)
            raise
        if isinstance(opened.writer, UlidWriter):
            opened.writer.refresh(opened.target)
    last = finish_undo(book, session)
    write_book(folder, book)
    return last
