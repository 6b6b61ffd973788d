"""What Clawdbot and OpenClaw expect of a compaction beside the transcript: the day's memory file and the counters.

Source: seed 004 and ``agent-runner-memory.ts`` of Clawdbot 2026.1.27. The counters stand in ``sessions.json``: a flush
notes the cycle that it was for, a compaction begins the next one. ``updatedAt`` stays, since resets are reckoned by it.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from slowwave.compaction.flush import (
    SOFT_THRESHOLD_TOKENS,
    flushed,
    has_flushed,
    soft_threshold,
)
from slowwave.errors import UnreadableError
from slowwave.files import private_folder
from slowwave.formats.append import append_records
from slowwave.stores.model import StoredSession
from slowwave.stores.openclaw.config import compaction_config
from slowwave.stores.openclaw.entries import SessionEntry
from slowwave.stores.openclaw.store import NAME, read_store, update_entry

MEMORY = "memory"


def soft_tokens(session: StoredSession) -> int:
    """Return how many tokens below the trigger memories are saved: as the client's settings say, else the seed's.

    Settings that cannot be read say nothing here; :func:`flush_refusal` tells of them when there is something to save.
    """
    if session.dialect != "openclaw":
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

    Returns:
        The file, or None: there is no such workspace, or nothing new to add.

    Raises:
        UnreadableError: the file cannot be opened.
        LockHeldError: another process held its lock all the time.
        OSError: the folder cannot be made, or the disk is full.
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

    Raises:
        UnreadableError, LockHeldError, LockLostError, MovedError: as :func:`update_entry`.
    """
    _note(transcript, session, lambda entry: flushed(_fields(entry), at_ms=int(now.timestamp() * 1000)))


def note_compaction(transcript: Path, session: str) -> None:
    """Count a compaction in ``sessions.json``, with which the next cycle begins.

    Raises:
        UnreadableError, LockHeldError, LockLostError, MovedError: as :func:`update_entry`.
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
