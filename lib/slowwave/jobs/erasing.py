"""The job ``erase`` for subjects and whole sessions.

Told in this process only: a scheduler keeps the parameters of its runs, and these would be the very words that are to
go.
"""

from collections.abc import Sequence

import msgspec

from slowwave.jobs.discreet import discreet
from slowwave.jobs.story import Run, chosen_projects, contained
from slowwave.report import Report
from slowwave.retention.erasure import erase_project, finish
from slowwave.retention.subjects.wanted import Asked, Subjects
from slowwave.secrets.blocked import block
from slowwave.secrets.key import redactor_of
from slowwave.stores.model import Project


def erase_subjects(asked: Asked, run: Run) -> Report:
    """Take subjects and sessions out of everything, block their return, and leave a certificate.

    Args:
        asked: what goes.
        run: the run.

    Raises:
        UsageError: a phrase or a pattern cannot be looked for.
        UnreadableError: a store cannot be read at all.
        NotFoundError: no project matches ``run.project``.
        CorruptStateError: the list of holds or of what is blocked is damaged.
    """
    redact = redactor_of(run.settings, run.environ, create=not run.dry_run)
    what = Subjects(asked, redact)
    projects, report = chosen_projects("erase", run)
    if not run.dry_run:
        # first: whatever is killed after it, what goes does not come back
        block(run.environ, redact.key, (*asked.persons, *asked.topics), asked.sessions)

    def step(project: Project, run: Run) -> Report:
        """Take what was asked for out of one project."""
        return erase_project(
            project,
            run.settings,
            run.clock,
            run.environ,
            what,
            run_id=run.id,
            dry_run=run.dry_run,
            sessions=asked.sessions,
        )

    step.__name__ = "erase"
    for project in projects:
        report.absorb(contained(step, project, run))
    if not run.project:
        report.absorb(_rest(projects, run, what, asked))
    if not run.dry_run and what.met:
        block(run.environ, redact.key, sorted(what.met), ())
    return _speechless(discreet(report), what)


def _rest(projects: Sequence[Project], run: Run, what: Subjects, asked: Asked) -> Report:
    return finish(
        run.settings,
        run.clock,
        run.environ,
        what,
        projects,
        run_id=run.id,
        dry_run=run.dry_run,
        sessions=asked.sessions,
    )


def _speechless(report: Report, what: Subjects) -> Report:
    """Return a report that does not itself name what was erased: names of files may."""

    def clean(text: str) -> str:
        data = text.encode("utf-8", "surrogateescape")
        for hit in reversed(what.hits(data)):
            data = data[: hit.start] + hit.mark.encode() + data[hit.stop :]
        return data.decode("utf-8", "surrogateescape")

    report.items = [
        msgspec.structs.replace(
            one, target=clean(one.target), reason=clean(one.reason), project=clean(one.project), text=clean(one.text)
        )
        for one in report.items
    ]
    report.warnings = [clean(one) for one in report.warnings]
    report.failures = [clean(one) for one in report.failures]
    report.memories = {clean(key): clean(path) for key, path in report.memories.items()}
    return report
