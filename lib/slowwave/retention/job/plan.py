"""From sessions and rules to what a run does: what goes now, what waits for a later run, and what stays and why."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from slowwave.report import Report, RetainItem
from slowwave.retention.job.fleet import Fleet
from slowwave.retention.policy import Decision, Subject, Verdict, decide
from slowwave.retention.policy.decide import Guard, Shortfall
from slowwave.settings import RetentionSettings

# the word for an item of the report
REMOVE, REMOVED, REFUSED, WAIT = "remove", "removed", "refused", "wait"


class Plan(NamedTuple):
    """What a run does.

    Attributes:
        goes: what is to be removed, the oldest first.
        waits: what is to be removed by later runs.
        stays: what would go, and a guard keeps.
        shortfalls: limits that cannot be reached for that.
    """

    goes: list[Verdict]
    waits: list[Verdict]
    stays: list[Verdict]
    shortfalls: list[Shortfall]


def plan_removals(
    fleet: Fleet, rules: RetentionSettings, now: datetime, guard: Guard, chosen: Collection[str] | None = None
) -> Plan:
    """Return what to do about all sessions.

    Args:
        fleet: the sessions; quotas count all of them.
        rules: the policy.
        now: the current time, in the zone whose calendar counts.
        guard: why a session must stay, or "".
        chosen: keys of the projects in which something may go; None for all.
    """
    decision = decide(fleet.subjects(), rules, now, guard)
    goes = [verdict for verdict in decision.verdicts if verdict.removes and _is_chosen(verdict.subject, chosen)]
    goes.sort(key=lambda verdict: (verdict.subject.at, verdict.subject.id))
    stays = [verdict for verdict in decision.verdicts if verdict.guard and _is_chosen(verdict.subject, chosen)]
    stays.sort(key=lambda verdict: verdict.subject.id)
    return Plan(goes[: rules.per_run], goes[rules.per_run :], stays, _told(decision, chosen))


def note_plan(plan: Plan, fleet: Fleet, report: Report) -> None:
    """Put what stays and what waits into the report; what goes is told when it went."""
    report.count("sessions", len(fleet.members))
    for verdict in plan.stays:
        refuse(report, verdict, verdict.guard, fleet)
    for verdict in plan.waits:
        report.count("waiting")
        note(report, verdict, WAIT, "goes in a later run (retention.per_run)", fleet)
    for short in plan.shortfalls:
        report.count("shortfalls")
        where = " / ".join(short.group) or "all of its sessions"
        unit = "bytes" if short.rule == "max_bytes" else "sessions"
        report.warnings.append(f"retention.{short.rule}: {where}: {short.over} {unit} too many, all of which must stay")


def note_planned(plan: Plan, fleet: Fleet, report: Report) -> None:
    """Put what would go into the report of a dry run."""
    for verdict in plan.goes:
        report.count("would_remove")
        report.count("would_remove_bytes", verdict.subject.size)
        note(report, verdict, REMOVE, f"retention.{verdict.rule} says that it goes", fleet)


def refuse(report: Report, verdict: Verdict, guard: str, fleet: Fleet) -> None:
    """Note a session that stays although a rule says that it goes."""
    name, _, why = guard.partition(": ")
    report.count("refused")
    report.count(f"refused_{name.replace(' ', '_')}")
    note(report, verdict, REFUSED, f"{name}: {why} (retention.{verdict.rule} says that it goes)", fleet, name)


def note(
    report: Report, verdict: Verdict, action: str, reason: str, fleet: Fleet, guard: str = "", *, size: int = -1
) -> None:
    """Add an item about a session; ``size`` is what it took in fact, where that is known."""
    member = fleet.members[verdict.subject.id]
    size = verdict.subject.size if size < 0 else size
    item = RetainItem(
        member.session.id,
        action,
        reason,
        member.project.key,
        rule=verdict.rule,
        guard=guard,
        bytes=size,
    )
    report.items.append(item)


def _is_chosen(subject: Subject, chosen: Collection[str] | None) -> bool:
    return chosen is None or subject.project in chosen


def _told(decision: Decision, chosen: Collection[str] | None) -> list[Shortfall]:
    return [one for one in decision.shortfalls if chosen is None or not one.group or one.group[1] in chosen]
