"""The end of a run: it is added to the history, the page is written anew, and whoever should know is told.

None of this changes what the run did or how it ended; what of it fails is one more warning in the report.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter

import msgspec

from slowwave.errors import SlowwaveError, told
from slowwave.jobs.choice import folders_of, memory_folders
from slowwave.jobs.model import journal_of
from slowwave.jobs.outcome import outcome_of
from slowwave.memory.delivery.register import Register, read_register
from slowwave.memory.delivery.targets import OF_AGENTS
from slowwave.memory.names import name_to_json
from slowwave.models.base import ModelError
from slowwave.models.meter import Account, read_account
from slowwave.observability.alarms import REMEMBERING, alarms_of
from slowwave.observability.at_work import end_note, note_path
from slowwave.observability.folders import footprints
from slowwave.observability.history import append_night, history_path, read_nights
from slowwave.observability.learned import Learned
from slowwave.observability.logs import log_night
from slowwave.observability.night import BROKEN, Limits, Night, Seen, Spent, night_of
from slowwave.observability.page.memories import Known, known_of
from slowwave.observability.page.sections import View
from slowwave.observability.page.store import view_with, write_page
from slowwave.observability.telemetry import export
from slowwave.observability.webhook import post
from slowwave.places import home_folder
from slowwave.report import Report
from slowwave.secrets.key import redactor_of
from slowwave.secrets.redactor import NAMELESS
from slowwave.settings import Settings
from slowwave.stores.model import Project

# Nobody expects a memory of a changed session below this, as long as no candidate comes of it.
WORTH_READING = 32 << 10


@dataclass(frozen=True, slots=True)
class Began:
    """When a run began, and over what.

    Attributes:
        run_id: its id.
        at: what time it was for the run.
        timer: the reading of a clock that only moves forward, in seconds.
        partial: whether only chosen projects are worked on.
    """

    run_id: str
    at: datetime
    timer: float
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Around:
    """What a run has around it: the settings in force, and the environment."""

    settings: Settings
    environ: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Concluded:
    """The night as it went into the history, and what the report is made of now."""

    night: Night
    view: View


def conclude(
    report: Report,
    began: Began,
    around: Around,
    projects: Sequence[Project],
    *,
    outcome: str = "",
    sessions: int | None = None,
) -> Concluded:
    """Record a run that changed something or might have, and tell whoever the settings name.

    Args:
        report: the report of the whole run, without secrets; warnings are added to it.
        began: when it began.
        around: settings and environment.
        projects: the projects that were worked on.
        outcome: how it ended; by default what the report amounts to.
        sessions: how many it was about, where the projects come without theirs.
    """
    earlier, problems = _earlier(around.environ, report)
    folders, unread = footprints([(NAMELESS(project.key), project.memory) for project in projects])
    report.warnings += map(NAMELESS, unread)
    limits = around.settings.consolidation
    seen = Seen(
        at=began.at,
        seconds=perf_counter() - began.timer,
        outcome=outcome or outcome_of(report).name,
        partial=began.partial,
        sessions=sum(len(project.sessions) for project in projects) if sessions is None else sessions,
        changed=_changed(projects, earlier, report),
        spent=_spent(began.run_id, around.environ, earlier),
        folders=folders,
        limits=Limits(limits.index_lines, limits.index_bytes),
    )
    night = night_of(report, seen)
    night = msgspec.structs.replace(night, alarms=alarms_of(earlier, night, around.settings.alarms))
    known = _known(report, began, around, projects)
    night = msgspec.structs.replace(night, needs=len(known.needs))
    found = known.of_dreams(report.dream_ids)
    found.unloaded = _unloaded(known, found, around, projects, report)
    report.learned = msgspec.to_builtins(found)
    view = view_with([*earlier, night], around.environ, problems, known)
    _tell(report, around, night, view)
    return Concluded(night, view)


def view_now(around: Around, now: datetime, known: Known | None = None) -> View | None:
    """Return what the report is made of now, or None before the first night; ``known`` where that was looked at.

    Raises:
        UnreadableError: a store, or the key of the marks of secrets, cannot be read at all.
        CorruptStateError: the list of what was erased, or its key, is damaged or gone.
        OSError: the history is there and cannot be read.
    """
    if known is None:
        folders = memory_folders(around.settings, around.environ)
        redact = redactor_of(around.settings, around.environ, create=False)
        known = known_of(folders, around.settings.consolidation, now, str(home_folder(around.environ)), redact)
    nights, problems = read_nights(around.environ)
    return view_with(nights, around.environ, problems, known) if nights else None


def _known(report: Report, began: Began, around: Around, projects: Sequence[Project]) -> Known:
    """Return what is remembered in all projects, also after a run over a few; what cannot be read is a warning."""
    redact = NAMELESS
    try:
        redact = redactor_of(around.settings, around.environ, create=False)
        is_whole = projects and not began.partial
        given = (around.settings, around.environ)
        folders = folders_of(projects, *given) if is_whole else memory_folders(*given)
    except (SlowwaveError, OSError) as error:
        # the run has failed for this itself, and says so
        folders = []
        why = told(error, around.environ.get("HOME", "")) if isinstance(error, OSError) else str(error)
        report.warnings += [] if report.failures else [NAMELESS(f"report.html: {why}")]
    known = known_of(folders, around.settings.consolidation, began.at, str(home_folder(around.environ)), redact)
    report.warnings += [NAMELESS(problem) for problem in known.problems if NAMELESS(problem) not in report.warnings]
    return known


def _unloaded(
    known: Known, found: Learned, around: Around, projects: Sequence[Project], report: Report
) -> dict[str, list[str]]:
    """Return the clients that do not get what their sessions taught, since they load no memory folder, by project."""
    try:
        register = read_register(around.environ) or Register()
    except SlowwaveError as error:
        report.warnings.append(NAMELESS(f"delivery: {error}"))
        return {}
    roots = {project.key: name_to_json(project.root) for project in projects}
    changed = {dream.project for dream in found.dreams if dream.changes}
    unloaded: dict[str, list[str]] = {}
    for one in known.every:
        name = one.folder.project
        if name in changed and name in roots:
            taught = {seen.dialect for memory in one.book.active for seen in memory.sightings}
            without = [c for c in OF_AGENTS if c in taught and register.rule(c, roots[name]) is None]
            unloaded |= {name: without} if without else {}
    return unloaded


def conclude_broken(job: str, error: BaseException, began: Began, around: Around) -> Concluded:
    """Record a run that could not even begin."""
    report = Report(job, began.run_id, failures=[NAMELESS(f"{job}: {error}")])
    return conclude(report, began, around, [], outcome=BROKEN)


def _tell(report: Report, around: Around, night: Night, view: View) -> None:
    alarms, telemetry = around.settings.alarms, around.settings.telemetry
    steps: list[tuple[str, Callable[[], object]]] = [
        ("history", lambda: _record(night, around.environ)),
        ("report.html", lambda: write_page(around.environ, view)),
        ("telemetry.log_file", lambda: log_night(night)),
    ]
    if alarms.webhook:
        steps.append(("alarms.webhook", lambda: post(night, alarms)))
    if telemetry.otlp:
        steps.append(("telemetry.otlp", lambda: export(night, report.spans, telemetry)))
    for name, step in steps:
        try:
            step()
        except SlowwaveError as error:
            report.warnings.append(NAMELESS(f"{name}: {error}"))
        except OSError as error:
            report.warnings.append(NAMELESS(f"{name}: {told(error, history_path(around.environ).parent)}"))


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
    account = Account()
    with suppress(ModelError, FileNotFoundError):
        account = read_account(journal_of(run_id, environ))
    known = [night.spent for night in earlier if night.run_id == run_id]
    return Spent(
        account.prompt_tokens - sum(one.prompt_tokens for one in known),
        account.completion_tokens - sum(one.completion_tokens for one in known),
        account.usd - sum(one.usd for one in known),
    )
