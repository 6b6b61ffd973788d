"""The steps of each job: what is done for one project, and what is about all of them together."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from slowwave.consolidation.job import consolidate_project
from slowwave.consolidation.team import propose, share, team_of
from slowwave.context import Run
from slowwave.errors import SlowwaveError, UnknownDialectError, UnreadableError, told
from slowwave.extraction.job import extract_sessions
from slowwave.files import archive_folder
from slowwave.formats.sessions import StoredSession
from slowwave.jobs.run import Step, Whole, hand_over_questions, is_batched
from slowwave.memory.delivery import REFUSED, Register, read_register
from slowwave.memory.delivery.files import bring_commands, deliver
from slowwave.memory.folder import INDEX, NAME, MemoryFolder, global_folder, import_into
from slowwave.memory.provenance import noted_in
from slowwave.models import language_model
from slowwave.observability.lessons import asks_of
from slowwave.report import Item, Report
from slowwave.retention.job import retain
from slowwave.secrets import redactor_of
from slowwave.settings import Settings
from slowwave.stores.discovery import known_projects
from slowwave.stores.projects import Project

if TYPE_CHECKING:
    from slowwave.compaction.book import Compacting
    from slowwave.compaction.summary import Summarise
    from slowwave.consolidation.effect.verdicts import Told
    from slowwave.retention.erase import Eraser
    from slowwave.secrets import Redactor

# The step ``compact``: the sessions of one project that have grown too large, with their memories saved first.


def compact(project: Project, run: Run) -> Report:
    """Compact the sessions of one project that are due."""
    from slowwave.compaction.story import compact_sessions  # noqa: PLC0415 - the usual night compacts nothing

    return compact_sessions(project, project.sessions, compacting(project, run))


def compacting(project: Project, run: Run) -> "Compacting":
    """Return what the sessions of a project are compacted with."""
    from slowwave.compaction.book import Compacting  # noqa: PLC0415 - the usual night compacts nothing

    redact = redactor_of(run.settings, run.environ, create=not run.dry_run)
    report = Report("compact", run.id)

    def flush(session: StoredSession) -> Report:
        return extract_sessions(
            project,
            [session],
            run.settings,
            run.clock,
            run_id=run.id,
            force=True,
            home=run.home,
            model=language_model(run.id, run.settings, run.environ),
            redact=redact,
        )

    return Compacting(
        project.key,
        run.settings,
        run.clock,
        run.environ,
        _summarise(run, report),
        flush,
        run.id,
        force=run.force,
        dry_run=run.dry_run,
        report=report,
        redact=redact,
    )


def by_hand(session: StoredSession, run: Run) -> "Compacting":
    """Return what one session is compacted with that a person named; its memories belong to the project it is of."""
    project = _project_of(session, run)
    if project is not None:
        return compacting(project, run)
    where = Path(session.files.paths[0]).parent
    alone = compacting(Project("", "", (where,), where, (session,)), run)
    told = f"session {session.id}: lies in no store, so nobody knows where its memories belong: none were saved first"

    def tell(_session: StoredSession) -> Report:
        return Report("extract", run.id, warnings=[told])

    return replace(alone, flush=tell)


def _project_of(session: StoredSession, run: Run) -> Project | None:
    path = session.files.paths[0]
    for settings in (run.settings, run.settings.with_roots([path.parent])):
        try:
            found = known_projects(settings, run.environ)
        except (UnreadableError, UnknownDialectError):
            continue  # a file may be named that lies outside of every store
        for project in found.projects:
            if any(known.files.paths[0] == path for known in project.sessions):
                return project
    return None


def _summarise(run: Run, report: Report) -> "Summarise":
    """Return what makes the summaries: a model's narrative cannot wait for the answers of a batch."""
    from slowwave.compaction.summary import by_ledger, by_model  # noqa: PLC0415 - the usual night compacts nothing

    settings = run.settings
    if settings.compaction.model == "off" or settings.model.batch:
        return by_ledger
    model = language_model(run.id, settings, run.environ, dry_run=run.dry_run)
    if model is None:
        return by_ledger
    return by_model(
        model,
        settings.compaction.min_score,
        lambda usage: report.count_answer(usage.prompt_tokens, usage.completion_tokens, usage.usd),
        settings.compaction.focus,
    )


# The step ``retain``: about all projects together, since quotas, forks and the trash know no projects.


def retain_everywhere(projects: Sequence[Project], run: Run) -> Report:
    """Remove what the rules say; in the chosen projects only, where some were chosen."""
    every = known_projects(run.settings, run.environ).projects if run.project else projects
    return retain(every, run, chosen={project.key for project in projects} if run.project else None)


