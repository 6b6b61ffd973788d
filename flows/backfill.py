"""Backfill: read a past range of sessions, as extraction would have, in shards that many machines may work on.

Gated per session as extraction is. It appends to ``extracted.md`` and ``candidates.jsonl`` of the memory folders; a
rollback takes every byte of a run out again. A run that was paused or killed goes on where it was, and a second run
over the same range finds nothing to do.
"""

import os
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from slowwave.jobs.parameters import BackfillParameters
from slowwave.locks import beside_jobs
from tasks.backfilling import answer_backfill, backfilled, published_backfill
from tasks.runs import discreet_errors, logged


@flow(name="backfill")
def backfill(params: BackfillParameters = BackfillParameters()) -> State[dict[str, Any]]:  # noqa: B008 - frozen by use
    """Read a past range of sessions, or preview, resume, pause or take back a backfill.

    Args:
        params: The range, how fast it is read, and what is to be done.
    """
    with logged(), beside_jobs(os.environ), discreet_errors():
        ended = answer_backfill(params) or backfilled(params)
        changes_nothing = params.dry_run or params.action in ("preview", "coverage")
        return published_backfill(ended, params.action, dry_run=changes_nothing)
