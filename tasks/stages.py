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
from slowwave.memory.rehearsal import rehearsing
from slowwave.observability.alarms import events_of
from slowwave.observability.page import markdown_of
from slowwave.observability.progress import watcher
from slowwave.observability.telemetry import ROOT
from slowwave.report import Report
from slowwave.retention.audit import AuditLog
from slowwave.secrets.redactor import logger_of
from tasks.runs import discreet_errors, logged, name_run, progress, repeatable

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
        beside_jobs(os.environ),
        logged(),
        followed(run_id, os.environ, dry_run=given.dry_run),
        rehearsing(wanted=rehearses(job, dry_run=given.dry_run)) as rehearsal,
    ):
        yield rehearsal


# Longer than any night; it only breaks a hung file system out.
TIMEOUT_S = 4 * 3600


# Bytes that were read once are not read again, so repeating is safe.
@repeatable(named="extract-{index}", timeout_s=TIMEOUT_S)
def extract_batch(manifest: Path, index: int) -> Reports:
    """Extract from one batch of sessions."""
    return extract_portion(manifest, index, os.environ)


# No retries: what can fail is contained to its project already, and a gate that passed once is closed afterwards.
@task(cache_policy=NO_CACHE, timeout_seconds=TIMEOUT_S, task_run_name="consolidate-{index}")
@discreet_errors()
def consolidate_group(manifest: Path, index: int) -> Reports:
    """Dream over one group of projects."""
    return group_portion(manifest, steps.consolidate, index, os.environ)


# What was compacted holds nothing new, so repeating is safe.
@repeatable(named="compact-{index}", timeout_s=TIMEOUT_S)
def compact_group(manifest: Path, index: int) -> Reports:
    """Compact the sessions of one group of projects."""
    return group_portion(manifest, steps.compact, index, os.environ)


# What is gone is not found again, and what was planned is checked before it is done: repeating is safe.
@repeatable(named="erase-{index}", timeout_s=TIMEOUT_S)
def erase_group(manifest: Path, index: int) -> Reports:
    """Take the secrets out of one group of projects."""
    return group_portion(manifest, steps.erase, index, os.environ)


@task(cache_policy=NO_CACHE, timeout_seconds=TIMEOUT_S)
@discreet_errors()
def propose_shared(manifest: Path) -> Report:
    """Propose what several projects share for all of them, and bring memories where agents read them."""
    return whole_portion(manifest, steps.end_dreaming, os.environ)


# Every step is safe to repeat: a run that follows a killed one settles what that left and goes on.
@repeatable(timeout_s=TIMEOUT_S)
def retain_sessions(manifest: Path) -> Report:
    """Archive and remove what the rules say."""
    return whole_portion(manifest, steps.retain_everywhere, os.environ)


@repeatable(timeout_s=TIMEOUT_S)
def retain_at_the_end(manifest: Path) -> Report:
    """Archive and remove what the rules say, after what the night wrote."""
    return whole_portion(manifest, steps.retain_at_night, os.environ)


@task(cache_policy=NO_CACHE, timeout_seconds=TIMEOUT_S)
@discreet_errors()
def erase_others(manifest: Path) -> Report:
    """Take the secrets out of what belongs to no project."""
    return whole_portion(manifest, steps.finish_erasing, os.environ)


# What was handed over is not handed over again, so repeating is safe.
@repeatable()
def hand_over_questions(manifest: Path) -> Report:
    """Send what is to be answered at a batch price."""
    return whole_portion(manifest, steps.hand_over, os.environ)


# by the name of the step that each of them takes
OF_EACH: Mapping[str, Task[[Path, int], Reports]] = {
    "extract": extract_batch,
    "consolidate": consolidate_group,
    "compact": compact_group,
    "erase": erase_group,
}
OF_ALL: Mapping[str, Task[[Path], Report]] = {
    "end_dreaming": propose_shared,
    "retain_everywhere": retain_sessions,
    "retain_at_night": retain_at_the_end,
    "finish_erasing": erase_others,
    "hand_over": hand_over_questions,
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
    return _state(tally, report)


def published_retention(tally: Tally) -> State[dict[str, Any]]:
    """Publish what retention did, or would do, and what that has come to over time."""
    report, concluded = tally.concluded(os.environ)
    announce(concluded, tally.plan.options)
    create_table_artifact(retained_rows(report), key="retain-plan", description="What goes, what stays, and why")
    create_markdown_artifact(
        reclaimed(AuditLog(os.environ).lines()), key="retain-reclaimed", description="Bytes removed and freed by week"
    )
    return _state(tally, report)


def _all_the_same(report: Report) -> str:
    """Say how a run does not wait for what its gates wait for, "" where they stop nothing that could be forced."""
    if not any(gate.gate in ("time", "sessions") and gate.is_told for gate in report.gates):
        return ""
    name = deployment.name
    given = """--param params='{"force": true}'"""
    how = f"prefect deployment run {report.job}/{name} {given}" if name else f"slowwave run {report.job} --force"
    return f"To run it all the same: {how}"


def _state(tally: Tally, report: Report) -> State[dict[str, Any]]:
    outcome = outcome_of(report, dry_run=tally.plan.dry_run)
    if outcome.name == "Skipped" and (how := _all_the_same(report)):
        log.info("%s", how)
        outcome = replace(outcome, message=f"{outcome.message} {how}")
    message, data = printable(outcome.message), report.to_builtins()
    if outcome.name == "Failed":
        return Failed(message=message, data=data)
    return Completed(name=outcome.name, message=message, data=data)
