"""Dream over groups of projects, one task run a group."""

import os
from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from slowwave.jobs.portions import Reports, consolidate_portion, propose_portion
from slowwave.jobs.totals import Tally
from slowwave.report import Report
from tasks.discretion import discreet_errors
from tasks.portions import each, once_for

# Longer than any night; it only breaks a hung file system out.
TIMEOUT_S = 4 * 3600


# No retries: what can fail is contained to its project already, and a gate that passed once is closed afterwards.
@task(cache_policy=NO_CACHE, timeout_seconds=TIMEOUT_S, task_run_name="consolidate-{index}")
@discreet_errors()
def consolidate_group(manifest: Path, index: int) -> Reports:
    """Dream over one group of projects."""
    return consolidate_portion(manifest, index, os.environ)


# What is in the inbox already is not proposed again, so repeating is safe.
@task(cache_policy=NO_CACHE, timeout_seconds=TIMEOUT_S)
@discreet_errors()
def propose_shared(manifest: Path, project: str) -> Report:
    """Propose what several projects share for all of them."""
    return propose_portion(manifest, os.environ, project)


def consolidate_all(tally: Tally, project: str) -> None:
    """Dream over every group of the plan, then look at what their projects share."""
    each(consolidate_group, tally, tally.plan.groups)
    once_for(propose_shared, tally, project)
