"""The story of each job: find projects, then gate and take every stage; then say, and record, what became of it.

What is done in what order is :func:`slowwave.jobs.steps.stages_of`; here a plain loop carries it out, in ``tasks``
Prefect does, in portions. Both leave the same bytes. A failure is contained to its project and named in the report; a
closed gate is an outcome with a reason, not a failure. What people read of it in the scheduler's pages stands last.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from slowwave.context import Run
from slowwave.errors import SlowwaveError, told
from slowwave.formats.registry import NAMES
from slowwave.jobs.conclusion import Began, Ended, begin_note, conclude, conclude_broken, drop_note, followed, title_of
from slowwave.jobs.portions import extract_everywhere, manifest_of, pays_to_spread, read_manifest, write_manifest
from slowwave.jobs.run import (
    contained,
    discreet,
    fetch_answers,
    for_all,
    note_account,
    note_left_behind,
    rehearsing,
    remove_old,
    require_places,
)
from slowwave.jobs.steps import MARKING, STEPS, Stage, asks_by_batch, asks_rules, extract, rehearses, stages_of
from slowwave.locks import beside_jobs
from slowwave.memory.undo import pages_difference
from slowwave.models import journal_of
from slowwave.observability.lessons import Learned, planned
from slowwave.observability.page import learned_lines, literal, weeks_of
from slowwave.observability.progress import LOOK, watcher
from slowwave.observability.telemetry import json_logs, log_report
from slowwave.quantities import counted
from slowwave.report import NOT_SEARCHED, PARKED_FOR_REVIEW, Item, Report, RetainItem
from slowwave.retention.audit import Line
from slowwave.retention.policy import check
from slowwave.secrets import NAMELESS, logger_of, redactor_of
from slowwave.stores.discovery import known_projects
from slowwave.stores.projects import Project, chosen_by, left_beside, short_names

log = logger_of(__name__)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is going to do."""

    job: str  # name of the job
    dry_run: bool  # whether anything may change
    sessions: Mapping[str, int]  # number of sessions of each project, by project key, in order
    report: Report  # what discovery already has to say
    stages: Sequence[Stage] = ()  # what is done, in order
    began: Began | None = None  # when the run began; None for plans that nobody concludes
    title: str = ""  # what people call the run: its job, its day and its projects
    manifest: Path = Path()  # who does what where it goes in portions; one file
    batches: int = 0  # number of portions of sessions
    groups: int = 0  # number of portions of projects
    options: str = ""  # what a command that follows the run up is given again

    def logs(self) -> AbstractContextManager[None]:
        """Return what lets a run in portions log where its settings say.

        Raises OSError: the manifest cannot be read; SettingsError: the file cannot be opened.
        """
        return json_logs(read_manifest(self.manifest).settings.telemetry.log_file, self.report.run_id)


