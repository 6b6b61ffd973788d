"""What a kill leaves between a transcript and its book, and how nothing of it is lost.

An append is noted before the transcript is touched and again when it stands; what a killed run left is settled by what
the one tells of the other; and the last compaction can be cut off again, byte for byte.
"""

from pathlib import Path

from msgspec.structs import replace

from slowwave.compaction.append import (
    Growth,
    Order,
    append,
    difference,
    files_of,
    found_of,
    keep_time,
    state_of,
    take_back,
)
from slowwave.compaction.book import Appended, Book, Pending, content_stamp, read_book, write_book
from slowwave.compaction.flush import note_compaction, noted
from slowwave.compaction.run import Compacting, alone
from slowwave.context import SystemClock
from slowwave.errors import NotFoundError
from slowwave.formats.model import SessionFiles
from slowwave.formats.registry import by_name, client_of, read_for_context
from slowwave.formats.sessions import StoredSession
from slowwave.formats.ulid.write import UlidWriter
from slowwave.formats.writing import Means
from slowwave.journal import Outcome
from slowwave.stores.writers import Writers, held


def growth_in(done: Appended) -> Growth:
    """Return what a noted compaction let grow."""
    return Growth(Path(done.path), done.before, done.after, done.sha256, done.mtime_ns)


def is_open(book: Book) -> bool:
    """Say whether a run was killed while it wrote."""
    return book.pending is not None or book.is_undoing


def settle(book: Book, folder: Path, session: StoredSession, means: Means) -> str:
    """Finish what a killed run began, and return in a sentence what that was; "" when there is nothing to finish.

    A compaction that stands at the end of the file is read back as its own run would have done, and taken away again
    when its client would not go on from it. One that somebody has gone on from stands. Raises RefusedError: a client
    has the session open, or another process holds its lock; SlowwaveError: the session cannot be read; OSError: the
    state folder cannot be written.
    """
    told = ""
    if book.pending is not None:
        told = _settle_append(book, book.pending, session, means)
    elif book.is_undoing:
        told = _settle_undo(book, session)
    else:
        return ""
    write_book(folder, book)
    return told


def as_it_stands(book: Book, session: StoredSession) -> None:
    """Count a compaction that was noted and stands, for who only looks; nothing is written.

    Raises SlowwaveError: the session cannot be read, or its lock is held.
    """
    pending = book.pending
    if pending is not None and state_of(growth_in(pending.done)) in ("written", "followed"):
        book.succeed(_named(pending.done, session))
    if book.is_undoing and state_of(growth_in(book.compactions[-1])) == "absent":
        book.compactions = book.compactions[:-1]


def finish_undo(book: Book, session: StoredSession) -> Appended:
    """Take the last compaction out of a book once its bytes are gone."""
    last = book.compactions[-1]
    book.compactions, book.is_undoing = book.compactions[:-1], False
    book.undone_at = content_stamp([path for path in files_now(session) if path.exists()])
    return last


def files_now(session: StoredSession) -> list[Path]:
    """Return the files of a session as they lie there now."""
    paths = session.files.paths
    return files_of(paths[0]) if client_of(session.dialect).has_parts else list(paths)


def _settle_append(book: Book, pending: Pending, session: StoredSession, means: Means) -> str:
    grown = growth_in(pending.done)
    book.pending = None
    state = state_of(grown)
    if state not in ("written", "followed"):
        return _dropped(grown, state)
    if state == "written":
        opened = Writers(means).known(found_of(session))
        with held(opened):
            now = SessionFiles(session.id, tuple(files_now(session)))
            wrong = difference(session.dialect, now, pending.expected)
            if wrong:
                take_back(grown)
            if isinstance(opened.writer, UlidWriter):
                opened.writer.refresh(opened.target)
            if wrong:
                return f"a run was interrupted while it compacted; {wrong}, so the compaction is gone again"
            keep_time(grown)
    book.succeed(_named(pending.done, session))
    return f"a run was interrupted while it compacted; the compaction {pending.done.id} stands and is noted now"


