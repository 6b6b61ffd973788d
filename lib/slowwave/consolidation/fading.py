"""Forgetting: what one session showed long ago, and nobody has used since, leaves the pages; the ledger keeps it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from slowwave.consolidation.accounting import lost_share
from slowwave.consolidation.model import Operation, State
from slowwave.memory.model import Candidate
from slowwave.memory.standing import FORGOTTEN, standing_of
from slowwave.settings import ConsolidationSettings


def with_fading(
    operations: Sequence[Operation],
    state: State,
    candidates: Mapping[str, Candidate],
    settings: ConsolidationSettings,
) -> tuple[Operation, ...]:
    """Return operations in which what has faded goes, the longest idle first.

    Time is what the project's sessions show, those of this night included. A night forgets nothing unless there is
    something to do anyway, and with all else no more than a dream may lose: forgetting parks no dream.

    Args:
        operations: what is done with every memory and candidate.
        state: what orient found.
        candidates: all candidates that the operations name, by id.
        settings: half-lives, and the share that a dream may lose.
    """
    kept = {o.memory for o in operations if o.action == "KEEP" and not o.by_person and not o.spans}
    needed = {o.successor for o in operations if o.successor} | {name for o in operations for name in o.memories}
    seen = [candidates[c].observed_at for o in operations if o.action in ("ADD", "MERGE") for c in o.candidates]
    standing = standing_of(state.book, settings.half_lives)
    standing = replace(standing, now=max((standing.now, *seen)))
    idle = {m.id: standing.idle(m) for m in state.standing if m.id in kept - needed and not m.stands}
    ordered = sorted((name for name in idle if idle[name] >= FORGOTTEN), key=lambda name: (-idle[name], name))
    room = int(settings.max_loss * len(state.standing)) - lost_share(operations, state)[0]
    gone = set(ordered[: max(room, 0)])
    return tuple(_faded(o, idle[o.memory]) if o.memory in gone else o for o in operations)


def _faded(operation: Operation, lives: float) -> Operation:
    reason = f"faded: one session showed it, and nobody used it for {lives:.0f} half-lives since"
    return Operation("DROP", operation.memory, (), reason)
