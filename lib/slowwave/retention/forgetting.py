"""What of a memory folder goes when its subjects or whole sessions are erased.

A memory whose own words name a subject goes: with a hole in it, it would still be about them, and would tell an agent
nothing. One that rested on an erased session goes with all its events, so that the candidates that are left wait again
and the next dream derives it anew from them alone, or not at all. What a person reworded or removed stays as they left
it, without the erased evidence.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from slowwave.memory.book import replay
from slowwave.memory.candidates import read_candidates
from slowwave.memory.ledger import Event, line_hash, read_ledger
from slowwave.memory.model import Candidate, Evidence
from slowwave.memory.names import name_to_json
from slowwave.memory.shown import read_shown
from slowwave.memory.waiting import candidate_line

_BY_PEOPLE = frozenset({"edited-by-person", "removed-by-person", "unindexed-by-person"})
Speaks = Callable[[bytes], bool]


@dataclass(slots=True)
class Gone:
    """What goes from one memory folder.

    Attributes:
        sessions: ids of the sessions that are erased as a whole, as memories spell them.
        paths: where the files of these sessions lay.
        candidates: ids of the candidates that go.
        memories: ids of the memories that go.
        renewed: those of them that are derived anew from what is left.
        released: candidates that wait again.
        lines: lines of waiting candidates that go, without line end.
        rendered: hashes of the lines of memories and of the index that go.
        held: ids of the sessions that are held.
        kept: ids of the candidates and memories that rest on them: they stay as they are.
        shown: hashes of the lines that show these.
    """

    sessions: frozenset[str]
    paths: set[str] = field(default_factory=set[str])
    candidates: set[str] = field(default_factory=set[str])
    memories: set[str] = field(default_factory=set[str])
    renewed: set[str] = field(default_factory=set[str])
    released: set[str] = field(default_factory=set[str])
    lines: set[str] = field(default_factory=set[str])

    rendered: set[str] = field(default_factory=set[str])
    held: frozenset[str] = frozenset()
    kept: set[str] = field(default_factory=set[str])
    shown: set[str] = field(default_factory=set[str])

    @property
    def hashes(self) -> set[str]:
        """Hashes of all lines that go."""
        return self.rendered | set(map(line_hash, self.lines))

    def holds(self, line: bytes) -> bool:
        """Say whether a line of a file in the folder is about what is held, or shows it."""
        return line_hash(line) in self.shown or any(one.encode() in line for one in (*self.held, *self.kept))

    def __bool__(self) -> bool:
        """Say whether anything goes."""
        return bool(self.candidates or self.memories or self.paths)


def what_goes(memory: Path, sessions: Collection[str], speaks: Speaks, held: Collection[str] = ()) -> Gone:
    """Return what of a memory folder goes.

    Args:
        memory: the folder.
        sessions: ids of the sessions that are erased as a whole.
        speaks: says whether words name a subject.
        held: ids of the sessions that are held; what rests on them stays.

    Raises:
        CorruptStateError: the ledger is damaged.
        UnreadableError: a file cannot be read.
    """
    gone = Gone(frozenset(map(name_to_json, sessions)), held=frozenset(map(name_to_json, held)))
    candidates, ranges, _ = read_candidates(memory)
    events = read_ledger(memory)
    gone.paths = {r.session.path for r in ranges if r.session.id in gone.sessions}
    gone.paths |= {c.session.path for c in candidates if c.session.id in gone.sessions}
    gone.paths |= {s.path for event in events for s in event.sightings if s.session in gone.sessions}
    gone.kept = {c.id for c in candidates if c.session.id in gone.held}
    gone.candidates = {
        c.id for c in candidates if c.session.id in gone.sessions or _names(speaks, c.text, c.key, c.value)
    } - gone.kept
    known = {c.id: c for c in candidates}
    _memories(gone, events, known, speaks)
    _lines(gone, memory, events, candidates)
    return gone


def _memories(gone: Gone, events: Sequence[Event], known: dict[str, Candidate], speaks: Speaks) -> None:
    """Find the memories that go, and whose candidates wait again."""
    by_memory: dict[str, list[Event]] = {}
    for event in events:
        for name in (event.memory, *event.memories):
            if name:
                by_memory.setdefault(name, []).append(event)
    for memory, story in by_memory.items():
        if any(not gone.held.isdisjoint(s.session for s in e.sightings) for e in story):
            gone.kept.add(memory)
            continue
        is_theirs = any(event.event in _BY_PEOPLE for event in story)
        is_spoken = any(_names(speaks, e.text, e.key, e.value, e.line) for e in story)
        if not is_spoken and (is_theirs or all(filtered(e, gone) == e for e in story)):
            continue
        _let_go(gone, memory, story, known)
    together = [set(event.memories) - gone.kept for event in events if event.memories]
    while rest := next((of - gone.memories for of in together if of & gone.memories and of - gone.memories), None):
        # a line that said them all at once goes as a whole
        for memory in rest:
            _let_go(gone, memory, by_memory[memory], known)


def _let_go(gone: Gone, memory: str, story: Iterable[Event], known: Collection[str]) -> None:
    """Let a memory go; what else showed it waits again."""
    gone.memories.add(memory)
    left = {c for e in story for c in e.candidates if c in known} - gone.candidates
    gone.released |= left
    if left:
        gone.renewed.add(memory)


def _lines(gone: Gone, memory: Path, events: Sequence[Event], candidates: Iterable[Candidate]) -> None:
    """Find the lines that go: those of memories, of the index, and of waiting candidates, unless others share them."""
    shown = read_shown(memory)
    staying: set[str] = set()
    for event in events:
        rows = [(event.memory, event.sha256)] if event.memory and event.sha256 else []
        for ref, digest in (*rows, *((entry.ref, entry.sha256) for entry in event.entries)):
            (gone.rendered if ref in gone.memories else staying).add(digest)
            if ref in gone.kept:
                gone.shown.add(digest)
    book = replay(events)
    gone.rendered |= {line_hash(book.line_of(book.memories[one])) for one in gone.memories & book.phrases.keys()}
    kept: set[str] = set()
    for candidate in candidates:
        lines = {candidate_line(candidate), shown.get(candidate.id, "")} - {""}
        if candidate.id in gone.kept:
            gone.shown |= set(map(line_hash, lines))
        if candidate.id in gone.candidates:
            gone.lines |= lines
        else:
            kept.add(candidate_line(candidate))
    gone.lines -= kept
    gone.rendered -= staying


def filtered(event: Event, gone: Gone) -> Event:
    """Return an event without what it has from sessions and candidates that go."""
    return replace(
        event,
        candidates=tuple(c for c in event.candidates if c not in gone.candidates),
        sightings=tuple(s for s in event.sightings if s.session not in gone.sessions),
        evidence=tuple(e for e in event.evidence if not _is_gone(e, gone)),
        entries=tuple(e for e in event.entries if e.ref not in gone.memories),
        sessions=tuple(s for s in event.sessions if s not in gone.sessions),
        successor="" if event.successor in gone.memories else event.successor,
    )


def _is_gone(evidence: Evidence, gone: Gone) -> bool:
    return evidence.path in gone.paths


def _names(speaks: Speaks, *texts: str) -> bool:
    return speaks("\n".join(texts).encode("utf-8", "surrogatepass"))
