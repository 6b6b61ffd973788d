"""Tell the scheduler about a night: the report as an artifact, and events that automations wait for."""

import socket

from prefect.artifacts import create_markdown_artifact
from prefect.events import emit_event

from slowwave.jobs.conclusion import Concluded
from slowwave.observability.alarms import events_of
from slowwave.observability.page import markdown_of


def announce(concluded: Concluded | None) -> None:
    """Publish the report of the nights, and emit one event for the run and one for each of its alarms."""
    if concluded is None:
        return
    create_markdown_artifact(markdown_of(concluded.view), key="nights", description="The report of the nights")
    for event in events_of(concluded.night, socket.gethostname()):
        emit_event(event.name, resource=event.resource, payload=event.payload)
