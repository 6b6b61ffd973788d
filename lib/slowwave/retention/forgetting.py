"""What of a memory folder goes when its subjects or whole sessions are erased.

A memory whose own words name a subject goes: with a hole in it, it would still be about them, and would tell an agent
nothing. One that rested on an erased session goes with all its events, so that the candidates that are left wait again
and the next dream derives it anew from them alone, or not at all. What a person reworded or removed stays as they left
it, without the erased evidence.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec.structs import replace

from slowwave.memory.candidates import FILE as CANDIDATES
from slowwave.memory.candidates import read_candidates
from slowwave.memory.extracted import FILE as EXTRACTED
from slowwave.memory.extracted import remove_lines
from slowwave.memory.guard import OWN_FOLDER
from slowwave.memory.ledger import FILE as LEDGER
from slowwave.memory.ledger import Event, encode_events, line_hash, parse_ledger, read_ledger
from slowwave.memory.model import Candidate, Evidence
from slowwave.memory.names import name_from_json, name_to_json
from slowwave.memory.shown import FILE as SHOWN
from slowwave.memory.shown import read_shown
from slowwave.memory.waiting import candidate_line

_BY_PEOPLE = frozenset({"edited-by-person", "removed-by-person", "unindexed-by-person"})
_PARKED = "parked"
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
    """

    sessions: frozenset[str]
    paths: set[str] = field(default_factory=set[str])
    candidates: set[str] = field(default_factory=set[str])
    memories: set[str] = field(default_factory=set[str])
    renewed: set[str] = field(default_factory=set[str])
    released: set[str] = field(default_factory=set[str])
    lines: set[str] = field(default_factory=set[str])

    rendered: set[str] = field(default_factory=set[str])

    @property
    def hashes(self) -> set[str]:
        """Hashes of all lines that go."""
        return self.rendered | set(map(line_hash, self.lines))

    def __bool__(self) -> bool:
        """Say whether anything goes."""
        return bool(self.candidates or self.memories or self.paths)


def what_goes(memory: Path, sessions: Collection[str], speaks: Speaks) -> Gone:
    """Return what of a memory folder goes.

    Args:
        memory: the folder.
        sessions: ids of the sessions that are erased as a whole.
        speaks: says whether words name a subject.

    Raises:
        CorruptStateError: the ledger is damaged.
        UnreadableError: a file cannot be read.
    """
    gone = Gone(frozenset(name_to_json(one) for one in sessions))
    candidates, ranges, _ = read_candidates(memory)
    events = read_ledger(memory)
    gone.paths = {r.session.path for r in ranges if r.session.id in gone.sessions}
    gone.paths |= {c.session.path for c in candidates if c.session.id in gone.sessions}
    gone.paths |= {s.path for event in events for s in event.sightings if s.session in gone.sessions}
    gone.candidates = {
        c.id for c in candidates if c.session.id in gone.sessions or _names(speaks, c.text, c.key, c.value)
    }
    known = {c.id: c for c in candidates}
    _memories(gone, events, known, speaks)
    _lines(gone, memory, events, candidates)
    return gone


def _memories(gone: Gone, events: Iterable[Event], known: dict[str, Candidate], speaks: Speaks) -> None:
    """Find the memories that go, and whose candidates wait again."""
    by_memory: dict[str, list[Event]] = {}
    for event in events:
        if event.memory:
            by_memory.setdefault(event.memory, []).append(event)
    for memory, story in by_memory.items():
        is_theirs = any(event.event in _BY_PEOPLE for event in story)
        is_spoken = any(_names(speaks, e.text, e.key, e.value, e.line) for e in story)
        if not is_spoken and (is_theirs or all(_filtered(e, gone) == e for e in story)):
            continue
        gone.memories.add(memory)
        left = {c for e in story for c in e.candidates if c in known} - gone.candidates
        gone.released |= left
        if left:
            gone.renewed.add(memory)