@dataclass(slots=True)
class Tally:
    """Reports by project, as stages come in."""

    plan: Plan  # the plan that is carried out
    # the sum of a project's reports so far, by project key
    projects: dict[str, Report] = field(default_factory=dict[str, Report])
    lost: list[str] = field(default_factory=list[str])  # failures that no project can be blamed for
    others: list[Report] = field(default_factory=list[Report])  # reports about all projects together

    def add(self, portion: Mapping[str, Report]) -> None:
        """Add the reports of some projects."""
        names = short_names(self.plan.sessions)
        for key, report in portion.items():
            log_report(report, names)
            self.projects.setdefault(key, Report(self.plan.job, report.run_id)).absorb(report)

    def add_other(self, report: Report) -> None:
        """Add a report about all projects together."""
        log_report(report)
        self.others.append(report)

    def log_the_rest(self) -> None:
        """Log of how many projects there was nothing to say: a line for each of a fleet would hide what was done."""
        quiet = [report for report in self.projects.values() if not (report.did_something or report.failures)]
        dreamt = sum(bool(report.phases) for report in quiet)
        not_due = sum(not report.phases and any(g.is_told for g in report.gates) for report in quiet)
        for number, why in (
            (dreamt, "dreamt over, and nothing new to write"),
            (not_due, "not due yet"),
            (len(quiet) - dreamt - not_due, "nothing new"),
        ):
            if number:
                log.info("%s of %d: %s", counted(number, "project"), len(self.projects), why)

    def lose(self, portion: str, error: object) -> None:
        """Note that a portion broke as a whole; the others go on."""
        self.lost.append(NAMELESS(f"{portion}: {type(error).__name__}: {error}"))

    def total(self, environ: Mapping[str, str]) -> Report:
        """Return the report of the whole run, projects in the order of the plan."""
        start = self.plan.report
        in_order = [self.projects[key] for key in self.plan.sessions if key in self.projects]
        whole = Report.total(start.job, start.run_id, [start, *in_order, *self.others])
        whole.failures += self.lost
        note_account(whole, journal_of(whole.run_id, environ))
        return discreet(whole)

    def concluded(self, environ: Mapping[str, str]) -> Ended:
        """Return the report of a whole run in portions, and what was recorded of it: nothing of a dry run.

        Raises OSError: the manifest cannot be read.
        """
        whole = read_manifest(self.plan.manifest)
        return self.ended(whole.run(environ), whole.projects)

    def ended(self, run: Run, projects: Sequence[Project]) -> Ended:
        """As :meth:`concluded`, of a run over some projects."""
        self.log_the_rest()
        report, began = self.total(run.environ), self.plan.began
        if self.plan.dry_run:
            would = planned(report)
            would.bar = run.settings.consolidation.accept_confidence
            report.learned = msgspec.to_builtins(would)
        if self.plan.dry_run or began is None:
            return Ended(report)
        return Ended(report, conclude(report, began, run.settings, run.environ, projects))

    def diffs(self) -> dict[str, str]:
        """Return what each committed dream changed, as a unified diff of the memory files."""
        return {
            dream: NAMELESS(_difference(Path(self.plan.report.memories[key]), dream))
            for key, report in self.projects.items()
            for dream in report.dream_ids
        }


def _difference(memory: Path, dream: str) -> str:
    """Return a dream's diff; it is only shown, so the night does not fail for it."""
    try:
        return pages_difference(memory, dream)
    except SlowwaveError as error:
        return str(error)


def plan_run(job: str, run: Run) -> tuple[Plan, Sequence[Project]]:
    """Find the projects of a run, and return what is to be done with them.

    Raises UnreadableError: a store cannot be read at all; NotFoundError: no project matches ``run.project``.
    """
    began = began_of(run)
    projects, report = first_look(job, run, began)
    if asks_by_batch(job, run):
        fetch_answers(report, run.settings, run.environ, run.clock.now())
    sessions: dict[str, int] = {}
    for project in projects:
        sessions[project.key] = sessions.get(project.key, 0) + len(project.sessions)
    title = NAMELESS(title_of(job, began.at, projects, what="dry run" if run.dry_run else ""))
    stages = stages_of(job, run)
    return Plan(job, run.dry_run, sessions, report, stages, began, title, options=run.options), projects


def plan_job(job: str, run: Run) -> Plan:
    """Plan a run that goes in portions, and write its manifest.

    Raises UnreadableError, NotFoundError: as :func:`plan_run`; UnwritableError: there is no home, or no room for what a
    run keeps; OSError: the state folder cannot be written.
    """
    require_places(run.settings, run.environ, dry_run=run.dry_run)
    plan, projects = plan_run(job, run)
    manifest = manifest_of(run, projects)
    path = write_manifest(manifest, run.environ)
    return replace(plan, manifest=path, batches=len(manifest.batches), groups=len(manifest.groups))


def run_job(job: str, run: Run) -> Report:
    """Run a job over every chosen project, in this process.

    Raises UnreadableError: a store cannot be read at all; NotFoundError: no project matches ``run.project``;
    SettingsError: the file that logs should go to cannot be opened; UnwritableError: there is no home, or no room for
    what a run keeps; LockHeldError: an erasure was at work for too long.
    """
    require_places(run.settings, run.environ, dry_run=run.dry_run)
    with (
        nullcontext() if run.dry_run else beside_jobs(run.environ),
        json_logs(run.settings.telemetry.log_file, run.id),
        followed(run.id, run.environ, dry_run=run.dry_run),
    ):
        plan, projects = plan_run(job, run)
        tally = Tally(plan)
        with rehearsing(wanted=rehearses(job, dry_run=run.dry_run)) as rehearsal:
            # stage by stage, as a scheduler does: what a stage is called is then true of all that is under way
            for stage in plan.stages:
                _carry_out(stage, tally, projects, replace(run, rehearsal=rehearsal))
        return tally.ended(run, projects).report


