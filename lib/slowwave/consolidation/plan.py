"""A dream before it happens: what would be done, and whether a person has to look at it first."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import msgspec

from slowwave.consolidation.decisions import consolidate
from slowwave.consolidation.gates import render_state
from slowwave.consolidation.model import Gathered, Operation, Outcome, State, lost_share, validate
from slowwave.consolidation.outcome import Stamp, amount_of
from slowwave.consolidation.snapshot import Snapshot, gather
from slowwave.memory import Candidate, iso
from slowwave.memory.book import FORGOTTEN, deed, standing_of
from slowwave.memory.candidates import EXTRACTED
from slowwave.memory.evidence import unproven
from slowwave.memory.folder import STATE_FILE
from slowwave.memory.ledger import ARRANGED, BY_JUDGE, REVIEW, VERSION, Event
from slowwave.memory.transaction import Change, commit, unused
from slowwave.report import BY_SETTING, Phases
from slowwave.settings import ConsolidationSettings

# (state, gathered, settings) -> operations; a model's planner has the same form and passes the same checks
Planner = Callable[[State, Gathered, ConsolidationSettings], Sequence[Operation]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a dream would do."""

    id: str  # of the dream, a function of its time and its operations
    at: datetime
    operations: tuple[Operation, ...]  # every memory and every waiting candidate, each once
    outcome: Outcome  # events and files
    gathered: Gathered  # the candidates that it looked at
    review: str  # why a person has to look at it before it is applied, or ""


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
    operations = not_again(operations, snapshot.state)
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
    gone = {name: Operation("DROP", name, (), why) for name, why in outcome.gone.items()}
    operations = tuple(gone.get(o.memory, o) for o in operations)
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
    where = outcome.moved[operation.memory]
    if operation.action in ("KEEP", "MOVE") and not operation.spans:
        return msgspec.structs.replace(operation, action="MOVE", reason=where)
    return msgspec.structs.replace(operation, reason=f"{operation.reason}; {where}")


def dream_id(operations: Sequence[Operation], now: datetime) -> str:
    """Return an id that sorts by time and tells dreams of one second apart."""
    digest = hashlib.sha256(msgspec.json.encode(list(operations))).hexdigest()[:8]
    return f"d{iso(now).replace('-', '').replace(':', '')}-{digest}"


# Forgetting: what one session showed long ago, and nobody has used since, leaves the pages; the ledger keeps it.


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


# What a person took back is not done again; what comes new may ask for something else.

_EVENTS = {"SUPERSEDE": "supersede", "UPDATE": "update", "DROP": "drop"}


def not_again(operations: Sequence[Operation], state: State) -> tuple[Operation, ...]:
    """Return operations without those on lines that a person took back from a dream, unless news asks for them.

    News is what an agent wrote, or a session showed, since then. The very same operation is never done again.
    """
    left = state.book.left
    return tuple(_left(o, state) if left else o for o in operations if left.isdisjoint(o.memories))


def _left(operation: Operation, state: State) -> Operation:
    book = state.book
    memory, by = book.memories.get(operation.memory), operation.successor
    if memory is None or operation.by_person or not memory.stands or memory.id not in book.left:
        return operation
    if operation.action == "MERGE" and not operation.candidates and not operation.text:
        kind = "join"
    else:
        kind = _EVENTS.get(operation.action, "")
    if operation.under and deed("move", memory.id) in book.refused:
        operation = msgspec.structs.replace(operation, under="")
    if not kind:
        is_undone = bool(operation.text) and deed("update", memory.id, told=operation.text) in book.refused
        return msgspec.structs.replace(operation, text="") if is_undone else operation
    fresh = book.since | {event.memory for event in state.adopted}
    is_news = bool(by) and by not in book.left and (by not in book.memories or by in fresh)
    is_same = deed(kind, memory.id, by, operation.text) in book.refused
    if not is_same and (is_news or operation.candidates or kind in ("update", "drop")):
        return operation
    return Operation("KEEP", memory.id, operation.candidates, "you took back from a dream what it did with it")


# Commit: a plan becomes the next state of the memory folder, in one step, or nothing happens.


def apply_plan(
    snapshot: Snapshot, plan: Plan, *, check: Callable[[], None], run_id: str = "", began: datetime | None = None
) -> None:
    """Apply a plan to the folder that it was made for.

    Args:
        snapshot: the folder as the plan found it.
        plan: what is done.
        check: raises when the lock is not held any more.
        run_id: the run that it belongs to.
        began: when the dream began to look, for the state: what changes while it runs counts for the next one. None
            for a decision of a person, which looks at no session and so moves no clock.

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
    if began is not None:
        files[STATE_FILE] = render_state(int(began.timestamp()))
    commit(snapshot.memory, Change(plan.id, at, files, events_of(plan, run_id), snapshot.seen), check=check)


def events_of(plan: Plan, run_id: str) -> list[Event]:
    """Return what the ledger is given of a plan."""
    # a decision of a person judges nothing, and what waits is judged again
    is_judged = run_id != REVIEW and not any(o.action == "KEEP" and o.by == BY_JUDGE for o in plan.operations)
    header = Event(v=VERSION, event="dream", dream=plan.id, at=iso(plan.at), run=run_id, reason=_summary(plan))
    header = msgspec.structs.replace(header, by=BY_JUDGE if is_judged else "")
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
        "DISPUTE": "disputed",
    }
    counts: dict[str, int] = {}
    for operation in plan.operations:
        name = "arranged" if _is_arranged(operation) else names[operation.action]
        counts[name] = counts.get(name, 0) + 1
    return counts


def _is_arranged(operation: Operation) -> bool:
    """Say whether a line stays in the index, and only stands among others there now."""
    return operation.action == "MOVE" and operation.reason == ARRANGED


def phases_of(state: State, plan: Plan) -> Phases:
    """Return what the phases of a dream saw and did."""
    lines = Counter(memory.writer for memory in state.standing)
    lines.update("tool" if state.writers.get(line.key) == "tool" else "person" for line in state.foreign)
    done = Counter(operation.action for operation in plan.operations if not operation.by_person)
    arranged = sum(map(_is_arranged, plan.operations))
    pruned = (
        done["MOVE"]
        - arranged
        + sum(o.action == "DROP" and bool(o.memory) and not o.by_person for o in plan.operations)
    )
    changing = ("ADD", "MERGE", "UPDATE", "SUPERSEDE", "PHRASE", "DISPUTE")
    consolidated = arranged + sum(done[action] for action in changing)
    return Phases(dict(lines), len(plan.gathered.waiting), consolidated, pruned)


def _summary(plan: Plan) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(counts_of(plan).items()))
