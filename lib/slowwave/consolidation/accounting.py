"""Exact accounting: nothing that was there before a dream leaves without an operation that says why."""

from collections import Counter
from collections.abc import Sequence

from slowwave.consolidation.model import Gathered, Operation, State
from slowwave.memory.pages import target_of


class AccountingError(AssertionError):
    """A plan forgets or repeats something: a bug, and the dream is not committed."""


def validate(operations: Sequence[Operation], state: State, gathered: Gathered) -> None:
    """Make sure that every prior memory and every waiting candidate is in exactly one operation, with a reason.

    Raises:
        AccountingError: one is missing, there twice or unknown, or an operation has no reason or no valid successor.
    """
    changed = (*state.edited, *state.rewritten)
    prior = {m.id for m in (*state.standing, *(m for m, _ in changed), *state.removed)}
    named = [o.memory for o in operations if o.memory and not o.is_new]
    # history is only named where something about it has changed
    past = {m.id for m in state.book.memories.values() if m.status == "superseded" or m.is_retraction}
    _exactly("memory", prior | (past & set(named)), named)
    _exactly("candidate", {c.id for c in gathered.waiting}, [c for o in operations for c in o.candidates])
    made = [o.memory for o in operations if o.is_new]
    _exactly("new memory", set(made) - set(state.book.memories), made)
    holds = {"ADD", "MERGE", "UPDATE", "MOVE", "KEEP"}
    there = {o.memory for o in operations if o.action in holds and not o.by_person}
    # what people took over or out has ended what it ended
    there |= {o.memory for o in operations if o.by_person}
    there |= {
        m.id
        for m in state.book.memories.values()
        if m.status in {"edited-by-person", "removed-by-person"} or m.is_retraction
    }
    for operation in operations:
        if not operation.reason:
            raise AccountingError(f"{operation.action} {operation.memory or operation.candidates} has no reason")
        # what an agent wrote anew may have been overtaken in the same night
        follows = operation.action == "SUPERSEDE" and not operation.by_person
        if follows and operation.successor not in there:
            raise AccountingError(f"{operation.memory} is superseded by {operation.successor}, which does not hold")


def _exactly(noun: str, expected: set[str], found: Sequence[str]) -> None:
    for item, number in Counter(found).items():
        if number != 1:
            raise AccountingError(f"{noun} {item} is in {number} operations")
    if expected != set(found):
        missing, extra = sorted(expected - set(found)), sorted(set(found) - expected)
        raise AccountingError(f"{noun}: not accounted for {missing}, unknown {extra}")


def lost_share(operations: Sequence[Operation], state: State) -> tuple[int, float]:
    """Return how many prior memories would leave without a successor, and which share of all that is.

    What people did in the files themselves is their choice and no loss, nor is a pointer that leads nowhere.
    """
    memories = state.book.memories
    lost = sum(
        o.action == "DROP" and bool(o.memory) and not o.by_person and not target_of(memories[o.memory].line)
        for o in operations
    )
    return lost, lost / len(state.standing) if state.standing else 0.0
