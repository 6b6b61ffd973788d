"""Parked dreams: kept as a list of operations until a person accepts or rejects them."""

from datetime import datetime
from pathlib import Path

import msgspec

from slowwave.consolidation.accounting import AccountingError, validate
from slowwave.consolidation.apply import apply_plan
from slowwave.consolidation.lock import held
from slowwave.consolidation.model import Gathered, Operation
from slowwave.consolidation.plan import Plan, plan_of
from slowwave.consolidation.snapshot import read_snapshot
from slowwave.errors import CorruptStateError, MovedError, NotFoundError
from slowwave.files import atomic_write, file_bytes, private_folder
from slowwave.memory.extracted import FILE as EXTRACTED
from slowwave.memory.guard import OWN_FOLDER, guarded
from slowwave.memory.ledger import REVIEW, VERSION, Event
from slowwave.memory.model import iso
from slowwave.memory.stage import Change, unused
from slowwave.memory.transaction import commit, recover
from slowwave.settings import ConsolidationSettings

FOLDER = f"{OWN_FOLDER}/parked"
FORM = 1


class Parked(msgspec.Struct, frozen=True):
    """A file under ``.slowwave/parked/``: what a dream would do, and why it waits."""

    v: int
    id: str
    at: str
    reason: str
    operations: tuple[Operation, ...]


def parked_dreams(memory: Path) -> list[Parked]:
    """Return the dreams that wait for a person, oldest first.

    Raises:
        CorruptStateError: a file there does not parse.
    """
    found: list[Parked] = []
    for path in sorted((memory / FOLDER).glob("*.json")):
        try:
            parked = msgspec.json.decode(file_bytes(path), type=Parked)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise CorruptStateError(
                path, f"is not a parked dream ({error})", "remove it; it is planned anew"
            ) from error
        if parked.v > FORM:
            raise CorruptStateError(path, f"was written by a newer slowwave (form {parked.v})", "update slowwave")
        found.append(parked)
    return found


def park(memory: Path, plan: Plan) -> str:
    """Keep a plan for review, in place of an older one; return its id.

    A plan that is parked already keeps its id and its time, so parking twice changes nothing.
    """
    others = parked_dreams(memory)
    for parked in others:
        if parked.operations == plan.operations:
            return parked.id
    with guarded(memory):
        folder = memory / FOLDER
        private_folder(folder)
        parked = Parked(FORM, plan.id, iso(plan.at), plan.review, plan.operations)
        atomic_write(folder / f"{plan.id}.json", msgspec.json.format(msgspec.json.encode(parked), indent=1))
        for other in others:
            (folder / f"{other.id}.json").unlink(missing_ok=True)
    return plan.id


def clear_parked(memory: Path) -> None:
    """Remove plans that a committed dream has made pointless."""
    for path in (memory / FOLDER).glob("*.json"):
        path.unlink(missing_ok=True)


def accept(memory: Path, dream: str, settings: ConsolidationSettings, now: datetime) -> Plan:
    """Apply a parked dream as it was reviewed.

    Raises:
        NotFoundError: no such dream waits.
        MovedError: memories or candidates are no longer as they were when it was planned.
        LockHeldError: a dream is running.
    """
    parked = _parked(memory, dream)
    with held(memory, settings.lock_stale) as lock:
        snapshot = read_snapshot(memory, settings.max_loss)
        named = {c for o in parked.operations for c in o.candidates}
        book = snapshot.state.book
        waiting = tuple(c for i, c in snapshot.candidates.items() if i in named and book.waits(c))
        gathered = Gathered(waiting)
        try:
            validate(parked.operations, snapshot.state, gathered)
        except AccountingError as error:
            raise MovedError(
                f"dream {dream} no longer fits {memory} ({error}); run consolidate again and review what it plans"
            ) from error
        plan = plan_of(snapshot, parked.operations, gathered, settings, now)
        apply_plan(snapshot, plan, check=lock.check, run_id=REVIEW)
    clear_parked(memory)
    return plan


def reject(memory: Path, dream: str, now: datetime) -> tuple[str, ...]:
    """Refuse a parked dream for good; return the candidates that are not taken any more.

    Candidates that only waited for more evidence go on waiting.

    Raises:
        NotFoundError: no such dream waits.
    """
    parked = _parked(memory, dream)
    snapshot = read_snapshot(memory)
    refused = tuple(c for o in parked.operations if o.action != "WAIT" for c in o.candidates)
    at = iso(now)
    name = unused(f"r{parked.id[1:]}", memory)
    event = Event(
        v=VERSION, event="reject", dream=name, at=at, candidates=refused, reason=f"a person rejected dream {dream}"
    )
    extracted = snapshot.extracted_without(frozenset(refused))
    files = {} if extracted is None else {EXTRACTED: extracted}
    commit(memory, Change(name, at, files, [event], snapshot.seen, only_seen=False))
    clear_parked(memory)
    return refused


def _parked(memory: Path, dream: str) -> Parked:
    recover(memory)
    for parked in parked_dreams(memory):
        if parked.id == dream:
            return parked
    waiting = ", ".join(p.id for p in parked_dreams(memory)) or "none"
    raise NotFoundError(f"no parked dream {dream} in {memory}; waiting: {waiting}")
