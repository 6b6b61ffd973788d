"""The steps of each job: what is done for one project, and what is about all of them together."""

from collections.abc import Sequence

from slowwave.consolidation.job import consolidate_project
from slowwave.errors import SlowwaveError
from slowwave.extraction.job import extract_sessions
from slowwave.jobs.compacting import compact, compact_at_night
from slowwave.jobs.model import is_batched, language_model
from slowwave.jobs.retaining import retain_at_night, retain_everywhere
from slowwave.jobs.run import Run, Step, Whole
from slowwave.memory.delivery.register import Register, read_register
from slowwave.places import archive_folder
from slowwave.report import Report
from slowwave.retention.erase.eraser import Eraser
from slowwave.retention.erase.machine import finish
from slowwave.retention.erase.project import erase_project
from slowwave.retention.erase.subjects import Secrets
from slowwave.secrets.key import redactor_of
from slowwave.settings import Settings
from slowwave.stores.model import Project, StoredSession


def extract(project: Project, run: Run) -> Report:
    """Extract candidates from one project's sessions."""
    return extract_some(project, project.sessions, run)


def extract_some(project: Project, sessions: Sequence[StoredSession], run: Run) -> Report:
    """Extract candidates from some of a project's sessions."""
    return extract_sessions(
        project,
        sessions,
        run.settings,
        run.clock,
        run_id=run.id,
        force=run.force,
        dry_run=run.dry_run,
        home=run.home,
        model=language_model(run.id, run.settings, run.environ, dry_run=run.dry_run),
        redact=redactor_of(run.settings, run.environ, create=not run.dry_run),
        rehearsal=run.rehearsal,
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
        register=_register(run),
        rehearsal=run.rehearsal,
    )


def _register(run: Run) -> Register:
    """Return what was delivered where; a damaged register costs no dream, and delivering itself names it."""
    try:
        return read_register(run.environ) or Register()
    except SlowwaveError:
        return Register()


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

# jobs that put a mark in the place of every secret
MARKING = ("nightly", "extract", "compact", "erase")

# jobs that end with retention, which is about all projects together
RETAINING: dict[str, Whole] = {
    "nightly": retain_at_night,
    "retain": retain_everywhere,
}


def retains(job: str, settings: Settings) -> bool:
    """Say whether retention is part of a job: of a night also to archive what a client deletes soon."""
    return asks_rules(job, settings) or (job in RETAINING and not settings.retention.rescue.is_off)


def asks_rules(job: str, settings: Settings) -> bool:
    """Say whether a job asks the retention rules: a night does where they are enforced."""
    return job in RETAINING and (job != "nightly" or settings.retention.enforce)


def rehearses(job: str, *, dry_run: bool) -> bool:
    """Say whether a run dreams over what it only pretends to note."""
    return dry_run and {extract, consolidate} <= set(STEPS[job])


def asks_by_batch(job: str, run: Run) -> bool:
    """Say whether a run asks a model questions that another night reads the answers to."""
    return extract in STEPS[job] and not run.dry_run and is_batched(run.settings)
