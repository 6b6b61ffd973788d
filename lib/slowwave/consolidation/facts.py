"""Facts: what several candidates and perhaps a memory say together, found by what they claim or by their meaning."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from slowwave.consolidation.confidence import PERSONAL, combined
from slowwave.consolidation.likeness import meaning_of
from slowwave.consolidation.slots import IN_WORDS, beside_claim, claim
from slowwave.consolidation.timeline import Moment, Span, moments_of
from slowwave.memory.book import Memory, unique
from slowwave.memory.ledger import Sighting
from slowwave.memory.model import Candidate, Category, Evidence, seen_in

Identity = tuple[str, ...]


@dataclass(slots=True)
class Fact:
    """A memory, candidates that say the same, or both.

    Attributes:
        memory: the memory, or None.
        candidates: what this dream adds to it.
        known: the candidates that the memory was made of before, as far as they are still on file.
    """

    memory: Memory | None = None
    candidates: list[Candidate] = field(default_factory=list[Candidate])
    known: Sequence[Candidate] = ()

    @property
    def lead(self) -> Memory | Candidate:
        """What gives the fact its words: the best statement of it, whenever that was found.

        A person's words before all others, then the surest, then the shortest, then the oldest ones. Words that are in
        no candidate, put there by a person or a model, stay.
        """
        if self.memory and self.memory.text not in {" ".join(c.text.split()) for c in self.known}:
            return self.memory  # its words are a person's or a model's
        return min((*self.known, *self.candidates), key=_rank)

    @property
    def id(self) -> str:
        """The id of the memory that it is or would be."""
        return self.memory.id if self.memory else "m" + hashlib.sha256(self.lead.id.encode()).hexdigest()[:11]

    @property
    def category(self) -> Category:
        """Its category."""
        return self.lead.category

    @property
    def sightings(self) -> tuple[Sighting, ...]:
        """Every session that showed it, oldest first."""
        known = self.memory.sightings if self.memory else ()
        return unique((*known, *map(sighting, self.candidates)))

    @property
    def counted(self) -> tuple[Sighting, ...]:
        """The sightings that say when it held: of a preference, decision or constraint, what a person said."""
        return tuple(s for s in self.sightings if self.category not in PERSONAL or s.origin.startswith("user_"))

    @property
    def moments(self) -> list[Moment]:
        """When it was stated."""
        return moments_of(self.id, identity(self.lead), self.counted or self.sightings)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """All evidence for it, the memory's first."""
        known = self.memory.evidence if self.memory else ()
        return unique((*known, *(e for c in self.candidates for e in c.evidence)))

    @property
    def confidence(self) -> float:
        """How certain it is: further sightings never make it less so."""
        categories: set[Category] = {c.category for c in (*self.known, *self.candidates)} or {self.category}
        return max(combined(category, self.sightings) for category in categories)

    @property
    def is_from_person(self) -> bool:
        """Whether a person stands behind it."""
        return any(s.origin.startswith("user_") for s in self.sightings)

    @property
    def is_ghost(self) -> bool:
        """Whether it is a memory that a person took over or out: it says what it ended, and is not ours to change."""
        return self.memory is not None and self.memory.status not in ("active", "superseded")

    @property
    def first_seen(self) -> str:
        """When it was first seen, or ""."""
        return min((s.observed_at for s in self.sightings), default="")

    @property
    def last_seen(self) -> str:
        """When it was last seen, or ""."""
        return max((s.observed_at for s in self.sightings), default="")

    @property
    def spans_before(self) -> tuple[Span, ...]:
        """When the memory held as far as was known before this dream."""
        return self.memory.held if self.memory else ()


def _rank(candidate: Candidate) -> tuple[bool, bool, float, int, str, str]:
    is_said = candidate.origin.startswith("user_")
    is_claimed = not is_said and candidate.category in PERSONAL
    sure = -round(candidate.confidence, 1)
    return not is_said, is_claimed, sure, len(candidate.text), candidate.observed_at, candidate.id


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


def identity(item: Memory | Candidate) -> Identity:
    """Return what tells whether two items state the same fact: slot and value of what they claim, else the meaning.

    What claims the same of another version, with a no, or of something else that it names, is another fact.
    """
    slot, value = claim(item)
    is_typed = bool(slot) and not slot.startswith(IN_WORDS)
    return (
        ("claims", slot, value, *beside_claim(item.text, slot, value))
        if is_typed
        else ("means", *meaning_of(item.text))
    )


class Grouping:
    """Facts that grow candidate by candidate.

    A memory is known by all statements that it was made of, so what a person or a model put together stays together.
    """

    def __init__(self, memories: Iterable[Memory], candidates: Mapping[str, Candidate]) -> None:
        self.facts: list[Fact] = []
        self._found: dict[Identity, Fact] = {}
        for memory in memories:
            known = [candidates[c] for c in memory.candidates if c in candidates]
            self._enter(Fact(memory, known=known), [memory, *known])

    def take(self, candidate: Candidate) -> None:
        """Put a candidate to the fact that it states, or let it found a new one."""
        fact = self.fact_of(candidate)
        if fact is None:
            fact = Fact()
            self.facts.append(fact)
        fact.candidates.append(candidate)
        self._register(fact, candidate)

    def fact_of(self, candidate: Candidate) -> Fact | None:
        """Return the fact that a candidate states, if there is one."""
        return self._found.get(identity(candidate)) or self._by_words(candidate)

    def _by_words(self, candidate: Candidate) -> Fact | None:
        """Return the fact of the same words where one of the two has no typed key."""
        fact = self._found.get(("means", *meaning_of(candidate.text)))
        if fact is None:
            return None
        keys = {(c.key, c.value.casefold()) for c in (*fact.known, *fact.candidates) if c.key}
        return None if candidate.key and keys and (candidate.key, candidate.value.casefold()) not in keys else fact

    def _enter(self, fact: Fact, items: Iterable[Memory | Candidate]) -> None:
        self.facts.append(fact)
        for item in items:
            self._register(fact, item)

    def _register(self, fact: Fact, item: Memory | Candidate) -> None:
        self._found.setdefault(identity(item), fact)
        self._found.setdefault(("means", *meaning_of(item.text)), fact)
