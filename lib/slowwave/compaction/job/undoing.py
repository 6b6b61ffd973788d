"""Undo: the last compaction that slowwave appended is cut off again, byte for byte, as long as nothing follows it."""

import os
from pathlib import Path

from slowwave.clock import SystemClock
from slowwave.compaction.job.appending import found_of
from slowwave.compaction.job.book import Appended, Book, read_book, write_book
from slowwave.compaction.job.derived import content_stamp
from slowwave.compaction.job.growth import Growth, files_of, take_back
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
        RefusedError: a client has the session open.
    """
    book = read_book(folder, session.id, session.dialect, session.files.paths[0])
    if not book.compactions:
        raise NotFoundError(f"session {session.id}: slowwave has appended no compaction to it that could be taken back")
    last = book.compactions[-1]
    opened = Writers(Means(SystemClock(), home)).known(found_of(session))
    with held(opened):
        take_back(Growth(Path(last.path), last.before, last.after, last.sha256, last.mtime_ns))
        if isinstance(opened.writer, UlidWriter):
            opened.writer.refresh(opened.target)
    _note(book, folder, session)
    return last


def _note(book: Book, folder: Path, session: StoredSession) -> None:
    book.compactions = book.compactions[:-1]
    paths = files_of(session.files.paths[0]) if session.dialect == "cersei" else session.files.paths
    book.undone_at = content_stamp([path for path in paths if os.path.lexists(path)])
    write_book(folder, book)
