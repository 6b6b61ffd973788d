"""Locks of clients, and other signs that they are at work in a session.

Clawdbot and OpenClaw lock ``<store>.lock`` and ``<transcript>.lock``, each naming a process; Codex writes a rollout
under ``thread-writer-locks/<thread>.lock``; crabtalk answers on a socket as long as it runs.
"""

import errno
import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from slowwave.errors import LockHeldError, LockLostError
from slowwave.files import TEMP_PREFIX, at_fault_point
from slowwave.formats import parse_time
from slowwave.locks import created_at, is_running, start_ticks

_START_TOLERANCE_S = 2.0
_PAUSE_S = 0.025
# a file system, or a system without /proc, that knows no files without a name
_NO_UNNAMED = {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT}


class LockRules(NamedTuple):
    """How long a lock is waited for, and how old one without a readable owner must be to count as left behind."""

    timeout_s: float
    stale_s: float


STORE_LOCK = LockRules(10.0, 30.0)
TRANSCRIPT_LOCK = LockRules(10.0, 1800.0)


class Owner(msgspec.Struct):
    """What a lock file says; the client's store locks have ``startedAt``, its transcript locks ``createdAt``.

    Ours have both, and beside them a token, the machine, boot and process namespace that the number counts in, and the
    start of the process in ticks since that boot, which nobody moves by setting the clock.
    """

    pid: int
    startedAt: float | None = None  # noqa: N815 - the client's spelling
    createdAt: str | None = None  # noqa: N815
    token: str = ""
    machine: str = ""
    ticks: int | None = None

    def since(self) -> float | None:
        """Return when the lock was taken, in seconds since 1970."""
        if self.startedAt is not None:
            return self.startedAt / 1000
        at = parse_time(self.createdAt)
        return at.timestamp() if at else None


class HeldLock:
    """A lock that this process holds; made by :func:`held_lock`."""

    def __init__(self, path: Path, token: str) -> None:
        self.path = path
        self._token = token
        self.count = 1

    def check(self) -> None:
        """Make sure that the lock is still ours, right before a commit.

        Raises LockLostError: somebody took it over or removed it.
        """
        owner = _owner_of(self.path)
        if owner is None or owner.token != self._token:
            raise LockLostError(f"{self.path}: the lock was taken over meanwhile; nothing was written")

    def release(self) -> None:
        """Remove the lock if it is still ours."""
        owner = _owner_of(self.path)
        if owner is not None and owner.token == self._token:
            at_fault_point("unlink", self.path)
            self.path.unlink(missing_ok=True)


class _Held(threading.local):
    """The locks that this thread holds: taking one again inside only counts."""

    def __init__(self) -> None:
        self.locks: dict[Path, HeldLock] = {}


def _owner_of(lock: Path) -> Owner | None:
    try:
        return msgspec.json.decode(lock.read_bytes(), type=Owner)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


_held = _Held()


