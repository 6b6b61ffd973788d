"""Taking secrets or subjects out of one file of a session: planned by reading, done as one crash-safe replacement."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import msgspec

from slowwave.errors import MovedError, UnreadableError
from slowwave.files import file_bytes, replacement, write_all
from slowwave.formats.changes import FileState, copy_range, file_state
from slowwave.formats.database import RowReader
from slowwave.formats.lines import PACKED, open_plain, raw_lines
from slowwave.formats.model import Problem
from slowwave.journal import Form, Journal, name_for, outcome
from slowwave.locks import locked_file
from slowwave.memory.model import name_from_json, name_to_json
from slowwave.retention.erase.mask import STUCK, Place, masked
from slowwave.retention.erase.subjects import What
from slowwave.stores.archive.pack import SUFFIX as PACK
from slowwave.stores.archive.pack import Pack

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
            if path.name.endswith(PACKED):
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
    if path.suffix == PACKED:
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


# What changed hashes in transcripts mean for memories, written down before a transcript changes.
#
# A run that is killed between the two leaves its journals, and the next one puts the hashes into the memories. A
# journal counts when its file begins with the bytes that it was to have, what was appended since then does not matter;
# that of a database counts when its rows have the bytes that they were to have, and that of a pack by the files in it.

FOLDER = "erase"
_HASH = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


class Renewed(msgspec.Struct):
    """The old and new hashes in one file.

    Attributes:
        path: the file.
        size: how many plain bytes it has when it is written.
        sha256: of these bytes.
        hashes: old and new hashes of its records and of ranges of it.
        parts: instead of both new hashes: of the rows of a database by name, of the files in a pack by number.
    """

    path: str
    size: int
    sha256: str
    hashes: dict[str, str]
    parts: dict[str, str] = {}


def write_journal(folder: Path, path: Path, new: bytes, hashes: dict[str, str]) -> None:
    """Note that ``path`` is about to get the plain bytes ``new``.

    Raises:
        OSError: the state folder cannot be written.
    """
    _write(folder, path, Renewed(name_to_json(str(path)), len(new), sha256(new).hexdigest(), hashes))


def write_parts_journal(folder: Path, path: Path, parts: dict[str, str], hashes: dict[str, str]) -> None:
    """Note that rows of a database, or files in a pack, are about to have these hashes.

    Raises:
        OSError: the state folder cannot be written.
    """
    _write(folder, path, Renewed(name_to_json(str(path)), 0, "", hashes, parts))


def has_journal(folder: Path, path: Path) -> bool:
    """Say whether a run was killed before it was done with a file."""
    return _journal(folder).place(_name(path)).is_file()


def _write(folder: Path, path: Path, journal: Renewed) -> None:
    # nobody has put those of a killed run into the memories yet
    left = left_by(folder, path).items()
    journal.hashes = {old: journal.hashes.get(now, now) for old, now in left} | journal.hashes
    _journal(folder).intend(_name(path), journal)


def left_by(folder: Path, path: Path) -> dict[str, str]:
    """Return the hashes that an earlier run noted for a file and did carry out."""
    journal = _journal(folder).find(_name(path))
    return journal.hashes if journal is not None and _stands(journal) else {}


def standing(folder: Path) -> dict[str, str]:
    """Return the hashes of all files that have their new bytes."""
    known: dict[str, str] = {}
    for _, journal in _journal(folder).left():
        if _stands(journal):
            known |= journal.hashes
    return known


def settle(folder: Path, memories: Iterable[Path]) -> None:
    """Remove the journals; those stay whose hashes a memory folder still has, since it could not be written."""
    known: set[bytes] = set()
    for path in (found for memory in memories for found in memory.rglob("*.json*") if found.is_file()):
        known.update(_HASH.findall(file_bytes(path)))
    for path, journal in _journal(folder).left():
        if not (_stands(journal) and any(old.encode() in known for old in journal.hashes)):
            path.unlink()


def _journal(folder: Path) -> Journal[Renewed]:
    return Journal(folder, Form(Renewed, "is no note of an erasure", "remove it, and see slowwave memory verify"))


def _name(path: Path) -> str:
    return name_for(str(path))


def _stands(journal: Renewed) -> bool:
    if journal.sha256:
        return stands(journal.path, journal.size, journal.sha256)
    path = Path(name_from_json(journal.path))
    try:
        now = hashes_in_pack(path) if path.suffix == PACK else hashes_of_rows(path, journal.parts)
    except (UnreadableError, OSError):
        return False
    return now == journal.parts


def stands(name: str, size: int, digest: str) -> bool:
    """Say whether a file, as :mod:`slowwave.memory.model` spells it, begins with the plain bytes that it was to get."""
    try:
        return outcome(BytesIO(plain_bytes(Path(name_from_json(name)))), 0, size, digest) in ("written", "followed")
    except (UnreadableError, OSError):
        return False


def hashes_of_rows(path: Path, records: Iterable[str]) -> dict[str, str]:
    """Return the hashes of those rows of a database that are there, by their names.

    Raises:
        OSError: the database cannot be read, or its client wrote to it meanwhile.
    """
    with RowReader() as rows:
        found = {record: rows.read(path, record) for record in records}
    return {record: sha256(data).hexdigest() for record, data in found.items() if data is not None}


def hashes_in_pack(path: Path) -> dict[str, str]:
    """Return the hashes of all files in a pack, by their numbers.

    Raises:
        CorruptStateError: the pack is damaged.
        OSError: it cannot be read.
    """
    with Pack(path) as pack:
        files = [file for session in pack.table.sessions for file in session.files if file.kind == "file"]
        return {str(number): sha256(pack.read(file)).hexdigest() for number, file in enumerate(files)}
