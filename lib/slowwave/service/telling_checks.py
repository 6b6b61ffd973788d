"""Checks of what tells people of a night: what would reach nobody is found here, not by a night that was not told."""

from collections.abc import Iterator
from importlib.util import find_spec

from slowwave.errors import SettingsError
from slowwave.observability.webhook import host_of
from slowwave.service.check import Check
from slowwave.settings import Settings


def telling(settings: Settings) -> Iterator[Check]:
    """Say where alarms and traces go, as far as the settings name a place; nothing is sent."""
    if settings.alarms.webhook:
        yield _address("webhook", settings.alarms.webhook, "alarms.webhook", "alarms")
    if settings.telemetry.otlp:
        if not _has_exporter():
            seen = "traces and metrics are wanted, and OpenTelemetry is not installed"
            yield Check("telemetry", ok=False, seen=seen, fix="install slowwave[otel], or leave telemetry.otlp empty")
        else:
            yield _address("telemetry", settings.telemetry.otlp, "telemetry.otlp", "traces and metrics")


def _has_exporter() -> bool:
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:  # a package above it
        return False


def _address(name: str, address: str, key: str, what: str) -> Check:
    try:
        return Check(name, ok=True, seen=f"{what} go to {host_of(address, key)}; nothing was sent now")
    except SettingsError as error:
        return Check(name, ok=False, seen=str(error), fix=f"correct {key}; until then {what} reach nobody")
