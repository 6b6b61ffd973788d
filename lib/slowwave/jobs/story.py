"""The story of each job, told without a scheduler: find projects, then gate and run every step, project by project.

The flows tell the same story with Prefect's means and leave the same bytes. A failure is contained to its project
and named in the report; a closed gate is an outcome with a reason, not a failure.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, time

from slowwave.clock import Clock
from slowwave.consolidation.job import consolidate_project
from slowwave.dialects.registry import NAMES
from slowwave.errors import SlowwaveError, told
from slowwave.extraction.job import extract_sessions
from slowwave.jobs.batch_price import fetch_answers, hand_over_questions, is_batched, note_left_behind
from slowwave.jobs.choice import chosen_by
from slowwave.jobs.compacting import compact, compact_at_night
from slowwave.jobs.concluding import Around, Began, conclude, conclude_broken
from slowwave.jobs.discreet import discreet
from slowwave.jobs.everywhere import propose_everywhere
from slowwave.jobs.following import begin_note, drop_note, followed
from slowwave.jobs.model import journal_of, language_model, note_account
from slowwave.jobs.retaining import retain_at_night, retain_everywhere
from slowwave.jobs.run_files import remove_old
from slowwave.observability.logs import json_logs, log_step
from slowwave.observability.progress import watcher
from slowwave.places import archive_folder, home_folder
from slowwave.report import Item, Report, Span
from slowwave.retention.eraser import Eraser
from slowwave.retention.erasure import erase_project
from slowwave.retention.policy.check import check
from slowwave.retention.rest import finish
from slowwave.retention.what import Secrets
from slowwave.secrets.key import redactor_of
from slowwave.secrets.logs import logger_of
from slowwave.secrets.redactor import NAMELESS
from slowwave.settings import Settings
from slowwave.stores.known import known_projects
from slowwave.stores.model import Project

log = logger_of(__name__)

Step = Callable[[Project, "Run"], Report]


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that one run of a job was given.

    Attributes:
        id: names the run in reports and ledgers.
        settings: the settings in force.
        clock: what time it is.
        environ: the environment; HOME and the XDG folders are taken from here.
        project: only projects whose key or root contains this; "" takes all.
        force: pass the time and session gates; never the lock, never a live session.
        dry_run: plan and report, change nothing.
    """

    id: str
    settings: Settings
    clock: Clock
    environ: Mapping[str, str]
    project: str = ""
    force: bool = False
    dry_run: bool = False

    @property
    def home(self) -> Path:
        """The home folder of the person whose sessions are read."""
        return home_folder(self.environ)


def new_run_id(clock: Clock) -> str:
    """Return an id that sorts by time and is unique among runs of one second."""
    return f"{clock.now():%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def extract(project: Project, run: Run) -> Report:
    """Extract candidates from one project's sessions."""
    return extract_sessions(
        project,
        project.sessions,
        run.settings,
        run.clock,
        run_id=run.id,
        force=run.force,
        dry_run=run.dry_run,
        home=run.home,
        model=language_model(run.id, run.settings, run.environ, dry_run=run.dry_run),
        redact=redactor_of(run.settings, run.environ, create=not run.dry_run),
    )


def consolidate(project: Project, run: Run) -> Report:
    """Dream over one project."""
    return consolidate_project(
        project,
        run.settings,
        run.clock,
        run_id=run.id,
        force=run.force,
        dry_run=run.dry_run,
        home=run.home,
        model=language_model(run.id, run.settings, run.environ, dry_run=run.dry_run),
        archive=archive_folder(run.environ),
    )


def erase(project: Project, run: Run) -> Report:
    """Take the secrets out of one project's transcripts and memories."""
    return erase_project(project, _secrets_eraser(run))


def finish_erasing(projects: Sequence[Project], run: Run) -> Report:
    """Take the secrets out of what belongs to no project; without a choice of projects only."""
    if run.project:
        return Report("erase", run.id)
    return finish(projects, _secrets_eraser(run))


def _secrets_eraser(run: Run) -> Eraser:
    what = Secrets(redactor_of(run.settings, run.environ, create=not run.dry_run))
    return Eraser(run.settings, run.clock, run.environ, what, run_id=run.id, dry_run=run.dry_run)


STEPS: dict[str, tuple[Step, ...]] = {
    "nightly": (extract, consolidate, compact_at_night),
    "extract": (extract,),
    "consolidate": (consolidate,),
    "compact": (compact,),
    "retain": (),
    "erase": (erase,),
    "backfill": (),
}

# jobs that end with retention, which is about all projects together
RETAINING: dict[str, Callable[[Sequence[Project], Run], Report]] = {
    "nightly": retain_at_night,
    "retain": retain_everywhere,
}


def run_job(job: str, run: Run) -> Report:
    """Run a job over every chosen project, in this process.

    Raises:
        UnreadableError: a store cannot be read at all.
        NotFoundError: no project matches ``run.project``.
        SettingsError: the file that logs should go to cannot be opened.
    """
    began = began_of(run)
    with json_logs(run.settings.telemetry.log_file, run.id), followed(run.id, run.environ, dry_run=run.dry_run):
        projects, report = first_look(job, run, began)
        report = _told(job, run, projects, report)
        if not run.dry_run:
            conclude(report, began, Around(run.settings, run.environ), projects)
    return report


