"""What of a transcript was read before: recorded ranges whose bytes are still the same need not be decoded again."""

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import orjson

from slowwave.errors import UnreadableError
from slowwave.extraction.left import Runs, is_in, left_until
from slowwave.memory.model import ExtractedRange
from slowwave.memory.names import name_to_json
from slowwave.records.model import Span
from slowwave.records.sources.compressed import SUFFIX, open_plain

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
        left: what of the bytes before ``known`` was passed over, since its branch had been left.
    """

    path: Path
    known: int
    stop: int
    sha256: str
    rewritten: bool
    left: Runs = field(default=(), kw_only=True)

    @property
    def has_new(self) -> bool:
        """Say whether there is anything to read."""
        return self.stop > self.known

    def holds(self, span: Span) -> bool:
        """Say whether all of a record was there when the file was compared; it may grow meanwhile."""
        return span.offset + len(span.raw) <= self.stop

    def is_new(self, span: Span) -> bool:
        """Say whether a record was not read before."""
        return self.position(span) >= self.known

    def was_left(self, span: Span) -> bool:
        """Say whether a record was passed over before, on a branch that had been left."""
        return bool(self.left) and is_in(self.left, self.position(span))

    def position(self, span: Span) -> int:
        """Return where a record begins."""
        return span.offset


def part_state(path: Path, ranges: Sequence[ExtractedRange]) -> PartState:
    """Compare a file with the ranges recorded for it, by hash, without decoding anything.

    Of a packed file the plain bytes are compared, so that one that was packed meanwhile is still known.

    Raises:
        UnreadableError: the file cannot be read.
    """
    try:
        with open_plain(path) as file:
            size = file.seek(0, os.SEEK_END)
            known, rewritten = known_until(ranges, size, lambda start, stop: _digest(file, start, stop))
            stop = _whole_records_end(file, known, size)
            digest = _digest(file, known, stop)
            return PartState(path, known, stop, digest, rewritten, left=left_until(ranges, known))
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error


def known_until(ranges: Iterable[ExtractedRange], size: int, digest: Callable[[int, int], str]) -> tuple[int, bool]:
    """Return up to where recorded ranges are still what they were, and whether one behind that is not.

    Args:
        ranges: what was recorded.
        size: how many bytes there are now.
        digest: returns the sha256 of a range of these bytes.
    """
    starts: dict[int, list[ExtractedRange]] = {}
    for recorded in ranges:
        if recorded.start < recorded.stop:
            starts.setdefault(recorded.start, []).append(recorded)
    known = 0
    while (following := _matching(starts.get(known, []), size, digest)) is not None:
        known = following
    return known, known in starts


def digest_of(path: Path, start: int, stop: int) -> str:
    """Return the sha256 of a range of a file's plain bytes.

    Raises:
        UnreadableError: the file cannot be read.
    """
    try:
        with open_plain(path) as file:
            return _digest(file, start, stop)
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error


class Recorded(list[ExtractedRange]):
    """Recorded ranges, oldest first, that are found by session: a project may have tens of thousands of them."""

    def __init__(self, ranges: Iterable[ExtractedRange] = ()) -> None:
        super().__init__()
        self._found: dict[tuple[str, str], list[ExtractedRange]] = {}
        self.add(ranges)

    def add(self, ranges: Iterable[ExtractedRange]) -> None:
        """Add newer ones."""
        for one in ranges:
            self.append(one)
            self._found.setdefault((one.session.id, one.extractor), []).append(one)

    def of(self, session: str, extractor: str) -> Sequence[ExtractedRange]:
        """Return those of a session, by its name in JSON, that an extractor recorded."""
        return self._found.get((session, extractor), ())


def ranges_of(path: Path, session: str, extractor: str, ranges: Sequence[ExtractedRange]) -> list[ExtractedRange]:
    """Return the ranges that an extractor recorded for a file, also when it was moved or packed."""
    known, name = name_to_json(session), name_to_json(path.name.removesuffix(SUFFIX))
    return [
        r
        for r in (ranges.of(known, extractor) if isinstance(ranges, Recorded) else ranges)
        if r.session.id == known and r.extractor == extractor and Path(r.session.path).name.removesuffix(SUFFIX) == name
    ]


def _matching(recorded: Sequence[ExtractedRange], size: int, digest: Callable[[int, int], str]) -> int | None:
    """Return the end of the newest recorded range whose bytes are unchanged."""
    for candidate in reversed(recorded):
        if candidate.stop <= size and digest(candidate.start, candidate.stop) == candidate.sha256:
            return candidate.stop
    return None


def _digest(file: BinaryIO, start: int, stop: int) -> str:
    hashed = hashlib.sha256()
    file.seek(start)
    left = stop - start
    while left > 0 and (chunk := file.read(min(_CHUNK, left))):
        hashed.update(chunk)
        left -= len(chunk)
    return hashed.hexdigest()


def _whole_records_end(file: BinaryIO, known: int, size: int) -> int:
    """Return where the last whole record ends: a torn last line is left for a later run.

    A last line without line end counts when it is whole JSON; many clients leave it so.
    """
    window = _TAIL
    while True:
        start = max(known, size - window)
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
