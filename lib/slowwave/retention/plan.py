"""From sessions and rules to what a run does: what goes now, what waits for a later run, and what stays and why.

What every step of one run shares stands here, too: guards, the verified copies, and how failures are told.
"""

import os
import secrets
import stat
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from math import inf
from pathlib import Path
from typing import NamedTuple

from slowwave.context import Run
from slowwave.errors import SlowwaveError, UnreadableError, told
from slowwave.extraction.job import Pending
from slowwave.files import hash_of, walked
from slowwave.formats.client import Belongings
from slowwave.formats.notes import entry_note
from slowwave.formats.openclaw.store import NAME, read_store
from slowwave.formats.registry import client_of
from slowwave.memory import name_from_json
from slowwave.memory.book import read_book
from slowwave.quantities import counted
from slowwave.report import Item, Report, RetainItem
from slowwave.retention.audit import BY_RUN, AuditLog, of_item
from slowwave.retention.holds import Fleet, Hold, Member, facts_of, held_by, owner_of, paths_of
from slowwave.retention.policy import Guard, Shortfall, Verdict, decide
from slowwave.secrets import logger_of
from slowwave.settings import KEEPS, LIMITS, RetentionSettings, Rules, Subject
from slowwave.stores.archive.pack import SUFFIX, Pack, PackedFile, PackedSession, Wanted, digest, write_pack
from slowwave.stores.archive.shelf import RowsByPath, Shelf, Shelved
from slowwave.stores.catalogue import own_catalogue
from slowwave.stores.discovery import list_sessions, live_reason
from slowwave.stores.trash import Removal, TrashItem, throw_away, trash_folder
from slowwave.stores.upkeep import Goes, Looked, UpkeepRules, client_session_settings, look_at, upkeep, upkeep_rules

# What must stay whatever the rules say: asked about every session that would go, and again right before it does.


class Guards:
    """The guards of one run; what they read of memories is read once."""

    def __init__(self, fleet: Fleet, run: Run, holds: Sequence[Hold], restored: Mapping[str, float]) -> None:
        self.holds = holds
        self._restored = restored
        self._fleet = fleet
        self._run = run
        self._pending: dict[Path, Pending] = {}

    def __call__(self, subject: Subject) -> str:
        """Return which guard keeps a session, and why: ``live: changed 0:03:00 ago``; "" when none does.

        What cannot be found out keeps it, too.
        """
        member = self._fleet.members[subject.id]
        try:
            return self.standing(member) or self.at_hand(member)
        except (SlowwaveError, OSError) as error:
            return f"unreadable: {told(error, subject.id)}"

    def at_hand(self, member: Member) -> str:
        """Return what may change between plan and removal: somebody opens the session, or sets a hold."""
        idle = self._run.settings.extraction.idle
        for session in member.sessions:
            if live := live_reason(session, self._run.clock.now(), idle, self._run.home):
                return f"live: {live}"
        held = held_by(self.holds, facts_of(member, self._run.home))
        return f"held: {held}" if held else ""

    def standing(self, member: Member) -> str:
        """Return what holds for the whole run."""
        session = member.session
        if session.in_database or client_of(session.dialect).read_only:
            return "database: only its client writes there; remove it in its client"
        # of a sub-agent that its session left behind the session was brought back
        names = (session.id, owner_of(session)) if session.kind == "subagent" else (session.id,)
        restored = max(self._restored.get(name, -inf) for name in names)
        if restored >= self._run.settings.retention.grace.start(self._run.clock.now()):
            return "restored: somebody brought it back within retention.grace"
        if forks := self._fleet.referring_to(session):
            more = f" and {len(forks) - 1} more" if len(forks) > 1 else ""
            return f"referred to: {forks[0].id}{more} came from it, and goes before it"
        # of the others the fleet knows it without opening a file
        if need := client_of(session.dialect).need(session):
            return f"needed: {need}"
        return self._unsaved(member)

    def _unsaved(self, member: Member) -> str:
        if self._run.settings.retention.require_extracted and (left := self._left(member)):
            return f"not extracted: {left}"
        paths = (os.fspath(path) for path in paths_of(member))
        if not self._run.settings.retention.require_archive and (memory := self.cited_among(paths)):
            return f"cited: memory {memory} rests on it, and no archive is kept"
        return ""

    def cited_among(self, paths: Iterable[str]) -> str:
        """Return the id of a memory that rests on one of the files, or ""."""
        return next((memory for path in paths if (memory := self._cited.get(path))), "")

    def _left(self, member: Member) -> str:
        memory = member.project.memory
        if memory not in self._pending:
            self._pending[memory] = Pending(memory)
        return next((left for session in member.sessions if (left := self._pending[memory].left(session))), "")

    @cached_property
    def _cited(self) -> dict[str, str]:
        folders = {member.project.memory for member in self._fleet.members.values()}
        books = (read_book(folder) for folder in sorted(folders) if folder.is_dir())
        memories = (memory for book in books for memory in book.memories.values())
        return {name_from_json(e.path): memory.id for memory in memories for e in memory.evidence}


