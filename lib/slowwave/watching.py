"""Settings of what watches a run: alarms, logs and telemetry; none of them changes what a job does."""

from datetime import timedelta
from typing import Annotated

import msgspec
from msgspec import Meta


class AlarmSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a run that ended well is an alarm all the same, and who is told."""

    silent_nights: Annotated[
        int, Meta(ge=0, description="Nights in a row with new sessions and without a dream; 0 never alarms")
    ] = 7
    backlog: Annotated[
        timedelta, Meta(description="A fact that no dream has looked at for this long; 0s never alarms")
    ] = timedelta(days=14)
    webhook: Annotated[
        str, Meta(description="Address that gets alarms as one JSON object by POST; empty tells nobody")
    ] = ""
    timeout: Annotated[timedelta, Meta(description="Longest wait for the webhook")] = timedelta(seconds=10)


class TelemetrySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Logs and telemetry for machines; both off by default."""

    log_file: Annotated[str, Meta(description="File that gets a JSON object a line of log; - is standard error")] = ""
    otlp: Annotated[
        str,
        Meta(
            description="OpenTelemetry collector (OTLP over HTTP) such as http://127.0.0.1:4318; needs slowwave[otel]"
        ),
    ] = ""
    timeout: Annotated[timedelta, Meta(description="Longest wait for the collector")] = timedelta(seconds=10)
