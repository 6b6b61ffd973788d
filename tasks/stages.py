"""A run as Prefect tells it: planned, its stages as task runs over batches, groups or all at once, and what it shows.

What is shown are artifacts that people read, the final state with the report, and events that automations wait for.
"""

import os
import socket
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from prefect import Task, task
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.events import emit_event
from prefect.runtime import deployment
from prefect.states import Completed, Failed

from slowwave.context import clock_of, new_run_id
from slowwave.jobs import steps
from slowwave.jobs.conclusion import Concluded, followed, outcome_of
from slowwave.jobs.parameters import JobParameters, run_of
from slowwave.jobs.portions import Reports, extract_portion, group_portion, whole_portion
from slowwave.jobs.run import Step, Whole, rehearsing
from slowwave.jobs.steps import rehearses
from slowwave.jobs.story import (
    Plan,
    Tally,
    funnel,
    memory_diff,
    plan_job,
    plan_rows,
    printable,
    reclaimed,
    retained_rows,
)
from slowwave.locks import beside_jobs
from slowwave.observability.night import events_of
from slowwave.observability.page import markdown_of
from slowwave.observability.progress import watcher
from slowwave.observability.telemetry import ROOT
from slowwave.report import Report
from slowwave.retention.audit import AuditLog
from slowwave.secrets import logger_of
from tasks.runs import RETRIES, discreet_errors, logged, name_run, progress, repeatable

log = logger_of(f"{ROOT}.tasks")


def _is_passing(_task: Task[..., object], _run: TaskRun, state: State[object]) -> bool:
    """Say whether a failure may pass by itself: a file system that is away, not a wrong setting."""
    return isinstance(state.result(raise_on_failure=False), OSError)


# Reads only, so repeating is safe.
@task(
    cache_policy=NO_CACHE,
    retries=2,
    retry_delay_seconds=[2, 10],
    retry_jitter_factor=0.5,
    retry_condition_fn=_is_passing,
)
@discreet_errors()
def plan_run(job: str, given: JobParameters, rehearsal: Path | None) -> Plan:
    """Return the plan of a run."""
    return plan_job(job, replace(run_of(given, os.environ), rehearsal=rehearsal))


@contextmanager
def planned(job: str, given: JobParameters) -> Generator[Tally]:
    """Plan a run and hand out its tally; the manifest goes when the run is over, however it ends."""
    run_id = given.run_id or new_run_id(clock_of(given.now))
    with _followed(job, run_id, given) as rehearsal:
        plan = plan_run(job, given.model_copy(update={"run_id": run_id}), rehearsal)
        try:
            name_run(printable(plan.title))
            with discreet_errors(), plan.logs():
                yield Tally(plan)
        finally:
            plan.manifest.unlink(missing_ok=True)


@contextmanager
def _followed(job: str, run_id: str, given: JobParameters) -> Generator[Path | None]:
    """Do what goes on around a run, and hand out where a dry run rehearses."""
    # Logged is a dry run, too: what it shows is kept by the scheduler. Followed from here to the end, a run says in its
    # note that it was cancelled also when that falls between its plan and its first step.
    with (
        logged(),
        beside_jobs(os.environ),
        followed(run_id, os.environ, dry_run=given.dry_run),
        rehearsing(wanted=rehearses(job, dry_run=given.dry_run)) as rehearsal,
    ):
        yield rehearsal


# Longer than any night; it only breaks a hung file system out.
TIMEOUT_S = 4 * 3600


def _of_each(name: str, step: Step, *, repeats: bool = True) -> Task[[Path, int], Reports]:
    """Return the task that takes a step for one portion of a run: a batch of sessions, or a group of projects."""

    def portion(manifest: Path, index: int) -> Reports:
        if step is steps.extract:
            return extract_portion(manifest, index, os.environ)
        return group_portion(manifest, step, index, os.environ)

    named = f"{step.__name__}-{{index}}"
    return repeatable(called=name, named=named, timeout_s=TIMEOUT_S, retries=RETRIES if repeats else 0)(portion)


def _of_all(name: str, step: Whole, *, repeats: bool = True) -> Task[[Path], Report]:
    """Return the task that takes a step which is about all projects together."""

    def whole(manifest: Path) -> Report:
        return whole_portion(manifest, step, os.environ)

    return repeatable(called=name, timeout_s=TIMEOUT_S, retries=RETRIES if repeats else 0)(whole)


