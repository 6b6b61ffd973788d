"""The step ``compact``: the sessions of one project that have grown too large, with their memories saved first."""

from dataclasses import replace
from pathlib import Path

from slowwave.compaction.job.run import Compacting
from slowwave.compaction.job.story import compact_sessions
from slowwave.compaction.job.summary import Summarise, by_ledger
from slowwave.errors import UnknownDialectError, UnreadableError
from slowwave.extraction.job import extract_sessions
from slowwave.jobs.model import language_model
from slowwave.jobs.run import Run
from slowwave.report import Report
from slowwave.secrets.key import redactor_of
from slowwave.stores.discovery import known_projects
from slowwave.stores.model import Project, StoredSession


def compact(project: Project, run: Run) -> Report:
    """Compact the sessions of one project that are due."""
    return compact_sessions(project, project.sessions, compacting(project, run))


def compact_at_night(project: Project, run: Run) -> Report:
    """Compact where the settings let a night do it: decision 25 says why they have to."""
    return compact(project, run) if run.settings.compaction.nightly else Report("compact", run.id)


def compacting(project: Project, run: Run) -> Compacting:
    """Return what the sessions of a project are compacted with."""
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


def by_hand(session: StoredSession, run: Run) -> Compacting:
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


def _summarise(run: Run, report: Report) -> Summarise:
    """Return what makes the summaries: a model's narrative cannot wait for the answers of a batch."""
    settings = run.settings
    if settings.compaction.model == "off" or settings.model.batch:
        return by_ledger
    model = language_model(run.id, settings, run.environ, dry_run=run.dry_run)
    if model is None:
        return by_ledger
    from slowwave.compaction.job.summary import by_model  # noqa: PLC0415 - the usual night has no model

    return by_model(
        model,
        settings.compaction.min_score,
        lambda usage: report.count_answer(usage.prompt_tokens, usage.completion_tokens, usage.usd),
        settings.compaction.focus,
    )
