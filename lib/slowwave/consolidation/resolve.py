"""What becomes of every accepted fact: added, merged, kept, superseded, or holding again."""

from collections.abc import Mapping, Sequence

from slowwave.consolidation.confidence import independent
from slowwave.consolidation.facts import Fact
from slowwave.consolidation.model import Operation
from slowwave.consolidation.rivals import held_when, holder_after
from slowwave.consolidation.taken import is_retraction, may_end, meant, retired
from slowwave.consolidation.timeline import Held


def resolved(facts: Sequence[Fact], *, is_new: bool = False) -> list[Operation]:
    """Let the newest of contradicting facts win, at every time that is known of; all others are added, merged or kept.

    Without anything new nothing is decided anew: not even by rules that are newer than a memory.

    Args:
        facts: memories and candidates.
        is_new: there is something new among the memories, too.
    """
    if not is_new and not any(fact.candidates for fact in facts):
        return [_kept(f) for f in facts if f.memory and f.memory.status == "active" and not is_retraction(f)]
    held = held_when(facts)
    holding = {fact.id: fact for fact in facts}
    operations: list[Operation] = []
    for fact in facts:
        if fact.is_ghost:
            continue
        if is_retraction(fact):
            operations += _retracts(fact, facts, held)
            continue
        winner = holding.get(holder_after(fact.id, held))
        if winner is None or winner is fact:
            operation = _holds(fact, held[fact.id])
        else:
            operation = _superseded(fact, winner, held[fact.id])
        if operation:
            operations.append(operation)
    return operations


def _retracts(fact: Fact, facts: Sequence[Fact], held: Mapping[str, Held]) -> list[Operation]:
    """Note what takes something back, where it is plain what; else it waits for a person or for what it means."""
    ids = tuple(c.id for c in fact.candidates)
    if not ids:
        return []
    texts = {other.id: other.lead.text for other in facts}
    if retired(fact) and not fact.memory:
        return [_retires(fact, facts, held)]
    found = meant(fact, [f for f in facts if not is_retraction(f)], held)
    what = "; ".join(sorted(texts[i][:120] for i in found.fit))
    if fact.memory:
        return [Operation("MERGE", fact.id, ids, "said again")]
    if found.is_plain:
        return [Operation("ADD", fact.id, ids, f"takes back: {what}", is_new=True, spans=held[fact.id].spans)]
    if not found.fit:
        return [Operation("WAIT", "", ids, "takes back nothing that is known")]
    return [Operation("WAIT", "", ids, f"may take back any of {len(found.fit)}: {what}")]


def _retires(fact: Fact, facts: Sequence[Fact], held: Mapping[str, Held]) -> Operation:
    """Note what a model found to be over, where that did end it."""
    ids = tuple(c.id for c in fact.candidates)
    over = [other.lead.text for other in facts if held[other.id].ended_by == fact.id]
    if over:
        return Operation("ADD", fact.id, ids, f"over: {'; '.join(over)[:240]}", is_new=True, spans=held[fact.id].spans)
    named = [other for other in facts if other.memory and other.memory.id in retired(fact)]
    holding = [other for other in named if not held[other.id].spans[-1][1]]
    if any(not may_end(c, fact, other) for other in holding for c in fact.candidates):
        return Operation("WAIT", "", ids, "only a person ends what a person said")
    return Operation("DROP", "", ids, "what it would end does not hold any more, or was said again since")


def _holds(fact: Fact, held: Held) -> Operation:
    ids = tuple(c.id for c in fact.candidates)
    sessions = _count(len(independent(fact.sightings)), "session")
    if not fact.memory:
        reason = f"new, confidence {fact.confidence:.2f} from {sessions}"
        return Operation("ADD", fact.id, ids, reason, is_new=True, spans=held.spans)
    spans = held.spans if held.spans != fact.spans_before else ()
    if fact.memory.status == "superseded":
        reason = f"holds again since {held.spans[-1][0][:10]}, confidence {fact.confidence:.2f} from {sessions}"
        return Operation("MERGE", fact.id, ids, reason, spans=held.spans, words=_words(fact))
    if ids:
        reason = f"seen again: confidence {fact.memory.confidence:.2f} to {fact.confidence:.2f} from {sessions}"
        return Operation("MERGE", fact.id, ids, reason, spans=spans, words=_words(fact))
    return _kept(fact, held) if spans else _kept(fact)


def _kept(fact: Fact, held: Held | None = None) -> Operation:
    if held is None:
        return Operation("KEEP", fact.id, (), "nothing new about it")
    return Operation("KEEP", fact.id, (), f"holds, but not always: {told(held)}", spans=held.spans)


def _superseded(fact: Fact, winner: Fact, held: Held) -> Operation | None:
    ids = tuple(c.id for c in fact.candidates)
    known = fact.memory is not None and fact.memory.status == "superseded"
    if known and not ids and held.spans == fact.spans_before:
        return None
    if winner.is_from_person and not fact.is_from_person:
        reason = f"a person said otherwise: {winner.lead.text[:120]}"
    else:
        when = winner.last_seen[:10] or "later"
        reason = f"newer ({when}): {winner.lead.text[:120]}"
    if known:
        reason = f"held {told(held)}; {reason}" if held.spans else reason
    return Operation(
        "SUPERSEDE", fact.id, ids, reason, winner.id, is_new=fact.memory is None, spans=held.spans, words=_words(fact)
    )


def told(held: Held) -> str:
    """Return intervals in words."""
    return ", ".join(f"{begin[:10] or 'ever'} to {end[:10] or 'now'}" for begin, end in held.spans)


def _words(fact: Fact) -> str:
    """Return the candidate that gives the memory better words than it has, "" when there is none."""
    lead, memory = fact.lead, fact.memory
    # an agent's line keeps its words where it stands
    if memory is None or lead is memory or memory.stands:
        return ""
    mine = (" ".join(lead.text.split()), lead.category, lead.key, lead.value)
    return lead.id if mine != (memory.text, memory.category, memory.key, memory.value) else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
