"""Consolidate: what to do with every memory and every candidate, as operations with reasons. A pure function."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from slowwave.consolidation.confidence import PERSONAL, independent
from slowwave.consolidation.facts import Fact, Grouping, claim, says_same
from slowwave.consolidation.likeness import is_same
from slowwave.consolidation.model import Gathered, Operation, PersonLine, State
from slowwave.consolidation.near import Near
from slowwave.consolidation.retraction import given_up, takes_back
from slowwave.memory.book import Memory
from slowwave.memory.model import Candidate


def consolidate(state: State, gathered: Gathered, *, accept_confidence: float) -> list[Operation]:
    """Return the operations of a dream: every active memory and every waiting candidate in exactly one of them.

    Args:
        state: what orient found.
        gathered: the candidates; their order does not matter.
        accept_confidence: facts below it wait for more evidence.
    """
    operations = _by_people(state)
    grouping = Grouping(state.standing)
    refusals = _Refusals.of(state, gathered)
    for candidate in sorted(gathered.waiting, key=lambda c: (c.observed_at, c.id)):
        reason = refusals.reason(candidate)
        if reason:
            operations.append(Operation("DROP", "", (candidate.id,), reason))
        else:
            grouping.take(candidate)
    accepted: list[Fact] = []
    for fact in grouping.facts:
        refused = _not_accepted(fact, accept_confidence)
        if refused:
            operations.append(refused)
        else:
            accepted.append(fact)
    return operations + _resolved(accepted)


def _by_people(state: State) -> list[Operation]:
    """Take note of what people did to our lines."""
    edited = [
        Operation("KEEP", m.id, (), f"a person reworded it and owns it now: {wording[:120]}", by_person=True)
        for m, wording in state.edited
    ]
    removed = [Operation("DROP", m.id, (), "a person removed its line", by_person=True) for m in state.removed]
    return edited + removed


@dataclass(frozen=True, slots=True)
class _Refusals:
    """Why candidates are refused before anything is made of them."""

    unproven: dict[str, str]
    removed: tuple[Memory, ...]
    reworded: tuple[Memory, ...]
    people: Near[PersonLine]

    @classmethod
    def of(cls, state: State, gathered: Gathered) -> "_Refusals":
        past = state.book.memories.values()
        people: Near[PersonLine] = Near()
        for line in state.people:
            people.add(line.text, line)
        return cls(
            unproven=dict(gathered.unproven),
            removed=(*(m for m in past if m.status == "removed-by-person"), *state.removed),
            reworded=(*(m for m in past if m.status == "edited-by-person"), *(m for m, _ in state.edited)),
            people=people,
        )

    def reason(self, candidate: Candidate) -> str:
        if candidate.id in self.unproven:
            return self.unproven[candidate.id]
        if _says_one_of(candidate, self.removed):
            return "a person removed this memory"
        if _says_one_of(candidate, self.reworded):
            return "a person has put it in their own words"
        for line in self.people.find(candidate.text):
            if is_same(line.text, candidate.text):
                return f"a person wrote it in {line.file} already"
        return ""


def _says_one_of(candidate: Candidate, memories: Iterable[Memory]) -> bool:
    return any(says_same(memory, candidate) for memory in memories)


def _not_accepted(fact: Fact, accept_confidence: float) -> Operation | None:
    if fact.memory:
        return None
    ids = tuple(c.id for c in fact.candidates)
    if fact.category in PERSONAL and not fact.is_from_person:
        return Operation("DROP", "", ids, f"only what a person typed can make a {fact.category}")
    if fact.confidence < accept_confidence:
        return Operation(
            "WAIT", "", ids, f"confidence {fact.confidence:.2f} is below {accept_confidence:g}: waits for more evidence"
        )
    return None


def _resolved(facts: Sequence[Fact]) -> list[Operation]:
    """Let the newest of contradicting facts win; everything else is added, merged or kept."""
    rivals: dict[str, list[Fact]] = {}
    for fact in facts:
        about = claim(fact.lead)[0]
        rivals.setdefault(about or f"only:{fact.id}", []).append(fact)
    winners = [max(g, key=lambda f: (f.is_from_person, f.last_seen, f.confidence, f.id)) for g in rivals.values()]
    successors = {f.id: w for w, group in zip(winners, rivals.values(), strict=True) for f in group if f is not w}
    successors |= _taken_back(winners)
    return [_superseded(fact, _last(fact, successors)) if fact.id in successors else _kept(fact) for fact in facts]


def _taken_back(facts: Sequence[Fact]) -> dict[str, Fact]:
    """Return which facts a newer one of the same kind gives up in passing, with that newer one."""
    found: dict[str, Fact] = {}
    personal = sorted((f for f in facts if f.category in PERSONAL), key=lambda f: (f.last_seen, f.id))
    for newer in personal:
        if not newer.is_from_person or not given_up(newer.lead.text):
            continue
        for older in personal:
            is_older = older.last_seen < newer.last_seen and older.category == newer.category
            if is_older and takes_back(newer.lead.text, older.lead.text):
                found.setdefault(older.id, newer)
    return found


def _last(fact: Fact, successors: Mapping[str, Fact]) -> Fact:
    """Return the fact that holds in the end; each successor is newer, so there is no way round."""
    while fact.id in successors:
        fact = successors[fact.id]
    return fact


def _kept(fact: Fact) -> Operation:
    ids = tuple(c.id for c in fact.candidates)
    sessions = len(independent(fact.sightings))
    if not fact.memory:
        reason = f"new, confidence {fact.confidence:.2f} from {_count(sessions, 'session')}"
        return Operation("ADD", fact.id, ids, reason, is_new=True)
    if ids:
        reason = f"seen again: confidence {fact.memory.confidence:.2f} to {fact.confidence:.2f}"
        return Operation("MERGE", fact.id, ids, f"{reason} from {_count(sessions, 'session')}")
    return Operation("KEEP", fact.id, (), "nothing new about it")


def _superseded(fact: Fact, winner: Fact) -> Operation:
    ids = tuple(c.id for c in fact.candidates)
    if winner.is_from_person and not fact.is_from_person:
        reason = f"a person said otherwise: {winner.lead.text[:120]}"
    else:
        when = winner.last_seen[:10] or "later"
        reason = f"newer ({when}): {winner.lead.text[:120]}"
    return Operation("SUPERSEDE", fact.id, ids, reason, successor=winner.id, is_new=fact.memory is None)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
