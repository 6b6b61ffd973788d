"""The dream: turn the facts that wait into memories, project by project.

Gated by time, changed sessions and the lock. It changes lines of slowwave and of agents, never a person's; a dream is
one transaction with an undo, and contradicted memories are superseded, not deleted. A second run finds its gates
closed.
"""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from slowwave.jobs.parameters import ConsolidateParameters
from tasks.stages import carry_out, planned, published


@flow(name="consolidate")
def consolidate(params: ConsolidateParameters = ConsolidateParameters()) -> State[dict[str, Any]]:  # noqa: B008 - frozen
    """Consolidate every project.

    Args:
        params: Which projects dream, and who decides; the defaults are the settings'.
    """
    with planned("consolidate", params) as tally:
        carry_out(tally)
        return published(tally)
