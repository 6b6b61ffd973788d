"""What of a transcript was read before: recorded ranges whose bytes are still the same need not be decoded again.

Branches that were left when a session was read may be taken up again. Their bytes count as read, since the range that
holds them was. So the range says where they lie, always for the whole file up to its end: the newest range alone tells,
and a run that takes a branch up writes the next one without it.
"""

import hashlib
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import orjson

from slowwave.errors import UnreadableError
from slowwave.formats.lines import SUFFIX, open_plain
from slowwave.formats.model import Span
from slowwave.memory.model import ExtractedRange, name_to_json

Runs = tuple[tuple[int, int], ...]
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


def left_until(ranges: Sequence[ExtractedRange], known: int) -> Runs:
    """Return what was left of the first ``known`` bytes, as the newest range that ends there says.

    Args:
        ranges: what was recorded for the file, oldest first.
        known: how many of its bytes are still those that were read.
    """
    newest = next((r for r in reversed(ranges) if r.stop == known), None)
    return tuple(sorted(newest.abandoned)) if newest is not None else ()


def is_in(runs: Runs, position: int) -> bool:
    """Say whether a record that begins at a position lies in one of the runs, which are in order."""
    at = bisect_right(runs, position, key=lambda run: run[0]) - 1
    return at >= 0 and position < runs[at][1]


def runs_of(records: Iterable[tuple[int, int, bool]]) -> Runs:
    """Return the runs of records that are left, of all records of messages: begin, end, and whether it is left.

    What lies between two of them and is no message's belongs to the run.
    """
    found: list[tuple[int, int]] = []
    joined = False
    for begin, end, is_left in sorted(set(records)):
        if is_left and joined:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif is_left:
            found.append((begin, end))
        joined = is_left
    return tuple(found)
