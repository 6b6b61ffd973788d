"""Consolidate: what to do with every memory and every candidate, as operations with reasons. A pure function.

It works on everything that was ever accepted, not only on what holds now: what a night adds changes the past as well,
when it comes from a session that is older than what is known. So a hundred nights and one night end in the same
memories, intervals and index, as long as the same candidates came in.
"""

from collections.abc import Sequence
from dataclasses import replace

from slowwave.consolidation.by_model import taken_out, too_many_ended
from slowwave.consolidation.confidence import PERSONAL
from slowwave.consolidation.contrary import Contrary
from slowwave.consolidation.doubts import Doubts
from slowwave.consolidation.facts import Fact, Grouping
from slowwave.consolidation.model import Gathered, Operation, State
from slowwave.consolidation.refusals import Refusals
from slowwave.consolidation.resolve import resolved
from slowwave.consolidation.taken import is_retraction
from slowwave.consolidation.tidy import tidied
from slowwave.memory.book import Memory
from slowwave.memory.model import Candidate
from slowwave.memory.waiting import USUAL_LOSS


def consolidate(
    state: State, gathered: Gathered, *, accept_confidence: float, max_loss: float = USUAL_LOSS
) -> list[Operation]:
    """Return the operations of a dream: every active memory and every waiting candidate in exactly one of them.

    Args:
        state: what orient found.
        gathered: the candidates; their order does not matter.
        accept_confidence: facts below it wait for more evidence.
        max_loss: the share of the memories that a model may end in one night.
    """
    tidy = tidied(state)
    grouping, doubted = Grouping(_remembered(state, tidy.left), gathered.known), Grouping((), {})
    sieve = _Sieve(state, gathered, accept_confidence, max_loss)
    operations = _by_people(state) + tidy.operations + sieve.operations()
    contrary, disputed = Contrary.of_people(state), dict[str, str]()
    for candidate in sieve.left:
        known = grouping.fact_of(candidate)
        # what is remembered already was decided on
        if not (known and known.memory) and (reason := contrary.reason(candidate)):
            disputed[candidate.id] = reason
        (doubted if sieve.unsure(candidate) or candidate.id in disputed else grouping).take(candidate)
    accepted: list[Fact] = []
    for fact in grouping.facts:
        refused = _not_accepted(fact, accept_confidence)
        if refused:
            operations.append(refused)
        else:
            accepted.append(fact)
    made = tidy.worded(resolved(accepted, is_new=bool(state.adopted)))
    holding = {o.memory for o in made if o.action in ("ADD", "MERGE", "UPDATE", "KEEP")}
    for fact in doubted.facts:
        # a rule that is taken back again may have been stated anew between
        known = None if is_retraction(fact) else grouping.fact_of(fact.candidates[0])
        ids = tuple(c.id for c in fact.candidates)
        if known and known.id in holding:
            operations.append(Operation("DROP", "", ids, f"{known.id} says so already, and a doubt adds nothing"))
        else:
            first = fact.candidates[0]
            operations.append(Operation("WAIT", "", ids, sieve.unsure(first) or disputed[first.id]))
    return operations + made


class _Sieve:
    """Which candidates are left to make facts of, and what becomes of the others."""

    def __init__(self, state: State, gathered: Gathered, accept_confidence: float, max_loss: float) -> None:
        self._accept = accept_confidence
        self._refusals = Refusals.of(state, gathered)
        self._doubts = Doubts(state.from_tools, state.others)
        self._too_many = too_many_ended(state, gathered, max_loss)
        self._taken = taken_out(gathered, self._is_sure)
        beside = {c.id for dropping in self._taken.asked.values() for c in dropping}
        ordered = sorted(gathered.waiting, key=lambda c: (c.observed_at, c.id))
        self._single = [c for c in ordered if c.id not in beside]

    def unsure(self, candidate: Candidate) -> str:
        """Return why only a person can say whether a candidate is so, or ""."""
        return self._doubts.reason(candidate) or self._too_many.get(candidate.id, "")

    def _is_sure(self, candidate: Candidate) -> bool:
        is_said = candidate.category not in PERSONAL or candidate.origin.startswith("user_")
        is_certain = is_said and candidate.confidence >= self._accept
        return is_certain and not self.unsure(candidate) and not self._refusals.reason(candidate)

    def _refused(self, candidate: Candidate) -> str:
        return self._taken.refused.get(candidate.id) or self._refusals.reason(candidate)

    @property
    def left(self) -> list[Candidate]:
        """The candidates that make facts, oldest first."""
        return [c for c in self._single if c.id not in self._taken.asked and not self._refused(c)]

    def operations(self) -> list[Operation]:
        """Return what is done with all others."""
        made: list[Operation] = []
        for candidate in self._single:
            dropping = self._taken.asked.get(candidate.id, ())
            if dropping:
                ids = (candidate.id, *(c.id for c in dropping))
                made.append(Operation("WAIT", "", ids, f"the model would drop it: {dropping[0].text}"))
            elif reason := self._refused(candidate):
                made.append(Operation("DROP", "", (candidate.id,), reason))
        return made


def _remembered(state: State, standing: Sequence[Memory]) -> list[Memory]:
    """Return every memory: those that hold first, then the history that says what was true before."""
    ghosts = ("edited-by-person", "removed-by-person")
    past = list(state.book.memories.values())
    taken = [replace(m, status=ghosts[0]) for m, _ in state.edited] + [
        replace(m, status=ghosts[1]) for m in state.removed
    ]
    return [
        *standing,
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
    anew = [
        Operation("SUPERSEDE", m.id, (), "an agent wrote its line anew", successor=new, by_person=True)
        for m, new in state.rewritten
    ]
    return edited + removed + anew


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
