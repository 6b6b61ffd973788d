"""The stages of a job as task runs: over batches of sessions, over groups of projects, or once."""

import os
from collections.abc import Mapping
from pathlib import Path

from prefect import Task, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State

from slowwave.jobs import steps
from slowwave.jobs.portions import Reports, extract_portion, group_portion, whole_portion
from slowwave.jobs.story import Tally
from slowwave.observability.progress import watcher
from slowwave.report import Report
from tasks.discretion import discreet_errors
from tasks.progress import progress
from tasks.repeating import repeatable

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
