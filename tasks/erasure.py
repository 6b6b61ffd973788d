"""Take secrets out of groups of projects, one task run a group, and then out of what belongs to no project."""

import os
from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from slowwave.jobs.portions import Reports, erase_portion, erase_rest
from slowwave.jobs.totals import Tally
from slowwave.report import Report
from tasks.discretion import discreet_errors
from tasks.portions import each, once_for
from tasks.repeating import repeatable

TIMEOUT_S = 4 * 3600


# What is gone is not found again, and what was planned is checked before it is done: repeating is safe.
@repeatable(named="erase-{index}", timeout_s=TIMEOUT_S)
def erase_group(manifest: Path, index: int) -> Reports:
    """Take the secrets out of one group of projects."""
    return erase_portion(manifest, index, os.environ)


@task(cache_policy=NO_CACHE, timeout_seconds=TIMEOUT_S)
@discreet_errors()
def erase_others(manifest: Path, project: str) -> Report:
    """Take the secrets out of what belongs to no project."""
    return erase_rest(manifest, os.environ, project)


def erase_all(tally: Tally, project: str) -> None:
    """Take the secrets out of everything in the plan."""
    each(erase_group, tally, tally.plan.groups)
    once_for(erase_others, tally, project)