class Archive:
    """The shelf as a run sees it: what it held when the run began, and what the run added."""

    def __init__(self, shelf: Shelf) -> None:
        """Read which sessions it holds."""
        self._folder = shelf.folder
        self._held: dict[str, list[Shelved]] = defaultdict(list)
        for one in shelf.sessions():
            self._held[one.session.id].append(one)
        # packs that cannot be read: nothing in them counts as archived
        self.problems = list(shelf.problems)

    def all(self) -> Iterator[Shelved]:
        """Yield every session with its pack."""
        for found in self._held.values():
            yield from found

    def find(self, session: str, removal: Removal | Belongings) -> Path | None:
        """Return the pack that holds exactly what would go as it is now, read back and compared; else None."""
        every = (entry for path in removal.paths for entry in walked(path))
        now = {os.fspath(path): _entry(at) for path, at in every}
        for path, packed in reversed(self._held.get(session, [])):
            then = {file.path: (file.kind, file.mode, file.mtime_ns, file.size) for file in packed.files}
            if (
                then == now
                and packed.notes == removal.notes
                and _reads_back(path, packed, lambda file: Path(file.path))
            ):
                return path
        return None

    def holds_item(self, item: TrashItem, trash: Path) -> bool:
        """Say whether all files of an item of the trash are in some pack, read back and compared with the item's."""
        stored = {file.path: trash / item.id / file.stored for file in item.files}
        return any(
            _reads_back(path, packed, lambda file: stored[file.path])
            for path, packed in reversed(self._held.get(item.session, []))
            if _described(packed) == _described(item)
        )

    def has_files(self, item: TrashItem) -> bool:
        """Say whether some pack holds what an item of the trash holds, by names, sizes and times."""
        return any(_described(packed) == _described(item) for _, packed in self._held.get(item.session, []))

    def about(self, session: str) -> PackedSession | None:
        """Return what is known of a session that was archived, or None."""
        held = self._held.get(session)
        return held[-1].session if held else None

    def add(self, name: str, wanted: Sequence[Wanted]) -> list[Shelved]:
        """Pack sessions, read the pack back, and return them with it.

        Raises MovedError: a file changed while it was read; there is no pack; SlowwaveError: what was read back is not
        what was packed, or something cannot be packed; OSError: a file cannot be read, or the disk is full; there is no
        pack.
        """
        number = 1
        while (path := self._folder / f"{name}-{number:03d}{SUFFIX}").exists():
            number += 1
        added = [Shelved(path, session) for session in write_pack(path, wanted).sessions]
        for one in added:
            self._held[one.session.id].append(one)
        return added


@dataclass(frozen=True, kw_only=True)
class Context(Run):
    """A run of retention, and what all of its steps share."""

    fleet: Fleet  # all sessions of this machine
    guards: Guards  # what must stay
    archive: Archive  # the packs
    report: Report  # gets what was done and refused
    chosen: Collection[str] | None = None  # keys of the projects in which something may go; None for all

    @property
    def rules(self) -> RetentionSettings:
        """The settings of retention."""
        return self.settings.retention

    @property
    def now(self) -> datetime:
        """The current time."""
        return self.clock.now()

    @cached_property
    def log(self) -> AuditLog:
        """The audit log."""
        return AuditLog(self.environ)

    @cached_property
    def trash(self) -> Path:
        """The folder of the trash."""
        return trash_folder(self.environ)

    @cached_property
    def rows(self) -> RowsByPath:
        """The rows of all that lies in its place, before anything moves; made once something is packed."""
        with own_catalogue(self.settings, self.environ) as catalogue:
            return RowsByPath(list_sessions(self.settings, self.environ, catalogue, archived=False).rows)

    def may_touch(self, project: str) -> bool:
        """Say whether something of a project may go."""
        return self.chosen is None or project in self.chosen


