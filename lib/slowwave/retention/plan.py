"""From sessions and rules to what a run does: what goes now, what waits for a later run, and what stays and why."""

import secrets
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from slowwave.errors import UnreadableError, told
from slowwave.formats.notes import entry_note
from slowwave.formats.openclaw.store import NAME, read_store
from slowwave.quantities import counted
from slowwave.report import Item, Report, RetainItem
from slowwave.retention.audit import BY_RUN, of_item
from slowwave.retention.context import Context, note_failure
from slowwave.retention.policy import Guard, Shortfall, Verdict, decide
from slowwave.retention.sessions import Fleet, Member
from slowwave.settings import RetentionSettings
from slowwave.settings.model import KEEPS, LIMITS, Rules
from slowwave.stores.trash import TrashItem, throw_away
from slowwave.stores.upkeep import Goes, Looked, UpkeepRules, client_session_settings, look_at, upkeep, upkeep_rules

# the word for an item of the report
REMOVE, REMOVED, REFUSED, WAIT, STAY = "remove", "removed", "refused", "wait", "stay"
# what the sessions wait for that are more than one run removes
LATER = "goes in a later run (retention.per_run)"


class Plan(NamedTuple):
    """What a run does."""

    goes: list[Verdict]  # what is to be removed, the oldest first
    waits: list[Verdict]  # what is to be removed by later runs
    stays: list[Verdict]  # what would go, and a guard keeps
    rest: list[Verdict]  # what no rule lets go
    shortfalls: list[Shortfall]  # limits that cannot be reached, since a guard keeps what is above them


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
    verdicts = [one for one in decision.verdicts if chosen is None or one.subject.project in chosen]
    verdicts.sort(key=lambda one: (one.subject.at, one.subject.id))
    goes = [one for one in verdicts if one.removes]
    stays = sorted((one for one in verdicts if one.guard), key=lambda one: one.subject.id)
    rest = [one for one in verdicts if not (one.removes or one.guard)]
    short = [one for one in decision.shortfalls if chosen is None or not one.group or one.group[1] in chosen]
    return Plan(goes[: rules.per_run], goes[rules.per_run :], stays, rest, short)


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
    return f"{number} of {counted(every, 'session')} would go, {why}: add --confirm {number} (retention.confirm)"


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
    return "within all limits" if rules.limits else "no rule lets it go: no max_age, max_count or max_bytes is set"


# OpenClaw's own session maintenance, carried out as part of a run: under every guard, into archive and trash.
#
# Gate: ``retention.openclaw = "own"``; by default it is left to the client. May remove sessions of the JSON store and
# entries that lead to no transcript. A second run finds nothing to do. What the client's settings say counts; where
# they cannot be read, or ``mode`` is ``warn``, nothing goes and the report says so.

_RULE = "openclaw"


class Loose(NamedTuple):
    """An entry that leads to no transcript any more."""

    store: Path
    key: str


def with_upkeep(plan: Plan, run: Context) -> tuple[Plan, list[Loose]]:
    """Return a plan with what maintenance of the stores of OpenClaw removes, and entries without a transcript.

    Each step comes in the client's order. A session that goes by the rules of slowwave goes once;
    ``retention.per_run`` counts what is added, too.
    """
    goes, waits, stays, loose = list(plan.goes), list(plan.waits), list(plan.stays), list[Loose]()
    known = {verdict.subject.id for verdict in (*goes, *waits, *stays)}
    subjects = {subject.id: subject for subject in run.fleet.subjects()}
    for folder in sorted(_folders(run.fleet)):
        for one in _due(folder, run):
            found = [subject for name in one.names if (subject := subjects.get(f"{folder}/{name}")) is not None]
            if not found and one.step == "pruneAfter" and not one.names:
                loose.append(Loose(folder / NAME, one.key))
            for subject in found:
                if subject.id not in known and run.may_touch(subject.project):
                    known.add(subject.id)
                    why = run.guards(subject)
                    where = stays if why else goes if len(goes) < run.rules.per_run else waits
                    where.append(Verdict(subject, not why, f"{_RULE}.{one.step}", why))
    rest = [verdict for verdict in plan.rest if verdict.subject.id not in known]
    return Plan(goes, waits, stays, rest, plan.shortfalls), loose if run.chosen is None else []


