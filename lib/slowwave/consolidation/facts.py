"""Facts: what several candidates and perhaps a memory say together, how sure it is, and when it held."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from slowwave.consolidation.likeness import Meaning, is_like, meaning_of, words_of
from slowwave.consolidation.slots import IN_WORDS, beside_claim, claim
from slowwave.memory import Candidate, Category, Evidence, seen_in
from slowwave.memory.book import Memory, unique
from slowwave.memory.ledger import Sighting
from slowwave.memory.provenance import ForeignLine, known_lines
from slowwave.memory.team import OtherLine, read_others

# Found by what they claim or by their meaning.

Identity = tuple[str, ...]
Span = tuple[str, str]


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """Somebody or something stated one answer of a slot; ``name`` orders answers of one moment by what they say."""

    at: str
    by_person: bool
    name: tuple[str, ...]
    answer: str


@dataclass(slots=True)
class Fact:
    """A memory, candidates that say the same, or both."""

    memory: Memory | None = None  # the memory, or None
    candidates: list[Candidate] = field(default_factory=list[Candidate])  # what this dream adds to it
    # the candidates that the memory was made of before, as far as they are still on file
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
        self._read: dict[str, list[tuple[Candidate, Fact]]] = {}
        for memory in memories:
            known = [candidates[c] for c in memory.candidates if c in candidates]
            self._enter(fact := Fact(memory, known=known), [memory, *known])
            for one in known:
                for piece in one.evidence:
                    self._read.setdefault(piece.sha256, []).append((one, fact))

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
        return self._found.get(identity(candidate)) or self._by_words(candidate) or self._by_bytes(candidate)

    def _by_words(self, candidate: Candidate) -> Fact | None:
        """Return the fact of the same words where one of the two has no typed key."""
        fact = self._found.get(("means", *meaning_of(candidate.text)))
        if fact is None:
            return None
        keys = {(c.key, c.value.casefold()) for c in (*fact.known, *fact.candidates) if c.key}
        return None if candidate.key and keys and (candidate.key, candidate.value.casefold()) not in keys else fact

    def _by_bytes(self, candidate: Candidate) -> Fact | None:
        """Return the fact that an older version of the same rules read out of the same bytes, in other words."""
        version, _, source = candidate.extractor.partition(":")
        found: list[tuple[float, Fact]] = []
        for one, fact in (read for piece in candidate.evidence for read in self._read.get(piece.sha256, ())):
            before, _, other = one.extractor.partition(":")
            is_older = other == source and before != version and before.split("/")[0] == version.split("/")[0]
            if is_older and one.session.id == candidate.session.id:
                found.append((shared_words(one.text, candidate.text), fact))
        share, fact = max(found, key=lambda pair: pair[0], default=(0.0, None))
        return fact if share > SAME_BYTES else None

    def _enter(self, fact: Fact, items: Iterable[Memory | Candidate]) -> None:
        self.facts.append(fact)
        for item in items:
            self._register(fact, item)

    def _register(self, fact: Fact, item: Memory | Candidate) -> None:
        self._found.setdefault(identity(item), fact)
        self._found.setdefault(("means", *meaning_of(item.text)), fact)


# two readings of the same bytes that share more are one fact: two facts of one message do not
SAME_BYTES = 0.5


def shared_words(one: str, other: str) -> float:
    """Return how much of the words of the shorter of two texts stands in the other, 0 to 1."""
    a, b = set(words_of(one).stems), set(words_of(other).stems)
    return len(a & b) / max(1, min(len(a), len(b)))


# How certain a fact is that several sessions showed.

# Further sessions count less than the first: people repeat themselves, and the same mistake is made twice, all the
# more on one day.
DAMPING = 0.5
OTHER_DAY = 0.6
CAP = 0.99
# what was hardly worth it in any session is not worth more for being said often, as thanks and "go on" are
LEAST = 0.3
# Only what a person typed can make these true (seed 004 on hostile text; DESIGN promise 10).
PERSONAL: frozenset[Category] = frozenset({"preference", "decision", "constraint"})


def combined(category: Category, sightings: Iterable[Sighting]) -> float:
    """Return the confidence of a fact: a damped noisy-or over independent sessions.

    A session counts once, with its best sighting, so neither repetition within a session nor the order matters; on
    another day it counts more. Of a preference, decision or constraint only what a person said counts, and what no
    session made likely stays what it is.
    """
    counted = [s for s in sightings if category not in PERSONAL or s.origin.startswith("user_")]
    best = [max((s.confidence, s.observed_at[:10]) for s in group) for group in independent(counted)]
    if not best:
        return 0.0
    (first, day), *others = sorted(best, reverse=True)
    if first < LEAST:
        return first
    doubt, days = 1 - first, {day}
    for confidence, day in others:
        doubt *= 1 - (DAMPING if day in days else OTHER_DAY) * confidence
        days.add(day)
    return round(max(first, min(1 - doubt, CAP)), 4)


def independent(sightings: Iterable[Sighting]) -> list[list[Sighting]]:
    """Return the sightings by session, where copies and forks that show the same records are one session."""
    every = list(sightings)
    parents = list(range(len(every)))

    def root(number: int) -> int:
        while parents[number] != number:
            parents[number] = number = parents[parents[number]]
        return number

    first: dict[tuple[str, ...], int] = {}
    for number, sighting in enumerate(every):
        for mark in ((sighting.dialect, sighting.session), *((record,) for record in sighting.records)):
            parents[root(number)] = root(first.setdefault(mark, number))
    groups: dict[int, list[Sighting]] = {}
    for number, sighting in enumerate(every):
        groups.setdefault(root(number), []).append(sighting)
    return list(groups.values())


# What held when: validity intervals from what was seen, whichever order it was found in.
#
# At any time that answer of a slot holds which was stated last. Once a person has stated one, only people change it:
# what commands show then neither begins nor ends anything. So the intervals are a function of what was seen and when,
# and an old session that is found late fits in where it belongs.


@dataclass(frozen=True, slots=True)
class Held:
    """When an answer held, oldest interval first, and what ended the last one ("" while it lasts)."""

    spans: tuple[Span, ...]
    ended_by: str = ""


def moments_of(answer: str, name: tuple[str, ...], sightings: Iterable[Sighting]) -> list[Moment]:
    """Return when an answer was stated."""
    return [Moment(s.observed_at, s.origin.startswith("user_"), name, answer) for s in sightings]


def timeline(moments: Iterable[Moment]) -> dict[str, Held]:
    """Return when each answer of one slot held; intervals do not overlap, the last one of all is open.

    Of answers of the same moment, that of a person counts last, else the order of what they say decides.
    """
    spans: dict[str, list[Span]] = {}
    ended: dict[str, str] = {}
    current, people_spoke = "", False
    every = sorted(moments)
    first: dict[str, str] = {}
    for moment in every:
        spans.setdefault(moment.answer, [])
        first.setdefault(moment.answer, moment.at)
        if moment.answer == current or (people_spoke and not moment.by_person):
            people_spoke |= moment.by_person
            continue
        if current:
            spans[current][-1] = (spans[current][-1][0], moment.at)
            ended[current] = moment.answer
        spans[moment.answer].append((moment.at, ""))
        ended.pop(moment.answer, None)
        current, people_spoke = moment.answer, people_spoke or moment.by_person
    for answer, held in spans.items():
        if not held:  # stated only after a person had said otherwise
            held.append((first[answer], first[answer]))
            ended[answer] = current
    return {answer: Held(tuple(held), ended.get(answer, "")) for answer, held in spans.items()}


def taken_back(held: Held, own: Sequence[Moment], against: Iterable[Moment]) -> Held:
    """Return when an answer held, given what took it back in passing: from then on, until it is stated again."""
    spans: list[Span] = []
    ended = held.ended_by
    enders, stated = sorted(against), sorted(m.at for m in own)
    for begin, end in held.spans:
        start: str | None = begin
        while start is not None:
            since = start
            ender = next((m for m in enders if m.at > since and _is_before(m.at, end)), None)
            spans.append((start, ender.at if ender else end))
            ended = ender.answer if ender else held.ended_by if end else ""
            start = next((at for at in stated if ender and at > ender.at and _is_before(at, end)), None)
    return Held(tuple(spans), ended)


def outside(held: Held, other: Held, name: str) -> Held:
    """Return when an answer held while another one, called so, did not."""
    spans = list(held.spans)
    for start, stop in other.spans:
        before = [(begin, end if _is_before(end or start, start) else start) for begin, end in spans if begin < start]
        behind = [(max(begin, stop), end) for begin, end in spans if stop and _is_before(max(begin, stop), end)]
        spans = sorted((*before, *behind))
    is_over = not spans or (spans[-1][1] and not held.spans[-1][1])
    first = held.spans[0][0]
    return Held(tuple(spans) or ((first, first),), name if is_over else held.ended_by)


def _is_before(at: str, end: str) -> bool:
    return not end or at < end


# What stands in a memory file since a tool's output said so, or somebody else shared: it makes no candidate surer.
#
# An agent follows what its memory says, so a planted line comes back as commands that it ran and as sentences that it
# said. Only what a person typed themselves counts beside such a line; the rest waits for a person.

Line = TypeVar("Line", ForeignLine, OtherLine)
# shorter commands stand in any sentence
_LEAST_CHARS = 4


class Doubts:
    """The lines of memory files that came from tools, and what others shared."""

    def __init__(self, lines: Sequence[ForeignLine], others: Sequence[OtherLine] = ()) -> None:
        self._lines, self._others = lines, others
        self._meanings: dict[Meaning, ForeignLine] = {meaning_of(line.text): line for line in lines}

    @property
    def number(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    def has(self, text: str) -> ForeignLine | None:
        """Return the line that says what a text says, in the same words or in others."""
        same = self._meanings.get(meaning_of(text)) if self._lines else None
        return same or next((line for line in self._lines if is_like(line.text, text)), None)

    def reason(self, candidate: Candidate) -> str:
        """Return why a candidate waits, or ""."""
        if candidate.doubt:
            return f"{candidate.doubt}: waits for a person"
        if candidate.origin.startswith("user_"):
            return ""
        line = self.has(candidate.text) or _with_command(candidate, self._lines)
        if line:
            return f"stands in {line.file}, where a tool's output brought it: waits for a person"
        like = next((one for one in self._others if is_like(one.text, candidate.text)), None)
        other = like or _with_command(candidate, self._others)
        return f"is what {other.who} shared, and nobody here has said it: waits for a person" if other else ""


def _with_command(candidate: Candidate, lines: Sequence[Line]) -> Line | None:
    """Return the line that has a candidate's command in it."""
    command = " ".join(candidate.value.casefold().split())
    if len(command) < _LEAST_CHARS:
        return None
    return next((line for line in lines if command in f" {' '.join(line.text.casefold().split())} "), None)


def doubts_of(memory: Path) -> Doubts:
    """Return the doubts about a memory folder.

    Raises:
        CorruptStateError: the ledger or the notes about foreign lines are damaged.
        UnreadableError: a file cannot be read.
    """
    return Doubts(
        [line for line, known in known_lines(memory) if known and known.writer == "tool"], read_others(memory)
    )
