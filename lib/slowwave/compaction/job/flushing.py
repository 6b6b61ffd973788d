"""Memories first: extraction reads a session before its words are summarised away."""

from collections.abc import Callable, Sequence

from slowwave.compaction.job.book import Book, read_book, write_book
from slowwave.compaction.job.openclaw import flush_refusal, note_flush, save_memories
from slowwave.compaction.job.run import Compacting
from slowwave.errors import SlowwaveError
from slowwave.report import Item
from slowwave.stores.model import StoredSession


def flush(session: StoredSession, stamp: str, run: Compacting, cwd: str, book: Book | None = None) -> None:
    """Save the memories of a session, once for one content of it.

    Args:
        session: the session.
        stamp: its content.
        run: what it is done with.
        cwd: the workspace, for Clawdbot's memory file of the day.
        book: what is known of the session; read where it is not given.

    Raises:
        SlowwaveError: the memory folder is locked, or damaged.
        OSError: it cannot be written.
    """
    book = book or read_book(run.folder, session.id, session.dialect, session.files.paths[0])
    if run.dry_run or book.flushed_at == stamp:
        return
    saved = run.flush(session)
    run.report.warnings += [*saved.warnings, *saved.failures]
    facts = [item for item in saved.items if item.action == "candidate"]
    run.report.items += facts
    if session.dialect == "openclaw":
        _as_client(session, run, cwd, [fact.text for fact in facts])
    run.report.count("flushed")
    run.report.count("candidates", saved.counts.get("candidates", 0))
    book.flushed_at = stamp
    write_book(run.folder, book)


def _as_client(session: StoredSession, run: Compacting, cwd: str, facts: Sequence[str]) -> None:
    """Save memories where the client would have its agent do it, unless it would not."""
    transcript, now = session.files.paths[0], run.clock.now()
    if reason := flush_refusal(transcript, session.id):
        run.report.items.append(Item(session.id, "skip", f"no memory file of the day: {reason}", run.project))
        return
    path = save_memories(cwd, facts, now)
    if path is not None:
        run.report.items.append(Item(str(path), "memories", "saved before a compaction", run.project))
    noted(session, run, lambda: note_flush(transcript, session.id, now))


def noted(session: StoredSession, run: Compacting, note: Callable[[], None]) -> None:
    """Note something in the client's own list of sessions; the transcript counts, so that a failure is only told."""
    try:
        note()
    except (SlowwaveError, OSError) as error:
        run.report.warnings.append(f"session {session.id}: its counters were not noted: {error}")
