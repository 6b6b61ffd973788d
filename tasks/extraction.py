"""Extract from batches of sessions, one task run a batch."""

import os
from pathlib import Path

from slowwave.jobs.portions import Reports, extract_portion, hand_over
from slowwave.jobs.totals import Tally
from slowwave.report import Report
from tasks.portions import each, once
from tasks.repeating import repeatable

# Longer than any night; it only breaks a hung file system out.
TIMEOUT_S = 4 * 3600


# Bytes that were read once are not read again, so repeating is safe.
@repeatable(named="extract-{index}", timeout_s=TIMEOUT_S)
def extract_batch(manifest: Path, index: int) -> Reports:
    """Extract from one batch."""
    return extract_portion(manifest, index, os.environ)


# What was handed over is not handed over again, so repeating is safe.
@repeatable()
def hand_over_questions(manifest: Path) -> Report:
    """Send what is to be answered at a batch price."""
    return hand_over(manifest, os.environ)


def extract_all(tally: Tally) -> None:
    """Extract from every batch of the plan."""
    each(extract_batch, tally, tally.plan.batches)
    if tally.plan.by_batch:
        once(hand_over_questions, tally)
