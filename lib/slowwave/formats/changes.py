"""How the lines of a file change: a record is added at its end, or lines are taken out and put in by byte ranges.

Adding is one ``write`` of one whole line under the lock of the file. A file that does not end with a newline (a torn
append, a crash) gets one first, in the same write: without it the new record would be glued to the old one, and most
clients would lose both.

Where lines go, what is kept is never decoded: the kernel copies its ranges into a temporary file beside the old one,
which then takes its name; memory does not grow with the file. It happens under the same lock, so no record of slowwave
is lost, and a client that wrote meanwhile makes it stop before the rename.
"""

import errno
import os
import stat
from bisect import bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from slowwave.errors import MovedError, UnreadableError
from slowwave.files import at_fault_point, fsync_folder, replacement, write_all
from slowwave.formats.sessions import SUFFIX, numbered_parts, part_name
from slowwave.locks import TIMEOUT_S, locked_file

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
    """Return size, modification time and inode of a file."""
    try:
        return FileState.of(path.stat())
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error


class Kept(NamedTuple):
    """A byte range of the old file that survives, and where it begins in the new one."""

    start: int
    stop: int
    new_start: int


def rewrite_without(
    path: Path,
    drop: Sequence[tuple[int, int]],
    insert: Sequence[tuple[int, bytes]] = (),
    *,
    expect: FileState | None = None,
    keep_mtime: bool = False,
    check_more: Callable[[], None] | None = None,
) -> None:
    """Replace ``path`` by itself without some byte ranges and with some new lines.

    Args:
        path: the file; a symbolic link is followed, so that the link stays one.
        drop: (offset, length) of what goes, for example of spans; a line that has nothing else in it goes with its
            newline, another object on the same line stays.
        insert: (offset, line without newline) of what comes; an offset is the start of a line of the old file or its
            end. A line whose offset lies in a dropped line takes its place.
        expect: what the plan saw; anything else is refused.
        keep_mtime: give the new file the old modification time, so that age rules and listings do not change.
        check_more: called right before the exchange; what it raises leaves the old file.

    Raises MovedError: the file is not as expected, or a client wrote to it meanwhile; it is untouched; ValueError: a
    range lies outside the file, ranges overlap, or an insert is not at a line's start; LockHeldError: another process
    held the lock all the time; OSError: the disk is full; the old content is untouched.
    """
    path = path.resolve()
    with locked_file(path) as old:
        found = os.fstat(old)
        before = FileState.of(found)
        if expect is not None and before != expect:
            raise MovedError(f"{path}: changed since the plan was made; make a new plan")
        gone = whole_lines(old, found.st_size, drop)
        kept, texts = kept_ranges(old, found.st_size, gone, insert)

        def check() -> None:
            if FileState.of(os.fstat(old)) != before or file_state(path) != before:
                raise MovedError(f"{path}: somebody wrote to it meanwhile; make a new plan")
            if check_more:
                check_more()

        with replacement(path, check=check) as new:
            _fill(old, new, kept, texts)
            if keep_mtime:
                os.utime(new, ns=(found.st_atime_ns, found.st_mtime_ns))


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

    Raises MovedError: the old file ends before ``stop``; OSError: the disk is full.
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


# Which bytes of a file stay when lines go and come: the arithmetic of :func:`rewrite_without`.

_BLANK = b" \t\r"
_LOOK_BYTES = 4096


