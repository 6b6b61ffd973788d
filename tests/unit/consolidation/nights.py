"""Dreams in memory, without a disk: night after night the same steps as the job, from orient to the files."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from slowwave.consolidation.decisions import consolidate
from slowwave.consolidation.model import Operation, validate
from slowwave.consolidation.outcome import Stamp, amount_of
from slowwave.consolidation.snapshot import gather, orient
from slowwave.memory import Candidate, CandidateOrigin, Category, Evidence, SessionRef, candidate_id
from slowwave.memory.book import Book, replay
from slowwave.memory.ledger import Event
from slowwave.settings import ConsolidationSettings

SETTINGS = ConsolidationSettings()


@dataclass
class Nights:
    """A memory folder that is nothing but its ledger and its files."""

    events: list[Event] = field(default_factory=list[Event])
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    candidates: list[Candidate] = field(default_factory=list[Candidate])
    settings: ConsolidationSettings = SETTINGS
    number: int = 0

    @property
    def book(self) -> Book:
        return replay(self.events)

    def dream(self, new: Iterable[Candidate] = ()) -> list[Operation]:
        self.candidates += new
        self.number += 1
        state = orient(self.files, self.book)
        gathered = gather(state.book, self.candidates, lambda _: {})
        operations = consolidate(state, gathered, accept_confidence=self.settings.accept_confidence)
        validate(operations, state, gathered)
        stamp = Stamp(f"d{self.number}", f"2027-01-{self.number:02}T00:00:00Z")
        outcome = amount_of(operations, state, {c.id: c for c in self.candidates}, self.settings, stamp)
        self.events += outcome.events
        now: dict[str, bytes | None] = {**self.files, **outcome.files}
        self.files = {name: data for name, data in now.items() if data is not None}
        return operations

    def shown(self) -> list[tuple[str, bytes]]:
        """Return every bullet of every file; their order also depends on which came first."""
        every = ((name, line) for name, data in self.files.items() for line in data.split(b"\n"))
        return sorted((name, line) for name, line in every if line.startswith(b"- "))

    def beliefs(self) -> dict[tuple[str, str], tuple[tuple[str, str], ...]]:
        """Return when each thing that is remembered held, by its words."""
        return {(m.category, m.text): m.held for m in self.book.memories.values()}

    def believed_at(self, at: str) -> set[str]:
        return {m.text for m in self.book.memories.values() if m.held_at(at)}


def said(
    text: str,
    at: str,
    *,
    session: str = "",
    category: Category = "preference",
    origin: CandidateOrigin = "user_explicit",
    confidence: float = 0.9,
    key: str = "",
    value: str = "",
) -> Candidate:
    """Return a candidate; its session is that of its day unless it is named."""
    name = session or f"s-{at[:10]}"
    ref = SessionRef("claude", name, f"/{name}.jsonl")
    piece = Evidence(ref.path, "", 0, 1, hashlib.sha256(f"{text} {at} {name}".encode()).hexdigest())
    made = Candidate("", category, text, confidence, origin, "t/1", ref, (piece,), at, key, value)
    return replace_id(made)


def replace_id(candidate: Candidate) -> Candidate:
    import msgspec  # noqa: PLC0415 - only here

    name = candidate_id(candidate.session, candidate.category, candidate.text, candidate.evidence)
    return msgspec.structs.replace(candidate, id=f"{name[:8]}{candidate.observed_at.replace('-', '')[:8]}")


def together(nights: Sequence[Sequence[Candidate]]) -> Nights:
    """Return what dreams over these candidates, night by night, end in."""
    made = Nights()
    for candidates in nights:
        made.dream(candidates)
    return made


__all__ = ["Nights", "replace", "said", "together"]
