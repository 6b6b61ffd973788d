"""Adding up a run that went in portions: one report for each project, and the report of the whole in project order."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from slowwave.errors import SlowwaveError
from slowwave.jobs.batches import manifest_of, read_manifest, write_manifest
from slowwave.jobs.concluding import Around, Began, Concluded, conclude
from slowwave.jobs.containing import discreet
from slowwave.jobs.model import fetch_answers, note_account
from slowwave.jobs.outcome import title_of
from slowwave.jobs.run import Run
from slowwave.jobs.run_files import require_places
from slowwave.jobs.steps import asks_by_batch, retains
from slowwave.jobs.story import began_of, first_look
from slowwave.memory.difference import difference
from slowwave.observability.learned import planned
from slowwave.observability.logs import json_logs, log_report
from slowwave.report import Report
from slowwave.secrets.redactor import NAMELESS
from slowwave.stores.model import Project


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is going to do.

    Attributes:
        job: name of the job.
        manifest: who does what; one file.
        batches: number of portions of sessions.
        groups: number of portions of projects.
        dry_run: whether anything may change.
        sessions: number of sessions of each project, by project key, in order.
        report: what discovery already has to say.
        by_batch: whether questions to a model go out when all sessions were read.
        compacts: whether a night compacts, too.
        retains: whether retention is part of the run.
        began: when the run began; None for plans that nobody concludes.
        title: what people call the run: its job, its day and its projects.
    """

    job: str
    manifest: Path
    batches: int
    groups: int
    dry_run: bool
    sessions: Mapping[str, int]
    report: Report
    by_batch: bool = False
    compacts: bool = False
    retains: bool = False
    began: Began | None = None
    title: str = ""

    def logs(self) -> AbstractContextManager[None]:
        """Return what lets the run log where its settings say.

        Raises:
            OSError: the manifest cannot be read.
            SettingsError: the file cannot be opened.
        """
        return json_logs(read_manifest(self.manifest).settings.telemetry.log_file, self.report.run_id)


def plan_job(job: str, run: Run) -> Plan:
    """Find the projects of a run, write its manifest and return the plan.

    Raises:
        UnreadableError: a store cannot be read at all.
        NotFoundError: no project matches ``run.project``.
        UnwritableError: there is no home, or no room for what a run keeps.
        OSError: the state folder cannot be written.
    """
    require_places(run.settings, run.environ, dry_run=run.dry_run)
    began = began_of(run)
    projects, report = first_look(job, run, began)
    by_batch = asks_by_batch(job, run)
    if by_batch:
        fetch_answers(report, run.settings, run.environ, run.clock.now())
    manifest = manifest_of(run, projects)
    return Plan(
        job=job,
        manifest=write_manifest(manifest, run.environ),
        batches=len(manifest.batches),
        groups=len(manifest.groups),
        dry_run=run.dry_run,
        sessions=_sessions(projects),
        report=report,
        by_batch=by_batch,
        compacts=run.settings.compaction.nightly,
        retains=retains(job, run.settings),
        began=began,
        title=NAMELESS(title_of(job, began.at, projects, dry_run=run.dry_run)),
    )


def _sessions(projects: Sequence[Project]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for project in projects:
        numbers[project.key] = numbers.get(project.key, 0) + len(project.sessions)
    return numbers


@dataclass(slots=True)
class Tally:
    """Reports by project, as portions come in.

    Attributes:
        plan: the plan that is carried out.
        projects: the sum of a project's reports so far, by project key.
        lost: failures that no project can be blamed for.
        others: reports about all projects together.
    """

    plan: Plan
    projects: dict[str, Report] = field(default_factory=dict[str, Report])
    lost: list[str] = field(default_factory=list[str])
    others: list[Report] = field(default_factory=list[Report])

    def add(self, portion: Mapping[str, Report]) -> None:
        """Add the reports of one portion."""
        for key, report in portion.items():
            log_report(report)
            self.projects.setdefault(key, Report(self.plan.job, report.run_id)).absorb(report)

    def add_other(self, report: Report) -> None:
        """Add a report about all projects together."""
        log_report(report)
        self.others.append(report)

    def lose(self, portion: str, error: object) -> None:
        """Note that a portion broke as a whole; the others go on."""
        self.lost.append(NAMELESS(f"{portion}: {type(error).__name__}: {error}"))

    def total(self) -> Report:
        """Return the report of the whole run, projects in the order of the plan."""
        start = self.plan.report
        whole = Report.total(start.job, start.run_id, [start, *self._in_order(), *self.others])
        whole.failures += self.lost
        note_account(whole, self.plan.manifest.with_name(f"{whole.run_id}.model.json"))
        return discreet(whole)

    def concluded(self, environ: Mapping[str, str]) -> tuple[Report, Concluded | None]:
        """Return the report of the whole run, and what was recorded of it: nothing of a dry run.

        Raises:
            OSError: the manifest cannot be read.
        """
        report = self.total()
        if self.plan.dry_run:
            report.learned = msgspec.to_builtins(planned(report))
        if self.plan.dry_run or self.plan.began is None:
            return report, None
        whole = read_manifest(self.plan.manifest)
        return report, conclude(report, self.plan.began, Around(whole.settings, environ), whole.projects)

    def diffs(self) -> dict[str, str]:
        """Return what each committed dream changed, as a unified diff of the memory files."""
        return {
            dream: NAMELESS(_difference(Path(self.plan.report.memories[key]), dream))
            for key, report in self.projects.items()
            for dream in report.dream_ids
        }

    def _in_order(self) -> Sequence[Report]:
        return [self.projects[key] for key in self.plan.sessions if key in self.projects]


def _difference(memory: Path, dream: str) -> str:
    """Return a dream's diff; it is only shown, so the night does not fail for it."""
    try:
        return difference(memory, dream)
    except SlowwaveError as error:
        return str(error)
