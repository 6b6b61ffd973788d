"""The step ``retain``: about all projects together, since quotas, forks and the trash know no projects."""

from collections.abc import Collection, Sequence

from slowwave.jobs.run import Run
from slowwave.report import Report
from slowwave.retention.job import retain
from slowwave.stores.discovery import known_projects
from slowwave.stores.model import Project


def retain_everywhere(projects: Sequence[Project], run: Run) -> Report:
    """Remove what the rules say; in the chosen projects only, where some were chosen."""
    every = known_projects(run.settings, run.environ).projects if run.project else projects
    return _retained(every, run, chosen={project.key for project in projects} if run.project else None)


def _retained(
    projects: Sequence[Project], run: Run, *, removes: bool = True, chosen: Collection[str] | None = None
) -> Report:
    return retain(
        projects,
        run.settings,
        run.clock,
        run.environ,
        run_id=run.id,
        dry_run=run.dry_run,
        force=run.force,
        chosen=chosen,
        removes=removes,
    )


def retain_at_night(projects: Sequence[Project], run: Run) -> Report:
    """Archive what a client deletes soon, and remove what the rules say where the settings let a night do it."""
    if not run.settings.retention.enforce:
        return _retained(projects, run, removes=False)
    # the night itself may have written
    keys = {project.key for project in projects}
    found = known_projects(run.settings, run.environ).projects
    return retain_everywhere([project for project in found if not run.project or project.key in keys], run)
