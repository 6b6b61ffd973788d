"""Whether a process of this machine runs, and when it started; and processes of ours that a Ctrl-C does not reach.

psutil is loaded when it is first asked.
"""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


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