@cache
def this_machine() -> str:
    """Return in which machine, boot and process namespace this process has its number."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        space = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - not a path but a name of the kernel
    except OSError:
        boot = space = ""
    return f"{os.uname().nodename}/{boot}/{space}"


def lock_path(path: Path) -> Path:
    """Return the lock of a file, the same one through every symbolic link that leads to its folder."""
    return path.parent.resolve() / f"{path.name}.lock"


def holder(path: Path, rules: LockRules = TRANSCRIPT_LOCK, now: float | None = None) -> str:
    """Return who holds the lock of a file, "" when it is free or was left behind by a process that is gone."""
    lock = lock_path(path)
    try:
        at = lock.stat()
    except FileNotFoundError:
        return ""
    owner = _owner_of(lock)
    age = (time.time() if now is None else now) - at.st_mtime
    if owner is None:
        return "" if age > max(rules.stale_s, TRANSCRIPT_LOCK.stale_s) else "a process that is not named yet"
    is_here = owner.machine == this_machine()
    if (is_here or not owner.machine) and is_running(owner.pid) and not _is_reused(owner, at.st_mtime):
        return f"process {owner.pid}"
    # the number may be one of another machine or container unless the lock says that it is not, so age must agree
    patience = TRANSCRIPT_LOCK.stale_s if owner.machine else rules.stale_s
    return "" if is_here or age > patience else f"process {owner.pid}, which does not run here"


def _is_reused(owner: Owner, modified: float) -> bool:
    """Say whether the process of that number started after the lock was taken, so that it is another one."""
    if owner.ticks is not None and owner.machine == this_machine():
        return start_ticks(owner.pid) != owner.ticks
    since = owner.since()
    started = created_at(owner.pid)
    taken = min(modified, since) if since is not None else modified
    return started is not None and started > taken + _START_TOLERANCE_S


@contextmanager
def held_lock(path: Path, rules: LockRules = TRANSCRIPT_LOCK, *, timeout_s: float | None = None) -> Generator[HeldLock]:
    """Hold the lock of a file, as its client would see it; released in any case while the process lives.

    Raises LockHeldError: somebody else held it all the time; the message names who.
    """
    lock = lock_path(path)
    held = _held.locks.get(lock)
    if held is not None:
        held.count += 1
    else:
        held = _held.locks[lock] = _acquired(path, lock, rules, rules.timeout_s if timeout_s is None else timeout_s)
    try:
        yield held
    finally:
        held.count -= 1
        if not held.count:
            del _held.locks[lock]
            held.release()


def _acquired(path: Path, lock: Path, rules: LockRules, timeout_s: float) -> HeldLock:
    deadline = time.monotonic() + timeout_s
    while True:
        token = os.urandom(16).hex()
        if _linked(lock, token):
            return HeldLock(lock, token)
        who = holder(path, rules)
        if not who:
            _take_away(path, lock, rules)
            continue
        if time.monotonic() >= deadline:
            raise LockHeldError(f"{lock}: held by {who}; try again when it has finished")
        time.sleep(_PAUSE_S)


def _linked(lock: Path, token: str) -> bool:
    """Put a whole lock file in its place; False when there is one."""
    now = time.time()
    stamp = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    owner = Owner(os.getpid(), int(now * 1000), stamp, token, this_machine(), start_ticks(os.getpid()))
    body = msgspec.json.format(msgspec.json.encode(owner), indent=2)
    try:
        return _linked_unnamed(lock, body)
    except AttributeError:
        return _linked_by_name(lock, token, body)  # only Linux has files without a name
    except OSError as error:
        if error.errno not in _NO_UNNAMED:
            raise
        return _linked_by_name(lock, token, body)


def _linked_unnamed(lock: Path, body: bytes) -> bool:
    """Write the lock as a file without a name first: whoever is killed meanwhile leaves nothing behind."""
    fd = os.open(lock.parent, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, body)
        at_fault_point("link", lock)
        # Python follows the link to what has no name only where it is given a folder, too
        os.link(f"/proc/self/fd/{fd}", lock, src_dir_fd=fd, follow_symlinks=True)
    except FileExistsError:
        return False
    finally:
        os.close(fd)
    return True


def _linked_by_name(lock: Path, token: str, body: bytes) -> bool:
    temp = lock.with_name(f"{TEMP_PREFIX}{os.getpid()}-{token}")
    temp.write_bytes(body)
    is_taken = False
    try:
        temp.chmod(0o600)
        at_fault_point("link", lock)
        os.link(temp, lock)
        is_taken = True
    except FileExistsError:
        pass
    finally:
        try:
            temp.unlink(missing_ok=True)
        except OSError:
            if is_taken:
                lock.unlink(missing_ok=True)  # nobody would give it back
            raise
    return is_taken


def _take_away(path: Path, lock: Path, rules: LockRules) -> None:
    """Remove a lock that was left behind, unless it is another one by now.

    It is moved aside first: whoever was faster has moved it already, and one that turns out to be a new lock is put
    back under its name.
    """
    aside = lock.with_name(f"{TEMP_PREFIX}{os.getpid()}-{os.urandom(8).hex()}.lock")
    judged = _identity(lock)
    if judged is None or holder(path, rules):
        return
    try:
        lock.rename(aside)
    except FileNotFoundError:
        return
    if _identity(aside) != judged:
        with suppress(FileExistsError):  # somebody took it in between; the owner will find out by its token
            os.link(aside, lock)
    aside.unlink()


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        at = path.stat()
    except FileNotFoundError:
        return None
    return at.st_ino, at.st_mtime_ns, at.st_size
