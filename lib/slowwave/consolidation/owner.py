"""Who holds a lock, and whether that process is provably dead.

A process id alone proves nothing: ids are used again, mean something else in a container, and other machines write to
the same folder. So an owner is only taken for dead on the same host, in the same boot and the same process namespace,
when its process is gone, is a zombie, or is another one that started at another time.
"""

import os
import socket
from pathlib import Path

import msgspec

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
    here = this_process("")
    if (owner.host, owner.boot, owner.pid_namespace) != (here.host, here.boot, here.pid_namespace):
        return False
    return not is_running(owner.pid) or (owner.started != "" and _started(owner.pid) != owner.started)


def is_running(pid: int) -> bool:
    """Say whether a process of this machine runs; a zombie does not, and one that cannot be looked at does."""
    import psutil  # noqa: PLC0415 - most locks are free

    try:
        return psutil.Process(pid).status() not in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def parse_owner(line: bytes) -> Owner | None:
    """Return the owner in a lock's second line, None when there is none: other programs write no such line."""
    try:
        return msgspec.json.decode(line, type=Owner)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _started(pid: int) -> str:
    """Return when a process started, in a form that does not depend on the wall clock where the system has one."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        # the name in parentheses may hold blanks and parentheses itself; field 22 is the 20th after it
        return text.rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    import psutil  # noqa: PLC0415 - not on Linux

    try:
        return f"{psutil.Process(pid).create_time():.2f}"
    except psutil.Error:
        return ""


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