# The verified copy that is made of whatever goes: found where an earlier run made it, else written into a pack.


def _described(one: PackedSession | TrashItem) -> set[tuple[str, str, int, int]]:
    return {(file.path, file.kind, file.size, file.mtime_ns) for file in one.files}


def _entry(at: os.stat_result) -> tuple[str, int, int, int]:
    """Return what a pack notes of something beside its name."""
    is_folder, is_link = stat.S_ISDIR(at.st_mode), stat.S_ISLNK(at.st_mode)
    kind = "folder" if is_folder else "link" if is_link else "file"
    return kind, stat.S_IMODE(at.st_mode), at.st_mtime_ns, at.st_size if kind == "file" else 0


def _reads_back(path: Path, packed: PackedSession, place: Callable[[PackedFile], Path]) -> bool:
    """Say whether a pack gives back what it once took, and that is what lies in some place."""
    try:
        with Pack(path) as pack:
            pack.check(packed)
    except UnreadableError:
        return False
    return all(hash_of(place(file), digest) == file.hash for file in packed.files if file.kind == "file")


# What went wrong with one session: what the machine refused, or nobody expected, is a failure of the run, too.

_log = logger_of(__name__)


def is_of_machine(error: BaseException) -> bool:
    """Say whether the machine refused something: a full disk, a missing permission; not that something is gone."""
    error = error.__cause__ if isinstance(error, SlowwaveError) and error.__cause__ is not None else error
    return isinstance(error, OSError) and not isinstance(error, FileNotFoundError)


def note_failure(report: Report, where: str, error: Exception, place: Path | str = "the file") -> None:
    """Put a failure into the report unless it is a refusal with a reason, which the report has as such.

    The traceback of what nobody expected goes to the log.
    """
    is_expected = isinstance(error, SlowwaveError | OSError)
    if not is_expected:
        report.count("unexpected")
        _log.error("%s broke", where, exc_info=error)
    if not is_expected or is_of_machine(error):
        report.failures.append(f"{where}: {told(error, place)}")


# the word for an item of the report
REMOVE, REMOVED, REFUSED, WAIT, STAY = "remove", "removed", "refused", "wait", "stay"
# what the sessions wait for that are more than one run removes
LATER = "goes in a later run (retention.per_run)"


class Plan(NamedTuple):
    """What a run does."""

    goes: list[Verdict]  # what is to be removed, the oldest first
    waits: list[Verdict]  # what is to be removed by later runs
    stays: list[Verdict]  # what would go, and a guard keeps
    rest: list[Verdict]  # what no rule lets go
    shortfalls: list[Shortfall]  # limits that cannot be reached, since a guard keeps what is above them


def plan_removals(
    fleet: Fleet, rules: RetentionSettings, now: datetime, guard: Guard, chosen: Collection[str] | None = None
) -> Plan:
    """Return what to do about all sessions.

    ``fleet``: the sessions; quotas count all of them. ``rules``: the policy. ``now``: the current time, in the zone
    whose calendar counts. ``guard``: why a session must stay, or "". ``chosen``: keys of the projects in which
    something may go; None for all.
    """
    decision = decide(fleet.subjects(), rules, now, guard)
    verdicts = [one for one in decision.verdicts if chosen is None or one.subject.project in chosen]
    verdicts.sort(key=lambda one: (one.subject.at, one.subject.id))
    goes = [one for one in verdicts if one.removes]
    stays = sorted((one for one in verdicts if one.guard), key=lambda one: one.subject.id)
    rest = [one for one in verdicts if not (one.removes or one.guard)]
    short = [one for one in decision.shortfalls if chosen is None or not one.group or one.group[1] in chosen]
    return Plan(goes[: rules.per_run], goes[rules.per_run :], stays, rest, short)


def asked_to_confirm(plan: Plan, run: Context) -> str:
    """Return why a plan is carried out only when ``retention.confirm`` allows as many sessions, or ""."""
    number = len(plan.goes) + len(plan.waits)
    every = sum(run.may_touch(member.project.key) for member in run.fleet.members.values())
    ages = (rules.max_age for rules in (run.rules, *run.rules.classes))
    if run.rules.confirm is not None and number <= run.rules.confirm:
        return ""
    if 2 * number > every:
        why = "more than half"
    elif number and any(age is not None and age.is_nothing for age in ages):
        why = "whatever their age"
    else:
        return ""
    return f"{number} of {counted(every, 'session')} would go, {why}: add --confirm {number} (retention.confirm)"


