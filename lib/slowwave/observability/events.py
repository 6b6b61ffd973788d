"""The events that a scheduler gets of a run: one that it is over, and one for each alarm."""

from dataclasses import dataclass, field
from typing import Any

from slowwave.observability.night import Night

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
