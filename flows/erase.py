"""Erasure: take every secret out of transcripts at rest and out of what slowwave wrote.

Without ``apply`` (or ``retention.enforce``) it shows its plan and changes nothing. It overwrites secrets byte for byte
in the files of clients that slowwave may write to, and cannot be taken back. A second run finds nothing.
"""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from slowwave.jobs.parameters import EraseParameters
from tasks.stages import carry_out, planned, published


@flow(name="erase")
def erase(params: EraseParameters = EraseParameters()) -> State[dict[str, Any]]:  # noqa: B008 - frozen by use
    """Take the secrets out of every project, then out of what belongs to none.

    Args:
        params: Which projects secrets are taken out of, and whether only the plan is shown.
    """
    with planned("erase", params) as tally:
        carry_out(tally)
        return published(tally)
