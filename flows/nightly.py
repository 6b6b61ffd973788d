"""The night: read what is new in every session, dream over every project; compact and retain where settings say so.

Gated by the gates of each step, project by project. It adds to memory folders and, only with compaction.nightly, to
transcripts; it archives what Claude Code deletes soon; only with retention.enforce it removes sessions, which wait in
the trash and stay in the archive. Every dream, compaction and removal can be undone. A second run finds nothing new.
"""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from slowwave.jobs.parameters import NightlyParameters
from tasks.stages import carry_out, planned, published


@flow(name="nightly")
def nightly(params: NightlyParameters = NightlyParameters()) -> State[dict[str, Any]]:  # noqa: B008 - frozen by use
    """Extract from every session, consolidate every project, compact and retain where it was asked for.

    Args:
        params: What this night does and over which projects; the defaults are the settings'.
    """
    with planned("nightly", params) as tally:
        carry_out(tally)
        return published(tally)
