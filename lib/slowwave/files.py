"""The few ways in which slowwave changes files, each of which survives a kill at any moment.

Every system call that matters is announced to ``fault_hook`` first, so that tests can stop the process exactly there.
"""

import os
import stat
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from slowwave.errors import UnreadableError

TEMP_PREFIX = ".slowwave-tmp-"
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def _no_fault(_event: str, _path: str) -> None:
    """Do nothing; fault drills put their own function in ``fault_hook``."""


fault_hook: Callable[[str, str], None] = _no_fault


def at_fault_point(event: str, path: Path | str) -> None:
    """Tell the fault hook that ``event`` (write, fsync, rename, link, unlink, mkdir, swap) is about to happen."""
    fault_hook(event, os.fspath(path))


def write_all(fd: int, data: bytes | memoryview) -> None:
    """Write every byte, going on after a short write.

    Raises:
        OSError: the disk is full or the descriptor is not writable.
    """
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def private_folder(path: Path) -> None:
    """Make a folder for its owner alone, and so whatever is missing above it; one that is there keeps its mode.

    ``Path.mkdir`` gives its mode to the last folder only: those above it would be as open as the umask lets them be.

    Raises:
        OSError: it cannot be made, or something that is no folder stands there.
    """
    if path.is_dir():
        return
    private_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)


def file_bytes(path: Path) -> bytes:
    """Return the content of a file of our own; the errors are those of :func:`open_file`."""
    with os.fdopen(open_file(path), "rb") as file:
        return file.read()


def open_file(path: Path) -> int:
    """Open a file of our own to read it; what is no file is told at once, where reading would wait for ever.

    Raises:
        UnreadableError: it is a folder, a pipe, a device or a socket.
        OSError: it is not there, or may not be read.
    """
    # of a pipe nothing comes until somebody writes to it
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        require_file(path, os.fstat(fd))
    except UnreadableError:
        os.close(fd)
        raise
    return fd


def require_file(path: Path, at: os.stat_result) -> None:
    """Refuse what stands in the place of a file and is none.

    Raises:
        UnreadableError: it is a folder, a pipe, a device or a socket.
    """
    if not stat.S_ISREG(at.st_mode):
        kind = next((name for is_one, name in _KINDS if is_one(at.st_mode)), "something else")
        raise UnreadableError(path, f"is {kind} where a file is expected", "move it away")


def fsync_folder(folder: Path) -> None:
    """Make the renames and new names in ``folder`` durable."""
    at_fault_point("fsync", folder)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _temporary(folder: Path, mode: int) -> tuple[int, Path]:
    """Create an empty file whose name no client takes for one of its own, and that no other thread can have."""
    path = folder / f"{TEMP_PREFIX}{os.getpid()}-{os.urandom(4).hex()}"
    at_fault_point("write", path)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), path


@contextmanager
def replacement(path: Path, *, mode: int | None = None, check: Callable[[], None] | None = None) -> Generator[int]:
    """Yield the descriptor of a temporary file that takes the place of ``path`` when the block ends well.

    The steps are those of :func:`atomic_write`. Mode and owner of an existing file are kept.

    Args:
        path: the file to replace or to create.
        mode: permissions of the new file; by default those of the existing one, or 0o600.
        check: called right before the rename; what it raises leaves the old content in place.

    Raises:
        OSError: the folder is missing or not writable, or the disk is full; the old content is untouched.
    """
    old = path.stat() if path.exists() else None
    if mode is None:
        mode = stat.S_IMODE(old.st_mode) if old else 0o600
    fd, temp = _temporary(path.parent, mode)
    try:
        try:
            os.fchmod(fd, mode)
            _keep_owner(fd, old)
            yield fd
            at_fault_point("fsync", temp)
            os.fsync(fd)
        finally:
            os.close(fd)
        if check:
            check()
        at_fault_point("rename", path)
        temp.replace(path)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
    fsync_folder(path.parent)


def _keep_owner(fd: int, old: os.stat_result | None) -> None:
    """Give the new file to the owner of the old one: a job run by root must not lock its users out."""
    new = os.fstat(fd)
    if os.geteuid() == 0 and old and (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        os.fchown(fd, old.st_uid, old.st_gid)


def atomic_write(path: Path, chunks: bytes | Iterable[bytes | memoryview], *, mode: int | None = None) -> None:
    """Replace ``path`` by the given bytes: temporary file in the same folder, fsync, rename, fsync of the folder.

    A reader sees the old or the new content and nothing in between, also after a kill. The mode of an existing file
    is kept unless ``mode`` says otherwise; a new file gets 0o600, since transcripts and memories are private.

    Raises:
        OSError: the folder is missing or not writable, or the disk is full; the old content is untouched.
    """
    with replacement(path, mode=mode) as fd:
        for chunk in [chunks] if isinstance(chunks, bytes) else chunks:
            write_all(fd, chunk)


def is_leftover(name: str) -> bool:
    """Say whether a file name is a temporary one that a killed process left behind."""
    return name.startswith(TEMP_PREFIX)
