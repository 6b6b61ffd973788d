"""Compaction: append a summary to every session whose context has grown too large for its client.

Gated per session by its size, rest, failures in a row and what a person took back. It appends to transcripts, rewrites
and deletes nothing, and what it appended can be taken back. A second run finds nothing new and appends nothing.
"""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from slowwave.jobs.parameters import CompactParameters
from tasks.stages import carry_out, planned, published


@flow(name="compact")
def compact(params: CompactParameters = CompactParameters()) -> State[dict[str, Any]]:  # noqa: B008 - frozen by use
    """Compact the sessions of every project.

    Args:
        params: Which sessions are compacted, and how; the defaults are the settings'.
    """
    with planned("compact", params) as tally:
        carry_out(tally)
        return published(tally)
