"""What waits for a person: facts, with evidence and reason, and parked dreams; one word decides each.

What waits is never stored twice: it follows from the candidates, so a fact that more sessions made certain is gone from
the inbox by itself. What a person decided is stored: an accepted fact is a dream of its own that can be undone, a
rejected one never comes back, in whatever words and from whichever session.
"""

import dataclasses
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import msgspec

from slowwave.consolidation.decisions import consolidate
from slowwave.consolidation.facts import PERSONAL, Fact, identity
from slowwave.consolidation.lock import held
from slowwave.consolidation.model import AccountingError, Gathered, Operation, State, validate
from slowwave.consolidation.plan import Plan, apply_plan, make_plan, plan_of
from slowwave.consolidation.refusals import ACCEPTED
from slowwave.consolidation.replacement import Contrary, disputed
from slowwave.consolidation.snapshot import read_snapshot
from slowwave.errors import CorruptStateError, MovedError, NotFoundError, UsageError
from slowwave.files import atomic_write, file_bytes, private_folder
from slowwave.memory import BY_PERSON, DROPS, RETRACTS, Candidate, candidate_id, iso
from slowwave.memory.book import Memory
from slowwave.memory.candidates import EXTRACTED, append_candidates, read_candidates
from slowwave.memory.folder import OWN_FOLDER, guarded
from slowwave.memory.ledger import REVIEW, VERSION, Event
from slowwave.memory.provenance import ForeignLine
from slowwave.memory.transaction import Change, commit, recover, unused
from slowwave.settings import ConsolidationSettings

# what a person reworded is theirs: as sure as what they typed to be remembered
_SURE = 0.99
# above every confidence
_NEVER = 1.1


@dataclass(frozen=True, slots=True)
class Waiting:
    """A fact in the inbox."""

    id: str  # that of the candidate that gives it its words
    fact: Fact
    reason: str  # why it was not accepted by itself
    against: ForeignLine | None = None  # the line of a person that it contradicts, if there is one
    # whether it is worth a person's time: nobody else can decide it, and it would be kept but for that. What is merely
    # unsure decides itself, when more sessions show it.
    asks: bool = True

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The candidates that state it, oldest first."""
        return tuple(self.fact.candidates)

    @property
    def names(self) -> tuple[str, ...]:
        """What it may be called by: ids of its candidates, or of the memory that is disputed."""
        return (self.id, *(c.id for c in self.fact.candidates))


def inbox(
    memory: Path,
    folders: Sequence[Path],
    settings: ConsolidationSettings,
    now: datetime,
    *,
    is_global: bool = False,
    noted: Path | None = None,
) -> list[Waiting]:
    """Return the facts that wait for a person: those worth their time first, of each the surest first.

    Args:
        memory: the memory folder.
        folders: where transcripts that were moved are looked for.
        settings: thresholds: what lies between ``review_confidence`` and ``accept_confidence`` is here.
        now: the time.
        is_global: it is the folder of what holds in every project, where nothing is accepted by itself.
        noted: the folder that what extraction noted is in, where that is another one.

    Raises:
        CorruptStateError: the ledger is damaged.
        UnreadableError: a file cannot be read.
    """
    snapshot = read_snapshot(memory, settings.max_loss, noted=noted)
    if is_global:
        settings = msgspec.structs.replace(settings, accept_confidence=_NEVER, review_confidence=0.0)
    found = [_disputed(memory, line) for memory, line in disputed(snapshot.state)]
    contrary = Contrary.of_people(snapshot.state)
    for operation in make_plan(snapshot, folders, settings, now).operations:
        if operation.action == "WAIT":
            fact = Fact(None, [snapshot.candidates[c] for c in operation.candidates])
            # nobody but a person can say whether what is in doubt is so
            against = contrary.to(fact.lead)
            doubtful = against is not None or any(c.doubt for c in fact.candidates)
            if fact.confidence >= settings.review_confidence or doubtful:
                reason = _many(fact) if is_global else operation.reason
                asks = is_global or against is not None or fact.confidence >= settings.accept_confidence
                found.append(Waiting(fact.lead.id, fact, reason, against, asks))
    return sorted(found, key=_worth)


def _worth(waiting: Waiting) -> tuple[bool, bool, float, str]:
    """Sort what a person said before what an agent said, of equal certainty the one that more sessions showed."""
    return not waiting.asks, not waiting.fact.is_from_person, -waiting.fact.confidence, waiting.id


def _disputed(memory: Memory, line: ForeignLine) -> Waiting:
    told = f"stands in {memory.place} and contradicts what a person wrote in {line.file}: {line.text[:160]}"
    return Waiting(memory.id, Fact(memory), told, line)


def _as_it_is(state: State, gathered: Gathered, _settings: ConsolidationSettings) -> list[Operation]:
    """Take in nothing that waits: a person decided about something else."""
    kept = consolidate(_left(state), Gathered((), known=gathered.known), accept_confidence=1.0, max_loss=1.0)
    return [*kept, *(Operation("WAIT", "", (c.id,), "waits: not asked about") for c in gathered.waiting)]


def _left(state: State) -> State:
    """Return what orient found as it is where old lines are not judged: that is for a night, and its limits."""
    return dataclasses.replace(state, book=dataclasses.replace(state.book, judged=True))


def _end_disputed(memory: Path, waiting: Waiting, settings: ConsolidationSettings, now: datetime) -> Plan:
    """Let what contradicts a person's line go: a dream of its own."""

    def planner(state: State, gathered: Gathered, settings: ConsolidationSettings) -> Sequence[Operation]:
        kept = _as_it_is(state, gathered, settings)
        if waiting.id not in {o.memory for o in kept}:
            raise MovedError("the line is no longer remembered; slowwave review lists what waits")
        gone = Operation("DROP", waiting.id, (), f"a person kept their own line: {waiting.reason}")
        return [gone if o.memory == waiting.id else o for o in kept]

    with held(memory, settings.lock_stale) as lock:
        snapshot = read_snapshot(memory, settings.max_loss)
        plan = make_plan(snapshot, (), settings, now, planner)
        apply_plan(snapshot, plan, check=lock.check, run_id=REVIEW)
    clear_parked(memory)
    return plan


