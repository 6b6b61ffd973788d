"""What of each session the model has read, by bytes, and what is left: what the miners read and it has not.

The ranges stand among those of the miners, in ``candidates.jsonl``, under the model's own name, and are written
together with the candidates of the same bytes. They need not follow each other: a portion that got no answer leaves a
gap, which the next night asks for again, and nothing else.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from slowwave.extraction.model.material import Window
from slowwave.extraction.ranges import PartState, digest_of, part_state, ranges_of, stamp, stream_digest, stream_state
from slowwave.extraction.selection import EXTRACTOR as OFFLINE
from slowwave.formats import Span, Transcript
from slowwave.formats.sessions import StoredSession
from slowwave.memory import ExtractedRange, SessionRef, name_to_json

Bounds = tuple[int, int]


def is_read(session: StoredSession, extractor: str, ranges: Sequence[ExtractedRange]) -> bool:
    """Say, by what was recorded alone, whether the model has nothing left to read of a session.

    A session that the miners have not read is not its turn yet.
    """
    for path in session.files.paths:
        offline = ranges_of(path, session.id, OFFLINE, ranges)
        mine = ranges_of(path, session.id, extractor, ranges)
        if offline and not any(r.stop >= offline[-1].stop and r.at >= offline[-1].at and r.stamp for r in mine):
            return False
    return True


@dataclass(frozen=True, slots=True)
class Unread:
    """A session against what the model has read."""

    session: StoredSession  # the session
    transcript: Transcript  # as it was read now
    states: tuple[PartState, ...]  # its files, or its one stream, up to where the miners have read
    limits: tuple[int, ...]  # how far the miners have read each
    known: tuple[int, ...]  # up to where the model has read each without a gap
    later: tuple[tuple[Bounds, ...], ...]  # what it has read behind the first gap of each
    extractor: str  # the model's name and version

    def place(self, span: Span) -> Bounds:
        """Return where a record lies: part and position."""
        part = 0 if len(self.states) == 1 else span.part
        return part, self.states[part].position(span)

    def is_within(self, span: Span) -> bool:
        """Say whether the miners have read a record."""
        state = self.states[0 if len(self.states) == 1 else span.part]
        if not state.holds(span):
            return False
        part, at = self.place(span)
        return at + (1 if self.session.is_stream else len(span.raw)) <= self.limits[part]

    def is_new(self, span: Span) -> bool:
        """Say whether the model has not read a record."""
        part, at = self.place(span)
        return at >= self.known[part] and not any(start <= at < stop for start, stop in self.later[part])

    def digest(self, part: int, start: int, stop: int) -> str:
        """Return the sha256 of a range."""
        if self.session.is_stream:
            return stream_digest(self.transcript, start, stop)
        return digest_of(self.states[part].path, start, stop)

    def ranges_of(self, bounds: Mapping[int, Bounds], at: str) -> list[ExtractedRange]:
        """Return what is to be recorded for a portion."""
        return [
            ExtractedRange(self._ref(part), start, stop, self.digest(part, start, stop), self.extractor, at)
            for part, (start, stop) in bounds.items()
            if start < stop
        ]

    def done(self, at: str) -> list[ExtractedRange]:
        """Return the marks that nothing is left, so that the next night need not look into the session."""
        stamped = stamp(self.session) or "read"
        return [
            ExtractedRange(self._ref(part), limit, limit, self.digest(part, limit, limit), self.extractor, at, stamped)
            for part, limit in enumerate(self.limits)
        ]

    def _ref(self, part: int) -> SessionRef:
        return SessionRef(self.session.dialect, name_to_json(self.session.id), name_to_json(self.states[part].path))


def unread_of(
    session: StoredSession, transcript: Transcript, extractor: str, ranges: Sequence[ExtractedRange]
) -> Unread:
    """Compare a session with what the miners and the model have read of it.

    Raises:
        UnreadableError: a file cannot be read.
    """
    if session.is_stream:
        offline = stream_state(session, transcript, OFFLINE, ranges)
        read = stream_state(session, transcript, extractor, ranges)
        states, known, paths = (offline,), (read.known,), session.files.paths[:1]
    else:
        paths = session.files.paths
        states = tuple(part_state(path, ranges_of(path, session.id, OFFLINE, ranges)) for path in paths)
        known = tuple(part_state(path, ranges_of(path, session.id, extractor, ranges)).known for path in paths)
    limits = tuple(state.known for state in states)
    bare = Unread(session, transcript, states, limits, known, ((),) * len(states), extractor)
    later = tuple(
        tuple(_still(bare, part, ranges_of(path, session.id, extractor, ranges))) for part, path in enumerate(paths)
    )
    return Unread(session, transcript, states, limits, known, later, extractor)


def _still(unread: Unread, part: int, recorded: Iterable[ExtractedRange]) -> Iterable[Bounds]:
    """Yield what was read behind the first gap and has not changed since."""
    for r in recorded:
        whole = unread.known[part] < r.start < r.stop <= unread.limits[part]
        if whole and unread.digest(part, r.start, r.stop) == r.sha256:
            yield r.start, r.stop


def bounds_of(windows: Sequence[Window], unread: Unread) -> list[dict[int, Bounds]]:
    """Return for each window which bytes of each part it covers: up to where the next one begins, and all in the end.

    A part without anything new belongs to the first window.
    """
    begins: list[dict[int, int]] = []
    met: set[int] = set()
    for window in windows:
        own: dict[int, int] = {}
        for unit in window.units:
            part, at = unread.place(unit[0].span)
            own.setdefault(part, at if part in met else unread.known[part])
        met |= own.keys()
        begins.append(own)
    found: list[dict[int, Bounds]] = []
    for index, own in enumerate(begins):
        bounds: dict[int, Bounds] = {}
        for part, start in own.items():
            following = next((b[part] for b in begins[index + 1 :] if part in b), unread.limits[part])
            bounds[part] = (start, following)
        found.append(bounds)
    if found:
        silent = {p: (unread.known[p], limit) for p, limit in enumerate(unread.limits) if p not in met}
        found[0] |= silent
    return found
