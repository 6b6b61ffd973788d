"""What of a session was read before: recorded ranges whose bytes are still the same need not be decoded again.

Branches that were left when a session was read may be taken up again. Their bytes count as read, since the range that
holds them was. So the range says where they lie, always for the whole file up to its end: the newest range alone tells,
and a run that takes a branch up writes the next one without it.
"""

import hashlib
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO

import orjson

from slowwave.errors import UnreadableError
from slowwave.formats import Span, Transcript
from slowwave.formats.lines import PACKED, is_compressed, open_plain
from slowwave.formats.sessions import StoredSession
from slowwave.memory import ExtractedRange, name_to_json

Runs = tuple[tuple[int, int], ...]
_CHUNK = 1 << 20
_TAIL = 1 << 22


@dataclass(frozen=True, slots=True)
class PartState:
    """One file of a session against what was read before."""

    path: Path  # the file
    known: int  # bytes up to here were read before and are unchanged
    stop: int  # end of the last whole record now
    sha256: str  # of the bytes from ``known`` to ``stop``
    rewritten: bool  # bytes that were read before are not the same any more
    # what of the bytes before ``known`` was passed over, since its branch had been left
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
    known, name = name_to_json(session), name_to_json(path.name.removesuffix(PACKED))
    return [
        r
        for r in (ranges.of(known, extractor) if isinstance(ranges, Recorded) else ranges)
        if r.session.id == known and r.extractor == extractor and Path(r.session.path).name.removesuffix(PACKED) == name
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


# Sessions that are no files of lines (rows of databases, trees of small files, exports): what of them was read before.
#
# What their messages were read from, in order, makes up a stream, of which ranges are recorded as of a file. New
# messages come at its end; a record that its client changed or took back makes everything from there on new again, and
# the ids of candidates keep these single.

# Between two records, so that no two streams of different records are the same bytes.
_END = b"\n"


@dataclass(frozen=True, slots=True)
class StreamState(PartState):
    """A stream against what was read of it before; ``path`` is the session's first file."""

    begins: Mapping[tuple[int, int], int]  # where in the stream each of its records begins, by part and offset

    def holds(self, span: Span) -> bool:
        """Say whether a record is one of the stream."""
        return (span.part, span.offset) in self.begins

    def position(self, span: Span) -> int:
        """Return where a record begins in the stream."""
        return self.begins[span.part, span.offset]


def stamp(session: StoredSession) -> str:
    """Return what is the same as long as a session need not be looked into; "" where only its bytes can tell.

    Reading a stream, or unpacking a file, to see that nothing in it is new would cost as much as reading it.
    """
    if session.is_stream or any(is_compressed(path) for path in session.files.paths):
        return f"{session.size}:{session.mtime_ns}"
    return ""


def is_known(session: StoredSession, extractor: str, ranges: Sequence[ExtractedRange]) -> bool:
    """Say whether a session has a stamp, and it is the one with which all of it was read."""
    now = stamp(session)
    if not now:
        return False
    stamps = [[r.stamp for r in ranges_of(path, session.id, extractor, ranges)] for path in session.files.paths]
    return all(of_path and of_path[-1] == now for of_path in stamps)


def rest_reason(session: StoredSession, now: datetime, idle: timedelta) -> str | None:
    """Return why a stream's client may still work in it, or None when it rests; only its records' times tell.

    Args:
        session: the session.
        now: the current time.
        idle: how long it must have rested.
    """
    age = now.timestamp() - session.mtime_ns / 1e9
    if age < 0:
        return f"it is dated {timedelta(seconds=round(-age))} in the future; check the clock of this machine"
    return (
        f"changed {timedelta(seconds=int(age))} ago, and must rest for {idle}" if age < idle.total_seconds() else None
    )


def stream_state(
    session: StoredSession, transcript: Transcript, extractor: str, ranges: Sequence[ExtractedRange]
) -> StreamState:
    """Compare what a session was just read from with the ranges recorded for it."""
    spans = list(_records(transcript))
    stream = _Stream([span.raw for span in spans])
    path = session.files.paths[0]
    recorded = ranges_of(path, session.id, extractor, ranges)
    known, rewritten = known_until(recorded, stream.size, stream.digest)
    begins = {(span.part, span.offset): begin for span, begin in zip(spans, stream.begins, strict=True)}
    digest = stream.digest(known, stream.size)
    return StreamState(path, known, stream.size, digest, rewritten, begins, left=left_until(recorded, known))


def stream_digest(transcript: Transcript, start: int, stop: int) -> str:
    """Return the sha256 of a range of the stream that a session makes up."""
    return _Stream([span.raw for span in _records(transcript)]).digest(start, stop)


def _records(transcript: Transcript) -> Iterable[Span]:
    """Yield every record that a message was read from, once."""
    met: set[tuple[int, int]] = set()
    for message in transcript.messages:
        for span in message.sources:
            if (span.part, span.offset) not in met:
                met.add((span.part, span.offset))
                yield span


class _Stream:
    """Records one after the other, without a copy of them."""

    def __init__(self, raws: Sequence[bytes]) -> None:
        self._raws = raws
        ends = list(accumulate(len(raw) + len(_END) for raw in raws))
        self.begins = [0, *ends[:-1]] if ends else []
        self.size = ends[-1] if ends else 0

    def digest(self, start: int, stop: int) -> str:
        """Return the sha256 of a range."""
        hashed = hashlib.sha256()
        index = max(0, bisect_right(self.begins, start) - 1)
        while index < len(self._raws) and self.begins[index] < stop:
            begin = self.begins[index]
            piece = self._raws[index] + _END
            hashed.update(piece[max(0, start - begin) : stop - begin])
            index += 1
        return hashed.hexdigest()
