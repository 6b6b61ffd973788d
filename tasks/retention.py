"""Retention over all projects together, as one task run: quotas, forks and the trash know no projects."""

import os
from pathlib import Path

from slowwave.jobs.portions import retain_portion
from slowwave.jobs.totals import Tally
from slowwave.report import Report
from tasks.portions import once_for
from tasks.repeating import repeatable

TIMEOUT_S = 4 * 3600


# Every step is safe to repeat: a run that follows a killed one settles what that left and goes on.
@repeatable(timeout_s=TIMEOUT_S)
def retain_sessions(manifest: Path, project: str) -> Report:
    """Archive and remove what the rules say."""
    return retain_portion(manifest, os.environ, project)


@repeatable(timeout_s=TIMEOUT_S)
def retain_at_the_end(manifest: Path, project: str) -> Report:
    """Archive and remove what the rules say, after what the night wrote."""
    return retain_portion(manifest, os.environ, project, "nightly")


def retain_all(tally: Tally, project: str) -> None:
    """Apply the rules to everything in the plan."""
    once_for(retain_sessions if tally.plan.job == "retain" else retain_at_the_end, tally, project)
