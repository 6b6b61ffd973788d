"""Sessions that are no files of lines (rows of databases, trees of small files, exports): what of them was read before.

What their messages were read from, in order, makes up a stream, of which ranges are recorded as of a file. New messages
come at its end; a record that its client changed or took back makes everything from there on new again, and the ids of
candidates keep these single.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate

from slowwave.extraction.ranges import PartState, known_until, left_until, ranges_of
from slowwave.formats.lines import is_compressed
from slowwave.formats.model import Span, Transcript
from slowwave.memory.model import ExtractedRange
from slowwave.stores.model import StoredSession

# Between two records, so that no two streams of different records are the same bytes.
_END = b"\n"


@dataclass(frozen=True, slots=True)
class StreamState(PartState):
    """A stream against what was read of it before; ``path`` is the session's first file.

    Attributes:
        begins: where in the stream each of its records begins, by part and offset.
    """

    begins: Mapping[tuple[int, int], int]

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