def drop_memories(memory: Path, names: Collection[str], settings: ConsolidationSettings, now: datetime) -> Plan:
    """Take memories out at once, as if a person had deleted their lines: a dream of its own; they never come back.

    Args:
        memory: the memory folder.
        names: ids of memories that hold, also of those whose lines a person took out since the last dream.
        settings: thresholds and limits.
        now: the time.

    Raises:
        LockHeldError: a dream is running.
        MovedError: one does not hold any more, or somebody wrote its line anew; nothing was changed.
    """
    with held(memory, settings.lock_stale) as lock:
        snapshot = read_snapshot(memory, settings.max_loss)
        state = snapshot.state
        gone = tuple(m for m in state.standing if m.id in names)
        for name in sorted(set(names) - {m.id for m in (*gone, *state.removed)}):
            raise MovedError(_not_ours(state, name))
        standing = tuple(m for m in state.standing if m.id not in names)
        out = dataclasses.replace(state, standing=standing, removed=(*state.removed, *gone))
        snapshot = dataclasses.replace(snapshot, state=out)
        plan = make_plan(snapshot, (), settings, now, _as_it_is)
        apply_plan(snapshot, plan, check=lock.check, run_id=REVIEW)
    clear_parked(memory)
    return plan


def _not_ours(state: State, name: str) -> str:
    """Say why a memory cannot be dropped: whoever wrote its line anew owns it."""
    if name in {m.id for m, _ in state.edited}:
        file = state.book.memories[name].place
        return f"you reworded the line of {name}, so that it is yours: delete it in {file}; nothing was dropped"
    if name in {m.id for m, _ in state.rewritten}:
        return f"an agent wrote the line of {name} anew: the next dream takes note; nothing was dropped"
    return f"{name} is not remembered any more; nothing was dropped"


def accept_fact(memory: Path, waiting: Waiting, settings: ConsolidationSettings, now: datetime, text: str = "") -> Plan:
    """Make a memory of a fact in the inbox, in a person's words where they gave some: a dream of its own.

    Of a memory that contradicts a person's line, it is accepted that it does: it goes, and the line stays.

    Args:
        memory: the memory folder.
        waiting: the fact.
        settings: thresholds and limits.
        now: the time.
        text: what it shall say; it counts as the person's word and keeps the evidence.

    Raises:
        LockHeldError: a dream is running.
        MovedError: the memory folder changed meanwhile.
    """
    if waiting.fact.memory:
        if text.strip():
            raise UsageError("what contradicts a person's line is accepted or rejected; edit the line itself")
        return _end_disputed(memory, waiting, settings, now)
    lead = waiting.fact.lead
    words, given = " ".join(text.split()), " ".join(lead.text.split())
    if lead.category in PERSONAL and not waiting.fact.is_from_person:
        # nobody had said it; now somebody does
        words = words or given
    elif words == given:
        words = ""
    if words:
        known = {candidate.id for candidate in read_candidates(memory)[0]}
        append_candidates(memory, [_reworded(waiting.fact, words, now, known)], ())
    with held(memory, settings.lock_stale) as lock:
        snapshot = read_snapshot(memory, settings.max_loss)
        chosen = {c.id for c in waiting.candidates}
        if words:
            chosen |= {c.id for c in snapshot.candidates.values() if c.extractor == BY_PERSON and c.text == words}

        def planner(state: State, gathered: Gathered, _settings: ConsolidationSettings) -> Sequence[Operation]:
            return accepted_operations(state, gathered, chosen)

        plan = make_plan(snapshot, (), settings, now, planner)
        apply_plan(snapshot, plan, check=lock.check, run_id=REVIEW)
    clear_parked(memory)
    return plan