def tidy(loose: list[Loose], run: Context) -> None:
    """Move entries that lead to no transcript into the trash, store by store.

    Raises:
        CorruptStateError: the audit log is damaged.
        OSError: the audit log cannot be written.
    """
    for store in sorted({one.store for one in loose}):
        try:
            item = _thrown(store, {one.key for one in loose if one.store == store}, run)
        except Exception as error:  # noqa: BLE001 - counted, told, and no other store's matter
            run.report.count("openclaw_refused")
            run.report.items.append(Item(str(store), "refused", f"openclaw: {told(error, store)}"))
            note_failure(run.report, str(store), error, store)
            continue
        if item is None:
            continue
        run.log.append([of_item("trash", item, run.report.run_id)], run.now)
        run.report.count("openclaw_entries", len(item.notes))
        reason = f"{_RULE}.pruneAfter: leads to no transcript"
        run.report.items += [Item(note.key, "tidied", reason) for note in item.notes]


def _thrown(store: Path, keys: Collection[str], run: Context) -> TrashItem | None:
    entries = read_store(store)
    notes = tuple(entry_note(store, key, entry) for key, entry in entries.items() if key in keys)
    if not notes:
        return None
    return throw_away(
        (),
        run.trash,
        item_id=f"{run.now:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}",
        session=f"{store.parent.parent.name}-entries",
        dialect="openclaw",
        reason=f"{BY_RUN}{_RULE}.pruneAfter",
        at=run.now,
        notes=notes,
    )


def _folders(fleet: Fleet) -> set[Path]:
    """Return the folders of JSON stores that sessions lie in."""
    own = (one.session for one in fleet.members.values() if one.session.dialect == "openclaw")
    files = (session.files.paths[0] for session in own if not session.in_database)
    return {path.parent for path in files if path.with_name(NAME).is_file()}


def _store(folder: Path, report: Report, unknown: str) -> tuple[UpkeepRules, Looked] | None:
    """Return the rules and the content of a store; None, and a warning, where they cannot be read."""
    try:
        return upkeep_rules(client_session_settings(folder)), look_at(folder)
    except (UnreadableError, OSError) as error:
        report.warnings.append(f"{unknown}: {told(error, folder)}")
        return None


def due_by_client(fleet: Fleet, times: Iterable[float], report: Report) -> Iterator[tuple[Member, float]]:
    """Yield the sessions that the client itself removes by some times, each once, with the first of these times.

    Args:
        fleet: all sessions.
        times: in seconds since 1970, the earliest first.
        report: gets a warning for each store of which nobody knows what goes.
    """
    moments = list(times)
    for folder in sorted(_folders(fleet)):
        if (store := _store(folder, report, "rescue: cannot tell what OpenClaw removes")) is None:
            continue
        (rules, looked), met = store, set[str]()
        for at in moments if rules.enforces else ():
            names = [name for one in upkeep(*looked, rules, at * 1000) for name in one.names]
            for key in dict.fromkeys(f"{folder}/{name}" for name in names):
                if key not in met and key in fleet.members:
                    met.add(key)
                    yield fleet.members[key], at


def _due(folder: Path, run: Context) -> list[Goes]:
    report = run.report
    if (store := _store(folder, report, "openclaw: no maintenance")) is None:
        return []
    rules, looked = store
    goes = upkeep(*looked, rules, run.now.timestamp() * 1000)
    report.warnings += [f"openclaw: {folder}: {problem}" for problem in rules.problems]
    if goes and not rules.enforces:
        report.warnings.append(f"openclaw: {folder}: {len(goes)} would go, and its settings only warn")
    return goes if rules.enforces else []
