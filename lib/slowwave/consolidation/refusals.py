"""Why candidates are refused before anything is made of them: what people took out, rejected or wrote themselves."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from slowwave.consolidation.facts import Identity, identity
from slowwave.consolidation.likeness import Meaning, is_like, meaning_of
from slowwave.consolidation.model import Gathered, State
from slowwave.consolidation.words import words_of
from slowwave.memory.book import Memory
from slowwave.memory.foreign import ForeignLine
from slowwave.memory.ledger import Writer
from slowwave.memory.model import Candidate

REMOVED = "a person removed this memory"
REWORDED = "a person has put it in their own words"
REJECTED = "a person rejected it"
REJECTED_LIKE = "a person rejected it in other words"


class _Refused:
    """Statements that a person does not want, whatever words and session they come back in."""

    def __init__(self, items: Iterable[Memory | Candidate]) -> None:
        self._identities: set[Identity] = set()
        self._texts: dict[frozenset[str], list[str]] = {}
        self._bytes: dict[str, list[str]] = {}
        for item in items:
            self._identities |= {identity(item), ("means", *meaning_of(item.text))}
            self._texts.setdefault(words_of(item.text).marks, []).append(item.text)
            for piece in item.evidence:
                self._bytes.setdefault(piece.sha256, []).append(item.text)

    def has(self, candidate: Candidate) -> bool:
        """Say whether it was refused in just these terms."""
        mine = {identity(candidate), ("means", *meaning_of(candidate.text))}
        return not mine.isdisjoint(self._identities)

    def has_like(self, candidate: Candidate) -> bool:
        """Say whether a rewording of it was refused."""
        return any(is_like(text, candidate.text) for text in self._texts.get(words_of(candidate.text).marks, ()))

    def has_bytes(self, candidate: Candidate) -> bool:
        """Say whether another extractor's reading of the same words in the same record was refused."""
        return any(
            _share(text, candidate.text) for piece in candidate.evidence for text in self._bytes.get(piece.sha256, ())
        )


def _share(one: str, other: str) -> bool:
    """Say whether one text has most of the other's words: two facts of one message do not."""
    a, b = set(words_of(one).stems), set(words_of(other).stems)
    return len(a & b) * 2 > min(len(a), len(b))


@dataclass(frozen=True, slots=True)
class Refusals:
    """Everything that keeps candidates out."""

    unproven: dict[str, str]
    removed: _Refused
    reworded: _Refused
    rejected: _Refused
    foreign: dict[Meaning, tuple[ForeignLine, Writer]]

    @classmethod
    def of(cls, state: State, gathered: Gathered) -> "Refusals":
        """Return what a memory folder refuses."""
        past: Sequence[Memory] = list(state.book.memories.values())
        return cls(
            unproven=dict(gathered.unproven),
            removed=_Refused([*(m for m in past if m.status == "removed-by-person"), *state.removed]),
            reworded=_Refused([*(m for m in past if m.status == "edited-by-person"), *(m for m, _ in state.edited)]),
            rejected=_Refused(gathered.rejected),
            # a line that came from a tool says nothing, so it keeps nothing out either
            foreign={
                meaning_of(line.text): (line, writer)
                for line in reversed(state.foreign)
                if (writer := state.writers.get(line.key, "person")) != "tool"
            },
        )

    def reason(self, candidate: Candidate) -> str:
        """Return why a candidate is refused, or ""."""
        if candidate.id in self.unproven:
            return self.unproven[candidate.id]
        if self.removed.has(candidate) or self.removed.has_like(candidate) or self.removed.has_bytes(candidate):
            return REMOVED
        if self.reworded.has(candidate):
            return REWORDED
        if self.rejected.has(candidate):
            return REJECTED
        if self.rejected.has_like(candidate) or self.rejected.has_bytes(candidate):
            return REJECTED_LIKE
        line, writer = self.foreign.get(meaning_of(candidate.text), (None, ""))
        return f"{'an' if writer == 'agent' else 'a'} {writer} wrote it in {line.file} already" if line else ""
