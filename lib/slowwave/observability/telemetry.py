"""OpenTelemetry: a night as a trace, its numbers as metrics, sent to a collector at its end.

Spans are made from what was timed (:class:`slowwave.report.Span`), also in other processes; so nothing of
OpenTelemetry is imported, and no thread of it runs, unless ``telemetry.otlp`` names a collector. Attributes are names
of projects and numbers; words of a transcript are in none.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from slowwave.errors import ServerError, SettingsError
from slowwave.observability.night import Night
from slowwave.report import Span
from slowwave.watching import TelemetrySettings

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricsData
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan

# a collector refuses requests of many megabytes
MOST_SPANS = 2000
_NS = 1_000_000_000


def export(night: Night, spans: Sequence[Span], settings: TelemetrySettings) -> None:
    """Send a night to the collector, or raise after the time limit.

    Raises:
        SettingsError: the packages of the extra ``otel`` are missing.
        ServerError: the collector does not take it.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: PLC0415 - optional
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - as above
        from opentelemetry.sdk.metrics.export import MetricExportResult  # noqa: PLC0415 - as above
        from opentelemetry.sdk.trace.export import SpanExportResult  # noqa: PLC0415 - as above
    except ImportError as error:
        raise SettingsError("telemetry.otlp", settings.otlp, "install slowwave[otel], or leave it empty") from error
    base, seconds = settings.otlp.rstrip("/"), settings.timeout.total_seconds()
    tracing = OTLPSpanExporter(endpoint=f"{base}/v1/traces", timeout=seconds)
    metering = OTLPMetricExporter(endpoint=f"{base}/v1/metrics", timeout=seconds)
    try:
        is_traced = tracing.export(trace_of(night, spans)) is SpanExportResult.SUCCESS
        is_metered = metering.export(metrics_of(night)) is MetricExportResult.SUCCESS  # pyright: ignore[reportUnknownMemberType]
    finally:
        tracing.shutdown()
        metering.shutdown()  # pyright: ignore[reportUnknownMemberType]
    if not (is_traced and is_metered):
        raise ServerError(f"the collector at {base} did not take the run; correct telemetry.otlp, or start it")


def trace_of(night: Night, spans: Sequence[Span]) -> "Sequence[ReadableSpan]":
    """Return a night as a trace: the run, and below it every step over every project, the longest 2,000."""
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - optional
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: PLC0415 - as above
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: PLC0415 - as above
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON  # noqa: PLC0415 - as above
    from opentelemetry.trace import Status, StatusCode, set_span_in_context  # noqa: PLC0415 - as above

    kept = InMemorySpanExporter()
    provider = TracerProvider(resource=_resource(), sampler=ALWAYS_ON, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("slowwave")
    shown = sorted(spans, key=lambda span: -span.seconds)[:MOST_SPANS]
    # the run's own clock may stand in the past (a backfill): the trace has the times that were measured
    begin = min((span.begin for span in spans), default=night.began.timestamp())
    end = max([begin + night.seconds, *(span.begin + span.seconds for span in shown)])
    root = tracer.start_span(f"slowwave.{night.job}", start_time=int(begin * _NS), attributes=_attributes(night))
    if night.failed:
        root.set_status(Status(StatusCode.ERROR, night.outcome))
    for span in shown:
        about = {"slowwave.step": span.step, "slowwave.project": span.project}
        child = tracer.start_span(
            span.step, set_span_in_context(root), start_time=int(span.begin * _NS), attributes=about
        )
        child.end(int((span.begin + span.seconds) * _NS))
    root.end(int(end * _NS))
    return kept.get_finished_spans()


def metrics_of(night: Night) -> "MetricsData":
    """Return the numbers of a night as gauges: each says what the last run saw."""
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415 - optional
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricsData  # noqa: PLC0415 - as above

    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], resource=_resource(), shutdown_on_exit=False)
    meter = provider.get_meter("slowwave")
    about = {"slowwave.job": night.job}
    for name, unit, value in _figures(night):
        meter.create_gauge(f"slowwave.{name}", unit=unit).set(value, about)
    counter = meter.create_gauge("slowwave.count", description="A counter of the report, by its name")
    for name, value in night.counts.items():
        counter.set(value, {**about, "slowwave.counter": name})
    refusals = meter.create_gauge("slowwave.refusals", description="How often a gate said no, by its name")
    for gate, times in night.refusals.items():
        refusals.set(times, {**about, "slowwave.gate": gate})
    data = reader.get_metrics_data()
    provider.shutdown()
    return data or MetricsData([])


def _figures(night: Night) -> list[tuple[str, str, float]]:
    return [
        ("run.duration", "s", night.seconds),
        ("projects", "1", night.projects),
        ("sessions", "1", night.sessions),
        ("dreams", "1", night.dreams),
        ("memories", "1", night.memories),
        ("backlog", "1", night.backlog),
        ("failures", "1", night.failed),
        ("alarms", "1", len(night.alarms)),
        ("model.tokens", "1", night.spent.prompt_tokens + night.spent.completion_tokens),
        ("model.cost", "USD", night.spent.usd),
    ]


def _attributes(night: Night) -> dict[str, str | int]:
    return {
        "slowwave.job": night.job,
        "slowwave.run_id": night.run_id,
        "slowwave.outcome": night.outcome,
        "slowwave.sessions": night.sessions,
        "slowwave.alarms": len(night.alarms),
    }


def _resource() -> "Resource":
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - optional

    return Resource.create({"service.name": "slowwave"})