def _dropped(grown: Growth, state: Outcome) -> str:
    if state == "absent":
        if grown.before is None and grown.path.exists():
            grown.path.unlink()  # a part that was made, and nothing written to it
        return "a run was interrupted before it appended its compaction; nothing was changed"
    return f"a run was interrupted while it compacted; {grown.path} is incomplete from byte {grown.before or 0} on"


def _settle_undo(book: Book, session: StoredSession) -> str:
    last = book.compactions[-1]
    if state_of(growth_in(last)) == "absent":
        finish_undo(book, session)
        return f"a run was interrupted while it took {last.id} back; it is gone, and that is noted now"
    book.is_undoing = False
    return f"a run was interrupted before it took {last.id} back; the compaction stands"


def _named(done: Appended, session: StoredSession) -> Appended:
    """Return a note with what the client calls the summary, which only the append itself tells."""
    if done.source == "prune":
        return done
    dialect = by_name(session.dialect)
    files = SessionFiles(session.id, tuple(files_now(session)))
    part = files.paths.index(Path(done.path)) if Path(done.path) in files.paths else 0
    start = (part, done.before or 0)
    for message in dialect.context(read_for_context(dialect, files)):
        if message.origin == "summary" and any((s.part, s.offset) >= start for s in message.sources):
            return replace(done, message=message.id or "")
    return done


# An append that is noted before the transcript is touched and again when it stands, so that no kill hides it.


def noted_append(order: Order, note: Appended, book: Book, run: Compacting) -> Appended:
    """Append what was ordered, and return the note of it.

    ``note``: what is known of it already. Raises SlowwaveError: as :func:`slowwave.compaction.append.append`; OSError:
    the disk is full.
    """

    def intend(grown: Growth) -> None:
        book.pending = Pending(with_growth(note, grown), order.expected)
        write_book(run.folder, book)

    try:
        grown, message = append(order, run.settings, run.home, intend)
    except Exception:
        # where something else stands now, a client wrote it, and what failed says so
        if book.pending is not None and state_of(growth_in(book.pending.done)) in ("absent", "other"):
            book.pending = None
            write_book(run.folder, book)
        raise
    done = with_growth(note, grown, message)
    book.succeed(done)
    write_book(run.folder, book)
    return done


def settled_book(session: StoredSession, run: Compacting) -> Book:
    """Return what is known of a session, with whatever a killed run left unfinished finished first.

    Raises CorruptStateError: the book is damaged; SlowwaveError, OSError: as
    :func:`slowwave.compaction.recovery.settle`.
    """
    book = read_book(run.folder, session.id, session.dialect, session.files.paths[0])
    if run.dry_run:
        if is_open(book):
            as_it_stands(book, session)
        return book
    known = len(book.compactions)
    if told := settle(book, run.folder, session, Means(run.clock, run.home)):
        run.report.warnings.append(f"session {session.id}: {told}")
    if len(book.compactions) > known:
        count_compaction(session, run)
    return book


def count_compaction(session: StoredSession, run: Compacting) -> None:
    """Count a compaction where its client counts them, too."""
    if client_of(session.dialect).compacting.has_counters:
        noted(session, run, lambda: note_compaction(session.files.paths[0], session.id))


def with_growth(note: Appended, grown: Growth, message: str = "") -> Appended:
    """Return a note with what was written."""
    return replace(
        note,
        id=grown.sha256[:12],
        path=str(grown.path),
        before=grown.before,
        after=grown.after,
        sha256=grown.sha256,
        mtime_ns=grown.mtime_ns,
        message=message,
    )


# Undo: the last compaction that slowwave appended is cut off again, byte for byte, as long as nothing follows it.


def undo(session: StoredSession, folder: Path, home: Path) -> Appended:
    """Take back the last compaction of a session, and do not compact it again by itself until it has changed.

    Raises NotFoundError: slowwave knows of no compaction that it appended; MovedError: something was appended behind
    it, nothing was changed; RefusedError: a client has the session open, or another run is at it.
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
