"""The night: read what is new in every session, then dream over every project.

Gated by the gates of both steps, project by project. It adds to memory folders, never to transcripts, deletes nothing,
and every dream can be undone. A second run finds nothing new and says so.
"""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from slowwave.jobs.parameters import NightlyParameters
from tasks.consolidation import consolidate_all
from tasks.extraction import extract_all
from tasks.planning import planned
from tasks.publication import published


@flow(name="nightly")
def nightly(params: NightlyParameters = NightlyParameters()) -> State[dict[str, Any]]:  # noqa: B008 - frozen by use
    """Extract from every session, then consolidate every project."""
    with planned("nightly", params) as tally:
        extract_all(tally)
        consolidate_all(tally, params.project)
        return published(tally)
