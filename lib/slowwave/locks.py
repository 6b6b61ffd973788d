"""Who may work beside whom: the locks of slowwave's own, all of them ``flock`` on a file; and which processes run.

Such a lock ends with the process however that dies, needs no rule for stale ones, and is the primitive of
:func:`filelock.lock_descriptor`, so tools built on either exclude each other. The locks of other programs are another
matter (:mod:`slowwave.formats.locks`, :mod:`slowwave.consolidation.lock`). psutil is loaded when it is first asked.
"""

import errno
import fcntl
import os
import signal
import socket
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from slowwave.errors import LockHeldError, UnreadableError
from slowwave.files import TEMP_PREFIX, private_folder, require_file, state_folder


@contextmanager
def deaf_to_interrupts() -> Generator[None]:
    """Start processes that a Ctrl-C at their terminal does not end: whoever started them ends them, without a word."""
    # a mask is inherited from the first moment on; what comes meanwhile reaches this process afterwards
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def is_running(pid: int) -> bool:
    """Say whether a process runs; a zombie does not, and one that cannot be looked at does."""
    import psutil  # noqa: PLC0415 - most sessions are claimed by nobody, and most locks are free

    try:
        return psutil.Process(pid).status() not in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except (psutil.NoSuchProcess, ValueError, OverflowError):
        # a number that no process could have names none
        return False
    except psutil.AccessDenied:
        return True


def created_at(pid: int) -> float | None:
    """Return when a process started, in seconds since 1970; None when it is gone or does not tell."""
    import psutil  # noqa: PLC0415 - as above

    try:
        return psutil.Process(pid).create_time()
    except (psutil.Error, ValueError, OverflowError):
        return None


def start_ticks(pid: int) -> int | None:
    """Return the start of a process in clock ticks since boot, as Linux tells it; None elsewhere.

    It does not depend on the wall clock, so it stays the same when somebody sets that.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # the name in brackets may hold anything, so fields are counted from the last bracket
    fields = text[text.rfind(b")") + 2 :].split()
    return int(fields[19])


def remove_leftovers(folder: Path, *, below: bool = False) -> None:
    """Remove temporary files of slowwave whose process was killed: they hold copies of transcripts."""
    for path in sorted((folder.rglob if below else folder.glob)(f"{TEMP_PREFIX}*")):
        pid = path.name.removeprefix(TEMP_PREFIX).partition("-")[0]
        if path.is_file() and pid.isdigit() and not is_running(int(pid)):
            path.unlink(missing_ok=True)


# Who holds a lock, and whether that process is provably dead.
#
# A process id alone proves nothing: ids are used again, mean something else in a container, and other machines write to
# the same folder. So an owner is only taken for dead on the same host, in the same boot and the same process namespace,
# when its process is gone, is a zombie, or is another one that started at another time.

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")


class Owner(msgspec.Struct, frozen=True):
    """A process that holds something, as a line of JSON names it."""

    host: str
    boot: str
    pid_namespace: str
    pid: int
    started: str
    token: str


def this_process(token: str) -> Owner:
    """Return this process as an owner."""
    return Owner(socket.gethostname(), _boot(), _namespace(), os.getpid(), _started(os.getpid()), token)


def is_provably_dead(owner: Owner) -> bool:
    """Say whether the owner cannot be running any more; in doubt it is taken for alive."""
    if not is_here(owner):
        return False
    return not is_running(owner.pid) or (owner.started != "" and _started(owner.pid) != owner.started)


def is_here(owner: Owner) -> bool:
    """Say whether an owner is, or was, a process of this machine as it runs now, so that it can be looked at."""
    here = this_process("")
    return (owner.host, owner.boot, owner.pid_namespace) == (here.host, here.boot, here.pid_namespace)


def steady() -> float:
    """Return the seconds since this machine was started, suspended or not, by a clock that nobody can set."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def parse_owner(line: bytes) -> Owner | None:
    """Return the owner that a line names, None when it names none: other programs write other lines."""
    try:
        return msgspec.json.decode(line, type=Owner)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _started(pid: int) -> str:
    """Return when a process started, in a form that does not depend on the wall clock where the system has one."""
    ticks = start_ticks(pid)
    if ticks is not None:
        return str(ticks)
    created = created_at(pid)
    return "" if created is None else f"{created:.2f}"


def _boot() -> str:
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        import psutil  # noqa: PLC0415 - as above

        return f"{psutil.boot_time():.0f}"


def _namespace() -> str:
    try:
        return os.readlink(_NAMESPACE)  # noqa: PTH115 - not a path but a name of the kernel
    except OSError:
        return ""


# One file: a transcript that slowwave changes, or a file that stands for something else.
#
# On a transcript it is the data file's own descriptor that is locked: nothing lies beside it that a client would take
# for something of its own. The clients themselves take no such lock; a live session is left alone by the gates above.
# It is polled, since a blocking call could not give up.

