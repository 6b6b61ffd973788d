"""Crash-safe removal and insertion of lines by byte ranges; what is kept is never decoded and stays as it was.

The kept ranges are copied by the kernel into a temporary file beside the old one, which then takes its name; memory
does not grow with the file. It happens under the lock that :mod:`append` takes, so no record of slowwave is lost,
and a client that wrote meanwhile makes it stop before the rename.
"""

import errno
import os
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from slowwave.errors import MovedError, UnreadableError
from slowwave.files import replacement, write_all
from slowwave.records.lock import TIMEOUT_S, locked_file
from slowwave.records.ranges import Kept, kept_ranges, whole_lines

_BUFFER_BYTES = 1 << 18
# what a kernel says that cannot copy between these files by itself
_CANNOT_COPY = (errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM)


class FileState(NamedTuple):
    """What a plan notes of a file, and what must still hold when the plan is carried out."""

    size: int
    mtime_ns: int
    inode: int

    @classmethod
    def of(cls, found: os.stat_result) -> "FileState":
        """Return the state that a ``stat`` shows."""
        return cls(found.st_size, found.st_mtime_ns, found.st_ino)


def file_state(path: Path) -> FileState:
    """Return size, modification time and inode of a file.

    Raises:
        UnreadableError: it is missing or its folder cannot be entered.
    """
    try:
        return FileState.of(path.stat())
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The outcome of a rewrite.

    Attributes:
        before: state of the old file.
        after: state of the new one.
        kept: the byte ranges that survived, with their new places.
    """

    before: FileState
    after: FileState
    kept: tuple[Kept, ...]

    def new_offset(self, offset: int) -> int | None:
        """Return where the byte that was at ``offset`` is now; None when it was removed."""
        near = bisect_right(self.kept, offset, key=lambda kept: kept.start) - 1
        if near < 0 or offset >= self.kept[near].stop:
            return None
        return self.kept[near].new_start + offset - self.kept[near].start


def rewrite_without(
    path: Path,
    drop: Sequence[tuple[int, int]],
    insert: Sequence[tuple[int, bytes]] = (),
    *,
    expect: FileState | None = None,
    keep_mtime: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> Rewritten:
    """Replace ``path`` by itself without some byte ranges and with some new lines.

    Args:
        path: the file; a symbolic link is followed, so that the link stays one.
        drop: (offset, length) of what goes, for example of spans; a line that has nothing else in it goes with its
            newline, another object on the same line stays.
        insert: (offset, line without newline) of what comes; an offset is the start of a line of the old file or its
            end. A line whose offset lies in a dropped line takes its place.
        expect: what the plan saw; anything else is refused.
        keep_mtime: give the new file the old modification time, so that age rules and listings do not change.
        timeout_s: how long to wait for the lock.

    Raises:
        MovedError: the file is not as expected, or a client wrote to it meanwhile; it is untouched.
        ValueError: a range lies outside the file, ranges overlap, or an insert is not at a line's start.
        LockHeldError: another process held the lock all the time.
        UnreadableError: the file cannot be opened.
        OSError: the disk is full; the old content is untouched.
    """
    path = path.resolve()
    with locked_file(path, timeout_s=timeout_s) as old:
        found = os.fstat(old)
        before = FileState.of(found)
        if expect is not None and before != expect:
            raise MovedError(f"{path}: changed since the plan was made; make a new plan")
        gone = whole_lines(old, found.st_size, drop)
        kept, texts = kept_ranges(old, found.st_size, gone, insert)

        def check() -> None:
            if FileState.of(os.fstat(old)) != before or file_state(path) != before:
                raise MovedError(f"{path}: somebody wrote to it meanwhile; make a new plan")

        with replacement(path, check=check) as new:
            _fill(old, new, kept, texts)
            if keep_mtime:
                os.utime(new, ns=(found.st_atime_ns, found.st_mtime_ns))
            after = FileState.of(os.fstat(new))
    return Rewritten(before, after, tuple(kept))


def _fill(old: int, new: int, kept: Sequence[Kept], texts: Sequence[tuple[int, bytes]]) -> None:
    """Write the new file from left to right."""
    steps: list[tuple[int, Kept | bytes]] = [(k.new_start, k) for k in kept]
    steps += texts
    for _, step in sorted(steps, key=lambda s: s[0]):
        if isinstance(step, bytes):
            write_all(new, step)
        else:
            copy_range(old, new, step.start, step.stop)


def copy_range(old: int, new: int, start: int, stop: int) -> None:
    """Append bytes of one file to another, inside the kernel where it can, else through one small buffer.

    Raises:
        MovedError: the old file ends before ``stop``.
        OSError: the disk is full.
    """
    while start < stop:
        try:
            count = os.copy_file_range(old, new, stop - start, offset_src=start)
        except OSError as error:
            if error.errno not in _CANNOT_COPY:
                raise
            return _copy_by_buffer(old, new, start, stop)
        if not count:
            raise MovedError("the file became shorter while it was copied")
        start += count
    return None


def _copy_by_buffer(old: int, new: int, start: int, stop: int) -> None:
    buffer = memoryview(bytearray(_BUFFER_BYTES))
    while start < stop:
        count = os.preadv(old, [buffer[: stop - start]], start)
        if not count:
            raise MovedError("the file became shorter while it was copied")
        write_all(new, buffer[:count])
        start += count
