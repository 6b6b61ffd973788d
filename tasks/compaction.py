"""Compact the sessions of groups of projects, one task run a group."""

import os
from pathlib import Path

from slowwave.jobs.portions import Reports, compact_portion
from slowwave.jobs.totals import Tally
from tasks.portions import each
from tasks.repeating import repeatable

# Longer than any night; it only breaks a hung file system out.
TIMEOUT_S = 4 * 3600


# What was compacted holds nothing new, so repeating is safe.
@repeatable(named="compact-{index}", timeout_s=TIMEOUT_S)
def compact_group(manifest: Path, index: int) -> Reports:
    """Compact the sessions of one group of projects."""
    return compact_portion(manifest, index, os.environ)


def compact_all(tally: Tally) -> None:
    """Compact in every group of the plan, one after another: large sessions fill the memory of a machine."""
    each(compact_group, tally, tally.plan.groups)
