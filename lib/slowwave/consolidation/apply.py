"""Commit: a plan becomes the next state of the memory folder, in one step, or nothing happens."""

from collections import Counter
from collections.abc import Callable, Mapping

from slowwave.consolidation.model import State
from slowwave.consolidation.plan import Plan
from slowwave.consolidation.snapshot import Snapshot
from slowwave.consolidation.state import render_state
from slowwave.memory.extracted import FILE as EXTRACTED
from slowwave.memory.folder import STATE_FILE
from slowwave.memory.ledger import VERSION, Event
from slowwave.memory.model import iso
from slowwave.memory.stage import Change
from slowwave.memory.transaction import commit
from slowwave.report import Phases


def apply_plan(snapshot: Snapshot, plan: Plan, *, check: Callable[[], None], run_id: str = "") -> None:
    """Apply a plan to the folder that it was made for.

    The state is stamped with the start of the scan, not its end: what changes while a dream runs counts for the next.

    Raises:
        MovedError: a file that the plan rests on has changed; nothing was changed.
        LockLostError: ``check`` found the lock taken over; nothing was changed.
        OSError: the disk is full, or the folder cannot be written; nothing was changed.
    """
    at = iso(plan.at)
    files: dict[str, bytes | None] = dict(plan.outcome.files)
    done = frozenset(plan.outcome.book.done)
    extracted = snapshot.extracted_without(done)
    if extracted is not None:
        files[EXTRACTED] = extracted
    files[STATE_FILE] = render_state(int(plan.at.timestamp()))
    commit(snapshot.memory, Change(plan.id, at, files, events_of(plan, run_id), snapshot.seen), check=check)


def events_of(plan: Plan, run_id: str) -> list[Event]:
    """Return what the ledger is given of a plan."""
    header = Event(v=VERSION, event="dream", dream=plan.id, at=iso(plan.at), run=run_id, reason=_summary(plan))
    return [header, *plan.outcome.events]


def counts_of(plan: Plan) -> Mapping[str, int]:
    """Return how often each thing is done in a plan."""
    names = {
        "ADD": "added",
        "MERGE": "merged",
        "UPDATE": "updated",
        "MOVE": "moved",
        "SUPERSEDE": "superseded",
        "KEEP": "kept",
        "DROP": "dropped",
        "WAIT": "waiting",
        "PHRASE": "phrased",
    }
    counts: dict[str, int] = {}
    for operation in plan.operations:
        name = names[operation.action]
        counts[name] = counts.get(name, 0) + 1
    return counts


def phases_of(state: State, plan: Plan) -> Phases:
    """Return what the phases of a dream saw and did."""
    lines = Counter(memory.writer for memory in state.standing)
    lines.update("tool" if state.writers.get(line.key) == "tool" else "person" for line in state.foreign)
    done = Counter(operation.action for operation in plan.operations if not operation.by_person)
    pruned = done["MOVE"] + sum(o.action == "DROP" and bool(o.memory) and not o.by_person for o in plan.operations)
    consolidated = sum(done[action] for action in ("ADD", "MERGE", "UPDATE", "SUPERSEDE", "PHRASE"))
    return Phases(dict(lines), len(plan.gathered.waiting), consolidated, pruned)


def _summary(plan: Plan) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(counts_of(plan).items()))
