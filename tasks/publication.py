"""Show what a run did: artifacts that people read, and the state that the run ends in."""

from typing import Any

from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from slowwave.jobs.outcome import outcome_of
from slowwave.jobs.pages import funnel, memory_diff, plan_rows, printable
from slowwave.jobs.tally import Tally


def published(tally: Tally) -> State[dict[str, Any]]:
    """Publish the artifacts of a run and return its final state, which carries the report."""
    report, job = tally.total(), tally.plan.job
    create_table_artifact(funnel(tally), key=f"{job}-funnel", description="From sessions to memories")
    if tally.plan.dry_run:
        create_table_artifact(plan_rows(report), key=f"{job}-plan", description="What a run would do now")
    else:
        create_markdown_artifact(
            memory_diff(report, tally.diffs()), key=f"{job}-memory-diff", description="What changed, and why"
        )
    outcome = outcome_of(report, dry_run=tally.plan.dry_run)
    message, data = printable(outcome.message), report.to_builtins()
    if outcome.name == "Failed":
        return Failed(message=message, data=data)
    return Completed(name=outcome.name, message=message, data=data)
