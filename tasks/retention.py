"""Retention over all projects together, as one task run: quotas, forks and the trash know no projects."""

import os
from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from slowwave.jobs.tally import Tally
from slowwave.jobs.workers import retain_portion
from slowwave.report import Report
from tasks.discretion import discreet_errors
from tasks.portions import once_for

TIMEOUT_S = 4 * 3600


# Every step is safe to repeat: a run that follows a killed one settles what that left and goes on.
@task(
    cache_policy=NO_CACHE,
    retries=2,
    retry_delay_seconds=[5, 30],
    retry_jitter_factor=0.5,
    timeout_seconds=TIMEOUT_S,
)
@discreet_errors()
def retain_sessions(manifest: Path, project: str) -> Report:
    """Archive and remove what the rules say."""
    return retain_portion(manifest, os.environ, project)


@task(cache_policy=NO_CACHE, retries=2, retry_delay_seconds=[5, 30], timeout_seconds=TIMEOUT_S)
@discreet_errors()
def retain_at_the_end(manifest: Path, project: str) -> Report:
    """Archive and remove what the rules say, after what the night wrote."""
    return retain_portion(manifest, os.environ, project, "nightly")


def retain_all(tally: Tally, project: str) -> None:
    """Apply the rules to everything in the plan."""
    once_for(retain_sessions if tally.plan.job == "retain" else retain_at_the_end, tally, project)
