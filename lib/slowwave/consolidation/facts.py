"""Facts: what several candidates and perhaps a memory say together, found by typed key or by likeness."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from slowwave.consolidation.confidence import PERSONAL, combined
from slowwave.consolidation.likeness import is_same, opposed
from slowwave.consolidation.near import Near
from slowwave.memory.book import Memory, unique
from slowwave.memory.ledger import Sighting
from slowwave.memory.model import Candidate, Category, Evidence, seen_in


@dataclass(slots=True)
class Fact:
    """A memory, candidates that say the same, or both."""

    memory: Memory | None = None
    candidates: list[Candidate] = field(default_factory=list[Candidate])

    @property
    def lead(self) -> Memory | Candidate:
        """What gives the fact its words: the memory if there is one, else the best candidate."""
        return self.memory or max(
            self.candidates, key=lambda c: (c.origin.startswith("user_"), c.confidence, c.observed_at, c.id)
        )

    @property
    def id(self) -> str:
        """The id of the memory that it is or would be."""
        if self.memory:
            return self.memory.id
        return "m" + hashlib.sha256(self.lead.id.encode()).hexdigest()[:11]

    @property
    def category(self) -> Category:
        """Its category."""
        return self.lead.category

    @property
    def sightings(self) -> tuple[Sighting, ...]:
        """Every session that showed it."""
        known = self.memory.sightings if self.memory else ()
        return unique((*known, *map(sighting, self.candidates)))

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """All evidence for it, the memory's first."""
        known = self.memory.evidence if self.memory else ()
        return unique((*known, *(e for c in self.candidates for e in c.evidence)))

    @property
    def confidence(self) -> float:
        """How certain it is."""
        return combined(self.category, self.sightings)

    @property
    def is_from_person(self) -> bool:
        """Whether a person stands behind it."""
        return any(s.origin.startswith("user_") for s in self.sightings)

    @property
    def first_seen(self) -> str:
        """When it was first seen, or ""."""
        times = [s.observed_at for s in self.sightings if s.observed_at]
        known = [self.memory.valid_from] if self.memory and self.memory.valid_from else []
        return min(known + times, default="")

    @property
    def last_seen(self) -> str:
        """When it was last seen, or ""."""
        return max((s.observed_at for s in self.sightings), default="")


def sighting(candidate: Candidate) -> Sighting:
    """Return what a candidate says about where and when a fact was seen."""
    session = candidate.session
    # a command that is repeated across sessions cites the others as well, which are sightings of their own
    own = tuple(e for e in candidate.evidence if e.path == candidate.evidence[-1].path)
    return Sighting(
        session.dialect,
        session.id,
        session.path,
        candidate.origin,
        candidate.confidence,
        candidate.observed_at,
        seen_in(own),
    )


def claim(item: Memory | Candidate) -> tuple[str, str]:
    """Return what something is about and what it says of it: its typed key and value, or what its words amount to.

    Words only count where a contradiction is one: rules and choices. Two observations may well both be true.
    """
    if item.key and item.value:
        return item.key, item.value.casefold()
    return opposed(item.text) if item.category in PERSONAL else ("", "")


def says_same(one: Memory | Candidate, other: Memory | Candidate) -> bool:
    """Say whether two items state the same fact."""
    mine, theirs = claim(one), claim(other)
    if one.key and one.key == other.key:
        return mine == theirs
    if mine[0] and mine == theirs:
        return True
    return is_same(one.text, other.text)


class Grouping:
    """Facts that grow candidate by candidate; only what may be the same is compared."""

    def __init__(self, memories: Iterable[Memory]) -> None:
        self.facts: list[Fact] = []
        self._by_key: dict[tuple[str, str], list[Fact]] = {}
        self._near: Near[Fact] = Near()
        for memory in memories:
            self._enter(Fact(memory), memory)

    def take(self, candidate: Candidate) -> None:
        """Put a candidate to the fact that it states, or let it found a new one."""
        for fact in [*self._by_key.get(claim(candidate), ()), *self._near.find(candidate.text)]:
            if any(says_same(member, candidate) for member in _members(fact)):
                fact.candidates.append(candidate)
                return
        self._enter(Fact(None, [candidate]), candidate)

    def _enter(self, fact: Fact, item: Memory | Candidate) -> None:
        self.facts.append(fact)
        self._near.add(item.text, fact)
        if claim(item)[0]:
            self._by_key.setdefault(claim(item), []).append(fact)


def _members(fact: Fact) -> Sequence[Memory | Candidate]:
    return [fact.memory] if fact.memory else fact.candidates[:1]
