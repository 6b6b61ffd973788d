"""The end of a run: it is added to the history, the page is written anew, and whoever should know is told.

A run is followed from its first moment, so that one that is killed is told of as well.

None of this changes what the run did or how it ended; what of it fails is one more warning in the report.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter
from typing import Literal, NamedTuple

import msgspec

from slowwave.consolidation.gates import ENOUGH, due_after
from slowwave.errors import SlowwaveError, told
from slowwave.jobs.run import folders_of, memory_folders
from slowwave.memory import iso, name_to_json
from slowwave.memory.delivery import OF_AGENTS, Register, reach_of, read_register, unfit
from slowwave.models import journal_of
from slowwave.models.base import Account, ModelError, read_account
from slowwave.observability.lessons import Learned
from slowwave.observability.memories import Known, known_of
from slowwave.observability.night import (
    BROKEN,
    REMEMBERING,
    Limits,
    Night,
    Spent,
    alarms_of,
    append_night,
    footprints,
    history_path,
    night_of,
    read_nights,
)
from slowwave.observability.page import View, view_with, write_page
from slowwave.observability.progress import Noting, begun, end_note, note_path, settle, watched_by, watcher, write_note
from slowwave.observability.telemetry import export, log_night, post
from slowwave.quantities import counted as number_of
from slowwave.report import Report, counted
from slowwave.secrets import NAMELESS, logger_of, redactor_of
from slowwave.settings import Settings
from slowwave.stores.projects import Project, short_names

# Nobody expects a memory of a changed session below this, as long as no candidate comes of it.
WORTH_READING = 32 << 10


@dataclass(frozen=True, slots=True)
class Began:
    """When a run began, and over what."""

    run_id: str
    at: datetime  # what time it was for the run
    timer: float  # the reading of a clock that only moves forward, in seconds
    partial: bool = False  # whether only chosen projects are worked on


@dataclass(frozen=True, slots=True)
class Concluded:
    """The night as it went into the history, and what the report is made of now."""

    night: Night
    view: View


class Ended(NamedTuple):
    """The report of what was done, and what was recorded of it; None for what changes nothing."""

    report: Report
    concluded: Concluded | None = None


def conclude(
    report: Report,
    began: Began,
    settings: Settings,
    environ: Mapping[str, str],
    projects: Sequence[Project],
    *,
    outcome: str = "",
    sessions: int | None = None,
) -> Concluded:
    """Record a run that changed something or might have, and tell whoever the settings name.

    ``report``: the report of the whole run, without secrets; warnings are added to it. ``began``: when it began.
    ``settings``: the settings in force. ``environ``: the environment. ``projects``: the projects that were worked on.
    ``outcome``: how it ended; by default what the report amounts to. ``sessions``: how many it was about, where the
    projects come without theirs.
    """
    earlier, problems = _earlier(environ, report)
    came_to = outcome_of(report)
    folders, unread = footprints([(NAMELESS(project.key), project.memory) for project in projects])
    report.warnings += map(NAMELESS, unread)
    limits = settings.consolidation
    night = night_of(
        report,
        at=began.at,
        seconds=perf_counter() - began.timer,
        outcome=outcome or came_to.name,
        partial=began.partial,
        sessions=sum(len(project.sessions) for project in projects) if sessions is None else sessions,
        changed=_changed(projects, earlier, report),
        spent=_spent(began.run_id, environ, earlier),
        folders=folders,
        limits=Limits(limits.index_lines, limits.index_bytes),
    )
    night = msgspec.structs.replace(night, alarms=alarms_of(earlier, night, settings.alarms))
    known = _known(report, began, settings, environ, projects)
    found = known.of_dreams(report.dream_ids)
    found.bar = limits.accept_confidence
    if began.partial:  # who asked about one project is not told what waits in others
        chosen = {project.key for project in projects}
        found.asks = [ask for ask in found.asks if ask.project in chosen]
    _look_at_delivery(known, found, environ, projects, report)
    if report.dream_ids:
        found.due = iso(due_after(int(began.at.timestamp()), limits.min_hours * ENOUGH))
    report.learned = msgspec.to_builtins(found)
    view = view_with([*earlier, night], environ, problems, known)
    _tell(report, settings, environ, night, view, came_to.message)
    return Concluded(night, view)


def view_now(settings: Settings, environ: Mapping[str, str], now: datetime, known: Known | None = None) -> View | None:
    """Return what the report is made of now, or None before the first night; ``known`` where that was looked at.

    Raises UnreadableError: a store, or the key of the marks of secrets, cannot be read at all; CorruptStateError: the
    list of what was erased, or its key, is damaged or gone; OSError: the history is there and cannot be read.
    """
    if known is None:
        folders = memory_folders(settings, environ)
        redact = redactor_of(settings, environ, create=False)
        known = known_of(folders, settings.consolidation, now, environ, redact)
    nights, problems = read_nights(environ)
    return view_with(nights, environ, problems, known) if nights else None


def _known(
    report: Report, began: Began, settings: Settings, environ: Mapping[str, str], projects: Sequence[Project]
) -> Known:
    """Return what is remembered in all projects, also after a run over a few; what cannot be read is a warning."""
    redact = NAMELESS
    try:
        redact = redactor_of(settings, environ, create=False)
        is_whole = projects and not began.partial
        folders = folders_of(projects, settings, environ) if is_whole else memory_folders(settings, environ)
    except (SlowwaveError, OSError) as error:
        # the run has failed for this itself, and says so
        folders = []
        why = told(error, environ.get("HOME", ""))
        report.warnings += [] if report.failures else [NAMELESS(f"report.html: {why}")]
    known = known_of(folders, settings.consolidation, began.at, environ, redact)
    report.warnings += [NAMELESS(problem) for problem in known.problems if NAMELESS(problem) not in report.warnings]
    return known


def _look_at_delivery(
    known: Known, found: Learned, environ: Mapping[str, str], projects: Sequence[Project], report: Report
) -> None:
    """Add how the memory of each project that changed reaches its clients, and which do not get what they taught.

    Of the latter, projects that no file could be written in, since their folder is on another machine, are left out.
    """
    try:
        register = read_register(environ) or Register()
    except SlowwaveError as error:
        report.warnings.append(NAMELESS(f"delivery: {error}"))
        return
    roots = {project.key: name_to_json(project.root) for project in projects if not unfit(project.root, environ)}
    changed = {dream.project for dream in found.dreams if dream.changes}
    found.reaches = {p.key: reach_of(p, register, environ) for p in projects if p.key in changed}
    for one in known.every:
        name = one.folder.project
        if name in changed and name in roots:
            taught = {seen.dialect for memory in one.book.active for seen in memory.sightings}
            without = [c for c in OF_AGENTS if c in taught and register.rule(c, roots[name]) is None]
            found.unloaded |= {name: without} if without else {}


def conclude_broken(
    job: str, error: BaseException, began: Began, settings: Settings, environ: Mapping[str, str]
) -> Concluded:
    """Record a run that could not even begin."""
    report = Report(job, began.run_id, failures=[NAMELESS(f"{job}: {error}")])
    return conclude(report, began, settings, environ, [], outcome=BROKEN)


def _tell(report: Report, settings: Settings, environ: Mapping[str, str], night: Night, view: View, why: str) -> None:
    alarms, telemetry = settings.alarms, settings.telemetry
    steps: list[tuple[str, Callable[[], object]]] = [
        ("history", lambda: _record(night, environ)),
        ("report.html", lambda: write_page(environ, view)),
        ("telemetry.log_file", lambda: log_night(night, NAMELESS(why))),
    ]
    if alarms.webhook:
        steps.append(("alarms.webhook", lambda: post(night, alarms)))
    if telemetry.otlp:
        steps.append(("telemetry.otlp", lambda: export(night, report.spans, telemetry)))
    for name, step in steps:
        try:
            step()
        except (SlowwaveError, OSError) as error:
            report.warnings.append(NAMELESS(f"{name}: {told(error, history_path(environ).parent)}"))


def _record(night: Night, environ: Mapping[str, str]) -> None:
    """Add a night to the history, and take its note away; where it cannot be added, its note says how it ended."""
    note = note_path(environ, night.run_id)
    try:
        append_night(environ, night)
    except (SlowwaveError, OSError) as error:
        first = f"; first failure: {night.failures[0]}" if night.failures else ""
        end_note(note, f"it ended as {night.outcome} and could not be recorded ({error}){first}")
        raise
    note.unlink(missing_ok=True)


def _earlier(environ: Mapping[str, str], report: Report) -> tuple[list[Night], list[str]]:
    """Return the history so far; one that cannot be read costs alarms their memory, and says so."""
    try:
        return read_nights(environ)
    except OSError as error:
        problem = told(error, history_path(environ))
        report.warnings.append(problem)
        return [], [problem]


def _changed(projects: Sequence[Project], earlier: Sequence[Night], report: Report) -> int:
    """Return how many sessions had something new since they were last looked at: large, or read now with effect."""
    looked = [n.began.timestamp() for n in earlier if n.job in REMEMBERING and n.has_looked and not n.partial]
    since = max(looked, default=0.0) * 1e9
    large = sum(
        session.kind == "main" and session.mtime_ns > since and session.size >= WORTH_READING
        for project in projects
        for session in project.sessions
    )
    return max(large, report.counts.get("extracted", 0) if report.counts.get("candidates") else 0)


def _spent(run_id: str, environ: Mapping[str, str], earlier: Sequence[Night]) -> Spent:
    """Return what a run was charged since it was last recorded; a damaged account is in the report already."""
    account, journal = Account(), journal_of(run_id, environ)
    with suppress(ModelError):
        account = read_account(journal) if journal.exists() else account
    known = [night.spent for night in earlier if night.run_id == run_id]
    return Spent(
        account.prompt_tokens - sum(one.prompt_tokens for one in known),
        account.completion_tokens - sum(one.completion_tokens for one in known),
        account.usd - sum(one.usd for one in known),
    )


# What a run is called and what its report amounts to, in one word and one sentence: what a scheduler shows of it.

# More failed projects or sessions than this share, and the whole run counts as failed; fewer, and it is named
# PartlyFailed. One broken project of a fleet, or one odd session of a hundred, must not turn every night red, and a
# night that lost a tenth must not look green.
FAILED_SHARE = 0.10
MOST_REASONS = 5
MOST_NAMES = 3
# counters of what a run did, in the order in which a reader cares: what it did, the thing, and what became of it
_DEEDS = (
    ("added", "kept", "new memory", ""),
    ("merged", "merged", "fact", " into memories"),
    ("superseded", "replaced", "memory", ""),
    ("extracted", "read", "session", ""),
    ("candidates", "noted", "fact", ""),
    ("compacted", "compacted", "session", ""),
    ("pruned", "cleared old outputs in", "session", ""),
    ("removed", "moved", "session", " to the trash"),
    ("freed", "freed", "session", " from the trash"),
    ("rescued", "archived", "session", " that its client deletes soon"),
    ("purged", "purged", "session", ""),
    ("replaced", "overwrote", "place", ""),
    ("rolled_back", "took back what it had added to", "project", ""),
    ("taken_back", "took back", "session", ""),
    ("model_answers", "used", "answer", " of the model"),
    ("model_batch_questions", "handed the model", "question", ""),
)

Name = Literal["Completed", "Skipped", "Planned", "Parked", "PartlyFailed", "Failed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Name of the state, and why."""

    name: Name
    message: str


