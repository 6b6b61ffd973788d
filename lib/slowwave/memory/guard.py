"""The short kernel lock under which anything inside a memory folder is written or swapped.

It is held for milliseconds, is freed by the kernel when its holder dies, and is not the consolidation lock: that one
lasts as long as a dream and is honoured by other programs (:mod:`slowwave.consolidation.lock`). When a transaction
replaces the folder, the lock's file goes along as a hard link, so everybody waits at the same file.
"""

import errno
import hashlib
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from slowwave.errors import LockHeldError
from slowwave.files import at_fault_point, fsync_folder, private_folder, require_file

OWN_FOLDER = ".slowwave"
WAIT_S = 60.0
_LOCK = "guard.lock"


@contextmanager
def guarded(memory: Path) -> Generator[None]:
    """Hold the write lock of a memory folder; the folder is made when it is missing.

    Raises:
        LockHeldError: another process held it for a minute.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 - whoever only reads never waits for its import

    if not memory.exists():
        for kind, _, path in siblings(memory):
            if kind == "aside":
                put_back(memory, path)
    own = memory / OWN_FOLDER
    private_folder(own)
    if (own / _LOCK).exists():
        require_file(own / _LOCK, (own / _LOCK).stat())
    lock = FileLock(own / _LOCK, timeout=WAIT_S, mode=0o600, fallback_to_soft=False)
    try:
        with lock:
            yield
    except Timeout as error:
        raise LockHeldError(f"{memory}: another process has been writing here for {WAIT_S:.0f} s; try again") from error


def is_bare(memory: Path) -> bool:
    """Say whether a memory folder holds nothing but the lock that was made with it."""
    own = memory / OWN_FOLDER
    return [path.name for path in memory.iterdir()] == [OWN_FOLDER] and {path.name for path in own.iterdir()} <= {_LOCK}


def remove_bare(memory: Path) -> None:
    """Remove a memory folder that holds nothing but its lock; the caller holds the guard, and made the folder.

    Raises:
        OSError: something came into it meanwhile, or it may not be removed.
    """
    (memory / OWN_FOLDER / _LOCK).unlink(missing_ok=True)
    (memory / OWN_FOLDER).rmdir()
    memory.rmdir()


# Where a memory folder's siblings lie while it is exchanged: they share its parent, so that a rename reaches them.

Kind = Literal["stage", "aside", "trash"]
_PREFIX = ".slowwave-"
KINDS: tuple[Kind, ...] = ("aside", "stage", "trash")


def sibling(memory: Path, kind: Kind, transaction: str) -> Path:
    """Return the path of a sibling: ``stage`` is being built, ``aside`` is the old folder, ``trash`` can go."""
    return memory.with_name(f"{_PREFIX}{kind}-{_tag(memory)}-{transaction}")


def siblings(memory: Path) -> list[tuple[Kind, str, Path]]:
    """Return what lies beside a memory folder: kind, id of the transaction, path."""
    found: list[tuple[Kind, str, Path]] = []
    for kind in KINDS:
        start = f"{_PREFIX}{kind}-{_tag(memory)}-"
        for path in sorted(memory.parent.glob(f"{start}*")):
            found.append((kind, path.name.removeprefix(start), path))  # noqa: PERF401 - keeps the literal type
    return found


def _tag(memory: Path) -> str:
    """Tell the memory folders of one parent apart, whatever their names hold."""
    return hashlib.sha256(memory.name.encode("utf-8", "surrogateescape")).hexdigest()[:8]


# Exchanging two folders in one step, so that a reader sees the one or the other and nothing in between.

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
