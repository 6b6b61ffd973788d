"""Move one file so that it is never lost and never replaces another one, also from one file system to another."""

import errno
import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from slowwave.errors import MovedError
from slowwave.files import TEMP_PREFIX, at_fault_point, fsync_folder, write_all

_BLOCK = 1 << 20
# File systems without hard links answer with one of these.
NO_LINKS = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS)


def move_file(source: Path, target: Path) -> None:
    """Move ``source`` to ``target``; mode and modification time stay.

    A second name is made first and the old one removed afterwards, so that a kill in between leaves both; calling it
    again then finishes the move.

    Raises:
        FileExistsError: another file is at ``target``.
        MovedError: somebody wrote to it while it was copied to another file system; it stays where it is.
        OSError: the file cannot be read, written or removed.
    """
    copied: _Stamp | None = None
    at_fault_point("link", target)
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        if not os.path.samestat(source.lstat(), target.lstat()):
            raise
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        copied = _copy(source, target)
    fsync_folder(target.parent)
    at_fault_point("unlink", source)
    # a second name would have what is appended meanwhile, a copy has not
    if copied is not None and _stamp(source.lstat()) != copied:
        target.unlink()
        raise MovedError(f"{source}: somebody wrote to it while it was copied, so it stays; try again")
    source.unlink()


class _Stamp(NamedTuple):
    """What a file is known by again as long as nobody writes to it."""

    ino: int
    size: int
    mtime_ns: int


def _stamp(at: os.stat_result) -> _Stamp:
    return _Stamp(at.st_ino, at.st_size, at.st_mtime_ns)


def _copy(source: Path, target: Path) -> _Stamp:
    """Copy to a temporary name beside ``target`` that no client takes for a transcript, then give it its name."""
    # the same name on every try, so that a second one also clears away what a killed first one left
    digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()
    temp = target.with_name(f"{TEMP_PREFIX}{digest[:16]}")
    temp.unlink(missing_ok=True)
    if source.is_symlink():
        at = source.lstat()
        stamp = _stamp(at)
        temp.symlink_to(source.readlink())
        os.utime(temp, ns=(at.st_atime_ns, at.st_mtime_ns), follow_symlinks=False)
    else:
        stamp = _copy_bytes(source, temp)
    if os.path.lexists(target):
        temp.unlink()
        raise FileExistsError(errno.EEXIST, "exists already", os.fspath(target))
    at_fault_point("rename", target)
    temp.rename(target)
    return stamp


def _copy_bytes(source: Path, temp: Path) -> _Stamp:
    at_fault_point("write", temp)
    try:
        with source.open("rb", buffering=0) as reader:
            at = os.fstat(reader.fileno())
            fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                while block := reader.read(_BLOCK):
                    write_all(fd, block)
                os.fchmod(fd, at.st_mode & 0o7777)
                os.utime(fd, ns=(at.st_atime_ns, at.st_mtime_ns))
                at_fault_point("fsync", temp)
                os.fsync(fd)
            finally:
                os.close(fd)
            return _stamp(at)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
