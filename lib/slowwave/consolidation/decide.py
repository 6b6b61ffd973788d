"""Consolidate: what to do with every memory and every candidate, as operations with reasons. A pure function.

It works on everything that was ever accepted, not only on what holds now: what a night adds changes the past as well,
when it comes from a session that is older than what is known. So a hundred nights and one night end in the same
memories, intervals and index, as long as the same candidates came in.
"""

from dataclasses import replace

from slowwave.consolidation.confidence import PERSONAL
from slowwave.consolidation.doubts import Doubts
from slowwave.consolidation.facts import Fact, Grouping
from slowwave.consolidation.model import Gathered, Operation, State
from slowwave.consolidation.refusals import Refusals
from slowwave.consolidation.resolve import resolved
from slowwave.consolidation.taken import is_retraction
from slowwave.memory.book import Memory
from slowwave.memory.model import DROPS


def consolidate(state: State, gathered: Gathered, *, accept_confidence: float) -> list[Operation]:
    """Return the operations of a dream: every active memory and every waiting candidate in exactly one of them.

    Args:
        state: what orient found.
        gathered: the candidates; their order does not matter.
        accept_confidence: facts below it wait for more evidence.
    """
    operations = _by_people(state)
    grouping = Grouping(_remembered(state), gathered.known)
    refusals = Refusals.of(state, gathered)
    doubts, doubted = Doubts(state.from_tools), Grouping((), {})
    dropped = _dropped(gathered)
    for candidate in sorted(gathered.waiting, key=lambda c: (c.observed_at, c.id)):
        reason = dropped.get(candidate.id) or refusals.reason(candidate)
        if reason:
            operations.append(Operation("DROP", "", (candidate.id,), reason))
        elif doubts.reason(candidate):
            doubted.take(candidate)
        else:
            grouping.take(candidate)
    accepted: list[Fact] = []
    for fact in grouping.facts:
        refused = _not_accepted(fact, accept_confidence)
        if refused:
            operations.append(refused)
        else:
            accepted.append(fact)
    made = resolved(accepted)
    holding = {o.memory for o in made if o.action in ("ADD", "MERGE", "KEEP")}
    for fact in doubted.facts:
        # a rule that is taken back again may have been stated anew between
        known = None if is_retraction(fact) else grouping.fact_of(fact.candidates[0])
        ids = tuple(c.id for c in fact.candidates)
        if known and known.id in holding:
            operations.append(Operation("DROP", "", ids, f"{known.id} says so already, and a doubt adds nothing"))
        else:
            operations.append(Operation("WAIT", "", ids, doubts.reason(fact.candidates[0])))
    return operations + made


def _dropped(gathered: Gathered) -> dict[str, str]:
    """Return why a model takes notes out that wait, and the candidates that do nothing else, by their ids."""
    found: dict[str, str] = {}
    for candidate in gathered.waiting:
        if candidate.key == DROPS:
            found[candidate.id] = "takes a note out"
            found[candidate.value] = f"the model: {candidate.text}"
        elif not candidate.doubt:
            told = f"the model says it better: {candidate.text[:120]}"
            found |= {one.id: told for one in candidate.replaces if one.how == "drop"}
    return found


def _remembered(state: State) -> list[Memory]:
    """Return every memory: those that hold first, then the history that says what was true before."""
    ghosts = ("edited-by-person", "removed-by-person")
    past = list(state.book.memories.values())
    taken = [replace(m, status=ghosts[0]) for m, _ in state.edited] + [
        replace(m, status=ghosts[1]) for m in state.removed
    ]
    return [
        *state.standing,
        # the latest of those that say the same is the one that would hold again
        *(m for m in reversed(past) if m.status == "superseded"),
        *(m for m in past if m.status in ghosts),
        *(m for m in past if m.status == "active" and m.is_retraction),
        *taken,
    ]


def _by_people(state: State) -> list[Operation]:
    """Take note of what people did to our lines."""
    edited = [
        Operation("KEEP", m.id, (), f"a person reworded it and owns it now: {wording[:120]}", by_person=True)
        for m, wording in state.edited
    ]
    removed = [Operation("DROP", m.id, (), "a person removed its line", by_person=True) for m in state.removed]
    return edited + removed


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