def _told(job: str, run: Run, projects: Sequence[Project], report: Report) -> Report:
    """Tell the story of a job: gate and run every step, project by project, then what is about all of them."""
    if asks_by_batch(job, run):
        fetch_answers(report, run.settings, run.environ, run.clock.now())
    watcher().plan(job, len(projects) * len(STEPS[job]))
    for project in projects:
        for step in STEPS[job]:
            part = contained(step, project, run)
            report.absorb(part)
            log_step(part.spans[-1])
            watcher().done(job, project.key)
    if consolidate in STEPS[job]:
        report.absorb(for_all(propose_everywhere, projects, run))
    if retains(job, run.settings):
        report.absorb(for_all(RETAINING[job], projects, run))
    if job == "erase":
        report.absorb(for_all(finish_erasing, projects, run))
    if asks_by_batch(job, run):
        hand_over_questions(report, run.settings, run.environ, run.clock.now())
    note_account(report, journal_of(run.id, run.environ))
    return discreet(report)


def began_of(run: Run) -> Began:
    """Return when a run begins: now."""
    return Began(run.id, run.clock.now(), perf_counter(), partial=bool(run.project))


def first_look(job: str, run: Run, began: Began) -> tuple[Sequence[Project], Report]:
    """As :func:`chosen_projects`; the run is noted, and one over everything that cannot begin is recorded first."""
    said = [] if run.dry_run else begin_note(job, began, run.environ)
    try:
        projects, report = chosen_projects(job, run)
    except SlowwaveError as error:
        if run.project and not run.dry_run:
            drop_note(began, run.environ)
        elif not run.dry_run:
            conclude_broken(job, error, began, Around(run.settings, run.environ))
        raise
    report.warnings += said
    return projects, report


def for_all(step: Callable[[Sequence[Project], Run], Report], projects: Sequence[Project], run: Run) -> Report:
    """Run a step that is about all projects together; what goes wrong is named and costs no other step its report."""
    try:
        return timed(lambda: step(projects, run))
    except SlowwaveError as error:
        message = str(error)
    except OSError as error:
        message = told(error, step.__name__)
    except Exception as error:
        # a bug in one step must not cost the night the reports of the others; the traceback goes to the log
        log.exception("%s broke", step.__name__)
        message = f"{type(error).__name__}: {error}"
    report = Report(step.__name__, run.id)
    report.failures.append(f"{step.__name__}: {NAMELESS(message)}")
    return report


def timed(work: Callable[[], Report], project: str = "") -> Report:
    """Do one step, and note in its report how long it took."""
    begin, timer = time(), perf_counter()
    report = work()
    report.spans.append(Span(report.job, project, begin, perf_counter() - timer))
    return report


def retains(job: str, settings: Settings) -> bool:
    """Say whether a job asks the retention rules: a night does where they are enforced."""
    return job in RETAINING and (job != "nightly" or settings.retention.enforce)


def asks_by_batch(job: str, run: Run) -> bool:
    """Say whether a run asks a model questions that another night reads the answers to."""
    return extract in STEPS[job] and not run.dry_run and is_batched(run.settings)


def chosen_projects(job: str, run: Run) -> tuple[Sequence[Project], Report]:
    """Return the projects of a run and a report that already holds what discovery met.

    Raises:
        SettingsError: the retention rules of a job that asks them contradict each other.
    """
    if retains(job, run.settings):
        check(run.settings.retention, NAMES)
    # what was erased and is there again goes again, and no other job sees it
    found = known_projects(run.settings, run.environ, with_erased=job == "erase")
    report = Report(job, run.id)
    report.warnings += [str(problem) for problem in found.problems]
    if erased := sum(problem.kind == "blocked" for problem in found.problems):
        report.count("erased_sessions", erased)
    if not run.dry_run:
        _clear_away(report, run)
    if extract in STEPS[job]:
        note_left_behind(report, run.settings, run.environ)
    projects = chosen_by(run.project, found.projects, lambda p: (p.key, p.root))
    if not found.projects:
        roots = ", ".join(str(root) for root in run.settings.store.roots) or "the home of any client"
        report.warnings.append(f"no transcripts found in {roots}; name a store with --store or store.roots")
    report.count("projects", len(projects))
    report.memories = {p.key: str(p.memory) for p in projects}
    return projects, report


def _clear_away(report: Report, run: Run) -> None:
    """Remove what runs of long ago left behind; that it cannot be done costs no night."""
    try:
        if removed := remove_old(run.environ, run.clock.now(), run.id):
            report.count("old_run_files", removed)
    except OSError as error:
        report.warnings.append(told(error, "runs"))


def contained(step: Step, project: Project, run: Run) -> Report:
    """Run one step; whatever goes wrong stays within the project and is named in the report."""
    return timed(lambda: _contained(step, project, run), project.key)


def _contained(step: Step, project: Project, run: Run) -> Report:
    try:
        return step(project, run)
    except SlowwaveError as error:
        return _failed(step, project, run, str(error))
    except OSError as error:
        return _failed(step, project, run, told(error, project.memory))
    except Exception as error:
        # a bug must not cost the other projects their night; the traceback goes to the log
        log.exception("%s of %s broke", step.__name__, project.key)
        return _failed(step, project, run, f"{type(error).__name__}: {error}")


def _failed(step: Step, project: Project, run: Run, message: str) -> Report:
    report = Report(step.__name__, run.id)
    message = NAMELESS(message)
    report.failures.append(f"{project.key}: {step.__name__}: {message}")
    report.items.append(Item(project.key, "failed", message))
    return report
