"""From sessions and rules to what a run does: what goes now, what waits for a later run, and what stays and why."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from slowwave.report import RetainItem
from slowwave.retention.job.context import Context
from slowwave.retention.job.fleet import Fleet
from slowwave.retention.policy import Decision, Rules, Subject, Verdict, decide
from slowwave.retention.policy.decide import Guard, Shortfall
from slowwave.retention.policy.model import KEEPS, LIMITS
from slowwave.settings import RetentionSettings

# the word for an item of the report
REMOVE, REMOVED, REFUSED, WAIT, STAY = "remove", "removed", "refused", "wait", "stay"
# what the sessions wait for that are more than one run removes
LATER = "goes in a later run (retention.per_run)"


class Plan(NamedTuple):
    """What a run does.

    Attributes:
        goes: what is to be removed, the oldest first.
        waits: what is to be removed by later runs.
        stays: what would go, and a guard keeps.
        rest: what no rule lets go.
        shortfalls: limits that cannot be reached, since a guard keeps what is above them.
    """

    goes: list[Verdict]
    waits: list[Verdict]
    stays: list[Verdict]
    rest: list[Verdict]
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
    rest = [v for v in decision.verdicts if not (v.removes or v.guard) and _is_chosen(v.subject, chosen)]
    rest.sort(key=lambda verdict: (verdict.subject.at, verdict.subject.id))
    return Plan(goes[: rules.per_run], goes[rules.per_run :], stays, rest, _told(decision, chosen))


def asked_to_confirm(plan: Plan, run: Context) -> str:
    """Return why a plan is carried out only when ``retention.confirm`` allows as many sessions, or ""."""
    number = len(plan.goes) + len(plan.waits)
    every = sum(run.may_touch(member.project.key) for member in run.fleet.members.values())
    ages = (rules.max_age for rules in (run.rules, *run.rules.classes))
    if run.rules.confirm is not None and number <= run.rules.confirm:
        return ""
    if 2 * number > every:
        why = "more than half"
    elif number and any(age is not None and age.is_nothing for age in ages):
        why = "whatever their age"
    else:
        return ""
    return f"{number} of {every} sessions would go, {why}: say --confirm {number} (retention.confirm)"


def note_plan(plan: Plan, run: Context, waits_for: str) -> None:
    """Put what stays, and what waits and for what, into the report; what goes is told when it went."""
    report = run.report
    report.count("sessions", len(run.fleet.members))
    for verdict in plan.stays:
        refuse(run, verdict, verdict.guard)
    for verdict in plan.waits:
        report.count("waiting")
        note(run, verdict, WAIT, waits_for)
    for short in plan.shortfalls:
        report.count("shortfalls")
        where = " / ".join(short.group) or "all of its sessions"
        unit = "bytes" if short.rule == "max_bytes" else "sessions"
        report.warnings.append(f"retention.{short.rule}: {where}: {short.over} {unit} too many, all of which must stay")


def note_planned(plan: Plan, run: Context) -> None:
    """Put what would go, and what no rule lets go, into the report of a dry run: it lists every session."""
    for verdict in plan.goes:
        run.report.count("would_remove")
        run.report.count("would_remove_bytes", verdict.subject.size)
        note(run, verdict, REMOVE, f"retention.{verdict.rule} says that it goes")
    for verdict in plan.rest:
        note(run, verdict, STAY, _reason_to_stay(verdict, run.rules.rules_of(verdict.subject)[1]))


def refuse(run: Context, verdict: Verdict, guard: str) -> None:
    """Note a session that stays although a rule says that it goes."""
    name, _, why = guard.partition(": ")
    run.report.count("refused")
    run.report.count(f"refused_{name.replace(' ', '_')}")
    note(run, verdict, REFUSED, f"{name}: {why} (retention.{verdict.rule} says that it goes)", name)


def note(run: Context, verdict: Verdict, action: str, reason: str, guard: str = "", *, size: int = -1) -> None:
    """Add an item about a session; ``size`` is what it took in fact, where that is known."""
    subject = verdict.subject
    member = run.fleet.members[subject.id]
    prefix, rules = run.rules.rules_of(subject)
    now = run.now.astimezone()
    at = datetime.fromtimestamp(subject.at, UTC).astimezone()
    due = rules.max_age.over(at) if rules.max_age is not None else None
    run.report.items.append(
        RetainItem(
            member.session.id,
            action,
            reason,
            member.project.key,
            rule=verdict.rule,
            guard=guard,
            bytes=subject.size if size < 0 else size,
            at=at.isoformat(timespec="seconds"),
            age_days=round((now - at) / timedelta(days=1), 1),
            limit=", ".join(f"{prefix}{name} = {getattr(rules, name)}" for name in _deciding(verdict.rule, rules)),
            due=due.isoformat(timespec="seconds") if due is not None else "",
        )
    )


def _deciding(rule: str, rules: Rules) -> list[str]:
    """Return the names of the settings that decided: those of a verdict, or all that let it be."""
    named = rule.split(", ")
    wanted = named if set(named) <= {*LIMITS, *KEEPS} else KEEPS if rule == "keep" else () if rule else LIMITS
    return [name for name in wanted if getattr(rules, name) is not None]


def _reason_to_stay(verdict: Verdict, rules: Rules) -> str:
    if verdict.rule == "future":
        return "its time has not come yet: the clock of whoever wrote it was ahead"
    if verdict.rule:
        return f"retention.{verdict.rule} keeps it"
    return "within all limits" if rules.limits else "no rule speaks of it"


def _is_chosen(subject: Subject, chosen: Collection[str] | None) -> bool:
    return chosen is None or subject.project in chosen


def _told(decision: Decision, chosen: Collection[str] | None) -> list[Shortfall]:
    return [one for one in decision.shortfalls if chosen is None or not one.group or one.group[1] in chosen]
