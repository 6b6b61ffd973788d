"""Who holds a lock, and whether that process is provably dead.

A process id alone proves nothing: ids are used again, mean something else in a container, and other machines write to
the same folder. So an owner is only taken for dead on the same host, in the same boot and the same process namespace,
when its process is gone, is a zombie, or is another one that started at another time.
"""

import os
import socket
import time
from pathlib import Path

import msgspec

from slowwave.processes import created_at, is_running, start_ticks

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")


class Owner(msgspec.Struct, frozen=True):
    """The second line of a lock file."""

    host: str
    boot: str
    pid_namespace: str
    pid: int
    started: str
    token: str


def this_process(token: str) -> Owner:
    """Return this process as the owner of a lock."""
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
    """Return the owner in a lock's second line, None when there is none: other programs write no such line."""
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
        import psutil  # noqa: PLC0415 - not on Linux

        return f"{psutil.boot_time():.0f}"


def _namespace() -> str:
    try:
        return os.readlink(_NAMESPACE)  # noqa: PTH115 - not a path but a name of the kernel
    except OSError:
        return ""
