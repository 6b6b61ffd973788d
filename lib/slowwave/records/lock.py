"""The lock under which slowwave changes a transcript: an advisory lock on the file itself.

``flock`` on the data file's own descriptor, and nothing beside the file: it ends with the process however that dies,
needs no stale-lock rule, leaves no lock file that a client would take for something of its own, and is the primitive
of :func:`filelock.lock_descriptor`, so tools built on either exclude each other. It is polled, since a blocking call
could not give up. The clients themselves take no lock; a live session is left alone by the gates above this layer.
"""

import errno
import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from slowwave.errors import LockHeldError, UnreadableError
from slowwave.files import require_file

TIMEOUT_S = 30.0
_FIRST_PAUSE_S = 0.0001
_LONGEST_PAUSE_S = 0.01
_PRIVATE = 0o600


@contextmanager
def locked_file(
    path: Path, *, create: bool = False, append: bool = False, shared: bool = False, timeout_s: float = TIMEOUT_S
) -> Generator[int, None, None]:
    """Open ``path`` for reading and writing and hold its lock; yield the descriptor.

    A rewrite replaces the file by another one under the same name. Who waited for the lock of the old file then
    holds a lock on something that nobody reads any more, so the name is looked up again and, if need be, opened again.

    Args:
        path: the file.
        create: make it (mode 0o600) when it is missing.
        append: open it so that every write goes to its end.
        shared: hold it together with others that share it.
        timeout_s: how long to wait for the lock.

    Raises:
        LockHeldError: another process held the lock all the time.
        UnreadableError: the file cannot be opened.
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
