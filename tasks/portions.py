"""Run the portions of a plan one after another; one that breaks is counted and does not stop the others."""

from pathlib import Path

from prefect import Task
from prefect.client.schemas.objects import State

from slowwave.jobs.portions import Reports
from slowwave.jobs.totals import Tally
from slowwave.observability.progress import watcher
from slowwave.report import Report
from tasks.progress import progress


# In this thread and one at a time: a cancellation then reaches the work itself, so that it lets go of its locks, and
# the processors are kept busy by the processes inside a portion.
def each(step: Task[[Path, int], Reports], tally: Tally, number: int) -> None:
    """Run ``step`` for every portion and add up what it reports."""
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


def once(step: Task[[Path], Report], tally: Tally) -> None:
    """Run a step that is about all projects together, and add what it reports."""
    watcher().plan(step.name, 1)
    _take(step.name, step(tally.plan.manifest, return_state=True), tally)


def once_for(step: Task[[Path, str], Report], tally: Tally, project: str) -> None:
    """As :func:`once`, for a step that also looks at what projects were chosen."""
    watcher().plan(step.name, 1)
    _take(step.name, step(tally.plan.manifest, project, return_state=True), tally)


def _take(name: str, state: State[Report], tally: Tally) -> None:
    result = state.result(raise_on_failure=False)
    if isinstance(result, Report):
        tally.add_other(result)
    else:
        tally.lose(name, result)
    watcher().done(name, "")
