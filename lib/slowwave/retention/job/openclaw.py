"""OpenClaw's own session maintenance, carried out as part of a run: under every guard, into archive and trash.

Gate: ``retention.openclaw = "own"``; by default it is left to the client. May remove sessions of the JSON store and
entries that lead to no transcript. A second run finds nothing to do. What the client's settings say counts; where they
cannot be read, or ``mode`` is ``warn``, nothing goes and the report says so.
"""

import secrets
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from slowwave.errors import UnreadableError, told
from slowwave.report import Item, Report
from slowwave.retention.job.context import Context
from slowwave.retention.job.failing import note_failure, reason_of
from slowwave.retention.job.fleet import Fleet, Member
from slowwave.retention.job.plan import Plan
from slowwave.retention.job.traces import BY_RUN, of_item
from slowwave.retention.policy import Subject, Verdict
from slowwave.retention.policy.decide import Guard
from slowwave.stores.client_index import entry_note
from slowwave.stores.openclaw.store import NAME, read_store
from slowwave.stores.openclaw.upkeep import Goes, upkeep
from slowwave.stores.openclaw.upkeep_look import client_session_settings, look_at
from slowwave.stores.openclaw.upkeep_rules import UpkeepRules, upkeep_rules
from slowwave.stores.trash import TrashItem, throw_away

_RULE = "openclaw"


class Loose(NamedTuple):
    """An entry that leads to no transcript any more."""

    store: Path
    key: str


class Upkeep(NamedTuple):
    """What maintenance adds to a plan: the plan with it, and entries without a transcript."""

    plan: Plan
    loose: list[Loose]


def with_upkeep(plan: Plan, run: Context) -> Upkeep:
    """Return a plan with what maintenance of the stores of OpenClaw removes, each step in the client's order.

    A session that goes by the rules of slowwave goes once; ``retention.per_run`` counts what is added, too.
    """
    goes, waits, stays, loose = list(plan.goes), list(plan.waits), list(plan.stays), list[Loose]()
    known = {verdict.subject.id for verdict in (*goes, *waits, *stays)}
    subjects = {subject.id: subject for subject in run.fleet.subjects()}
    for folder in sorted(_folders(run.fleet)):
        for one in _due(folder, run.now, run.report):
            found = [subject for name in one.names if (subject := subjects.get(f"{folder}/{name}")) is not None]
            if not found and one.step == "pruneAfter" and not one.names:
                loose.append(Loose(folder / NAME, one.key))
            for subject in found:
                if subject.id in known or not run.may_touch(subject.project):
                    continue
                known.add(subject.id)
                _put(_verdict(subject, one, run.guards), goes, waits, stays, run.rules.per_run)
    rest = [verdict for verdict in plan.rest if verdict.subject.id not in known]
    return Upkeep(Plan(goes, waits, stays, rest, plan.shortfalls), loose if run.chosen is None else [])


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
            run.report.items.append(Item(str(store), "refused", f"openclaw: {reason_of(error, store)}"))
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


def _put(verdict: Verdict, goes: list[Verdict], waits: list[Verdict], stays: list[Verdict], per_run: int) -> None:
    where = stays if verdict.guard else goes if len(goes) < per_run else waits
    where.append(verdict)


def _verdict(subject: Subject, one: Goes, guard: Guard) -> Verdict:
    why = guard(subject)
    return Verdict(subject, not why, f"{_RULE}.{one.step}", why)


def _folders(fleet: Fleet) -> set[Path]:
    """Return the folders of JSON stores that sessions lie in."""
    files = (_first(member) for member in fleet.members.values() if _is_file_of_openclaw(member))
    return {path.parent for path in files if path.with_name(NAME).is_file()}


def _first(member: Member) -> Path:
    return member.session.files.paths[0]


def _is_file_of_openclaw(member: Member) -> bool:
    return member.session.dialect == "openclaw" and not member.session.in_database


def due_by_client(fleet: Fleet, times: Iterable[float], report: Report) -> Iterator[tuple[Member, float]]:
    """Yield the sessions that the client itself removes by some times, each once, with the first of these times.

    Args:
        fleet: all sessions.
        times: in seconds since 1970, the earliest first.
        report: gets a warning for each store of which nobody knows what goes.
    """
    moments = list(times)
    for folder in sorted(_folders(fleet)):
        try:
            rules, looked = upkeep_rules(client_session_settings(folder)), look_at(folder)
        except (UnreadableError, OSError) as error:
            report.warnings.append(f"rescue: nobody knows what OpenClaw removes: {reason_of(error, folder)}")
            continue
        met: set[str] = set()
        for at in moments if rules.enforces else ():
            names = [name for one in upkeep(*looked, rules, at * 1000) for name in one.names]
            for key in dict.fromkeys(f"{folder}/{name}" for name in names):
                if key not in met and key in fleet.members:
                    met.add(key)
                    yield fleet.members[key], at


def _due(folder: Path, now: datetime, report: Report) -> list[Goes]:
    try:
        rules = upkeep_rules(client_session_settings(folder))
        looked = look_at(folder)
    except UnreadableError as error:
        report.warnings.append(f"openclaw: no maintenance: {error}")
        return []
    except OSError as error:
        report.warnings.append(f"openclaw: no maintenance: {told(error, folder)}")
        return []
    return _enforced(upkeep(*looked, rules, now.timestamp() * 1000), rules, folder, report)


def _enforced(goes: list[Goes], rules: UpkeepRules, folder: Path, report: Report) -> list[Goes]:
    report.warnings += [f"openclaw: {folder}: {problem}" for problem in rules.problems]
    if goes and not rules.enforces:
        report.warnings.append(f"openclaw: {folder}: {len(goes)} would go, and its settings only warn")
    return goes if rules.enforces else []
