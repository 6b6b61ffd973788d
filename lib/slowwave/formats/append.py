"""Adding a record: one ``write`` of one whole line at the end of the file, under its lock.

A file that does not end with a newline (a torn append, a crash) gets one first, in the same write: without it the
new record would be glued to the old one, and most clients would lose both.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from slowwave.errors import UnreadableError
from slowwave.files import at_fault_point, fsync_folder
from slowwave.formats.model import Problem
from slowwave.locks import TIMEOUT_S, locked_file

PART_BYTES = 50_000_000
# Is told, under the lock and before the write, where (file, offset) which bytes will stand; what it raises stops that.
Announce = Callable[[Path, int, bytes], None]


def append_record(
    path: Path,
    line: bytes | Callable[[], bytes],
    *,
    fsync: bool = False,
    announce: Announce | None = None,
    timeout_s: float = TIMEOUT_S,
) -> int:
    """Append one record to a file, which is created (mode 0o600) when it is missing.

    Args:
        path: the file.
        line: one JSON value without a newline; a function that makes it is called under the lock, for a record
            that names the one before it.
        fsync: return only when the record is on the disk.
        announce: is told what will be written.
        timeout_s: how long to wait for the lock.

    Returns:
        The byte offset at which the record begins.

    Raises:
        ValueError: ``line`` is empty or holds a newline.
        LockHeldError: another process held the lock all the time.
        UnreadableError: the file cannot be opened or is not a regular file.
        OSError: the disk is full; nothing of the record stays in the file.
    """
    if isinstance(line, bytes):
        _check(line)
    with locked_file(path, create=True, append=True, timeout_s=timeout_s) as fd:
        record = line if isinstance(line, bytes) else line()
        _check(record)
        return _append(fd, path, record, fsync=fsync, announce=announce)


def append_records(
    path: Path,
    lines: Callable[[], Sequence[bytes]],
    *,
    create: bool = False,
    then: Callable[[], None] | None = None,
    fsync: bool = False,
    announce: Announce | None = None,
    timeout_s: float = TIMEOUT_S,
) -> int:
    """Append records that belong together in one ``write``; ``lines`` makes them under the lock.

    ``then`` is called when they are in the file, still under the lock: for what must agree with the file.

    Returns:
        The byte offset at which the first of them begins.

    Raises:
        ValueError: there is no line, or one is empty or holds a newline.
        LockHeldError: another process held the lock all the time.
        UnreadableError: the file cannot be opened or is not a regular file.
        OSError: the disk is full; nothing of the records stays in the file.
    """
    with locked_file(path, create=create, append=True, timeout_s=timeout_s) as fd:
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
    timeout_s: float = TIMEOUT_S,
) -> tuple[Path, int]:
    """Append one record to a session of Cersei, in a new part when the current one would grow beyond ``part_bytes``.

    The base file's lock is held meanwhile, so that two writers never make the same decision twice; it is created
    when it is missing. The current part is the one with the highest number, also behind a gap: the record comes last
    in reading order. A function in the place of ``line`` makes it under the lock.

    Returns:
        The file that took the record, and the byte offset at which the record begins.

    Raises:
        ValueError: ``line`` is empty or holds a newline.
        LockHeldError: another process held the lock all the time.
        UnreadableError: the folder or the file cannot be opened.
        OSError: the disk is full; nothing of the record stays in the file.
    """
    if isinstance(line, bytes):
        _check(line)
    with locked_file(base, create=True, append=True, timeout_s=timeout_s) as base_fd:
        record = line if isinstance(line, bytes) else line()
        _check(record)
        names = numbered_parts(base)
        number = max(names)
        last = base.with_name(names[number])
        if last.stat().st_size + len(record) + 1 > part_bytes:
            last = base.with_name(part_name(base.name.removesuffix(SUFFIX), number + 1))
        if last == base:
            return base, _append(base_fd, base, record, fsync=fsync, announce=announce)
        return last, append_record(last, record, fsync=fsync, announce=announce, timeout_s=timeout_s)


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


# Sessions that Cersei spread over several files: ``ID.jsonl``, ``ID_part2.jsonl``, ``ID_part3.jsonl``, ...
#
# Cersei reads parts up to the first missing number only and refuses a session of more than 200,000,000 bytes; here a
# gap and a large total are reported, and everything that is there is read.

SUFFIX = ".jsonl"
PACKED_SUFFIX = ".zst"
WARN_BYTES = 200_000_000
# Cersei counts from 2 and writes no leading zeros: any other ending belongs to the session's own name
_PART = re.compile(r"(?s)(?P<stem>.+)_part(?P<number>[2-9]|[1-9][0-9]+)")
# pi and Codex put the time before the id: the id alone is what their users know a session by.
_TIMED_NAME = re.compile(
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9-]+Z_|rollout-[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9-]{8}-)(.+)\Z", re.DOTALL
)


def session_id(name: str) -> str:
    """Return the id that a transcript's file name holds."""
    stem = name.removesuffix(PACKED_SUFFIX).removesuffix(SUFFIX)
    timed = _TIMED_NAME.match(stem) if stem[:1] in "0123456789r" else None
    return timed[1] if timed else stem


