"""Read a past range, one task run a shard, and let each land in the memory folders in the order of the plan."""

import os
from functools import partial
from pathlib import Path
from typing import Any

from prefect import task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State

from slowwave.jobs.backfill import UNFINISHED, Begun, at_once, begin, lead
from slowwave.jobs.backfill.landing import land_shard
from slowwave.jobs.backfill.plan import table_of
from slowwave.jobs.backfill.shard import Done, ShardReader, reading
from slowwave.jobs.conclusion import Ended, outcome_of
from slowwave.jobs.parameters import Action, BackfillParameters
from slowwave.jobs.run import discreet
from slowwave.jobs.story import printable
from slowwave.observability.progress import watched_by, watcher
from slowwave.report import Report
from tasks.runs import Shown, discreet_errors, name_for, name_run, repeatable
from tasks.stages import announce, state_of

# Longer than any shard; it only breaks a hung file system out.
TIMEOUT_S = 24 * 3600


@task(cache_policy=NO_CACHE, timeout_seconds=TIMEOUT_S)
@discreet_errors()
def answer_backfill(given: BackfillParameters) -> Ended | None:
    """Do what needs no shard to be read: a preview, coverage, a pause, a rollback."""
    if given.dry_run or given.action not in ("run", "resume"):
        name_for("preview" if given.dry_run else given.action)
    return at_once(given, os.environ)


@task(cache_policy=NO_CACHE, timeout_seconds=TIMEOUT_S)
@discreet_errors()
def begin_backfill(given: BackfillParameters) -> Begun:
    """Plan a run, or take up one that is there."""
    return begin(given, os.environ)


# Pieces that were read are not read again, so repeating is safe.
@repeatable(named="read-{number}", timeout_s=TIMEOUT_S)
def read_one_shard(read: ShardReader, folder: Path, number: int) -> Done:
    """Read one shard, by whatever means."""
    return read(folder, number)


# What has landed does not land again, so repeating is safe.
@repeatable(named="land-{number}", timeout_s=TIMEOUT_S)
def land_one_shard(folder: Path, number: int) -> Report:
    """Let one shard land."""
    return discreet(land_shard(folder, number, os.environ))


def backfilled(given: BackfillParameters) -> Ended:
    """Read every shard of a run and let it land, one after another; a pause ends it."""
    begun = begin_backfill(given)
    if not begun.shards:
        return Ended(discreet(begun.report))
    name_run(printable(begun.title))
    with (
        reading(begun.runner, begun.folder, begun.shards, os.environ) as read,
        watched_by(Shown("backfill-progress", "read", watcher())),
    ):
        return lead(begun, os.environ, partial(read_one_shard, read), land_one_shard)


def published_backfill(ended: Ended, action: Action, *, dry_run: bool) -> State[dict[str, Any]]:
    """Publish what a backfill did, or would do, and return its final state, which carries the report."""
    report = ended.report
    announce(ended.concluded)
    create_table_artifact(table_of(report), key="backfill", description="What of the range was, or would be, read")
    outcome = outcome_of(report, dry_run=dry_run)
    name, message = outcome.name, outcome.message
    if ended.concluded and not report.failures:
        name = ended.concluded.night.outcome
    if action == "pause" or name == UNFINISHED:
        name, message = UNFINISHED, "; ".join([*(item.reason for item in report.items), *report.warnings])
    return state_of(name, message, report)
