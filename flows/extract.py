"""Extraction: read what is new in every session and note facts worth remembering, with their evidence.

Gated per session by messages, tool calls, open calls and idle time. It appends to ``extracted.md`` and
``candidates.jsonl`` of the memory folders and deletes nothing. A second run reads nothing again.
"""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from slowwave.jobs.parameters import ExtractParameters
from tasks.stages import carry_out, planned, published


@flow(name="extract")
def extract(params: ExtractParameters = ExtractParameters()) -> State[dict[str, Any]]:  # noqa: B008 - frozen by use
    """Extract from every session.

    Args:
        params: What is read; the defaults are the settings'.
    """
    with planned("extract", params) as tally:
        carry_out(tally)
        return published(tally)
