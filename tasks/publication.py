"""Show what a run did: artifacts that people read, and the state that the run ends in."""

import os
from typing import Any

from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from slowwave.jobs.conclusion import outcome_of
from slowwave.jobs.story import Tally, funnel, memory_diff, plan_rows, printable, reclaimed, retained_rows
from slowwave.report import Report
from slowwave.retention.audit import AuditLog
from tasks.announcement import announce


def published(tally: Tally) -> State[dict[str, Any]]:
    """Publish the artifacts of a run and return its final state, which carries the report."""
    (report, concluded), job = tally.concluded(os.environ), tally.plan.job
    announce(concluded)
    create_table_artifact(funnel(tally), key=f"{job}-funnel", description="From sessions to memories")
    if tally.plan.dry_run:
        create_table_artifact(plan_rows(report), key=f"{job}-plan", description="What a run would do now")
    else:
        create_markdown_artifact(
            memory_diff(report, tally.diffs()), key=f"{job}-memory-diff", description="What changed, and why"
        )
    return _state(tally, report)


def published_retention(tally: Tally) -> State[dict[str, Any]]:
    """Publish what retention did, or would do, and what that has come to over time."""
    report, concluded = tally.concluded(os.environ)
    announce(concluded)
    create_table_artifact(retained_rows(report), key="retain-plan", description="What goes, what stays, and why")
    create_markdown_artifact(
        reclaimed(AuditLog(os.environ).lines()), key="retain-reclaimed", description="Bytes removed and freed by week"
    )
    return _state(tally, report)


def _state(tally: Tally, report: Report) -> State[dict[str, Any]]:
    outcome = outcome_of(report, dry_run=tally.plan.dry_run)
    message, data = printable(outcome.message), report.to_builtins()
    if outcome.name == "Failed":
        return Failed(message=message, data=data)
    return Completed(name=outcome.name, message=message, data=data)
