"""Faults at the system calls themselves: whatever changes a disk is counted, whether or not the code announces it.

A process is killed right before the n-th call (of a write half is done), or that call is refused as a full disk, a
missing permission or a broken device refuse it.
"""

import errno
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

# what needs room, and what a folder of another owner refuses
GROWS = frozenset({"open", "write", "mkdir", "link", "symlink", "copy_file_range", "ftruncate"})
_BY_NAME = ("open", "mkdir", "rmdir", "unlink", "remove", "rename", "replace", "link", "symlink", "chmod", "utime")
_BY_FD = ("write", "fsync", "ftruncate", "fchmod", "copy_file_range")
# exit code of a child that raised what nobody expected
_BROKE = 70
Fault = Callable[[str, str], None]


class Killed(BaseException):
    """The process ends here."""


def kill(_call: str, _path: str) -> None:
    """End this process as ``kill -9`` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def stop(_call: str, _path: str) -> None:
    """Leave everything as a killed process does, but for what runs on the way out."""
    raise Killed


def refused(number: int) -> Fault:
    """Return a fault that refuses a call with this error."""

    def refuse(_call: str, path: str) -> None:
        raise OSError(number, os.strerror(number), path)

    return refuse


def denied(call: str, path: str) -> None:
    """Refuse a call as a missing permission does; of what is open already as a broken device does."""
    refused(errno.EIO if call in _BY_FD else errno.EACCES)(call, path)


def once(point: int, fault: Fault) -> Fault:
    """Return a fault at the ``point``-th call, from 1."""
    left = point

    def at_point(call: str, path: str) -> None:
        nonlocal left
        left -= 1
        if not left:
            fault(call, path)

    return at_point


def full_from(point: int) -> Fault:
    """Return a disk on which there is no room any more from the ``point``-th call on."""
    left = point

    def fill(call: str, path: str) -> None:
        nonlocal left
        left -= 1
        if left <= 0 and call in GROWS:
            refused(errno.ENOSPC)(call, path)

    return fill


def closed(folder: Path) -> Fault:
    """Return a folder in which nobody may make, rename or remove anything."""

    def refuse(call: str, path: str) -> None:
        if call not in _BY_FD and os.path.dirname(path) == os.fspath(folder):  # noqa: PTH120 - a name of any bytes
            denied(call, path)

    return refuse


@contextmanager
def faulty(root: Path, fault: Fault) -> Generator[None]:
    """Ask ``fault`` before every call that changes something below ``root``; nothing is synced to the disk."""
    with pytest.MonkeyPatch.context() as patch:
        for name in (*_BY_NAME, *_BY_FD):
            patch.setattr(os, name, _asked(name, getattr(os, name), os.fspath(root), fault))
        yield


def _asked(name: str, call: Callable[..., Any], root: str, fault: Fault) -> Callable[..., Any]:
    def asked(*args: Any, **more: Any) -> Any:
        path = _path(name, args, more)
        if path == root or path.startswith(f"{root}/"):
            try:
                fault(name, path)
            except BaseException:
                if name == "write" and len(args[1]) > 1:
                    call(args[0], bytes(args[1])[: len(args[1]) // 2])
                raise
        return None if name == "fsync" else call(*args, **more)

    return asked


def _path(name: str, args: Sequence[Any], more: Mapping[str, Any]) -> str:
    """Return what a call is about; "" when it changes nothing."""
    if name == "open" and not (args[1] if len(args) > 1 else more.get("flags", 0)) & os.O_CREAT:
        return ""
    one: Any = args[1] if name in ("rename", "replace", "link", "symlink", "copy_file_range") else args[0]
    if isinstance(one, int):
        return _open_at(one)
    folder = more.get("dir_fd")
    text: str = os.fsdecode(one)
    return text if folder is None else f"{_open_at(folder)}/{text}"


def _open_at(fd: int) -> str:
    return os.fspath(Path(f"/proc/self/fd/{fd}").readlink())


def killed_at(point: int, root: Path, work: Callable[[], object]) -> bool:
    """Do something in a child that is killed at its ``point``-th change; say whether it came so far."""
    return in_child(root, once(point, kill), work) == -signal.SIGKILL


def in_child(root: Path, fault: Fault, work: Callable[[], object]) -> int:
    """Do something with a fault in a child, which is gone afterwards, and return what it returns as a number."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            with faulty(root, fault):
                done = work()
            os._exit(done if isinstance(done, int) else 0)
        finally:
            os._exit(_BROKE)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status != _BROKE
    return status


def counted(root: Path, work: Callable[[], object]) -> int:
    """Do something and return how many changes it takes."""
    seen = 0

    def count(_call: str, _path: str) -> None:
        nonlocal seen
        seen += 1

    with faulty(root, count):
        work()
    return seen


def points(last: int, stride: int) -> Iterator[int]:
    """Yield the points of a drill: all with a stride of 1, else some of them and always the last."""
    yield from range(1, last, stride)
    yield last
