"""Exchanging two folders in one step, so that a reader sees the one or the other and nothing in between."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

from slowwave.files import at_fault_point, fsync_folder

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # Linux, renameat2
_RENAME_SWAP = 2  # macOS, renamex_np
# the system call is unknown, or the file system cannot do it (NFS and some FUSE file systems)
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


def exchange(one: Path, other: Path, *, aside: Path) -> None:
    """Exchange two folders of the same parent.

    Where system or file system cannot exchange in one step, ``one`` is renamed to ``aside`` first: for the moment
    between two renames ``one`` does not exist. A kill in this moment is repaired by :func:`put_back`, which everything
    that writes into a memory folder calls first.

    Raises:
        OSError: the folders cannot be renamed; both are as before.
    """
    at_fault_point("swap", one)
    native = _native()
    code = native(os.fsencode(one), os.fsencode(other)) if native else errno.ENOSYS
    if code in _CANNOT:
        _in_three_steps(one, other, aside)
    elif code:
        raise OSError(code, os.strerror(code), os.fspath(one))
    fsync_folder(one.parent)


def put_back(one: Path, aside: Path) -> bool:
    """Undo a half-done exchange: rename ``aside`` back when ``one`` is missing; return whether that was needed."""
    if one.exists() or not aside.exists():
        return False
    at_fault_point("rename", one)
    try:
        aside.rename(one)
    except FileNotFoundError:
        return False  # another process was faster
    fsync_folder(one.parent)
    return True


def _in_three_steps(one: Path, other: Path, aside: Path) -> None:
    at_fault_point("rename", aside)
    one.rename(aside)
    try:
        at_fault_point("rename", one)
        other.rename(one)
    except BaseException:
        aside.rename(one)
        raise
    at_fault_point("rename", other)
    aside.rename(other)


def _native() -> Callable[[bytes, bytes], int] | None:
    """Return a function that exchanges two paths and returns an errno, or None when this system has none."""
    import ctypes  # noqa: PLC0415 - only a change of memories needs it

    def errno_of(failed: int) -> int:
        return ctypes.get_errno() if failed else 0

    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "renameat2"):
        return lambda one, other: errno_of(libc.renameat2(_AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE))
    if hasattr(libc, "renamex_np"):
        return lambda one, other: errno_of(libc.renamex_np(one, other, _RENAME_SWAP))
    return None