TIMEOUT_S = 30.0
_FIRST_PAUSE_S = 0.0001
_LONGEST_PAUSE_S = 0.01
_PRIVATE = 0o600


@contextmanager
def locked_file(
    path: Path, *, create: bool = False, append: bool = False, shared: bool = False, timeout_s: float = TIMEOUT_S
) -> Generator[int]:
    """Open ``path`` for reading and writing and hold its lock; yield the descriptor.

    A rewrite replaces the file by another one under the same name. Who waited for the lock of the old file then
    holds a lock on something that nobody reads any more, so the name is looked up again and, if need be, opened again.

    Args:
        path: the file.
        create: make it (mode 0o600) when it is missing.
        append: open it so that every write goes to its end.
        shared: hold it together with others that share it.
        timeout_s: how long to wait for the lock.

    Raises LockHeldError: another process held the lock all the time; UnreadableError: the file cannot be opened.
    """
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK
    flags |= (os.O_CREAT if create else 0) | (os.O_APPEND if append else 0)
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            fd = os.open(path, flags, _PRIVATE)
        except OSError as error:
            raise UnreadableError(path, error.strerror or "cannot be opened") from error
        try:
            require_file(path, os.fstat(fd))
            _lock(fd, path, deadline, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
            if _is_still(path, fd):
                yield fd
                return
        finally:
            os.close(fd)  # also releases the lock


def is_locked(path: Path) -> bool:
    """Say whether a process holds the lock of a file now; nobody holds that of a file that is not there."""
    if not path.exists():
        return False
    try:
        with locked_file(path, shared=True, timeout_s=0):
            return False
    except LockHeldError:
        return True


def _lock(fd: int, path: Path, deadline: float, kind: int) -> None:
    pause = _FIRST_PAUSE_S
    while True:
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise UnreadableError(path, f"cannot be locked: {error.strerror}") from error
        else:
            return
        if time.monotonic() > deadline:
            raise LockHeldError(f"{path}: another process holds the lock of this file; try again when it has finished")
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_S)


def _is_still(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(fd))
    except FileNotFoundError:
        return False


# The jobs of one person: beside each other, an erasure of subjects beside nothing, one retention at a time.
#
# A job that has read what goes would write it again behind an erasure, and one of retention would carry it past. So
# each job holds a lock together with the others from its first look until its report is written, and an erasure holds
# it alone. Nobody waits for another one while they hold it.

LOCK = "retain.lock"
GATE = "erasing.lock"
WAIT_S = 600.0
# a session comes back within that, another run of retention takes longer
COMES_BACK_S = 20.0


@contextmanager
def retaining(environ: Mapping[str, str], *, wait_s: float | None = None) -> Generator[None]:
    """Hold off all other runs of retention, erasures, and sessions that come back.

    One that is at work is waited for ``wait_s`` seconds, by default as long as a session takes to come back.
    """
    path = state_folder(environ) / LOCK
    _make(path)
    with _held(path, "another run of retain or erase, or a restore, is", wait_s, COMES_BACK_S, shared=False):
        yield


@contextmanager
def beside_jobs(environ: Mapping[str, str], *, wait_s: float | None = None) -> Generator[None]:
    """Hold off erasures of subjects while something is read and written, beside any number of others that do so.

    An erasure that is at work is waited for ``wait_s`` seconds, ten minutes by default.
    """
    path = state_folder(environ) / GATE
    try:
        _make(path)
    except OSError:
        yield  # whoever cannot write there is told so by what they do, and no erasure can begin there either
        return
    with _held(path, "an erasure is", wait_s, WAIT_S, shared=True):
        yield


@contextmanager
def erasing(environ: Mapping[str, str], *, wait_s: float | None = None) -> Generator[None]:
    """Hold off every job, other erasures and retention; those at work are waited for."""
    path = state_folder(environ) / GATE
    _make(path)
    with _held(path, "another job is", wait_s, WAIT_S, shared=False), retaining(environ):
        yield


def _make(path: Path) -> None:
    private_folder(path.parent)
    if not path.exists():
        path.touch(mode=_PRIVATE)


@contextmanager
def _held(path: Path, who: str, given_s: float | None, usual_s: float, *, shared: bool) -> Generator[None]:
    wait_s = usual_s if given_s is None else given_s
    with ExitStack() as held:
        try:
            held.enter_context(locked_file(path, shared=shared, timeout_s=0))
        except LockHeldError:
            import logging  # noqa: PLC0415 - mostly nobody waits

            logging.getLogger(__name__).warning("%s at work: waiting for its end, %.0f s at most", who, wait_s)
            try:
                held.enter_context(locked_file(path, shared=shared, timeout_s=wait_s))
            except LockHeldError as error:
                text = f"{who} still at work after {wait_s:.0f} s; run it again when that has ended"
                raise LockHeldError(text) from error
        yield