def note_plan(plan: Plan, run: Context, waits_for: str) -> None:
    """Put what stays, and what waits and for what, into the report; what goes is told when it went."""
    report = run.report
    report.count("sessions", len(run.fleet.members))
    for verdict in plan.stays:
        refuse(run, verdict, verdict.guard)
    for verdict in plan.waits:
        report.count("waiting")
        note(run, verdict, WAIT, waits_for)
    for short in plan.shortfalls:
        report.count("shortfalls")
        where = " / ".join(short.group) or "all of its sessions"
        unit = "bytes" if short.rule == "max_bytes" else "sessions"
        report.warnings.append(f"retention.{short.rule}: {where}: {short.over} {unit} too many, all of which must stay")


def note_planned(plan: Plan, run: Context) -> None:
    """Put what would go, and what no rule lets go, into the report of a dry run: it lists every session."""
    for verdict in plan.goes:
        run.report.count("would_remove")
        run.report.count("would_remove_bytes", verdict.subject.size)
        note(run, verdict, REMOVE, f"retention.{verdict.rule} says that it goes")
    for verdict in plan.rest:
        note(run, verdict, STAY, _reason_to_stay(verdict, run.rules.rules_of(verdict.subject)[1]))


def refuse(run: Context, verdict: Verdict, guard: str) -> None:
    """Note a session that stays although a rule says that it goes."""
    name, _, why = guard.partition(": ")
    run.report.count("refused")
    run.report.count(f"refused_{name.replace(' ', '_')}")
    note(run, verdict, REFUSED, f"{name}: {why} (retention.{verdict.rule} says that it goes)", name)


def note(run: Context, verdict: Verdict, action: str, reason: str, guard: str = "", *, size: int = -1) -> None:
    """Add an item about a session; ``size`` is what it took in fact, where that is known."""
    subject = verdict.subject
    member = run.fleet.members[subject.id]
    prefix, rules = run.rules.rules_of(subject)
    now = run.now.astimezone()
    at = datetime.fromtimestamp(subject.at, UTC).astimezone()
    due = rules.max_age.over(at) if rules.max_age is not None else None
    run.report.items.append(
        RetainItem(
            member.session.id,
            action,
            reason,
            member.project.key,
            rule=verdict.rule,
            guard=guard,
            bytes=subject.size if size < 0 else size,
            at=at.isoformat(timespec="seconds"),
            age_days=round((now - at) / timedelta(days=1), 1),
            limit=", ".join(f"{prefix}{name} = {getattr(rules, name)}" for name in _deciding(verdict.rule, rules)),
            due=due.isoformat(timespec="seconds") if due is not None else "",
        )
    )


def _deciding(rule: str, rules: Rules) -> list[str]:
    """Return the names of the settings that decided: those of a verdict, or all that let it be."""
    named = rule.split(", ")
    wanted = named if set(named) <= {*LIMITS, *KEEPS} else KEEPS if rule == "keep" else () if rule else LIMITS
    return [name for name in wanted if getattr(rules, name) is not None]


def _reason_to_stay(verdict: Verdict, rules: Rules) -> str:
    if verdict.rule == "future":
        return "its time has not come yet: the clock of whoever wrote it was ahead"
    if verdict.rule:
        return f"retention.{verdict.rule} keeps it"
    return "within all limits" if rules.limits else "no rule lets it go: no max_age, max_count or max_bytes is set"


# OpenClaw's own session maintenance, carried out as part of a run: under every guard, into archive and trash.
#
# Gate: ``retention.openclaw = "own"``; by default it is left to the client. May remove sessions of the JSON store and
# entries that lead to no transcript. A second run finds nothing to do. What the client's settings say counts; where
# they cannot be read, or ``mode`` is ``warn``, nothing goes and the report says so.

_RULE = "openclaw"


class Loose(NamedTuple):
    """An entry that leads to no transcript any more."""

    store: Path
    key: str


