"""The step ``retain``: about all projects together, since quotas, forks and the trash know no projects."""

from collections.abc import Sequence

from slowwave.jobs.run import Run
from slowwave.report import Report
from slowwave.retention.job.run import retain
from slowwave.stores.known import known_projects
from slowwave.stores.model import Project


def retain_everywhere(projects: Sequence[Project], run: Run) -> Report:
    """Remove what the rules say; in the chosen projects only, where some were chosen."""
    every = known_projects(run.settings, run.environ).projects if run.project else projects
    return retain(
        every,
        run.settings,
        run.clock,
        run.environ,
        run_id=run.id,
        dry_run=run.dry_run,
        force=run.force,
        chosen={project.key for project in projects} if run.project else None,
    )


def retain_at_night(projects: Sequence[Project], run: Run) -> Report:
    """Remove what the rules say where the settings let a night do it; the night itself may have written."""
    if not run.settings.retention.enforce:
        return Report("retain", run.id)
    keys = {project.key for project in projects}
    found = known_projects(run.settings, run.environ).projects
    return retain_everywhere([project for project in found if not run.project or project.key in keys], run)