def retain_at_night(projects: Sequence[Project], run: Run) -> Report:
    """Archive what a client deletes soon, and remove what the rules say where the settings let a night do it."""
    if not run.settings.retention.enforce:
        return retain(projects, run, removes=False)
    # the night itself may have written
    keys = {project.key for project in projects}
    found = known_projects(run.settings, run.environ).projects
    return retain_everywhere([project for project in found if not run.project or project.key in keys], run)


# The last steps of a night: what projects share is proposed for all, and memories go where agents read them.


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
        if (register := read_register(run.environ)) and register.hooks:
            from slowwave.consolidation.effect.demands import write_points  # noqa: PLC0415 - only where it is asked for

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
        items = [Item(project.root, REFUSED, told(error, memory))]
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
    except (SlowwaveError, OSError) as error:
        report.failures.append(f"{NAME}: consolidate: {told(error, NAME)}")
    return report


# What a model is asked at a batch price.


def hand_over(_projects: Sequence[Project], run: Run) -> Report:
    """Send the questions that this run and earlier ones noted, as a batch; say what there is to say about it."""
    report = Report("extract", run.id)
    hand_over_questions(report, run.settings, run.environ, run.clock.now())
    return report


# The steps of each job.


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
        told_to=_told_to(project, run),
    )


def _told_to(project: Project, run: Run) -> "Callable[[StoredSession, Redactor], Told | None] | None":
    """Return what says what a session was told; only a model is asked about that."""
    if not run.settings.model.is_set:
        return None
    from slowwave.consolidation.effect.verdicts import Watch  # noqa: PLC0415 - the usual night has no model

    return Watch(project, _register(run)).told_to


def consolidate(project: Project, run: Run) -> Report:
    """Dream over one project; a dry run also looks what would wait for a person."""
    report = consolidate_project(
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
    if run.dry_run:
        archive = archive_folder(run.environ)
        folder = MemoryFolder(project.key, project.memory.resolve(), (*project.folders, archive))
        noted = noted_in(folder.path, run.rehearsal)
        report.asks += asks_of(folder, run.settings.consolidation, run.clock.now(), noted)
    return report


def _register(run: Run) -> Register:
    """Return what was delivered where; a damaged register costs no dream, and delivering itself names it."""
    try:
        return read_register(run.environ) or Register()
    except SlowwaveError:
        return Register()


def erase(project: Project, run: Run) -> Report:
    """Take the secrets out of one project's transcripts and memories."""
    from slowwave.retention.erase.job import erase_project  # noqa: PLC0415 - a night erases nothing

    return erase_project(project, _secrets_eraser(run))


def finish_erasing(projects: Sequence[Project], run: Run) -> Report:
    """Take the secrets out of what belongs to no project; without a choice of projects only."""
    from slowwave.retention.erase.job import finish  # noqa: PLC0415 - a night erases nothing

    if run.project:
        return Report("erase", run.id)
    return finish(projects, _secrets_eraser(run))


def _secrets_eraser(run: Run) -> "Eraser":
    from slowwave.retention.erase import Eraser  # noqa: PLC0415 - a night erases nothing
    from slowwave.retention.erase.subjects import Secrets  # noqa: PLC0415 - as above

    what = Secrets(redactor_of(run.settings, run.environ, create=not run.dry_run))
    return Eraser(run, what)


# what a job does for each project, in order
STEPS: dict[str, tuple[Step, ...]] = {
    "nightly": (extract, consolidate, compact),
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
RETAINING: dict[str, Whole] = {"nightly": retain_at_night, "retain": retain_everywhere}


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


class Stage(NamedTuple):
    """A step of a job that is due: of every project, or of all of them together."""

    of_each: Step | None = None  # the step for one project; None where it is about all of them
    of_all: Whole | None = None  # the step about all projects; None where it is one for each

    @property
    def name(self) -> str:
        """The name of the step."""
        return (self.of_each or self.of_all).__name__  # pyright: ignore[reportOptionalMemberAccess] - it has one


def stages_of(job: str, run: Run) -> list[Stage]:
    """Return the story of a job: what is done in what order, whoever carries it out."""
    stages: list[Stage] = []
    for step in STEPS[job]:
        # a night compacts where the settings let it: decision 25 says why they have to
        if step is not compact or job != "nightly" or run.settings.compaction.nightly:
            stages.append(Stage(of_each=step))
        if step is consolidate:
            stages.append(Stage(of_all=end_dreaming))
    if retains(job, run.settings):
        stages.append(Stage(of_all=RETAINING[job]))
    if job == "erase":
        stages.append(Stage(of_all=finish_erasing))
    if asks_by_batch(job, run):
        stages.append(Stage(of_all=hand_over))
    return stages