def accepted_operations(state: State, gathered: Gathered, chosen: set[str]) -> list[Operation]:
    """Return the operations that take the chosen candidates in as one fact and leave all others waiting.

    Raises:
        MovedError: none of them waits any more.
    """
    mine = [c for c in gathered.waiting if c.id in chosen]
    if not mine:
        raise MovedError("the fact is no longer waiting; slowwave review lists what is")
    others = tuple(c.id for c in gathered.waiting if c.id not in chosen)
    # what would drop a fact is refused with its acceptance
    dropping = [c for c in mine if c.key == DROPS]
    mine = [c for c in mine if c.key != DROPS]
    lead = Fact(None, mine).lead
    said = {"text": lead.text, "key": lead.key, "value": lead.value, "category": lead.category}
    # one fact, whatever the words: the person says that it is one
    sure = tuple(msgspec.structs.replace(c, doubt="", confidence=ACCEPTED if _ends(c) else c.confidence) for c in mine)
    alike = tuple(c if identity(c) == identity(lead) else msgspec.structs.replace(c, **said) for c in sure)
    # a person who accepts it has seen where it stands, and what stands against it
    trusted = dataclasses.replace(state, writers={}, foreign=(), book=dataclasses.replace(state.book, disputes={}))
    operations = consolidate(_left(trusted), Gathered(alike, known=gathered.known), accept_confidence=0.0, max_loss=1.0)
    operations += [Operation("DROP", "", (c.id,), "a person kept what it would drop") for c in dropping]
    return [*operations, *(Operation("WAIT", "", (c,), "waits: not asked about") for c in others)]


def _ends(candidate: Candidate) -> bool:
    """Say whether a candidate is about memories that it ends or changes."""
    return candidate.key == RETRACTS or any(one.how != "drop" for one in candidate.replaces)


def reject_facts(memory: Path, waiting: Sequence[Waiting], now: datetime) -> tuple[str, ...]:
    """Refuse facts for good, by one decision; return the candidates that are not taken any more.

    Of a memory that contradicts a person's line, it is refused that it does: both stay, and nobody is asked again.

    Raises:
        MovedError: the memory folder changed meanwhile.
    """
    recover(memory)
    snapshot = read_snapshot(memory)
    refused = tuple(name for one in waiting for name in (tuple(c.id for c in one.candidates) or (one.id,)))
    at = iso(now)
    name = unused(f"r{at.replace('-', '').replace(':', '')}-{refused[0][:8]}", memory)
    event = Event(v=VERSION, event="reject", dream=name, at=at, candidates=refused, reason="a person rejected it")
    extracted = snapshot.extracted_without(frozenset(refused))
    files = {} if extracted is None else {EXTRACTED: extracted}
    commit(memory, Change(name, at, files, [event], snapshot.seen, only_seen=False))
    return refused


def _many(fact: Fact) -> str:
    projects = sorted({c.extractor.partition(":")[2] for c in fact.candidates})
    return f"said in {len(projects)} projects ({', '.join(projects)}): should it hold in all of them?"


def _reworded(fact: Fact, words: str, now: datetime, known: set[str]) -> Candidate:
    lead = fact.lead
    assert isinstance(lead, Candidate)
    # the same words have another id when a person says them, and each time they do: the last time may be taken back
    names = (
        candidate_id(lead.session, lead.category, f"{BY_PERSON} {iso(now)} {number} {words}", lead.evidence)
        for number in count()
    )
    name = next(name for name in names if name not in known)
    # words of their own say nothing of what others meant to end
    meant = (
        lead if words == " ".join(lead.text.split()) else msgspec.structs.replace(lead, key="", value="", replaces=())
    )
    return msgspec.structs.replace(
        meant,
        id=name,
        text=words,
        confidence=_SURE,
        origin="user_explicit",
        extractor=BY_PERSON,
        observed_at=lead.observed_at or iso(now),
        doubt="",
        scope="",
    )


# Parked dreams: kept as a list of operations until a person accepts or rejects them.

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
        # what changed since it was planned, it has not seen
        began = max(datetime.fromisoformat(parked.at), datetime.fromtimestamp(snapshot.last or 0, UTC))
        apply_plan(snapshot, plan, check=lock.check, run_id=REVIEW, began=began)
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