def whole_lines(fd: int, size: int, drop: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return (start, stop) of what goes, in order: a range that fills its line takes the line's newline along.

    Raises ValueError: a range lies outside the file, or ranges overlap.
    """
    joined: list[tuple[int, int]] = []
    for offset, length in sorted(set(drop)):
        start, stop = offset, offset + length
        if start < 0 or length <= 0 or stop > size:
            raise ValueError(f"range {offset}+{length} lies outside the file of {size} bytes")
        if joined and start < joined[-1][1]:
            raise ValueError(f"range {offset}+{length} overlaps the one before")
        if joined and _is_blank(fd, joined[-1][1], start):
            start = joined.pop()[0]
        joined.append((start, stop))
    return [_widened(fd, size, start, stop) for start, stop in joined]


def _is_blank(fd: int, start: int, stop: int) -> bool:
    """Say whether only white space within one line lies between two ranges."""
    return stop - start <= _LOOK_BYTES and not os.pread(fd, stop - start, start).strip(_BLANK)


def _widened(fd: int, size: int, start: int, stop: int) -> tuple[int, int]:
    """Return the range with the rest of its line when that is blank."""
    look = max(0, start - _LOOK_BYTES)
    lead = os.pread(fd, start - look, look)
    blank = len(lead) - len(lead.rstrip(_BLANK))
    first = start - blank
    if first > 0 and lead[: len(lead) - blank][-1:] != b"\n":
        return start, stop
    trail = os.pread(fd, _LOOK_BYTES, stop)
    rest = trail.lstrip(_BLANK)
    end = stop + len(trail) - len(rest)
    if rest.startswith(b"\n"):
        return first, end + 1
    return (first, end) if end == size else (start, stop)


def kept_ranges(
    fd: int, size: int, gone: Sequence[tuple[int, int]], insert: Sequence[tuple[int, bytes]]
) -> tuple[list[Kept], list[tuple[int, bytes]]]:
    """Return what stays and, with their places in the new file, the bytes that come.

    Raises ValueError: an insert is not one line, or not at the start of a line or the end of the file.
    """
    kept: list[Kept] = []
    texts: list[tuple[int, bytes]] = []
    new = at = 0
    cuts: list[tuple[int, int, bytes]] = [(start, stop, b"") for start, stop in gone]
    cuts += [(*_place(fd, size, offset, gone), _line(line)) for offset, line in insert]
    for start, stop, line in sorted(cuts, key=lambda cut: cut[0]):
        if at < start:
            kept.append(Kept(at, start, new))
            new += start - at
        at = max(at, stop)
        if line:
            is_behind_kept = bool(kept) and kept[-1].new_start + kept[-1].stop - kept[-1].start == new
            heal = b"\n" if is_behind_kept and os.pread(fd, 1, kept[-1].stop - 1) != b"\n" else b""
            texts.append((new, heal + line))
            new += len(texts[-1][1])
    if at < size:
        kept.append(Kept(at, size, new))
    return kept, texts


def _line(line: bytes) -> bytes:
    if not line or b"\n" in line:
        raise ValueError("an inserted record is one non-empty line without a newline")
    return line + b"\n"


def _place(fd: int, size: int, offset: int, gone: Sequence[tuple[int, int]]) -> tuple[int, int]:
    near = bisect_right(gone, offset, key=lambda cut: cut[0]) - 1
    if near >= 0 and gone[near][0] <= offset < gone[near][1]:
        return gone[near][0], gone[near][0]
    if offset < 0 or offset > size or (0 < offset < size and os.pread(fd, 1, offset - 1) != b"\n"):
        raise ValueError(f"offset {offset} is neither the start of a line nor the end of the file")
    return offset, offset


# Adding.

PART_BYTES = 50_000_000
# Is told, under the lock and before the write, where (file, offset) which bytes will stand; what it raises stops that.
Announce = Callable[[Path, int, bytes], None]


def append_record(
    path: Path, line: bytes, *, fsync: bool = False, announce: Announce | None = None, timeout_s: float = TIMEOUT_S
) -> int:
    """Append one record to a file, which is created (mode 0o600) when it is missing.

    Args:
        path: the file.
        line: one JSON value without a newline.
        fsync: return only when the record is on the disk.
        announce: is told what will be written.
        timeout_s: how long to wait for the lock.

    Returns:
        The byte offset at which the record begins.

    Raises ValueError: ``line`` is empty or holds a newline; LockHeldError: another process held the lock all the time;
    OSError: the disk is full; nothing of the record stays in the file.
    """
    _check(line)
    with locked_file(path, create=True, append=True, timeout_s=timeout_s) as fd:
        return _append(fd, path, line, fsync=fsync, announce=announce)


def append_records(
    path: Path,
    lines: Callable[[], Sequence[bytes]],
    *,
    create: bool = False,
    then: Callable[[], None] | None = None,
    fsync: bool = False,
    announce: Announce | None = None,
) -> int:
    """Append records that belong together in one ``write``; ``lines`` makes them under the lock.

    ``then`` is called when they are in the file, still under the lock: for what must agree with the file. Returns the
    byte offset at which the first of them begins. Raises ValueError: there is no line, or one is empty or holds a
    newline; LockHeldError: another process held the lock all the time; OSError: the disk is full, nothing of the
    records stays in the file.
    """
    with locked_file(path, create=create, append=True) as fd:
        records = lines()
        if not records:
            raise ValueError("there is no record to append")
        for record in records:
            _check(record)
        offset = _append(fd, path, b"\n".join(records), fsync=fsync, announce=announce)
        if then is not None:
            then()
        return offset


def append_forking(
    base: Path,
    line: bytes | Callable[[], bytes],
    part_bytes: int = PART_BYTES,
    *,
    fsync: bool = False,
    announce: Announce | None = None,
) -> tuple[Path, int]:
    """Append one record to a session of Cersei, in a new part when the current one would grow beyond ``part_bytes``.

    The base file's lock is held meanwhile, so that two writers never make the same decision twice; it is created when
    it is missing. The current part is the one with the highest number, also behind a gap: the record comes last in
    reading order. A function in the place of ``line`` makes it under the lock. Returns the file that took the record,
    and the byte offset at which the record begins. Raises ValueError: ``line`` is empty or holds a newline;
    LockHeldError: another process held the lock all the time; OSError: the disk is full, nothing of the record stays in
    the file.
    """
    if isinstance(line, bytes):
        _check(line)
    with locked_file(base, create=True, append=True) as base_fd:
        record = line if isinstance(line, bytes) else line()
        _check(record)
        names = numbered_parts(base)
        number = max(names)
        last = base.with_name(names[number])
        if last.stat().st_size + len(record) + 1 > part_bytes:
            last = base.with_name(part_name(base.name.removesuffix(SUFFIX), number + 1))
        if last == base:
            return base, _append(base_fd, base, record, fsync=fsync, announce=announce)
        return last, append_record(last, record, fsync=fsync, announce=announce)


def _check(line: bytes) -> None:
    if not line or b"\n" in line:
        raise ValueError("a record is one non-empty line without a newline")


def _append(fd: int, path: Path, line: bytes, *, fsync: bool, announce: Announce | None) -> int:
    """Write the record behind the last byte, healing a missing newline, and prove that all of it arrived."""
    before = os.fstat(fd)
    if not stat.S_ISREG(before.st_mode):
        raise UnreadableError(path, "not a regular file")
    size = before.st_size
    is_torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
    data = b"\n%b\n" % line if is_torn else b"%b\n" % line
    if announce is not None:
        announce(path, size, data)
    at_fault_point("write", path)
    _write_or_undo(fd, data, size)
    if fsync:
        at_fault_point("fsync", path)
        os.fsync(fd)
        if size == 0:
            fsync_folder(path.parent)
    # where O_APPEND put it, also when a client wrote between the look and the write
    return os.lseek(fd, 0, os.SEEK_CUR) - len(line) - 1


def _write_or_undo(fd: int, data: bytes, size: int) -> None:
    """Write all of ``data``; on a failure cut off what arrived of it, unless somebody else wrote behind it."""
    written = os.write(fd, data)
    try:
        while written < len(data):
            written += os.write(fd, data[written:])
    except OSError:
        if os.fstat(fd).st_size == size + written:
            os.ftruncate(fd, size)
        raise
