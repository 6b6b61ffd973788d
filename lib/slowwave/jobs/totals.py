"""The totals of a run that went in portions: one report for each project, one of all, and the scheduler's pages."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from slowwave.errors import SlowwaveError
from slowwave.jobs.conclusion import Around, Began, Concluded, conclude, title_of
from slowwave.jobs.model import fetch_answers, note_account
from slowwave.jobs.portions import manifest_of, read_manifest, write_manifest
from slowwave.jobs.run import Run, discreet, require_places
from slowwave.jobs.steps import asks_by_batch, retains
from slowwave.jobs.story import began_of, first_look
from slowwave.memory.undo import difference
from slowwave.observability.lessons import Learned, planned
from slowwave.observability.page import learned_lines, literal
from slowwave.observability.sections import weeks_of
from slowwave.observability.telemetry import json_logs, log_report
from slowwave.report import PARKED_FOR_REVIEW, Report, RetainItem
from slowwave.retention.audit import Line
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


# What people read about a run in the scheduler's pages: funnel, diff of the memories, plan, bytes week by week.

# Tables are stored whole with the run; more rows than this nobody reads.
MOST_ROWS = 200


def funnel(tally: Tally) -> list[dict[str, Any]]:
    """Return one row for each project, from its sessions to its memories; the busiest first.

    Only what was done counts: the plan of a dry run and of a parked dream has pages of its own.
    """
    planned, none = tally.plan.dry_run, Report(tally.plan.job)
    rows = [
        _funnel_row(key, number, tally.projects.get(key, none), is_done=not planned)
        for key, number in tally.plan.sessions.items()
    ]
    rows.sort(key=lambda row: (-row["memories"], -row["candidates"], -row["sessions"], row["project"]))
    return capped(rows)


def _funnel_row(key: str, sessions: int, given: Report, *, is_done: bool) -> dict[str, Any]:
    parked = key in given.parked_projects()
    actions = [item.action for item in given.items if item.action == "candidate" or (is_done and not parked)]
    # Prefect's tables wrap nothing: words would push what stands behind them out of the window
    refused = [f"{gate} {times}" for gate, times in Counter(g.gate for g in given.gates if not g.passed).items()]
    refused += [PARKED_FOR_REVIEW] * parked
    return {
        "project": printable(key),
        "sessions": sessions,
        "candidates": actions.count("candidate"),
        "memories": actions.count("add"),
        "merged": actions.count("merge"),
        "superseded": actions.count("supersede"),
        "dropped": actions.count("drop"),
        "refused": printable(", ".join(refused)),
        "failed": len(given.failures),
    }


def memory_diff(report: Report, diffs: Mapping[str, str]) -> str:
    """Return what happened to the memories as Markdown: what was learned, then the files' own diffs."""
    learned = msgspec.convert(report.learned, Learned)
    lines = [f"# Memory diff of {report.job} {report.run_id}", "", *learned_lines(learned, report.job, report.run_id)]
    parked = report.parked_projects()
    for project, phases in report.phases.items():
        waits = f" ({PARKED_FOR_REVIEW}, not done)" if project in parked else ""
        lines += [f"- {literal(project)}{waits}: {phases}"]
    lines.append("")
    for dream, diff in diffs.items():
        lines += [f"## Dream {dream}", "", f"Undo: `slowwave memory undo {dream}`", "", *_fenced(diff), ""]
    return printable("\n".join(lines)).rstrip() + "\n"


def _fenced(diff: str) -> list[str]:
    """Return a diff as a code block that its own content cannot close."""
    longest = max((len(run) for run in re.findall("`+", diff)), default=0)
    fence = "`" * max(3, longest + 1)
    rows = diff.splitlines()
    more = [f"and {len(rows) - MOST_ROWS} more lines"] if len(rows) > MOST_ROWS else []
    return [f"{fence}diff", *rows[:MOST_ROWS], *more, fence]


def plan_rows(report: Report) -> list[dict[str, Any]]:
    """Return what a run would do, as table rows."""
    return capped(
        [
            {
                "project": printable(item.project),
                "action": item.action,
                "target": printable(item.text or item.target),
                "reason": printable(item.reason),
            }
            for item in report.items
        ]
    )


def printable(text: str) -> str:
    """Return text that any JSON carries: file names may hold bytes that are not UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def capped(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first rows of a table, and how many more there are."""
    if len(rows) <= MOST_ROWS:
        return rows
    note: dict[str, Any] = dict.fromkeys(rows[0], "")
    note["project"] = f"and {len(rows) - MOST_ROWS + 1} more"
    return [*rows[: MOST_ROWS - 1], note]


# nearly two years; older weeks are in the audit log
_MOST_WEEKS = 100
_BAR = 40


def retained_rows(report: Report) -> list[dict[str, Any]]:
    """Return what went, would go or stays, as table rows."""
    items = (item for item in report.items if isinstance(item, RetainItem))
    return capped(
        [
            {
                "project": printable(item.project),
                "session": printable(item.target),
                "action": item.action,
                "rule": item.rule,
                "guard": item.guard,
                "bytes": item.bytes,
                "reason": printable(item.reason),
            }
            for item in items
        ]
    )


def reclaimed(lines: Iterable[Line]) -> str:
    """Return the bytes that went into the trash and that were freed, week by week, as Markdown with bars."""
    weeks = weeks_of(lines)
    if not weeks:
        return "Nothing was removed yet.\n"
    most = max(week.freed for week in weeks[-_MOST_WEEKS:])
    rows = ["| week of | into the trash | freed | |", "| --- | ---: | ---: | --- |"]
    for week in weeks[-_MOST_WEEKS:]:
        bar = "█" * -(-week.freed * _BAR // most) if most else ""
        rows.append(f"| {week.begin} | {week.trashed:,} | {week.freed:,} | {bar} |")
    total = sum(week.freed for week in weeks)
    return "\n".join([f"Freed in all: {total:,} bytes", "", *rows]) + "\n"
