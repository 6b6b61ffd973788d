"""What of a transcript was read before: recorded ranges whose bytes are still the same need not be decoded again."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from slowwave.errors import UnreadableError
from slowwave.memory.model import ExtractedRange
from slowwave.memory.names import name_to_json

_CHUNK = 1 << 20
_TAIL = 1 << 22


@dataclass(frozen=True, slots=True)
class PartState:
    """One file of a session against what was read before.

    Attributes:
        path: the file.
        known: bytes up to here were read before and are unchanged.
        stop: end of the last whole record now.
        sha256: of the bytes from ``known`` to ``stop``.
        rewritten: bytes that were read before are not the same any more.
    """

    path: Path
    known: int
    stop: int
    sha256: str
    rewritten: bool

    @property
    def has_new(self) -> bool:
        """Say whether there is anything to read."""
        return self.stop > self.known


def part_state(path: Path, ranges: Iterable[ExtractedRange]) -> PartState:
    """Compare a file with the ranges recorded for it, by hash, without decoding anything.

    Raises:
        UnreadableError: the file cannot be read.
    """
    starts: dict[int, list[ExtractedRange]] = {}
    for recorded in ranges:
        starts.setdefault(recorded.start, []).append(recorded)
    try:
        size = path.stat().st_size
        known = 0
        while (following := _matching(path, starts.get(known, []), size)) is not None:
            known = following
        stop = whole_records_end(path, known, size)
        return PartState(path, known, stop, digest(path, known, stop), known in starts)
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error


def ranges_of(path: Path, session: str, extractor: str, ranges: Sequence[ExtractedRange]) -> list[ExtractedRange]:
    """Return the ranges that an extractor recorded for a file, also when its folder was moved."""
    known, name = name_to_json(session), name_to_json(path.name)
    return [
        r for r in ranges if r.session.id == known and r.extractor == extractor and Path(r.session.path).name == name
    ]


def _matching(path: Path, recorded: Sequence[ExtractedRange], size: int) -> int | None:
    """Return the end of the newest recorded range whose bytes are unchanged."""
    for candidate in reversed(recorded):
        if (
            candidate.start < candidate.stop <= size
            and digest(path, candidate.start, candidate.stop) == candidate.sha256
        ):
            return candidate.stop
    return None


def digest(path: Path, start: int, stop: int) -> str:
    """Return the sha256 of a range of a file."""
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        file.seek(start)
        left = stop - start
        while left > 0 and (chunk := file.read(min(_CHUNK, left))):
            hashed.update(chunk)
            left -= len(chunk)
    return hashed.hexdigest()


def whole_records_end(path: Path, known: int, size: int) -> int:
    """Return where the last whole record ends: a torn last line is left for a later run.

    A last line without line end counts when it is whole JSON; many clients leave it so.
    """
    window = _TAIL
    while True:
        start = max(known, size - window)
        with path.open("rb") as file:
            file.seek(start)
            tail = file.read(size - start)
        at = tail.rfind(b"\n")
        if at >= 0 or start == known:
            break
        window *= 4
    last = tail[at + 1 :]
    return size if not last.strip(b" \t\r\0") or _is_json(last) else start + at + 1


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True