# a longer name of a run pushes its state out of Prefect's table at 120 columns, and its end out of narrower ones
MOST_TITLE = 40


def title_of(job: str, at: datetime, projects: Sequence[Project], *, what: str = "") -> str:
    """Return what people call a run: ``nightly 2026-11-23 03:30 5 projects``.

    What tells two runs apart comes first, then its projects, those with most sessions first, or how many they are where
    there is no room for all; ``what`` says that it is no usual one.
    """
    most = sorted(projects, key=lambda project: -len(project.sessions))
    names = list(dict.fromkeys(short_names(project.key for project in most).values()))
    said = f"{job} {at.astimezone():%Y-%m-%d %H:%M}{f' ({what})' if what else ''}"
    room = MOST_TITLE - len(said) - 1
    told = [", ".join(names)]
    told += [f"{len(names)} projects" if names[1:] else f"{told[0][: room - 1]}…"]
    return f"{said} {next((words for words in told if 1 < len(words) <= room), '')}".rstrip()


def outcome_of(report: Report, *, dry_run: bool = False) -> Outcome:
    """Return what a report amounts to; a failure outweighs parking, and parking a closed gate."""
    run = f"{report.job} {report.run_id}"
    if report.failures:
        name = "Failed" if _failed_share(report) > FAILED_SHARE else "PartlyFailed"
        return Outcome(name, f"{run} met {number_of(len(report.failures), 'failure')}: {_joined(report.failures)}.")
    if report.parked:
        return Outcome("Parked", f"{run} waits for review: {_joined(report.parked)}.")
    if dry_run:
        return Outcome("Planned", f"{run} was a dry run and changed nothing: it {_deeds(report)}.")
    if not report.did_something:
        return _without_deeds(report, run)
    return Outcome("Completed", f"{run} {_deeds(report)}.")


