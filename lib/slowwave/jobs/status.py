"""The data of ``status``: projects, recent nights and their cost, what retention holds on to, open backfills."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from slowwave.compaction.book import all_books, content_stamp, folder_of
from slowwave.consolidation.gates import (
    ENOUGH,
    Changed,
    backlog_of,
    changed_since,
    due_after,
    noted_of,
    or_after_waiting,
    read_state,
    session_gate,
    time_gate,
)
from slowwave.consolidation.lock import refusal
from slowwave.context import Clock
from slowwave.errors import SlowwaveError, told
from slowwave.extraction.gates import read_failures
from slowwave.files import archive_folder, from_home, home_folder, state_folder
from slowwave.jobs.run import folders_of, memory_folders
from slowwave.memory import iso, name_from_json
from slowwave.memory.book import read_book
from slowwave.memory.candidates import read_candidates
from slowwave.memory.delivery import Register, placed_of, reach_of, read_register
from slowwave.memory.delivery.hooks import spoken
from slowwave.memory.folder import OWN_FOLDER
from slowwave.memory.ledger import REVIEW, Event, read_ledger, undone_in
from slowwave.memory.provenance import known_lines
from slowwave.observability.lessons import Kind, in_all, learned, needs_in, remembered
from slowwave.observability.night import REMEMBERING, STOPPED, Alarm, Night, history_path, read_nights
from slowwave.observability.progress import AtWork, over_because, read_notes, stopped
from slowwave.report import Gate
from slowwave.retention.audit import AuditLog
from slowwave.retention.holds import read_holds
from slowwave.secrets import NAMELESS
from slowwave.settings import ModelSettings, RetentionSettings, Settings
from slowwave.stores.archive.shelf import rescue_packs, rescued_bytes
from slowwave.stores.discovery import active_reason, known_projects
from slowwave.stores.projects import Project, chosen_by
from slowwave.stores.trash import trash_folder, trash_items, trash_size

if TYPE_CHECKING:
    from slowwave.jobs.backfill.folder import Folder

# How each project stands: last dream, what is due, what waits, and why nothing happened.


class Standing(msgspec.Struct):
    """One project."""

    project: str  # its key
    memory: str  # its memory folder
    sessions: int  # how many main sessions it has
    # ISO time at which the last dream that stands began, or None: the one that the gates count from and name
    last_dream: str | None = None
    is_of_others: bool = False  # no run in the history and no dream of ours began then: Cersei keeps the same clock
    looked_at: str = ""  # ISO time at which a later dream found nothing new, which moves no clock, or ""
    undone_dream: str = ""  # ISO time at which a later dream began that was taken back, or ""
    last_change: str = ""  # id of the last dream that changed a memory and was not undone, or ""; its time stands in it
    due: bool = False  # whether the next run would dream
    due_at: str = ""  # ISO time from which the time gate lets a dream pass, or "" when it does now
    # ISO time at which somebody took its last dream back, "" where there was a dream or a session since
    taken_back: str = ""
    gates: list[Gate] = []  # each gate with its reason
    memories: int = 0  # active memories
    waiting: int = 0  # candidates that no dream has taken or refused; most of them wait for more evidence
    for_you: int | None = None  # those that wait for a person, None where only a dream would tell
    oldest_waiting: str = ""  # ISO time of the oldest of them, or ""
    backlog: int = 0  # those of them that no dream has looked at
    backlog_since: str = ""  # ISO time at which the first of these was noted, or ""
    failing: int = 0  # sessions that could not be read lately
    parked: list[str] = []  # dreams that wait for a person
    # lines of memory files that slowwave did not write, by who wrote them: person, agent, tool
    foreign: dict[str, int] = {}
    stopped: list[str] = []  # sessions that are compacted no more, and why
    delivered: list[str] = []  # files with its memory in them, and for whom; how much is said before calls
    folder: str = ""  # the folder that its sessions name, and whether it is there
    reaches: dict[str, str] = {}  # whether each client that worked there loads its memory, why not and what to do
    spoken: str = ""  # how much of it is said before calls, and by whom, or ""
    problem: str = ""  # why this project could not be looked at, or ""


def standings(
    settings: Settings, environ: Mapping[str, str], clock: Clock, *, project: str = ""
) -> tuple[list[Standing], list[str]]:
    """Return how every project stands, and what discovery left out.

    Raises UnreadableError: a store cannot be read at all; NotFoundError: no project matches ``project``.
    """
    found = known_projects(settings, environ)
    chosen = chosen_by(project, found.projects, lambda p: (p.key, p.root))
    rows = [_standing(p, settings, clock.now(), home_folder(environ)) for p in chosen]
    _look_at_history(rows, environ)
    folders = folders_of(chosen, settings, environ, chosen=True)
    needs, _ = needs_in(folders, settings.consolidation, clock.now(), environ)
    for row, one in zip(rows, chosen, strict=True):
        of_it = needs.get(one.memory.resolve())
        # what waits after an undo was looked at, though the clock of dreams stands as before it
        row.for_you = of_it.facts if of_it and (row.taken_back or not row.backlog) else None
    _look_at_compactions(rows, chosen, environ)
    register = read_register(environ) or Register()
    for row, one in zip(rows, chosen, strict=True):
        files = placed_of(one.memory, register).items()
        row.reaches, row.spoken = reach_of(one, register, environ), spoken(one, register, environ)
        here = "" if Path(one.root).is_dir() else " (not on this machine)"
        row.folder = f"{from_home(one.root, environ)}{here}" if one.root else ""
        row.delivered = [f"{name_from_json(name)} for {', '.join(placed.clients)}" for name, placed in files]
        row.delivered += filter(None, [row.spoken])
    return rows, [str(p) for p in found.problems]


def _look_at_history(rows: list[Standing], environ: Mapping[str, str]) -> None:
    """Say when a dream last went over each project that had nothing new for it, and which one was none of ours."""
    with suppress(OSError):  # whoever looks at the history says that it cannot be read
        nights = [night for night in read_nights(environ)[0] if night.dreamt]
        for row in rows:
            last = row.last_dream or ""
            looked = [n.began for n in nights if n.has_dreamt(NAMELESS(row.project))] if last else []
            if looked and not row.taken_back and iso(looked[-1]) > last:
                row.looked_at = iso(looked[-1])
            row.is_of_others = row.is_of_others and not any(_is_within(last, night) for night in nights)


def _is_within(at: str, night: Night) -> bool:
    return iso(night.began) <= at <= iso(night.began + timedelta(seconds=night.seconds + 1))


def _look_at_compactions(rows: list[Standing], projects: list[Project], environ: Mapping[str, str]) -> None:
    """Name the sessions that are compacted no more after failures in a row."""
    folder = folder_of(environ)
    if not folder.is_dir():
        return
    try:
        books = {book.path: book for book in all_books(folder) if book.is_stopped}
    except SlowwaveError as error:
        for row in rows:
            row.problem = row.problem or str(error)
        return
    for row, project in zip(rows, projects, strict=True) if books else ():
        for session in project.sessions:
            book = books.get(os.path.realpath(session.files.paths[0]))
            if book is not None and book.failed_at == content_stamp(session.files.paths):
                row.stopped.append(f"{session.id}: {book.error}")


def _standing(project: Project, settings: Settings, now: datetime, home: Path) -> Standing:
    main = sum(s.kind == "main" for s in project.sessions)
    standing = Standing(project.key, str(project.memory), main)
    try:
        _look_at_gates(standing, project, settings, now, home)
        _look_at_memory(standing, project.memory)
    except SlowwaveError as error:
        standing.problem = str(error)
        standing.due = False
    return standing


def _look_at_gates(standing: Standing, project: Project, settings: Settings, now: datetime, home: Path) -> None:
    limits = settings.consolidation
    last = read_state(project.memory)
    idle = settings.extraction.idle
    changed = changed_since(project.sessions, last, lambda s: active_reason(s, now, idle, home) or "")
    enough = session_gate(project.key, changed, limits.min_sessions)
    noted = noted_of(project.memory)
    held = refusal(project.memory, limits.lock_stale)
    standing.last_dream = None if last is None else iso(datetime.fromtimestamp(last, UTC))
    standing.gates = [
        time_gate(project.key, last, now, limits.min_hours * ENOUGH, lambda: not noted.backlog),
        enough if enough.passed else or_after_waiting(enough, changed, noted, now, limits.max_wait),
        Gate("lock", project.key, passed=not held, reason=held or "no other dream is at work"),
    ]
    standing.due = all(gate.passed for gate in standing.gates)
    _look_at_dreams(standing, read_ledger(project.memory), last, changed)
    if last is not None and not standing.gates[0].passed:
        standing.due_at = iso(due_after(last, limits.min_hours * ENOUGH))


def _look_at_dreams(standing: Standing, events: Sequence[Event], last: int | None, changed: Changed) -> None:
    """Say whose the last dream is, and what became of a later one: what a night dreamt and somebody took back.

    That it was taken back is how the project stands, unless there was a dream or a session since.
    """
    dreams = [event for event in events if event.event == "dream"]
    nights = {event.dream: event.at for event in dreams if event.run != REVIEW}
    undone = undone_in(events)
    at = max((at for dream, at in undone.items() if dream in nights), default="")
    since = datetime.fromisoformat(at).timestamp() if at else 0.0
    is_news = (last or 0) > since or any(session.mtime_ns > since * 1e9 for session in changed.sessions)
    standing.taken_back = "" if is_news else at
    stands = standing.last_dream or ""
    standing.undone_dream = max((nights[dream] for dream in undone if nights.get(dream, "") > stands), default="")
    standing.is_of_others = bool(stands) and stands not in {event.at for event in dreams}


def _look_at_memory(standing: Standing, memory: Path) -> None:
    book = read_book(memory)
    waiting = [c for c in read_candidates(memory)[0] if book.waits(c)]
    standing.last_change = book.dreams[-1] if book.dreams else ""
    standing.memories = len(book.active)
    # what a copy or a fork of a session says, too, waits once
    standing.waiting = len({c.text for c in waiting})
    standing.oldest_waiting = min((c.observed_at for c in waiting if c.observed_at), default="")
    backlog = backlog_of(memory, book)
    standing.backlog = len({c.text for c, _ in backlog})
    standing.backlog_since = min((noted for _, noted in backlog if noted), default="")
    standing.foreign = dict(Counter(known.writer if known else "person" for _, known in known_lines(memory)))
    standing.failing = len(read_failures(memory)[0])
    parked = memory / OWN_FOLDER / "parked"
    standing.parked = sorted(p.stem for p in parked.glob("*.json")) if parked.is_dir() else []


# What happened lately, and what a run may cost: out of the history of nights.


class Budget(msgspec.Struct):
    """What one run may cost at most, 0 for no limit, and what the last one did cost."""

    tokens: int = 0  # most tokens, both ways
    usd: float = 0.0  # most money
    spent_tokens: int = 0  # of the last run that remembers
    spent_usd: float = 0.0  # the same in money


class Morning(msgspec.Struct):
    """What somebody wants to know who comes back: what was learned last, and whether anything needs them."""

    run: str = ""  # id of the last run that changed a memory, or ""
    at: str = ""  # when its first dream began, ISO time, or ""
    numbers: dict[Kind, int] = {}  # how many changes of each kind it made, as far as they were not taken back
    told: str = ""  # all that it made in words, with how much of it was taken back
    needs: int = 0  # how many things wait for a person and are worth their time
    needs_more: bool = False  # whether more may wait, in projects that were not looked at yet


def morning(settings: Settings, environ: Mapping[str, str], now: datetime, *, project: str = "") -> Morning:
    """Return what was learned last, and how much waits now, in the folders that ``slowwave review`` looks at.

    Raises UnreadableError: a store cannot be read at all; NotFoundError: no project matches ``project``.
    """
    folders = memory_folders(settings, environ, project)
    every, _ = remembered(folders)
    dreams = [dream for one in every for dream in one.dreams if not dream.is_undone]
    needs, is_all = needs_in(folders, settings.consolidation, now, environ)
    found = Morning(needs=sum(one.things for one in needs.values()), needs_more=not is_all)
    changed = [dream for dream in dreams if dream.changes and not dream.is_by_person]
    if changed:
        latest = max(changed, key=lambda dream: (dream.at, dream.id))
        run = [dream for dream in changed if dream.run == latest.run] if latest.run else [latest]
        found.run, found.at = latest.run or latest.id, min(dream.at for dream in run)
        of_run = learned(every, lambda dream: dream.run == latest.run if latest.run else dream in run)
        found.numbers, found.told = of_run.numbers, in_all(of_run.dreams)
    return found


class Lately(msgspec.Struct):
    """What the history says."""

    # the last run that reads sessions or dreams, or None; ``last_good`` is the last one without a failure. One that
    # never came to its end counts, also before another run has put it into the history.
    last: Night | None = None
    last_good: str = ""  # its beginning, ISO time, or ""
    hours: float | None = None  # hours since the last one began, or None
    alarms: list[Alarm] = []  # what the last run of each job raised
    budget: Budget = msgspec.field(default_factory=Budget)  # limits and last use of the language model
    at_work: list[AtWork] = []  # runs that are at work now
    stopped: list[Night] = []  # runs that never came to their end, and that no run has told of yet
    ahead: str = ""  # why the last run lies in the future, or ""
    problems: list[str] = []  # what of the history cannot be read
    since: Night | None = None  # the last run of another job, where it began later than the last


def lately(model: ModelSettings, environ: Mapping[str, str], now: datetime) -> Lately:
    """Return what happened lately; what cannot be read is told and stops nothing."""
    try:
        nights, problems = read_nights(environ)
    except OSError as error:
        return Lately(problems=[told(error, history_path(environ))])
    found = Lately(problems=problems, budget=Budget(model.budget_tokens, model.budget_usd))
    _look_at_notes(found, environ, {(night.run_id, night.at) for night in nights})
    nights = sorted([*nights, *found.stopped], key=lambda night: night.began)
    # of each job the last run over all projects that came to its end
    latest = {night.job: night for night in nights if not night.partial and night.outcome != STOPPED}
    found.alarms = list({a.name: a for night in latest.values() for a in night.alarms}.values())
    remembering = [night for night in nights if night.job in REMEMBERING]
    if remembering:
        last = found.last = remembering[-1]
        ended = [night for night in nights if night.outcome != STOPPED]
        found.since = ended[-1] if ended and ended[-1].began > last.began else None
        found.hours = round((now - last.began).total_seconds() / 3600, 2)
        if last.began > now:
            found.ahead = f"it is {now:%Y-%m-%d %H:%M} UTC, before the last run began: the clock was moved"
        good = (night.at for night in reversed(remembering) if not (night.failed or night.ended))
        found.last_good = next(good, "")
        found.budget.spent_tokens = last.spent.prompt_tokens + last.spent.completion_tokens
        found.budget.spent_usd = last.spent.usd
    return found


def _look_at_notes(found: Lately, environ: Mapping[str, str], known: set[tuple[str, str]]) -> None:
    """Tell the runs that are at work from those that were stopped."""
    notes, problems = read_notes(environ)
    found.problems = [*found.problems, *problems]
    for note in notes:
        why = over_because(note)
        if not why:
            found.at_work.append(note)
        elif (note.run_id, note.at) not in known:
            found.stopped.append(stopped(note, why))


# What retention holds on to: the trash, the holds, and the last entry of the audit log.


class Kept(msgspec.Struct):
    """The numbers."""

    trash: int = 0  # items in the trash
    trash_bytes: int = 0  # their bytes
    holds: int = 0  # holds that are set
    last: str = ""  # ISO time of the last line of the audit log, or ""
    rescued: int = 0  # packs of what a client was about to delete; ``rescued_bytes`` is the room that they take
    rescued_bytes: int = 0
    rescue_max_bytes: int = 0  # the room that they may take (``retention.rescue_max_bytes``), 0 for any
    rescue: str = ""  # within what time such a deletion is looked for (``retention.rescue``), or off
    problem: str = ""  # what of all that cannot be read, or ""


def kept_by(settings: RetentionSettings, environ: Mapping[str, str]) -> Kept:
    """Return what there is now; what cannot be read is told and stops nothing."""
    most = settings.rescue_max_bytes
    kept = Kept(rescue=str(settings.rescue), rescue_max_bytes=0 if most.is_unlimited else int(most))
    try:
        archive = archive_folder(environ)
        kept.rescued, kept.rescued_bytes = len(rescue_packs(archive)), rescued_bytes(archive)
        items = trash_items(trash_folder(environ))
        kept.trash, kept.trash_bytes = len(items), trash_size(items)
        kept.holds = len(read_holds(environ))
        last = AuditLog(environ).last()
        kept.last = last.isoformat() if last else ""
    except SlowwaveError as error:
        kept.problem = str(error)
    return kept


# Backfills that wait for a person: paused, failed, killed, or taken back in part.

How = Literal["paused", "failed", "unfinished", "rolling-back"]


class Unfinished(msgspec.Struct, frozen=True):
    """One of them."""

    run_id: str
    how: How  # paused; failed, with ``why``; unfinished: its process is gone; rolling-back: a part of it is taken back
    began: str  # what time it was for the run, ISO time
    sessions: int  # that it is about
    read: int  # how many of these were read
    pieces: int  # that were read, of so many
    of: int  # see ``pieces``
    why: str  # the first failure, or ""
    command: str  # what goes on with it


def unfinished(environ: Mapping[str, str]) -> tuple[list[Unfinished], list[str]]:
    """Return the backfills that nobody is at and that are not done, and what could not be looked at."""
    found: list[Unfinished] = []
    problems: list[str] = []
    plans = sorted(state_folder(environ).glob("backfills/*/plan.json"))
    if not plans:
        return found, problems
    from slowwave.jobs.backfill.folder import Folder  # noqa: PLC0415 - loads what reads sessions; few have a backfill

    for path in plans:
        folder = Folder(path.parent)
        try:
            # one that is at work says so by a note of its own
            if folder.standing not in ("done", "rolled-back") and not folder.is_led():
                found.append(_look_at(folder))
        except (SlowwaveError, OSError) as error:
            problems.append(f"backfill {path.parent.name}: {error}")
    return found, problems


def _look_at(folder: "Folder") -> Unfinished:
    from slowwave.jobs.backfill.folder import left_of  # noqa: PLC0415 - as above

    plan, standing = folder.plan(), folder.standing
    how: How = "rolling-back" if standing == "rolling-back" else "unfinished"
    if how == "unfinished" and (folder.is_paused or standing == "failed"):
        how = "paused" if folder.is_paused else "failed"
    action = "rollback" if how == "rolling-back" else "resume"
    return Unfinished(
        run_id=plan.run_id,
        how=how,
        began=iso(plan.now),
        sessions=plan.sessions,
        # what is taken back is no longer to be read, and what said of it is gone
        read=0 if how == "rolling-back" else plan.sessions - left_of(folder, plan),
        pieces=sum(folder.has(number) for number in range(plan.pieces)),
        of=plan.pieces,
        why=folder.said("failed") if how == "failed" else "",
        command=f"slowwave run backfill --{action} {plan.run_id}",
    )
