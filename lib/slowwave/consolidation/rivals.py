"""Which facts contradict each other, and when each of them held."""

from collections.abc import Iterable, Mapping, Sequence

from slowwave.consolidation.confidence import PERSONAL
from slowwave.consolidation.facts import Fact
from slowwave.consolidation.retraction import given_up, takes_back
from slowwave.consolidation.slots import claim, is_definite
from slowwave.consolidation.timeline import Held, Moment, taken_back, timeline


def held_when(facts: Sequence[Fact]) -> dict[str, Held]:
    """Return for each fact, by its id, when it held and what ended it; a function of what was seen and when."""
    found: dict[str, Held] = {}
    for group in _slots(facts).values():
        found |= timeline(moment for fact in group for moment in fact.moments)
    for fact in facts:
        against = _taken_back_by(fact, facts)
        if against:
            found[fact.id] = taken_back(found[fact.id], fact.moments, against)
    return {fact.id: _with_its_end(fact, found[fact.id]) for fact in facts}


def holder_after(fact: str, held: Mapping[str, Held]) -> str:
    """Return the fact that holds in the end in place of one that was ended; each one ended later than the one before.

    Empty when the last of them is not known or still open to doubt.
    """
    seen = {fact}
    while held[fact].ended_by:
        fact = held[fact].ended_by
        if fact in seen or fact not in held:
            return ""
        seen.add(fact)
    return fact


def _with_its_end(fact: Fact, held: Held) -> Held:
    """A memory that a person took away has ended when they did, whatever was seen."""
    if not fact.is_ghost or not fact.memory or not held.spans:
        return held
    *before, (begin, end) = held.spans
    gone = fact.memory.valid_to
    return Held((*before, (begin, min(end, gone) if end and gone else end or gone)), held.ended_by)


def _slots(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    """Return the facts by what they are about; those that deny nothing are alone."""
    slots: dict[str, list[Fact]] = {}
    for fact in facts:
        slots.setdefault(_slot(fact) or f"only:{fact.id}", []).append(fact)
    return slots


def _slot(fact: Fact) -> str:
    """Return what a fact is about where two answers exclude each other.

    Words alone only count where a contradiction is one: rules and choices of people. Two observations may well both be
    true.
    """
    lead = fact.lead
    slot = claim(lead)[0]
    if (lead.key and lead.value) or is_definite(slot):
        return slot
    return slot if fact.category in PERSONAL and fact.is_from_person else ""


def _taken_back_by(older: Fact, facts: Sequence[Fact]) -> list[Moment]:
    """Return when a later statement of the same kind gave a fact up in passing."""
    if older.category not in PERSONAL:
        return []
    return [
        moment
        for newer in facts
        if newer is not older
        and newer.category == older.category
        and given_up(newer.lead.text)
        and takes_back(newer.lead.text, older.lead.text)
        for moment in newer.moments
        if moment.by_person
    ]
