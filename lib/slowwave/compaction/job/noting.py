"""An append that is noted before the transcript is touched and again when it stands, so that no kill hides it."""

from msgspec.structs import replace

from slowwave.compaction.job.appending import Order, append
from slowwave.compaction.job.book import Appended, Book, Pending, read_book, write_book
from slowwave.compaction.job.flushing import noted
from slowwave.compaction.job.growth import Growth, state_of
from slowwave.compaction.job.openclaw import note_compaction
from slowwave.compaction.job.run import Compacting
from slowwave.compaction.job.settling import as_it_stands, growth_in, is_open, settle
from slowwave.stores.model import StoredSession
from slowwave.stores.writing.base import Means


def noted_append(order: Order, note: Appended, book: Book, run: Compacting) -> Appended:
    """Append what was ordered, and return the note of it.

    Args:
        order: what is appended.
        note: what is known of it already.
        book: what is known of the session.
        run: what it is done with.

    Raises:
        SlowwaveError: as :func:`slowwave.compaction.job.appending.append`.
        OSError: the disk is full.
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

    Raises:
        CorruptStateError: the book is damaged.
        SlowwaveError, OSError: as :func:`slowwave.compaction.job.settling.settle`.
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
    if session.dialect == "openclaw":
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
