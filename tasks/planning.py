"""Find the projects of a run and write down who does what."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.tasks import Task

from slowwave.jobs.conclusion import followed
from slowwave.jobs.parameters import JobParameters, run_of
from slowwave.jobs.run import clock_of, new_run_id
from slowwave.jobs.steps import rehearses
from slowwave.jobs.story import Plan, Tally, plan_job, printable
from slowwave.locks import beside_jobs
from slowwave.memory.rehearsal import rehearsing
from tasks.discretion import discreet_errors
from tasks.logs import logged, name_run


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
