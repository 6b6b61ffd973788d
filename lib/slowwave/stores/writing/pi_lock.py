"""The lock under which Clawdbot and OpenClaw write a transcript: ``<file>.lock`` beside it.

It holds ``{"pid", "createdAt"}`` and counts as stale when that process is dead or 30 minutes have passed
(``session-write-lock.ts``, formats.md 7.5). Clawdbot takes an empty lock for stale, too, but a lock is empty for a
moment while it is being made: here it counts until it is old. Ours is made whole under another name and linked.

pi itself locks nothing, so a lock is made only where Clawdbot keeps its sessions, beside a ``sessions.json``.
"""

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

from slowwave.dialects.times import millisecond_time, parse_time
from slowwave.errors import RefusedError
from slowwave.files import TEMP_PREFIX, write_all
from slowwave.processes import is_running

STALE = timedelta(minutes=30)
STORE = "sessions.json"


def lock_path(transcript: Path) -> Path:
    """Return where the lock of a transcript lies: beside it, in the real folder."""
    return transcript.parent.resolve() / f"{transcript.name}.lock"


def holder(transcript: Path, now: datetime) -> str | None:
    """Return who holds the lock of a transcript, or None when nobody does or the lock is stale."""
    return _holder(lock_path(transcript), now)


def _holder(path: Path, now: datetime) -> str | None:
    try:
        raw, written = path.read_bytes(), path.stat().st_mtime
    except FileNotFoundError:
        return None
    fields = _payload(raw)
    stamp, pid = fields.get("createdAt"), fields.get("pid")
    created = parse_time(stamp) if isinstance(stamp, str) else None
    if now.timestamp() - (written if created is None else created.timestamp()) > STALE.total_seconds():
        return None
    if isinstance(pid, int):
        return f"being written by process {pid}" if is_running(pid) else None
    return "being written by a client that does not say which process it is"


def _payload(raw: bytes) -> dict[str, Any]:
    try:
        value: object = json.loads(raw)
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


@contextmanager
def transcript_lock(transcript: Path, session_id: str, now: datetime) -> Generator[None]:
    """Hold the client's own lock while a transcript is written to.

    Raises:
        RefusedError: a running client holds it.
    """
    held = holder(transcript, now)
    if held:
        raise RefusedError(f"session {session_id} is {held} ({lock_path(transcript)}); close it there first")
    if not (transcript.parent / STORE).exists():
        yield
        return
    path = lock_path(transcript)
    temp = path.with_name(f"{TEMP_PREFIX}{os.getpid()}-{os.urandom(4).hex()}")
    fd = os.open(temp, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        write_all(fd, json.dumps({"pid": os.getpid(), "createdAt": millisecond_time(now)}).encode())
        try:
            _take(temp, path, session_id, now)
            yield
        finally:
            temp.unlink(missing_ok=True)
            _release(path, fd)
    finally:
        os.close(fd)


def _take(temp: Path, path: Path, session_id: str, now: datetime) -> None:
    """Link the lock under its name; a stale one goes first, unless it has become a live one meanwhile."""
    for _ in range(2):
        try:
            os.link(temp, path)
        except FileExistsError:
            aside = path.with_name(f"{temp.name}-stale")
            try:
                path.rename(aside)
            except FileNotFoundError:
                continue
            if _holder(aside, now):
                aside.rename(path)
                break
            aside.unlink()
        else:
            return
    raise RefusedError(f"session {session_id} is being written by another process ({path}); try again in a moment")


def _release(path: Path, fd: int) -> None:
    """Remove the lock if it is still ours: whoever took it for stale has one of their own there."""
    try:
        if os.path.samestat(path.stat(), os.fstat(fd)):
            path.unlink()
    except FileNotFoundError:
        return
