"""Which facts contradict each other, and when each of them held."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from slowwave.consolidation.amended import amended
from slowwave.consolidation.changed import overtakes
from slowwave.consolidation.confidence import PERSONAL
from slowwave.consolidation.facts import Fact, identity, sighting
from slowwave.consolidation.retraction import given_up, takes_back
from slowwave.consolidation.slots import claim, is_definite, stance_of
from slowwave.consolidation.taken import ended, is_retraction, may_end
from slowwave.consolidation.timeline import Held, moments_of, taken_back, timeline
from slowwave.consolidation.words import words_of

_MOST_ALIKE = 60


def held_when(facts: Sequence[Fact]) -> dict[str, Held]:
    """Return for each fact, by its id, when it held and what ended it; a function of what was seen and when."""
    moments = {fact.id: fact.moments for fact in facts}
    slots: dict[str, list[str]] = {}
    for fact in facts:
        slots.setdefault(_slot(fact) or f"only:{fact.id}", []).append(fact.id)
    found: dict[str, Held] = {}
    for group in slots.values():
        found |= timeline(moment for fact in group for moment in moments[fact])
    plain = [fact for fact in facts if not is_retraction(fact)]
    for older, newer in _overtaken(plain):
        against = [m for fact in newer for m in moments[fact.id] if m.by_person or _are_notes(older, fact)]
        found[older.id] = taken_back(found[older.id], moments[older.id], against)
    for older, newer in _denied(plain):
        against = [m for fact in newer for m in moments[fact] if m.by_person]
        found[older] = taken_back(found[older], moments[older], against)
    for older, recaps in amended(plain):
        found[older.id] = taken_back(found[older.id], moments[older.id], recaps)
    found |= ended(facts, found)
    found |= _replaced(facts, found)
    return {fact.id: _with_its_end(fact, found.get(fact.id, Held(fact.spans_before))) for fact in facts}


def _replaced(facts: Sequence[Fact], held: Mapping[str, Held]) -> dict[str, Held]:
    """Return when memories held that a model found to be changed or over."""
    by_id = {fact.memory.id: fact for fact in facts if fact.memory}
    now = dict(held)
    replaced: set[str] = set()
    for fact in sorted(facts, key=lambda f: f.id):
        for candidate, one in ((c, r) for c in (*fact.known, *fact.candidates) for r in c.replaces):
            older = by_id.get(one.id)
            # two memories never end each other
            if older is None or older is fact or not may_end(candidate, fact, older) or _ends(older, fact, now):
                continue
            own = sighting(candidate)
            ender = moments_of(fact.id, identity(fact.lead), [own])
            now[older.id] = taken_back(now[older.id], older.moments, ender)
            replaced.add(older.id)
    return {fact: now[fact] for fact in replaced}


def _ends(fact: Fact, other: Fact, held: Mapping[str, Held]) -> bool:
    """Say whether a fact ended another one, or one that did."""
    seen = {other.id}
    at = held[other.id].ended_by
    while at and at not in seen and at in held:
        if at == fact.id:
            return True
        seen.add(at)
        at = held[at].ended_by
    return False


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


def _slot(fact: Fact) -> str:
    """Return what a fact is about where two answers exclude each other.

    Words alone only count where a contradiction is one: rules and choices of people. Two observations may well both be
    true.
    """
    lead = fact.lead
    if is_retraction(fact):
        return ""
    slot = claim(lead)[0]
    if (lead.key and lead.value) or is_definite(slot):
        return slot
    return slot if fact.category in PERSONAL and fact.is_from_person else ""


def _overtaken(facts: Sequence[Fact]) -> Iterator[tuple[Fact, list[Fact]]]:
    """Yield facts with those whose words take their place (:mod:`slowwave.consolidation.changed`)."""
    by_word: dict[str, list[Fact]] = {}
    words = {fact.id: frozenset(words_of(fact.lead.text).stems) for fact in facts}
    for fact in facts:
        for word in words[fact.id]:
            by_word.setdefault(word, []).append(fact)
    for older in facts:
        # a word that many have says nothing of what they are about
        rare = (by_word[word] for word in words[older.id] if len(by_word[word]) <= _MOST_ALIKE)
        near = {fact.id: fact for group in rare for fact in group if fact is not older}
        newer = [near[name] for name in sorted(near) if overtakes(near[name].lead.text, older.lead.text)]
        if newer:
            yield older, newer


def _are_notes(older: Fact, newer: Fact) -> bool:
    """Say whether both are notes of agents, of which the later one counts; what commands showed may both be true."""
    memories = (older.memory, newer.memory)
    return not older.is_from_person and all(m is not None and m.writer == "agent" for m in memories)


def _denied(facts: Iterable[Fact]) -> Iterator[tuple[str, list[str]]]:
    """Yield facts with those that deny them in passing or word for word, where their slots do not show it.

    A statement that says no to what another one asks for denies it, and so does one that gives it up in passing; both
    are people's, and about the same kind of thing.
    """
    personal = [fact for fact in facts if fact.category in PERSONAL and fact.is_from_person]
    leads = {fact.id: fact.lead for fact in personal}
    slots = {fact.id: claim(leads[fact.id]) for fact in personal}
    stances: dict[str, list[tuple[str, str]]] = {}
    giving_up: dict[str, list[Fact]] = {}
    for fact in personal:
        # found by one of the words that are given up: whoever asks for the thing says it
        for word in sorted(given_up(leads[fact.id].text))[:1]:
            giving_up.setdefault(word, []).append(fact)
    for fact in personal:
        about, stance = stance_of(leads[fact.id].text)
        if about:
            stances.setdefault(about, []).append((fact.id, stance))
    for older in personal:
        mine, words = slots[older.id][0], leads[older.id].text
        about, stance = stance_of(words)
        against = [i for i, other in stances.get(about, ()) if other != stance and slots[i][0] != mine]
        against += [
            newer.id
            for word in dict.fromkeys(words_of(words).stems)
            for newer in giving_up.get(word, ())
            if newer is not older and newer.category == older.category and takes_back(leads[newer.id].text, words)
        ]
        if against:
            yield older.id, list(dict.fromkeys(against))
