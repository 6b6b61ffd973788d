"""The story of each job, told without a scheduler: find projects, then gate and run every step, project by project.

The flows tell the same story with Prefect's means and leave the same bytes. A failure is contained to its project
and named in the report; a closed gate is an outcome with a reason, not a failure.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter

import msgspec

from slowwave.errors import SlowwaveError, told
from slowwave.formats.registry import NAMES
from slowwave.jobs.choice import chosen_by
from slowwave.jobs.conclusion import Around, Began, begin_note, conclude, conclude_broken, drop_note, followed
from slowwave.jobs.model import fetch_answers, hand_over_questions, journal_of, note_account, note_left_behind
from slowwave.jobs.portions import extract_everywhere, pays_to_spread
from slowwave.jobs.run import Run, Step, Whole, contained, discreet, for_all, remove_old, require_places
from slowwave.jobs.steps import (
    MARKING,
    RETAINING,
    STEPS,
    asks_by_batch,
    asks_rules,
    compact_at_night,
    consolidate,
    end_dreaming,
    extract,
    finish_erasing,
    rehearses,
    retains,
)
from slowwave.locks import beside_jobs
from slowwave.memory.rehearsal import rehearsing
from slowwave.observability.lessons import planned
from slowwave.observability.progress import LOOK, watcher
from slowwave.observability.telemetry import json_logs, log_report
from slowwave.report import Report
from slowwave.retention.policy import check
from slowwave.secrets.redactor import redactor_of
from slowwave.stores.discovery import known_projects
from slowwave.stores.model import Project


def run_job(job: str, run: Run) -> Report:
    """Run a job over every chosen project, in this process.

    Raises:
        UnreadableError: a store cannot be read at all.
        NotFoundError: no project matches ``run.project``.
        SettingsError: the file that logs should go to cannot be opened.
        UnwritableError: there is no home, or no room for what a run keeps.
        LockHeldError: an erasure was at work for too long.
    """
    require_places(run.settings, run.environ, dry_run=run.dry_run)
    began = began_of(run)
    with (
        nullcontext() if run.dry_run else beside_jobs(run.environ),
        json_logs(run.settings.telemetry.log_file, run.id),
        followed(run.id, run.environ, dry_run=run.dry_run),
    ):
        projects, report = first_look(job, run, began)
        with rehearsing(wanted=rehearses(job, dry_run=run.dry_run)) as rehearsal:
            report = _told(job, replace(run, rehearsal=rehearsal), projects, report)
        if run.dry_run:
            report.learned = msgspec.to_builtins(planned(report))
        else:
            conclude(report, began, Around(run.settings, run.environ), projects)
    return report


def _told(job: str, run: Run, projects: Sequence[Project], report: Report) -> Report:
    """Tell the story of a job: gate and run every step, project by project, then what is about all of them."""
    if asks_by_batch(job, run):
        fetch_answers(report, run.settings, run.environ, run.clock.now())
    # step by step, as the flows do: what a step is called is then true of all that is under way
    parts = [
        _over(step, projects, run)
        for step in STEPS[job]
        if step is not compact_at_night or run.settings.compaction.nightly
    ]
    for of_project in zip(*parts, strict=True):
        for part in of_project:
            report.absorb(part)
    if consolidate in STEPS[job]:
        report.absorb(_together(end_dreaming, projects, run))
    if retains(job, run.settings):
        report.absorb(_together(RETAINING[job], projects, run))
    if job == "erase":
        report.absorb(_together(finish_erasing, projects, run))
    if asks_by_batch(job, run):
        hand_over_questions(report, run.settings, run.environ, run.clock.now())
    note_account(report, journal_of(run.id, run.environ))
    return discreet(report)


def _over(step: Step, projects: Sequence[Project], run: Run) -> list[Report]:
    """Run a step for one project after another; return their reports."""
    watcher().plan(step.__name__, len(projects))
    if step is extract and pays_to_spread(projects):
        parts = extract_everywhere(projects, run, lambda key: watcher().done(extract.__name__, key))
        for part in parts:
            log_report(part)
        return parts
    parts: list[Report] = []
    for project in projects:
        parts.append(contained(step, project, run))
        log_report(parts[-1])
        watcher().done(step.__name__, project.key)
    return parts


def _together(step: Whole, projects: Sequence[Project], run: Run) -> Report:
    """Run a step that is about all projects together."""
    watcher().plan(step.__name__, 1)
    report = for_all(step, projects, run)
    log_report(report)
    watcher().done(step.__name__, "")
    return report


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
            conclude_broken(job, error, began, Around(run.settings, run.environ))
        raise
    watcher().done(LOOK, "")
    report.warnings += said
    log_report(report)
    return projects, report


def chosen_projects(job: str, run: Run) -> tuple[Sequence[Project], Report]:
    """Return the projects of a run and a report that already holds what discovery met.

    Raises:
        SettingsError: the retention rules of a job that asks them contradict each other.
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
    if not found.projects:
        roots = ", ".join(str(root) for root in run.settings.store.roots) or "the home of any client"
        report.warnings.append(f"no transcripts found in {roots}; name a store with --store or store.roots")
    report.count("projects", len(projects))
    report.memories = {p.key: str(p.memory) for p in projects}
    return projects, report


def _clear_away(report: Report, run: Run) -> None:
    """Remove what runs of long ago left behind; that it cannot be done costs no night."""
    try:
        if removed := remove_old(run.environ, run.clock.now(), run.id):
            report.count("old_run_files", removed)
    except OSError as error:
        report.warnings.append(told(error, "runs"))