def _carry_out(stage: Stage, tally: Tally, projects: Sequence[Project], run: Run) -> None:
    """Take a stage in this process, for one project after another, or once."""
    step, whole = stage
    watcher().plan(stage.name, len(projects) if step else 1)
    if whole is not None:
        tally.add_other(for_all(whole, projects, run))
        watcher().done(stage.name, "")
    elif step is extract and pays_to_spread(projects):
        parts = extract_everywhere(projects, run, lambda key: watcher().done(stage.name, key))
        for project, part in zip(projects, parts, strict=True):
            tally.add({project.key: part})
    elif step is not None:
        for project in projects:
            tally.add({project.key: contained(step, project, run)})
            watcher().done(stage.name, project.key)


def began_of(run: Run) -> Began:
    """Return when a run begins: now."""
    return Began(run.id, run.clock.now(), perf_counter(), partial=bool(run.project))


def first_look(job: str, run: Run, began: Began) -> tuple[Sequence[Project], Report]:
    """As :func:`chosen_projects`; the run is noted, and one over everything that cannot begin is recorded first."""
    said = [] if run.dry_run else begin_note(job, began, run.environ)
    watcher().plan(LOOK, 1)
    try:
        projects, report = chosen_projects(job, run)
        if projects and not run.dry_run and job in MARKING:
            redactor_of(run.settings, run.environ)  # a key that cannot be had is told once, not for each project
    except SlowwaveError as error:
        if run.project and not run.dry_run:
            drop_note(began, run.environ)
        elif not run.dry_run:
            conclude_broken(job, error, began, run.settings, run.environ)
        raise
    watcher().done(LOOK, "")
    report.warnings += said
    log_report(report)
    return projects, report


def chosen_projects(job: str, run: Run) -> tuple[Sequence[Project], Report]:
    """Return the projects of a run and a report that already holds what discovery met.

    Raises SettingsError: the retention rules of a job that asks them contradict each other.
    """
    if asks_rules(job, run.settings):
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
    if job in ("erase", "retain"):
        _name_left(report, run.project, left_beside(run.project, found.projects, lambda p: (p.key, p.root)))
    if not found.projects:
        roots = ", ".join(str(root) for root in run.settings.store.roots) or "the home of any client"
        report.warnings.append(f"no transcripts found in {roots}; name a store with --store or store.roots")
    report.count("projects", len(projects))
    report.memories = {p.key: str(p.memory) for p in projects}
    return projects, report


def _name_left(report: Report, text: str, others: Sequence[Project]) -> None:
    """Name the projects that a hold on the same text covers, and that are left alone: worktrees, for example."""
    why = f"another project with {text!r} in its name or folder; run this for it, too, or without --project"
    if report.job == "erase":  # its certificate names them
        report.count("not_searched", len(others))
        report.items += [Item(one.key, NOT_SEARCHED, why, one.key) for one in others]
    elif others:
        names = ", ".join(short_names(one.key for one in others).values())
        report.warnings.append(f"left alone: {names}: {why}")


def _clear_away(report: Report, run: Run) -> None:
    """Remove what runs of long ago left behind; that it cannot be done costs no night."""
    try:
        if removed := remove_old(run.environ, run.clock.now(), run.id):
            report.count("old_run_files", removed)
    except OSError as error:
        report.warnings.append(told(error, "runs"))


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


def memory_diff(report: Report, diffs: Mapping[str, str], options: str = "") -> str:
    """Return what happened to the memories as Markdown: what was learned, then the files' own diffs.

    ``options`` are what commands that are named need besides.
    """
    learned = msgspec.convert(report.learned, Learned)
    told = learned_lines(learned, report.job, report.run_id, options)
    lines = [f"# Memory diff of {report.job} {report.run_id}", "", *told]
    parked = report.parked_projects()
    for project, phases in report.phases.items():
        waits = f" ({PARKED_FOR_REVIEW}, not done)" if project in parked else ""
        lines += [f"- {literal(project)}{waits}: {phases}"]
    lines.append("")
    for dream, diff in diffs.items():
        lines += [f"## Dream {dream}", "", f"Undo: `slowwave memory undo {dream}{options}`", "", *_fenced(diff), ""]
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
