"""A dream before it happens: what would be done, and whether a person has to look at it first."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from slowwave.consolidation.accounting import lost_share, validate
from slowwave.consolidation.amount import Stamp, amount_of
from slowwave.consolidation.decide import consolidate
from slowwave.consolidation.fading import with_fading
from slowwave.consolidation.gather import gather
from slowwave.consolidation.model import Gathered, Operation, Outcome, State
from slowwave.consolidation.snapshot import Snapshot
from slowwave.memory.evidence import unproven
from slowwave.memory.model import Candidate, iso
from slowwave.memory.stage import unused
from slowwave.report import BY_SETTING
from slowwave.settings import ConsolidationSettings

# (state, gathered, settings) -> operations; a model's planner has the same form and passes the same checks
Planner = Callable[[State, Gathered, ConsolidationSettings], Sequence[Operation]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a dream would do.

    Attributes:
        id: of the dream, a function of its time and its operations.
        operations: every memory and every waiting candidate, each once.
        outcome: events and files.
        gathered: the candidates that it looked at.
        review: why a person has to look at it before it is applied, or "".
    """

    id: str
    at: datetime
    operations: tuple[Operation, ...]
    outcome: Outcome
    gathered: Gathered
    review: str


def offline(state: State, gathered: Gathered, settings: ConsolidationSettings) -> Sequence[Operation]:
    """Decide by rules alone."""
    return consolidate(state, gathered, accept_confidence=settings.accept_confidence, max_loss=settings.max_loss)


def make_plan(
    snapshot: Snapshot,
    folders: Sequence[Path],
    settings: ConsolidationSettings,
    now: datetime,
    planner: Planner = offline,
    uses: Callable[[], Mapping[str, Sequence[str]]] = dict,
) -> Plan:
    """Return what a dream would do with a memory folder; reads evidence, changes nothing.

    Args:
        snapshot: the memory folder.
        folders: where transcripts that were moved are looked for.
        settings: thresholds and limits.
        now: when the scan began.
        planner: decides; what it returns must account for everything.
        uses: returns the sessions that read a memory file; only asked when there is something to do.

    Raises:
        AccountingError: the planner forgot or repeated something.
    """
    withdrawn = snapshot.waiting.withdrawn

    def refused(waiting: Sequence[Candidate]) -> dict[str, str]:
        own = {c.id: reason for c in waiting if (reason := withdrawn.get(c.id))}
        return own | unproven({c.id: c.evidence for c in waiting if c.id not in own}, folders)

    gathered = gather(snapshot.state.book, list(snapshot.candidates.values()), refused)
    operations = tuple(planner(snapshot.state, gathered, settings))
    if any(o.action not in {"KEEP", "WAIT"} for o in operations):
        operations = with_fading(operations, snapshot.state, snapshot.candidates, settings)
    validate(operations, snapshot.state, gathered)
    is_busy = any(o.action not in {"KEEP", "WAIT"} for o in operations)
    return plan_of(snapshot, operations, gathered, settings, now, uses() if is_busy else None)


def plan_of(
    snapshot: Snapshot,
    operations: tuple[Operation, ...],
    gathered: Gathered,
    settings: ConsolidationSettings,
    now: datetime,
    uses: Mapping[str, Sequence[str]] | None = None,
) -> Plan:
    """Return the plan that given operations make."""
    name = unused(dream_id(operations, now), snapshot.memory)
    outcome = amount_of(operations, snapshot.state, snapshot.candidates, settings, Stamp(name, iso(now)), uses)
    operations = tuple(_moved(o, outcome) if o.memory in outcome.moved else o for o in operations)
    lost, share = lost_share(operations, snapshot.state)
    review = ""
    if share > settings.max_loss:
        review = (
            f"it would lose {lost} of {len(snapshot.state.standing)} memories ({share:.0%}), "
            f"more than {settings.max_loss:.0%}"
        )
    elif settings.mode == "review":
        review = BY_SETTING
    return Plan(name, now, operations, outcome, gathered, review)


def _moved(operation: Operation, outcome: Outcome) -> Operation:
    """Return an operation on a line that leaves the full index, and says so."""
    where = f"the index is full: it is in {outcome.book.memories[operation.memory].file} now"
    if operation.action in ("KEEP", "MOVE") and not operation.spans:
        return msgspec.structs.replace(operation, action="MOVE", reason=where)
    return msgspec.structs.replace(operation, reason=f"{operation.reason}; {where}")


def dream_id(operations: Sequence[Operation], now: datetime) -> str:
    """Return an id that sorts by time and tells dreams of one second apart."""
    digest = hashlib.sha256(msgspec.json.encode(list(operations))).hexdigest()[:8]
    return f"d{iso(now).replace('-', '').replace(':', '')}-{digest}"
