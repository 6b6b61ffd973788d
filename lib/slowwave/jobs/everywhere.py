"""The last steps of a night: what projects share is proposed for all, and memories go where agents read them."""

from collections.abc import Sequence

from slowwave.consolidation.effect.points import write_points
from slowwave.consolidation.everywhere import propose
from slowwave.consolidation.team import share, team_of
from slowwave.errors import SlowwaveError, told
from slowwave.jobs.run import Run
from slowwave.memory.delivery.commands import bring_commands
from slowwave.memory.delivery.deliver import REFUSED, deliver
from slowwave.memory.everywhere import NAME, global_folder, import_into
from slowwave.memory.topics import INDEX
from slowwave.report import Item, Report
from slowwave.secrets.key import redactor_of
from slowwave.stores.model import Project


def end_dreaming(projects: Sequence[Project], run: Run) -> Report:
    """Propose what projects have in common, share with teams, and bring memories where somebody asked for it."""
    report = propose_everywhere(projects, run)
    if run.dry_run:
        return report
    for project in projects:
        _share(project, run, report)
    clients = {session.dialect for project in projects for session in project.sessions}
    for item in (*deliver(projects, run.settings, run.environ, clock=run.clock), *bring_commands(clients, run.environ)):
        report.items.append(item)
        if item.action == REFUSED:
            report.warnings.append(f"{item.project or 'commands'}: not delivered: {item.target}: {item.reason}")
        else:
            report.count("delivered")
    try:
        write_points(projects, run.settings, run.environ, is_all=not run.project)
    except SlowwaveError as error:
        report.warnings.append(f"what is said before a call is not current: {error}")
    return report


def _share(project: Project, run: Run, report: Report) -> None:
    """Give a project's team what is accepted for it, and note what others gave; an error costs no other project."""
    memory = project.memory.resolve()
    try:
        team = team_of(project.root, run.settings.memory.shared, run.environ)
        items = share(memory, team, redactor_of(run.settings, run.environ)) if memory.is_dir() else []
    except (SlowwaveError, OSError) as error:
        items = [Item(project.root, REFUSED, str(error) if isinstance(error, SlowwaveError) else told(error, memory))]
    for item in items:
        report.items.append(Item(item.target, item.action, item.reason, project.key))
        if item.action == REFUSED:
            report.warnings.append(f"{project.key}: not shared: {item.target}: {item.reason}")
        else:
            report.count("shared")


def propose_everywhere(projects: Sequence[Project], run: Run) -> Report:
    """Propose preferences of several projects as global ones, and import the global memory where the settings ask.

    A run over chosen projects does not know the others, and proposes nothing. What goes wrong is named in the report
    and costs the projects nothing.
    """
    report = Report("consolidate", run.id)
    least = run.settings.consolidation.global_projects
    if run.project or not least:
        return report
    try:
        folder = global_folder(run.settings, run.environ)
        memories = {p.key: p.memory.resolve() for p in projects if p.memory.is_dir()}
        for c in propose(folder, memories, least, dry_run=run.dry_run):
            reason = f"said in {least} projects or more: slowwave memory review asks whether it holds in all"
            report.items.append(Item(c.id, "wait", reason, NAME, c.text, c.category, c.confidence))
            report.count("proposed_global")
        if (folder / INDEX).exists() and not run.dry_run:
            for path in run.settings.memory.global_import:
                if import_into(path, folder):
                    report.items.append(Item(str(path), "import", f"imports {folder / INDEX} from now on", NAME))
    except SlowwaveError as error:
        report.failures.append(f"{NAME}: consolidate: {error}")
    except OSError as error:
        report.failures.append(f"{NAME}: consolidate: {told(error, NAME)}")
    return report
