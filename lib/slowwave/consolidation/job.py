"""The dream of one project: gates, lock, plan, commit.

It reads the memory folder and the transcripts that candidates point at; it changes only the memory folder, as one
transaction that can be undone; it deletes nothing that a person wrote. Without new input a second run changes nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from slowwave.consolidation.gates import (
    ENOUGH,
    Changed,
    backlog_of,
    changed_since,
    noted_of,
    or_after_waiting,
    read_state,
    render_state,
    session_gate,
    time_gate,
)
from slowwave.consolidation.inbox import clear_parked, park
from slowwave.consolidation.lock import DreamLock, held, refusal
from slowwave.consolidation.model import Operation
from slowwave.consolidation.plan import Plan, Planner, apply_plan, counts_of, events_of, make_plan, offline, phases_of
from slowwave.consolidation.snapshot import Snapshot, read_snapshot
from slowwave.consolidation.usage import look_at_writes, note_writes, uses_of
from slowwave.context import Clock
from slowwave.errors import LockHeldError, MovedError
from slowwave.formats.sessions import StoredSession
from slowwave.memory.authors import Writes
from slowwave.memory.book import Book, Memory, standing_of
from slowwave.memory.candidates import MOST_REMOVED
from slowwave.memory.delivery import Register
from slowwave.memory.effects import EFFECTS, Case, Effect, Watched, effects_of, with_rows
from slowwave.memory.folder import INDEX, STATE_FILE, digest, guarded, read_or_none
from slowwave.memory.provenance import noted_in, warning
from slowwave.memory.transaction import recover, replace_state
from slowwave.models.base import LanguageModel, Usage
from slowwave.quantities import counted
from slowwave.report import NOTHING_TO_DO, PARKED_FOR_REVIEW, Gate, Item, Report
from slowwave.settings import ConsolidationSettings, Settings
from slowwave.stores.discovery import active_reason
from slowwave.stores.projects import Project

TRIES = 3
_GONE = (
    f"gone from {INDEX} at once, which looks like an accident, and put back (take out {MOST_REMOVED} at "
    "a time, or raise consolidation.max_loss)"
)


def consolidate_project(
    project: Project,
    settings: Settings,
    clock: Clock,
    *,
    run_id: str = "",
    force: bool = False,
    dry_run: bool = False,
    home: Path | None = None,
    planner: Planner = offline,
    model: LanguageModel | None = None,
    archive: Path | None = None,
    register: Register | None = None,
    rehearsal: Path | None = None,
) -> Report:
    """Dream over one project.

    Args:
        project: the project with its sessions and its memory folder.
        settings: gates, thresholds and limits.
        clock: what time it is; its first reading is what the state is stamped with.
        run_id: id of the run, for the ledger and the report.
        force: pass the time and session gates; never the lock.
        dry_run: report exactly the plan and change nothing.
        home: the user's home folder, where clients note which sessions are open.
        planner: decides what is done.
        model: helps the rules where ``consolidation.model`` is on; without one they decide alone.
        archive: where packs of archived sessions lie, which prove what was said as well as their files did.
        register: what stands in the files of clients, to follow what sessions made of it.
        rehearsal: where a dry run keeps what its extraction found, to plan from that.

    Raises:
        CorruptStateError: state or ledger are damaged; they never count as "never ran".
        UnreadableError: a file of the memory folder cannot be read.
    """
    if model is not None and settings.consolidation.model == "on":
        from slowwave.consolidation.questions import ModelPlanner  # noqa: PLC0415 - most nights have no model

        planner = ModelPlanner(model)
    dream = _Dream(project, settings, clock, Report("consolidate", run_id), home or Path.home(), planner)
    dream.folders += (archive,) if archive else ()
    dream.register = register or Register()
    dream.noted = noted_in(dream.memory, rehearsal)
    dream.report.memories[project.key] = str(dream.memory)
    if not dry_run:
        recover(dream.memory)
    if not force and not dream.gates_pass():
        return dream.report
    if dry_run:
        dream.preview()
    elif dream.is_untouched():
        dream.say("keep", f"{NOTHING_TO_DO}no session was read yet")
    else:
        dream.run()
    return dream.report


class _Dream:
    """One dream on its way."""

    def __init__(
        self, project: Project, settings: Settings, clock: Clock, report: Report, home: Path, planner: Planner
    ) -> None:
        self.project = project
        self.settings = settings.consolidation
        self.idle = settings.extraction.idle
        self.clock = clock
        self.started = clock.now()
        self.report = report
        self.home = home
        self.planner = planner
        # a link is followed once, so that the folder behind it is exchanged and not the link
        self.memory = project.memory.resolve()
        # where transcripts that were moved are looked for
        self.folders = project.folders
        self.register = Register()
        # the folder that what extraction noted is in
        self.noted = self.memory
        # what sessions made of memories since the last dream
        self.watched: list[Watched] = []

    def say(self, action: str, reason: str) -> None:
        self.report.items.append(Item(str(self.memory), action, reason, self.project.key))

    def _gate(self, gate: Gate) -> bool:
        self.report.gates.append(gate)
        return gate.passed

    def gates_pass(self) -> bool:
        last = read_state(self.memory)
        key, limits = self.project.key, self.settings

        def nothing_waits() -> bool:
            return not noted_of(self.memory, self.noted).backlog

        if not self._gate(time_gate(key, last, self.started, limits.min_hours * ENOUGH, nothing_waits)):
            return False
        changed = self._changed(last)
        gate = session_gate(key, changed, limits.min_sessions)
        if not gate.passed:
            noted = noted_of(self.memory, self.noted)
            gate = or_after_waiting(gate, changed, noted, self.started, limits.max_wait)
        return self._gate(gate)

    def _changed(self, last: int | None) -> Changed:
        def live(session: StoredSession) -> str:
            return active_reason(session, self.started, self.idle, self.home) or ""

        return changed_since(self.project.sessions, last, live)

    def is_untouched(self) -> bool:
        """Whether there is nothing here that a dream could work on; then not even a lock is written."""
        return not self.memory.exists() or not any(read_snapshot(self.memory).seen.values())

    def preview(self) -> None:
        reason = refusal(self.memory, self.settings.lock_stale)
        if self._gate(Gate("lock", self.project.key, not reason, reason or "free")):
            self._watch(read_state(self.memory))
            snapshot, _ = self._snapshot()
            plan = self._plan(snapshot)
            self._tell(snapshot, plan)
            if plan.review:
                self.report.warnings.append(f"{self.project.key}: its dream would wait for you: {plan.review}")
            elif not plan.outcome.is_empty:
                events = events_of(plan, self.report.run_id)
                self.report.dreamt.append((self.project.key, str(self.memory), [*events]))

    def run(self) -> None:
        since = read_state(self.memory)
        try:
            with held(self.memory, self.settings.lock_stale) as lock:
                self._gate(Gate("lock", self.project.key, passed=True, reason="taken"))
                if read_state(self.memory) == since:
                    self._watch(since)
                    EFFECTS.append(self.memory, self.watched)
                    self._commit(lock)
                else:
                    # another dream ended between our time gate and our lock
                    self._gate(Gate("time", self.project.key, passed=False, reason="another dream finished first"))
        except LockHeldError as error:
            self._gate(Gate("lock", self.project.key, passed=False, reason=str(error)))

    def _watch(self, last: int | None) -> None:
        """Look what sessions since the last dream made of the memories that they were told."""
        from slowwave.consolidation.effect.verdicts import Watch  # noqa: PLC0415 - few dreams of a night are due

        watch = Watch(self.project, self.register)
        self.watched = watch.over(self._changed(last).sessions)
        self.report.warnings += [f"{self.project.key}: {problem}" for problem in watch.problems]

    def _snapshot(self) -> tuple[Snapshot, Writes]:
        """Read the folder, and what sessions tell about whose lines stand there."""
        writes, problems = look_at_writes(self.project, self.home)
        self.report.warnings += [w for p in problems if (w := f"{self.project.key}: {p}") not in self.report.warnings]
        snapshot = read_snapshot(self.memory, self.settings.max_loss, writes, self.noted)
        # a preview has not noted them
        snapshot.state.book.watched = with_rows(snapshot.state.book.watched, self.watched)
        return snapshot, writes

    def _plan(self, snapshot: Snapshot) -> Plan:
        def uses() -> dict[str, tuple[str, ...]]:
            changed = self._changed(snapshot.last).sessions
            return uses_of(self.memory, changed, snapshot.state.book.uses)

        return make_plan(snapshot, self.folders, self.settings, self.started, self.planner, uses)

    def _commit(self, lock: DreamLock) -> None:
        for attempt in range(1, TRIES + 1):
            snapshot, writes = self._snapshot()
            plan = self._plan(snapshot)
            try:
                if plan.outcome.is_empty:
                    self._stamp(snapshot, lock)
                elif plan.review:
                    self.report.parked.append(park(self.memory, plan))
                else:
                    apply_plan(snapshot, plan, check=lock.check, run_id=self.report.run_id, began=self.started)
                    clear_parked(self.memory)
                    self.report.dream_ids.append(plan.id)
            except MovedError as error:
                if attempt == TRIES:
                    self.report.warnings.append(f"{self.project.key}: {error}")
                    self.say(
                        "skip", f"the memory folder changed during each of {TRIES} tries; the next run tries again"
                    )
                continue
            note_writes(self.memory, writes)
            self._tell(snapshot, plan)
            return

    def _stamp(self, snapshot: Snapshot, lock: DreamLock) -> None:
        """Note that these sessions and candidates were looked at, if there are any: a second run changes nothing."""
        changed = self._changed(snapshot.last).sessions
        is_new = any(s.mtime_ns <= self.started.timestamp() * 1e9 for s in changed)
        if not is_new and not backlog_of(self.memory, snapshot.state.book):
            return
        with guarded(self.memory):
            lock.check()
            path = self.memory / STATE_FILE
            if digest(read_or_none(path)) != snapshot.seen[STATE_FILE]:
                raise MovedError(f"{path} changed while the dream was planned")
            replace_state(self.memory, render_state(int(self.started.timestamp())))

    def _tell(self, snapshot: Snapshot, plan: Plan) -> None:
        self.report.phases[self.project.key] = phases_of(snapshot.state, plan)
        counts = {"parked": len(plan.operations)} if self.report.parked else counts_of(plan)
        for name, number in counts.items():
            self.report.count(name, number)
        self.report.items += _items(self.project.key, snapshot, plan)
        told = changes(snapshot.state.book, plan.outcome.book, self.watched, self.settings)
        for name, number in told.counts.items():
            self.report.count(name, number)
        self.report.items += items_of(self.project.key, told)
        self._tell_model()
        lost = [snapshot.waiting.warning] if snapshot.waiting.lost else []
        self.report.warnings += [
            f"{self.project.key}: {w}" for w in (*plan.outcome.warnings, *lost, *snapshot.problems)
        ]
        if gone := snapshot.state.given_back:
            self.report.warnings.append(f"{self.project.key}: {counted(gone, 'line')} {_GONE}")
        if tools := len(snapshot.state.from_tools):
            self.report.count("foreign_lines_of_tools", tools)
            self.report.warnings.append(f"{self.project.key}: {warning(tools)}")
        if plan.outcome.is_empty:
            # whatever was noted has been looked at now
            noted = replace(noted_of(self.memory, self.noted), backlog=())
            self.say("keep", f"{NOTHING_TO_DO}{noted.told}")
        elif plan.review:
            self.say("skip", f"{PARKED_FOR_REVIEW}: {plan.review}")

    def _tell_model(self) -> None:
        """Report how a model helped, where one did."""
        notes: list[str] = getattr(self.planner, "notes", [])
        self.report.warnings += [f"{self.project.key}: {note}" for note in notes]
        for name in ("followed", "refused"):
            if number := getattr(self.planner, name, 0):
                self.report.count(f"model_{name}", number)
        usages: list[Usage] = getattr(self.planner, "usages", [])
        for usage in usages:
            self.report.count_answer(usage.prompt_tokens, usage.completion_tokens, usage.usd)


def _items(key: str, snapshot: Snapshot, plan: Plan) -> Iterator[Item]:
    """Yield what is done with every memory and every candidate."""
    for operation in plan.operations:
        item = _item(key, snapshot, plan, operation)
        yield item
        if operation.action == "ADD":
            yield from _joined(key, snapshot, operation, item)
    for candidate, dream in plan.gathered.undone:
        reason = f"undone by a person (dream {dream}): not taken again"
        yield Item(candidate.id, "skip", reason, key, candidate.text, candidate.category, candidate.confidence)


def _joined(key: str, snapshot: Snapshot, operation: Operation, added: Item) -> Iterator[Item]:
    """Yield the further candidates that a new memory was made of: they were merged into it."""
    candidates = [snapshot.candidates[c] for c in operation.candidates]
    founder = next((c for c in candidates if c.text == added.text), candidates[0])
    for c in candidates:
        if c.id != founder.id:
            reason = f"says the same as {added.target}, in session {c.session.id}"
            yield Item(c.id, "merge", reason, key, c.text, c.category, c.confidence)


def _item(key: str, snapshot: Snapshot, plan: Plan, operation: Operation) -> Item:
    action = operation.action.lower()
    memory = plan.outcome.book.memories.get(operation.memory)
    if memory:
        return Item(memory.id, action, operation.reason, key, memory.text, memory.category, memory.confidence)
    if operation.memories:
        return Item(", ".join(operation.memories), action, operation.reason, key, operation.text)
    known = snapshot.candidates
    best = max((known[c] for c in operation.candidates), key=lambda c: (c.confidence, c.id))
    target = ", ".join(operation.candidates)
    return Item(target, action, operation.reason, key, best.text, best.category, best.confidence)


# What a night's report says of the effect of memories: what was followed or broken since the last one.

# what becomes of the place of a broken memory, and of one that nobody needed
BROKEN, NEEDLESS = "broken", "needless"


@dataclass(frozen=True, slots=True)
class Changes:
    """What a night found out."""

    followed: Sequence[tuple[Memory, Case]]  # memories that sessions kept, with these
    broken: Sequence[tuple[Memory, Case]]  # memories that sessions did not keep, with these
    needless: Sequence[Memory]  # memories that leave the index, since nothing asked for them for long

    @property
    def counts(self) -> dict[str, int]:
        """How often each happened, by the counter of the report; nothing of what did not."""
        numbers = {
            "memories_followed": len(self.followed),
            "memories_broken": len(self.broken),
            "memories_needless": len(self.needless),
        }
        return {name: number for name, number in numbers.items() if number}


def changes(before: Book, after: Book, new: Sequence[Watched], settings: ConsolidationSettings) -> Changes:
    """Return what a night found out.

    Args:
        before: the book that the night began with, with all that is noted of sessions.
        after: the book that it leaves: what a person had to correct again shows in it.
        new: what it noted of sessions.
        settings: how fast memories fade.
    """
    fresh = {row.name for row in new}
    effects = effects_of(after.memories.values(), before.watched)
    known = effects_of(before.memories.values(), [row for row in before.watched if row.name not in fresh])
    shown = {entry.ref for entry in before.index} - {entry.ref for entry in after.index}
    standing = standing_of(after, settings.half_lives) if shown else None
    return Changes(
        list(_new(after, effects, known, is_kept=True)),
        list(_new(after, effects, known, is_kept=False)),
        [m for m in after.active if standing is not None and m.id in shown and standing.is_needless(m)],
    )


def items_of(project: str, found: Changes) -> Iterator[Item]:
    """Yield what the report names: every memory that was broken, and where, and every one that leaves the index."""
    for memory, case in found.broken:
        how = "a person had to say it again" if case.is_said_again else "it was not kept"
        how += ", as a model read," if case.by else ""
        where = f"{case.session.dialect} session {case.session.session} of {case.session.began}"
        higher = memory.is_from_person or not case.by
        reason = f"{how} in {where}, which it was delivered to{': it stands higher from now on' if higher else ''}"
        yield Item(memory.id, BROKEN, reason, project, memory.text, memory.category, memory.confidence)
    for memory in found.needless:
        reason = "no session had an occasion for it in a long time: it leaves the index for its page"
        yield Item(memory.id, NEEDLESS, reason, project, memory.text, memory.category, memory.confidence)


def _new(
    book: Book, effects: Mapping[str, Effect], known: Mapping[str, Effect], *, is_kept: bool
) -> Iterator[tuple[Memory, Case]]:
    for name, effect in effects.items():
        old = known.get(name)
        seen = {case.session.name for case in _cases(old, is_kept=is_kept)} if old else set[tuple[str, str]]()
        yield from ((book.memories[name], c) for c in _cases(effect, is_kept=is_kept) if c.session.name not in seen)


def _cases(effect: Effect, *, is_kept: bool) -> Sequence[Case]:
    return effect.followed if is_kept else effect.broken