def with_upkeep(plan: Plan, run: Context) -> tuple[Plan, list[Loose]]:
    """Return a plan with what maintenance of the stores of OpenClaw removes, and entries without a transcript.

    Each step comes in the client's order. A session that goes by the rules of slowwave goes once;
    ``retention.per_run`` counts what is added, too.
    """
    goes, waits, stays, loose = list(plan.goes), list(plan.waits), list(plan.stays), list[Loose]()
    known = {verdict.subject.id for verdict in (*goes, *waits, *stays)}
    subjects = {subject.id: subject for subject in run.fleet.subjects()}
    for folder in sorted(_folders(run.fleet)):
        for one in _due(folder, run):
            found = [subject for name in one.names if (subject := subjects.get(f"{folder}/{name}")) is not None]
            if not found and one.step == "pruneAfter" and not one.names:
                loose.append(Loose(folder / NAME, one.key))
            for subject in found:
                if subject.id not in known and run.may_touch(subject.project):
                    known.add(subject.id)
                    why = run.guards(subject)
                    where = stays if why else goes if len(goes) < run.rules.per_run else waits
                    where.append(Verdict(subject, not why, f"{_RULE}.{one.step}", why))
    rest = [verdict for verdict in plan.rest if verdict.subject.id not in known]
    return Plan(goes, waits, stays, rest, plan.shortfalls), loose if run.chosen is None else []


def tidy(loose: list[Loose], run: Context) -> None:
    """Move entries that lead to no transcript into the trash, store by store.

    Raises CorruptStateError: the audit log is damaged; OSError: the audit log cannot be written.
    """
    for store in sorted({one.store for one in loose}):
        try:
            item = _thrown(store, {one.key for one in loose if one.store == store}, run)
        except Exception as error:  # noqa: BLE001 - counted, told, and no other store's matter
            run.report.count("openclaw_refused")
            run.report.items.append(Item(str(store), "refused", f"openclaw: {told(error, store)}"))
            note_failure(run.report, str(store), error, store)
            continue
        if item is None:
            continue
        run.log.append([of_item("trash", item, run.report.run_id)], run.now)
        run.report.count("openclaw_entries", len(item.notes))
        reason = f"{_RULE}.pruneAfter: leads to no transcript"
        run.report.items += [Item(note.key, "tidied", reason) for note in item.notes]


def _thrown(store: Path, keys: Collection[str], run: Context) -> TrashItem | None:
    entries = read_store(store)
    notes = tuple(entry_note(store, key, entry) for key, entry in entries.items() if key in keys)
    if not notes:
        return None
    return throw_away(
        (),
        run.trash,
        item_id=f"{run.now:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}",
        session=f"{store.parent.parent.name}-entries",
        dialect="openclaw",
        reason=f"{BY_RUN}{_RULE}.pruneAfter",
        at=run.now,
        notes=notes,
    )


def _folders(fleet: Fleet) -> set[Path]:
    """Return the folders of JSON stores that sessions lie in."""
    own = (one.session for one in fleet.members.values() if one.session.dialect == "openclaw")
    files = (session.files.paths[0] for session in own if not session.in_database)
    return {path.parent for path in files if path.with_name(NAME).is_file()}


def _store(folder: Path, report: Report, unknown: str) -> tuple[UpkeepRules, Looked] | None:
    """Return the rules and the content of a store; None, and a warning, where they cannot be read."""
    try:
        return upkeep_rules(client_session_settings(folder)), look_at(folder)
    except (UnreadableError, OSError) as error:
        report.warnings.append(f"{unknown}: {told(error, folder)}")
        return None


def due_by_client(fleet: Fleet, times: Iterable[float], report: Report) -> Iterator[tuple[Member, float]]:
    """Yield the sessions that the client itself removes by some times, each once, with the first of these times.

    ``times``: in seconds since 1970, the earliest first; ``report``: gets a warning for each store of which nobody
    knows what goes.
    """
    moments = list(times)
    for folder in sorted(_folders(fleet)):
        if (store := _store(folder, report, "rescue: cannot tell what OpenClaw removes")) is None:
            continue
        (rules, looked), met = store, set[str]()
        for at in moments if rules.enforces else ():
            names = [name for one in upkeep(*looked, rules, at * 1000) for name in one.names]
            for key in dict.fromkeys(f"{folder}/{name}" for name in names):
                if key not in met and key in fleet.members:
                    met.add(key)
                    yield fleet.members[key], at


def _due(folder: Path, run: Context) -> list[Goes]:
    report = run.report
    if (store := _store(folder, report, "openclaw: no maintenance")) is None:
        return []
    rules, looked = store
    goes = upkeep(*looked, rules, run.now.timestamp() * 1000)
    report.warnings += [f"openclaw: {folder}: {problem}" for problem in rules.problems]
    if goes and not rules.enforces:
        report.warnings.append(f"openclaw: {folder}: {len(goes)} would go, and its settings only warn")
    return goes if rules.enforces else []
