"""``.consolidation_lock``: one dream at a time, honoured by Cersei and honouring its locks and Claude Code's.

Line 1 is a Unix timestamp, as Cersei writes it; line 2 names the owner; line 3 is the time since its machine started. A
heartbeat rewrites lines 1 and 3 in place, which also moves the modification time that Cersei judges by. A lock is stale
when both say that it is old, or when its owner is provably dead. On its own machine line 3 alone tells its age, so
that nobody takes a living owner for dead because the clock was set. Take-over happens under the folder's write guard,
and the token is checked again right before a commit, so that a process that was suspended and overtaken cannot commit.
"""

import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import msgspec

from slowwave.errors import LockHeldError, LockLostError
from slowwave.files import TEMP_PREFIX, at_fault_point, file_bytes, fsync_folder, write_all
from slowwave.locks import Owner, is_here, is_provably_dead, is_running, parse_owner, steady, this_process
from slowwave.memory.folder import LOCK_FILE, OWN_FOLDER, guarded

# Claude Code's own dream: modification time = last dream, body = process id; an hour is its limit.
CLAUDE_LOCK = ".consolidate-lock"
_CLAUDE_STALE_S = 3600.0
_DIGITS = 10
_LINES = 3


class DreamLock:
    """A lock that is held; made by :func:`held`."""

    def __init__(self, path: Path, owner: Owner, fd: int, wall: Callable[[], float]) -> None:
        self._path = path
        self._owner = owner
        self._fd = fd
        self._wall = wall

    def check(self) -> None:
        """Make sure that the lock is still ours (fencing).

        Raises:
            LockLostError: another process has taken it over, or somebody removed it.
        """
        if _owner_of(self._path) != self._owner:
            raise LockLostError(f"{self._path}: the lock was taken over meanwhile; nothing was committed")

    def beat(self) -> bool:
        """Say that the owner lives: rewrite the timestamp in place; return False when the lock is lost."""
        if _owner_of(self._path) != self._owner:
            return False
        os.pwrite(self._fd, _stamp(self._wall()), 0)
        os.pwrite(self._fd, _stamp(steady()), len(_head(self._owner, 0)))
        return True

    def release(self) -> None:
        """Remove the lock if it is still ours."""
        if _owner_of(self._path) == self._owner:
            with guarded(self._path.parent):
                if _owner_of(self._path) == self._owner:
                    at_fault_point("unlink", self._path)
                    self._path.unlink()


def refusal(memory: Path, stale: timedelta, wall: Callable[[], float] = time.time) -> str:
    """Return who holds the lock of a memory folder, or "" when it is free or may be taken over."""
    claude = _claude_refusal(memory / CLAUDE_LOCK, wall())
    if claude:
        return claude
    path = memory / LOCK_FILE
    try:
        body = file_bytes(path)
        modified = path.stat().st_mtime
    except FileNotFoundError:
        return ""
    owner = _parse_owner(body)
    if owner and is_provably_dead(owner):
        return ""
    age = _age(body, owner, modified, wall)
    if age > stale.total_seconds():
        return ""
    who = f"process {owner.pid} on {owner.host}" if owner else "another program (Cersei writes such locks)"
    since = f"{age:.0f} s ago" if age >= 0 else "in the future"
    return f"held by {who}, last seen {since}; it counts as dead after {stale.total_seconds():.0f} s"


@contextmanager
def held(
    memory: Path, stale: timedelta, *, wall: Callable[[], float] = time.time, beat_s: float | None = None
) -> Generator[DreamLock]:
    """Hold the lock of a memory folder; released in any case, also when the job is cancelled.

    Args:
        memory: the memory folder; it is made when it is missing.
        stale: the age at which a lock may be taken over.
        wall: the wall clock; other programs compare it with the file's modification time.
        beat_s: seconds between heartbeats, a sixth of ``stale`` but at most a minute by default.

    Raises:
        LockHeldError: another process holds it.
    """
    lock, fd = _acquire(memory, stale, wall)
    stop = threading.Event()
    pause = beat_s if beat_s is not None else min(60.0, max(stale.total_seconds() / 6, 0.01))

    def beat() -> None:
        while not stop.wait(pause) and lock.beat():
            pass

    thread = threading.Thread(target=beat, name="consolidation-lock", daemon=True)
    thread.start()
    try:
        yield lock
    finally:
        stop.set()
        thread.join()
        os.close(fd)
        lock.release()


def _acquire(memory: Path, stale: timedelta, wall: Callable[[], float]) -> tuple[DreamLock, int]:
    path = memory / LOCK_FILE
    owner = this_process(os.urandom(16).hex())
    with guarded(memory):
        reason = refusal(memory, stale, wall)
        if reason:
            raise LockHeldError(f"{path}: {reason}")
        temp = memory / OWN_FOLDER / f"{TEMP_PREFIX}{os.getpid()}-{owner.token}"
        at_fault_point("write", temp)
        fd = os.open(temp, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            write_all(fd, _head(owner, wall()) + _stamp(steady()) + b"\n")
            os.fsync(fd)
            at_fault_point("link", path)
            if os.path.lexists(path):
                temp.replace(path)  # stale, or a link to nowhere: taken over, whole in one step
            else:
                os.link(temp, path)  # fails when another program was faster
            fsync_folder(memory)
        except FileExistsError as error:
            os.close(fd)
            raise LockHeldError(f"{path}: another program has just taken the lock") from error
        except BaseException:
            os.close(fd)
            raise
        finally:
            temp.unlink(missing_ok=True)
    return DreamLock(path, owner, fd, wall), fd


def _age(body: bytes, owner: Owner | None, modified: float, wall: Callable[[], float]) -> float:
    """Return for how many seconds nobody has renewed a lock; less than none when it is dated in the future."""
    lines = body.split(b"\n")
    if owner and is_here(owner) and len(lines) > _LINES and _is_stamp(lines[2]):
        return steady() - float(lines[2])
    stamp = lines[0].strip()
    return wall() - (min(modified, float(stamp)) if _is_stamp(stamp) else modified)


def _is_stamp(line: bytes) -> bool:
    return line.isdigit() and len(line) <= _DIGITS


def _head(owner: Owner, now: float) -> bytes:
    return _stamp(now) + b"\n" + msgspec.json.encode(owner) + b"\n"


def _stamp(now: float) -> bytes:
    return b"%0*d" % (_DIGITS, int(now))


def _owner_of(path: Path) -> Owner | None:
    try:
        return _parse_owner(file_bytes(path))
    except OSError:
        return None


def _parse_owner(body: bytes) -> Owner | None:
    lines = body.split(b"\n")
    return parse_owner(lines[1]) if len(lines) > 1 else None


def _claude_refusal(path: Path, now: float) -> str:
    """Honour the lock of Claude Code's own dream: younger than an hour and its process alive."""
    try:
        body = file_bytes(path).strip()
        age = now - path.stat().st_mtime
    except OSError:
        return ""
    if age < _CLAUDE_STALE_S and body.isdigit() and len(body) <= _DIGITS and is_running(int(body)):
        return f"Claude Code (process {int(body)}) has been tidying up this folder for {age:.0f} s"
    return ""