# by the name of the step that each of them takes
OF_EACH: Mapping[str, Task[[Path, int], Reports]] = {
    # bytes that were read once are not read again
    "extract": _of_each("extract_batch", steps.extract),
    # what can fail is contained to its project already, and a gate that passed once is closed afterwards
    "consolidate": _of_each("consolidate_group", steps.consolidate, repeats=False),
    # what was compacted holds nothing new
    "compact": _of_each("compact_group", steps.compact),
    # what is gone is not found again, and what was planned is checked before it is done
    "erase": _of_each("erase_group", steps.erase),
}
OF_ALL: Mapping[str, Task[[Path], Report]] = {
    "end_dreaming": _of_all("propose_shared", steps.end_dreaming, repeats=False),
    # a run that follows a killed one settles what that left and goes on
    "retain_everywhere": _of_all("retain_sessions", steps.retain_everywhere),
    "retain_at_night": _of_all("retain_at_the_end", steps.retain_at_night),
    "finish_erasing": _of_all("erase_others", steps.finish_erasing, repeats=False),
    # what was handed over is not handed over again
    "hand_over": _of_all("hand_over_questions", steps.hand_over),
}


def carry_out(tally: Tally) -> None:
    """Take every stage of a plan, one after another; a portion that breaks is counted and does not stop the others."""
    for stage in tally.plan.stages:
        if stage.of_all is not None:
            _once(OF_ALL[stage.name], tally)
        else:
            # sessions are read in batches; of all else a group of projects is a portion
            number = tally.plan.batches if stage.name == "extract" else tally.plan.groups
            _each(OF_EACH[stage.name], tally, number)


# In this thread and one at a time: a cancellation then reaches the work itself, so that it lets go of its locks, and
# the processors are kept busy by the processes inside a portion.
def _each(step: Task[[Path, int], Reports], tally: Tally, number: int) -> None:
    show = progress(f"{tally.plan.job}-progress", number)
    watcher().plan(step.name, number)
    for index in range(number):
        state = step(tally.plan.manifest, index, return_state=True)
        result = state.result(raise_on_failure=False)
        if isinstance(result, dict):
            tally.add(result)
        else:
            tally.lose(f"{step.name} {index}", result)
        show(index + 1)
        watcher().done(step.name, f"{index + 1} of {number}")


def _once(step: Task[[Path], Report], tally: Tally) -> None:
    watcher().plan(step.name, 1)
    state: State[Report] = step(tally.plan.manifest, return_state=True)
    result = state.result(raise_on_failure=False)
    if isinstance(result, Report):
        tally.add_other(result)
    else:
        tally.lose(step.name, result)
    watcher().done(step.name, "")


def announce(concluded: Concluded | None, options: str = "") -> None:
    """Publish the report of the nights, and emit one event for the run and one for each of its alarms.

    ``options`` are what the commands that the report names need besides.
    """
    if concluded is None:
        return
    report = markdown_of(concluded.view, options)
    create_markdown_artifact(report, key="nights", description="The report of the nights")
    for event in events_of(concluded.night, socket.gethostname()):
        emit_event(event.name, resource=event.resource, payload=event.payload)


def published(tally: Tally) -> State[dict[str, Any]]:
    """Publish the artifacts of a run and return its final state, which carries the report."""
    (report, concluded), job = tally.concluded(os.environ), tally.plan.job
    announce(concluded, tally.plan.options)
    create_table_artifact(funnel(tally), key=f"{job}-funnel", description="From sessions to memories")
    if tally.plan.dry_run:
        create_table_artifact(plan_rows(report), key=f"{job}-plan", description="What a run would do now")
    else:
        create_markdown_artifact(
            memory_diff(report, tally.diffs(), tally.plan.options),
            key=f"{job}-memory-diff",
            description="What changed, and why",
        )
    return _ended(tally, report)


def published_retention(tally: Tally) -> State[dict[str, Any]]:
    """Publish what retention did, or would do, and what that has come to over time."""
    report, concluded = tally.concluded(os.environ)
    announce(concluded, tally.plan.options)
    create_table_artifact(retained_rows(report), key="retain-plan", description="What goes, what stays, and why")
    create_markdown_artifact(
        reclaimed(AuditLog(os.environ).lines()), key="retain-reclaimed", description="Bytes removed and freed by week"
    )
    return _ended(tally, report)


def _all_the_same(report: Report) -> str:
    """Say how a run does not wait for what its gates wait for, "" where a forced one would find nothing."""
    if not any(gate.is_worth_forcing for gate in report.gates):
        return ""
    name = deployment.name
    given = """--param params='{"force": true}'"""
    how = f"prefect deployment run {report.job}/{name} {given}" if name else f"slowwave run {report.job} --force"
    return f"To run it all the same: {how}"


def _ended(tally: Tally, report: Report) -> State[dict[str, Any]]:
    outcome = outcome_of(report, dry_run=tally.plan.dry_run)
    if outcome.name == "Skipped" and (how := _all_the_same(report)):
        log.info("%s", how)
        outcome = replace(outcome, message=f"{outcome.message} {how}")
    return state_of(outcome.name, outcome.message, report)


def state_of(name: str, message: str, report: Report) -> State[dict[str, Any]]:
    """Return the final state of a run, which carries its report."""
    message, data = printable(message), report.to_builtins()
    if name == "Failed":
        return Failed(message=message, data=data)
    return Completed(name=name, message=message, data=data)