def _without_deeds(report: Report, run: str) -> Outcome:
    """Return what a run amounts to that left nothing behind: it looked and found nothing, or was kept from looking."""
    held, short = _refusals(report), report.counts.get("skipped_by_gate", 0)
    # a session that waits keeps nobody from looking at all others
    later = [f"left for later: {counted('skipped_by_gate', short)}"] if short else []
    if report.phases:
        over = number_of(len(report.phases), "project")
        others = [f"not now: {held}"] if held else []
        said = "; ".join([f"{run} dreamt over {over}: nothing new to write", *others, *later])
        return Outcome("Completed", f"{said}.")
    if report.job in REMEMBERING and not held and (not short or report.counts.get("unchanged")):
        return Outcome("Completed", "; ".join([f"{run} looked at everything and found nothing new", *later]) + ".")
    why = held or (counted("skipped_by_gate", short) if short else "there was nothing new")
    return Outcome("Skipped", "; ".join([f"{run} did nothing: {why}", *(later if held else [])]) + ".")


def _failed_share(report: Report) -> float:
    """Return the share of projects that broke as a whole, or of sessions that did, whichever is larger."""
    parts = [failure.split(": ", 2) for failure in report.failures]
    sessions = sum(len(part) > 1 and part[1].startswith("session ") for part in parts)
    projects = {part[0] for part in parts if len(part) < 2 or not part[1].startswith("session ")}  # noqa: PLR2004
    return max(
        len(projects) / max(report.counts.get("projects", 0), 1), sessions / max(report.counts.get("sessions", 0), 1)
    )


