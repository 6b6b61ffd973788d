"""Memories first: extraction reads a session before its words are summarised away."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from slowwave.compaction.book import Book, Compacting, read_book, write_book
from slowwave.compaction.settings import count_or
from slowwave.errors import SlowwaveError, UnreadableError
from slowwave.files import private_folder
from slowwave.formats.changes import append_records
from slowwave.formats.model import fields_of
from slowwave.formats.openclaw.store import NAME, SessionEntry, compaction_config, read_store, update_entry
from slowwave.formats.registry import client_of
from slowwave.formats.sessions import StoredSession
from slowwave.report import Item


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
    if client_of(session.dialect).compacting.has_counters:
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


# What Clawdbot and OpenClaw expect of a compaction beside the transcript: the day's memory file and the counters.
#
# Source: seed 004 and ``agent-runner-memory.ts`` of Clawdbot 2026.1.27. The counters stand in ``sessions.json``: a
# flush notes the cycle that it was for, a compaction begins the next one. ``updatedAt`` stays, since resets are
# reckoned by it.

MEMORY = "memory"


def soft_tokens(session: StoredSession) -> int:
    """Return how many tokens below the trigger memories are saved: as the client's settings say, else the seed's.

    Settings that cannot be read say nothing here; :func:`flush_refusal` tells of them when there is something to save.
    """
    if not client_of(session.dialect).compacting.has_counters:
        return SOFT_THRESHOLD_TOKENS
    try:
        found = soft_threshold(compaction_config(session.files.paths[0]))
    except UnreadableError:
        found = None
    return SOFT_THRESHOLD_TOKENS if found is None else found


def flush_refusal(transcript: Path, session: str) -> str:
    """Return why the client would not save memories now, "" when it would; also where its files cannot be read."""
    try:
        if soft_threshold(compaction_config(transcript)) is None:
            return "memoryFlush is turned off in the client's settings"
        _, entry = _listed(transcript, session)
    except UnreadableError as error:
        return str(error)
    if entry is not None and has_flushed(_fields(entry)):
        return "done already since the last compaction"
    return ""


def save_memories(workspace: str, facts: Sequence[str], now: datetime) -> Path | None:
    """Add facts to the workspace's memory file of the day, those that it does not hold; nothing else in it changes.

    Returns the file, or None: there is no such workspace, or nothing new to add. Raises LockHeldError: another process
    held its lock all the time; OSError: the folder cannot be made, or the disk is full.
    """
    if not workspace or not facts or not Path(workspace).is_dir():
        return None
    path = Path(workspace) / MEMORY / f"{now.astimezone():%Y-%m-%d}.md"
    held = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    lines = [f"- {' '.join(fact.split())}" for fact in facts]
    new = [line for line in dict.fromkeys(lines) if line not in held]
    if not new:
        return None
    private_folder(path.parent)
    append_records(path, lambda: [line.encode("utf-8", "replace") for line in new], create=True)
    return path


def note_flush(transcript: Path, session: str, now: datetime) -> None:
    """Note in ``sessions.json`` that the memories of a session were saved in this cycle.

    Raises UnreadableError, LockHeldError, LockLostError, MovedError: as :func:`update_entry`.
    """
    _note(transcript, session, lambda entry: flushed(_fields(entry), at_ms=int(now.timestamp() * 1000)))


def note_compaction(transcript: Path, session: str) -> None:
    """Count a compaction in ``sessions.json``, with which the next cycle begins.

    Raises UnreadableError, LockHeldError, LockLostError, MovedError: as :func:`update_entry`.
    """
    _note(transcript, session, lambda entry: {"compactionCount": int(entry.number("compactionCount") or 0) + 1})


def _note(transcript: Path, session: str, patch: Callable[[SessionEntry], Mapping[str, object]]) -> None:
    key, entry = _listed(transcript, session)
    if entry is not None:
        update_entry(transcript.parent / NAME, key, patch, 0)


def _listed(transcript: Path, session: str) -> tuple[str, SessionEntry | None]:
    found = read_store(transcript.parent / NAME).items()
    return next(((key, entry) for key, entry in found if entry.text("sessionId") == session), ("", None))


def _fields(entry: SessionEntry) -> Mapping[str, object]:
    return {name: entry.number(name) for name in ("compactionCount", "memoryFlushCompactionCount")}


# When a session's memories are saved before a compaction summarises it away, and what the client's settings say to it.
#
# Source: ``memory-flush.ts`` of Clawdbot 2026.1.27 and seed 004. Once per compaction cycle, when the context is within
# a soft threshold of what would compact it. The client reckons with the size that it noted after the last turn, so that
# one huge turn jumps over the threshold; here the transcript itself is measured.

SOFT_THRESHOLD_TOKENS = 4_000


def soft_threshold(compaction: Mapping[str, object]) -> int | None:
    """Return the tokens in ``memoryFlush`` of the client's ``compaction`` settings, None where it is turned off.

    A number that is none or below 0 stands for the default.
    """
    flush = fields_of(compaction.get("memoryFlush"))
    if flush.get("enabled") is False:
        return None
    return count_or(flush.get("softThresholdTokens"), SOFT_THRESHOLD_TOKENS)


def has_flushed(entry: Mapping[str, object]) -> bool:
    """Say whether a flush ran in this compaction cycle, by the session's entry in ``sessions.json``."""
    done = entry.get("memoryFlushCompactionCount")
    return isinstance(done, int | float) and done == (entry.get("compactionCount") or 0)


def flushed(entry: Mapping[str, object], *, at_ms: int) -> dict[str, object]:
    """Return the fields to note in an entry after a flush."""
    return {"memoryFlushAt": at_ms, "memoryFlushCompactionCount": count_or(entry.get("compactionCount"), 0)}