def session_stem(name: str) -> tuple[str, int]:
    """Return the session's name and the part number for a file name, with or without ``.jsonl`` (base = 1)."""
    stem = name.removesuffix(SUFFIX)
    match = _PART.fullmatch(stem)
    return (match["stem"], int(match["number"])) if match else (stem, 1)


def part_name(stem: str, number: int) -> str:
    """Return the file name of a part; number 1 is the base file."""
    return f"{stem}{SUFFIX}" if number == 1 else f"{stem}_part{number}{SUFFIX}"


def missing_parts(base: Path, numbers: Iterable[int]) -> list[Problem]:
    """Return a problem for each gap in the sorted part numbers of a session.

    A missing base file counts as a gap too, although Cersei itself leaves one when the very first record is larger
    than a whole part.
    """
    problems: list[Problem] = []
    due = 1
    for number in numbers:
        if number > due:
            first = base.with_name(part_name(base.name.removesuffix(SUFFIX), due))
            which = f"part {due} is" if number == due + 1 else f"parts {due} to {number - 1} are"
            problems.append(Problem("gap", first, 0, 0, 0, f"{which} missing; later parts are read all the same"))
        due = number + 1
    return problems


def part_paths(base: Path, *, warn_bytes: int = WARN_BYTES) -> tuple[list[Path], list[Problem]]:
    """Return the files of a session in reading order, from one listing of its folder, and what is odd about them.

    Args:
        base: the session's first file, ``ID.jsonl``; it need not exist.
        warn_bytes: total size above which the session is reported as too large for its client.

    Raises:
        UnreadableError: the folder cannot be listed.
    """
    numbers = numbered_parts(base)
    total = 0
    for name in numbers.values():
        try:
            total += os.stat(base.with_name(name)).st_size  # noqa: PTH116 - once a part on every listing
        except FileNotFoundError:
            continue  # moved away since the listing; whoever reads it will say so
    ordered = sorted(numbers)
    problems = missing_parts(base, ordered)
    if total > warn_bytes:
        detail = f"{len(ordered)} files with a total of {total} bytes; Cersei loads at most {warn_bytes}"
        problems.append(Problem("too-large", base, 0, 0, total, detail))
    return [base.with_name(numbers[number]) for number in ordered], problems


def numbered_parts(base: Path) -> dict[int, str]:
    """Return the file names of a session by part number, from one listing of names.

    Raises:
        UnreadableError: the folder cannot be listed.
    """
    stem = base.name.removesuffix(SUFFIX)
    try:
        names = os.listdir(base.parent)  # noqa: PTH208 - paths would cost more than the listing
    except OSError as error:
        raise UnreadableError(base.parent, error.strerror or "cannot be listed") from error
    numbers = {1: base.name} if base.name in names else {}
    for name in names:
        if name.startswith(stem) and name.endswith(SUFFIX):
            found, number = session_stem(name)
            if found == stem and number > 1:
                numbers[number] = name
    return numbers
