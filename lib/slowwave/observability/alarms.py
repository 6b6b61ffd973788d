"""Alarms: what a run that ended well would otherwise hide. Pure: the history and the settings go in, alarms come out.

An alarm is raised again every night until its cause is gone, always under the same name; only a type of record is
told once. Nights without new sessions say nothing: a holiday is no failure.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import takewhile
from typing import Any

from slowwave.observability.night import STOPPED, Alarm, Night
from slowwave.settings.model import AlarmSettings

# jobs that together turn sessions into memories
REMEMBERING = ("nightly", "extract", "consolidate")
_MOST_NAMED = 3


def alarms_of(earlier: Sequence[Night], night: Night, settings: AlarmSettings) -> list[Alarm]:
    """Return the alarms that a night raises."""
    found: list[Alarm] = [*_failures(night), *_stopped(earlier, night)]
    if night.job in REMEMBERING:
        found += _silence([*earlier, night], settings.silent_nights)
        found += _backlog(night, settings.backlog)
    return [*found, *_loss(night), *_rescue(night), *_unknown(earlier, night)]


def _failures(night: Night) -> Iterator[Alarm]:
    if night.failed:
        first = night.failures[0] if night.failures else "see the report of the run"
        yield Alarm("failures", f"{_number(night.failed, 'failure')} in {night.job}, first: {first}", night.failed)


def _stopped(earlier: Sequence[Night], night: Night) -> Iterator[Alarm]:
    """Look for runs that this one found stopped, and not by somebody: nobody else could tell of them."""
    found = [one for one in earlier if one.outcome == STOPPED and one.found_by == night.run_id and not one.ended]
    if found:
        last = found[-1]
        what = f"{last.job} of {last.began:%Y-%m-%d %H:%M}" + (f" and {len(found) - 1} more" if len(found) > 1 else "")
        yield Alarm("stopped", f"{what}: {last.failures[0]}", len(found))


def _silence(nights: Sequence[Night], most: int) -> Iterator[Alarm]:
    """Look for days in a row on which there was something to remember, and nobody dreamt."""
    if not most:
        return
    if vanished := _vanished(nights):
        yield Alarm("silence", f"no session is found any more where {vanished} were; check store.roots", 1)
        return
    days = [day for day in _days(nights) if any(n.changed or n.dreams or n.parked for n in day)]
    silent = list(takewhile(lambda day: not any(n.dreams or n.parked for n in day), reversed(days)))
    if len(silent) < most:
        return
    runs = [night for day in silent for night in day]
    closed: Counter[str] = Counter()
    for night in runs:
        closed.update(night.refusals)
    gates = ", ".join(f"{gate} {_number(number, 'time')}" for gate, number in closed.most_common(_MOST_NAMED))
    why = f"gates refused: {gates}" if gates else "no gate refused"
    noted = sum(night.counted("candidates") for night in runs)
    what = f"{_number(len(silent), 'night')} with new sessions gave {_number(noted, 'fact')} and no dream"
    yield Alarm("silence", f"{what}; {why}; slowwave status says more", len(silent))


def _vanished(nights: Sequence[Night]) -> int:
    """Return how many sessions there were when the last whole run found some, if now there are none."""
    whole = [night for night in nights if night.job in REMEMBERING and not night.partial and night.has_looked]
    if not whole or whole[-1] is not nights[-1] or whole[-1].sessions:
        return 0
    return next((night.sessions for night in reversed(whole) if night.sessions), 0)


def _days(nights: Iterable[Night]) -> list[list[Night]]:
    """Return the remembering runs of each day together: extraction and dreams may be scheduled apart."""
    days: dict[date, list[Night]] = {}
    for night in nights:
        if night.job in REMEMBERING:
            days.setdefault(night.began.date(), []).append(night)
    return list(days.values())


def _backlog(night: Night, longest: timedelta) -> Iterator[Alarm]:
    if not longest or not night.oldest:
        return
    age = night.began - datetime.fromisoformat(night.oldest)
    if age > longest:
        what = f"{_number(night.backlog, 'fact')} in the backlog of dreams, the oldest for {age.days} days"
        yield Alarm("backlog", f"{what}; slowwave status says why", age.days)


def _loss(night: Night) -> Iterator[Alarm]:
    if night.lossy:
        what = f"{_number(len(night.lossy), 'dream')} parked for losing too much, first: {night.lossy[0]}"
        yield Alarm("loss", f"{what}; slowwave memory review decides", len(night.lossy))


def _rescue(night: Night) -> Iterator[Alarm]:
    if left := night.counted("rescue_left_out"):
        what = f"{_number(left, 'session')} that their client deletes soon found no room in the archive"
        yield Alarm("rescue", f"{what}; raise retention.rescue_max_bytes", left)


def _unknown(earlier: Sequence[Night], night: Night) -> Iterator[Alarm]:
    """Look for types of records that no night has met before: a client may have changed its format."""
    known = {kind for one in earlier for kind in one.unknown}
    new = [kind for kind in night.unknown if kind not in known]
    if new:
        more = f" and {len(new) - _MOST_NAMED} more" if len(new) > _MOST_NAMED else ""
        what = f"records of unknown types appeared: {', '.join(new[:_MOST_NAMED])}{more}"
        yield Alarm(
            "unknown-records",
            f"{what}; nothing of them is lost, but nothing in them is read; a newer slowwave may know them",
            len(new),
        )


def _number(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


# The events that a scheduler gets of a run: one that it is over, and one for each alarm.

OVER = "slowwave.run.over"
ALARM = "slowwave.alarm"


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name, the resource that it is about, and what goes with it."""

    name: str
    resource: dict[str, str]
    payload: dict[str, Any] = field(default_factory=dict[str, Any])


def events_of(night: Night, host: str) -> list[Event]:
    """Return the events of a run: ``slowwave.run.over`` and ``slowwave.alarm.NAME``, about the job on its machine.

    The resource is the same every night, so that an automation can wait for the next event of it.
    """
    about = {
        "prefect.resource.id": f"slowwave.{night.job}.{host}",
        "prefect.resource.name": f"{night.job} on {host}",
        "slowwave.job": night.job,
        "slowwave.host": host,
    }
    run = {"run_id": night.run_id, "outcome": night.outcome}
    over = Event(OVER, about, {**run, "seconds": night.seconds, "failures": night.failed, "dreams": night.dreams})
    alarms = [
        Event(f"{ALARM}.{alarm.name}", about, {**run, "summary": alarm.summary, "count": alarm.count})
        for alarm in night.alarms
    ]
    return [over, *alarms]
