"""Taking secrets or subjects out of one file of a session: planned by reading, done as one crash-safe replacement."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from slowwave.errors import MovedError, UnreadableError
from slowwave.files import replacement, write_all
from slowwave.formats.append import locked_file
from slowwave.formats.lines import SUFFIX, open_plain, raw_lines
from slowwave.formats.model import Problem
from slowwave.formats.rewrite import FileState, copy_range, file_state
from slowwave.retention.masking import STUCK, Place, masked
from slowwave.retention.what import What

# of each transcript what is recorded of it: ranges of bytes with their hash
Ranges = Mapping[Path, Sequence[tuple[int, int, str]]]
_BLANK = b" \t\r\n\0"
# what must go may stand on several lines of these
_WHOLE = frozenset({".json", ".txt", ".md", ".log"})
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Line:
    """A line that has to change: its place, and what it is to be."""

    number: int
    offset: int
    new: bytes
    places: tuple[Place, ...]


@dataclass(slots=True)
class FilePlan:
    """What is to be done with one file.

    Attributes:
        path: the file.
        state: what it was like when it was read.
        lines: the lines that change.
        hashes: of every record that changes the old and the new sha256.
        refused: what stays in it, by line, each with the reason.
    """

    path: Path
    state: FileState
    lines: list[Line] = field(default_factory=list[Line])
    hashes: dict[str, str] = field(default_factory=dict[str, str])
    refused: list[str] = field(default_factory=list[str])


def plan_file(path: Path, what: What, *, whole: bool = False) -> FilePlan:
    """Return which lines of a file hold what must go, and what they become.

    Args:
        path: the file.
        what: what must go.
        whole: it is no file of records, so that what must go may stand on several lines.

    Raises:
        UnreadableError: the file cannot be read.
    """
    plan = FilePlan(path, file_state(path))
    for number, (offset, line) in enumerate(_lines(path, whole=whole), 1):
        found = masked(line, what)
        plan.refused += [f"line {number}: {place.mark} {STUCK}" for place in found.stuck]
        if found.places:
            plan.lines.append(Line(number, offset, found.data, tuple(found.places)))
            plan.hashes[_digest(line)] = _digest(found.data)
    return plan


def apply_file(plan: FilePlan) -> None:
    """Replace a file by itself with the planned lines; its time stays, so that no age changes.

    Raises:
        MovedError: it is not what the plan saw, or somebody wrote to it meanwhile; it is untouched.
        LockHeldError: another process held its lock all the time.
        UnreadableError: it cannot be opened.
        OSError: the disk is full; it is untouched.
    """
    path = plan.path.resolve()
    with locked_file(path) as old:
        found = os.fstat(old)
        if FileState.of(found) != plan.state:
            raise MovedError(f"{path}: changed since the plan was made; make a new plan")

        def check() -> None:
            if FileState.of(os.fstat(old)) != plan.state or file_state(path) != plan.state:
                raise MovedError(f"{path}: somebody wrote to it meanwhile; make a new plan")

        with replacement(path, check=check) as new:
            if path.name.endswith(SUFFIX):
                _pack(path, new, plan)
            else:
                at = 0
                for line in plan.lines:
                    copy_range(old, new, at, line.offset)
                    write_all(new, line.new)
                    at = line.offset + len(line.new)
                copy_range(old, new, at, plan.state.size)
            os.utime(new, ns=(found.st_atime_ns, found.st_mtime_ns))


def plain_bytes(path: Path) -> bytes:
    """Return the plain bytes of a file.

    Raises:
        UnreadableError: it cannot be read, or what is packed in it is damaged: it could not be packed again whole.
    """
    problems: list[Problem] = []
    try:
        with open_plain(path, problems) as file:
            file.seek(0)
            data = file.read()
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error
    if problems:
        raise UnreadableError(path, problems[0].detail)
    return data


def planned_bytes(old: bytes, plan: FilePlan) -> bytes:
    """Return the plain bytes of a file with the planned changes; none of them moves a byte."""
    data = bytearray(old)
    for line in plan.lines:
        data[line.offset : line.offset + len(line.new)] = line.new
    return bytes(data)


def record_hashes(old: bytes, new: bytes, recorded: Sequence[tuple[int, int, str]]) -> dict[str, str]:
    """Return old and new hashes of the records that changed, and of what is recorded of their file."""
    hashes: dict[str, str] = {}
    start = 0
    for line in old.split(b"\n"):
        # by its place: what went may have stood on several lines
        now = new[start : start + len(line)]
        if now != line:
            hashes[_digest(line)] = _digest(now)
        start += len(line) + 1
    for start, stop, digest in recorded:
        if sha256(old[start:stop]).hexdigest() == digest:
            hashes[digest] = sha256(new[start:stop]).hexdigest()
    return hashes


def _lines(path: Path, *, whole: bool) -> Iterator[tuple[int, bytes]]:
    """Yield the pieces in which is looked: records, and of anything but records the whole file."""
    if path.suffix == SUFFIX:
        offset = 0
        for line in plain_bytes(path).splitlines(keepends=True):
            yield offset, line
            offset += len(line)
    elif (path.suffix in _WHOLE or whole) and path.stat().st_size <= _MOST_BYTES:
        yield 0, plain_bytes(path)
    else:
        yield from raw_lines(path)


def _pack(path: Path, new: int, plan: FilePlan) -> None:
    import zstandard  # noqa: PLC0415 - few files are packed

    data = planned_bytes(plain_bytes(path), plan)
    write_all(new, zstandard.ZstdCompressor(level=3, write_checksum=True).compress(data))


def _digest(line: bytes) -> str:
    return sha256(line.strip(_BLANK)).hexdigest()
