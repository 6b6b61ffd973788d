"""Retention: archive what the rules no longer keep, move it into the trash, and free what has lain there long enough.

Without ``apply`` (or ``retention.enforce``) it shows its plan and changes nothing. It moves transcripts at rest that no
guard keeps; they can be restored from the trash for the grace period, and from the archive after it.
"""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from slowwave.jobs.parameters import RetainParameters
from tasks.stages import carry_out, planned, published_retention


@flow(name="retain")
def retain(params: RetainParameters = RetainParameters()) -> State[dict[str, Any]]:  # noqa: B008 - frozen by use
    """Apply the retention rules to every project.

    Args:
        params: Which projects the rules are applied to, and whether only the plan is shown.
    """
    with planned("retain", params) as tally:
        carry_out(tally)
        return published_retention(tally)
