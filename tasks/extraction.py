"""Extract from batches of sessions, one task run a batch."""

import os
from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from slowwave.jobs.tally import Tally
from slowwave.jobs.workers import Reports, extract_portion, hand_over
from slowwave.report import Report
from tasks.discretion import discreet_errors
from tasks.portions import each, once

# Longer than any night; it only breaks a hung file system out.
TIMEOUT_S = 4 * 3600


# Bytes that were read once are not read again, so repeating is safe.
@task(
    cache_policy=NO_CACHE,
    retries=2,
    retry_delay_seconds=[5, 30],
    retry_jitter_factor=0.5,
    timeout_seconds=TIMEOUT_S,
    task_run_name="extract-{index}",
)
@discreet_errors()
def extract_batch(manifest: Path, index: int) -> Reports:
    """Extract from one batch."""
    return extract_portion(manifest, index, os.environ)


# What was handed over is not handed over again, so repeating is safe.
@task(cache_policy=NO_CACHE, retries=2, retry_delay_seconds=[5, 30], retry_jitter_factor=0.5)
@discreet_errors()
def hand_over_questions(manifest: Path) -> Report:
    """Send what is to be answered at a batch price."""
    return hand_over(manifest, os.environ)


def extract_all(tally: Tally) -> None:
    """Extract from every batch of the plan."""
    each(extract_batch, tally, tally.plan.batches)
    if tally.plan.by_batch:
        once(hand_over_questions, tally)