def _lines(gone: Gone, memory: Path, events: Iterable[Event], candidates: Iterable[Candidate]) -> None:
    """Find the lines that go: those of memories, of the index, and of waiting candidates, unless others share them."""
    shown = read_shown(memory)
    staying: set[str] = set()
    for event in events:
        if event.memory and event.sha256:
            (gone.rendered if event.memory in gone.memories else staying).add(event.sha256)
        for entry in event.entries:
            (gone.rendered if entry.ref in gone.memories else staying).add(entry.sha256)
    kept: set[str] = set()
    for candidate in candidates:
        lines = {candidate_line(candidate), shown.get(candidate.id, "")} - {""}
        if candidate.id in gone.candidates:
            gone.lines |= lines
        else:
            kept.add(candidate_line(candidate))
    gone.lines -= kept
    gone.rendered -= staying


def without(gone: Gone, folder: Path, path: Path, data: bytes) -> bytes | None:
    """Return what a file of a memory folder is without what goes; None when the whole file goes.

    Raises:
        CorruptStateError: the ledger is damaged.
    """
    parts = path.relative_to(folder).parts
    if not gone or (path.suffix != ".md" and OWN_FOLDER not in parts):
        return data
    if path.suffix == ".md":
        return _text_without(gone, path.name, data)
    match path.name:
        case ledger if ledger == LEDGER:
            left = _ledger_without(gone, path, data)
        case candidates if candidates == CANDIDATES:
            left = _candidates_without(gone, data)
        case shown if shown == SHOWN:
            left = _shown_without(gone, data)
        case _ if _PARKED in parts:
            ids = gone.sessions | gone.memories | gone.candidates
            left = None if any(one.encode() in data for one in ids) else data
        case _:
            left = _lines_without(gone.sessions, data) if path.suffix == ".jsonl" else data
    return left


def _lines_without(ids: Collection[str], data: bytes) -> bytes:
    marks = [one.encode() for one in ids]
    return b"".join(line for line in data.splitlines(keepends=True) if not any(one in line for one in marks))


def _text_without(gone: Gone, name: str, data: bytes) -> bytes:
    if name == EXTRACTED:
        text = data.decode("utf-8", "surrogateescape")
        return remove_lines(text, sorted(gone.lines)).encode("utf-8", "surrogateescape")
    hashes = gone.hashes
    return b"\n".join(line for line in data.split(b"\n") if line_hash(line) not in hashes)


def _ledger_without(gone: Gone, path: Path, data: bytes) -> bytes:
    out: list[bytes] = []
    for raw in data.splitlines(keepends=True):
        events = parse_ledger(raw, path)
        if any(event.memory in gone.memories for event in events if event.memory):
            continue
        left = [_filtered(event, gone) for event in events]
        # what does not change keeps its bytes
        out.append(raw if left == events else encode_events(left))
    return b"".join(out)


def _filtered(event: Event, gone: Gone) -> Event:
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


def _candidates_without(gone: Gone, data: bytes) -> bytes:
    out: list[bytes] = []
    for raw in data.splitlines(keepends=True):
        try:
            line = msgspec.json.decode(raw, type=_Line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            out.append(raw)  # torn by a kill: extraction reads past it
            continue
        session = line.extracted.session if line.extracted is not None else line.session
        if line.id not in gone.candidates and (session is None or session.id not in gone.sessions):
            out.append(raw)
    return b"".join(out)


class _Session(msgspec.Struct, frozen=True):
    id: str = ""


class _Range(msgspec.Struct, frozen=True):
    session: _Session


class _Line(msgspec.Struct, frozen=True):
    """What of a line of ``candidates.jsonl`` says whether it goes."""

    id: str = ""
    session: _Session | None = None
    extracted: _Range | None = None


def _shown_without(gone: Gone, data: bytes) -> bytes:
    """Forget that lines were shown: else a candidate that waits again would look as if a person had taken it out."""
    return _lines_without([f'"{one}"' for one in gone.candidates | gone.released], data)


def _names(speaks: Speaks, *texts: str) -> bool:
    return speaks("\n".join(texts).encode("utf-8", "surrogatepass"))


def files_of(gone: Gone) -> list[Path]:
    """Return where files of erased sessions lay, as far as memories know."""
    return sorted(Path(name_from_json(path)) for path in gone.paths)