def _refusals(report: Report) -> str:
    """Say why nothing was done, and for whom: what is so of most projects first; "" where nothing held it back."""
    closed = [gate for gate in report.gates if gate.is_told]
    names = short_names(gate.project for gate in closed)
    found: dict[str, dict[str, None]] = {}
    for gate in closed:
        found.setdefault(gate.reason, {})[names[gate.project] or gate.gate] = None
    ordered = sorted(found.items(), key=lambda one: -len(one[1]))
    return _joined([f"{_some_of(list(who))}: {reason}" for reason, who in ordered])


def _some_of(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def _joined(rows: list[str]) -> str:
    more = f"; and {len(rows) - MOST_REASONS} more" if len(rows) > MOST_REASONS else ""
    return "; ".join(rows[:MOST_REASONS]) + more


def _deeds(report: Report) -> str:
    """Say what a run did, or a dry run would do, and over what it went."""
    counts = report.now
    done = [f"{did} {number_of(counts[name], thing)}{where}" for name, did, thing, where in _DEEDS if counts.get(name)]
    said = " and ".join(filter(None, [", ".join(done[:-1]), *done[-1:]])) or "found nothing to keep"
    sessions, projects = (counts.get(name, 0) for name in ("sessions", "projects"))
    return f"{said}, in {number_of(sessions, 'session')} of {number_of(projects, 'project')}"


# A run is followed from its first moment: a note says that it is at work, and it tells of runs that were stopped.

log = logger_of(__name__)


def begin_note(job: str, began: Began, environ: Mapping[str, str]) -> list[str]:
    """Note that a run begins; return what there is to say of it and of runs before it that were stopped.

    That something of this cannot be done is no reason not to run.
    """
    said: list[str] = []
    try:
        found = settle(environ, began.run_id)
        said += [f"{night.at[:16].replace('T', ' ')}: {night.failures[0]}" for night in found if not night.ended]
        write_note(environ, begun(job, began.run_id, began.at.isoformat(), partial=began.partial))
    except SlowwaveError as error:
        said.append(NAMELESS(str(error)))
    except OSError as error:
        said.append(NAMELESS(f"{told(error, note_path(environ, began.run_id))}; if this run is stopped, nobody knows"))
        # the first thing that a run writes: a full disk is told before hours of reading that nothing can be kept of
        log.warning("%s", said[-1])
    return said


def drop_note(began: Began, environ: Mapping[str, str]) -> None:
    """Take the note of a run away that was none: what it was asked for does not exist."""
    note_path(environ, began.run_id).unlink(missing_ok=True)


@contextmanager
def followed(run_id: str, environ: Mapping[str, str], *, dry_run: bool = False) -> Generator[None]:
    """Note how far the run inside is, and why it ended if it ends before its report is concluded.

    A dry run leaves nothing behind, so nothing of it is noted.
    """
    if dry_run:
        yield
        return
    path = note_path(environ, run_id)
    with watched_by(Noting(path, watcher())):
        try:
            yield
        except BaseException as error:
            # a cancellation is a BaseException, too
            by_person = isinstance(error, KeyboardInterrupt)
            why = "somebody interrupted it" if by_person else f"{type(error).__name__}: {error}".removesuffix(": ")
            end_note(path, why, by_person=by_person)
            raise
