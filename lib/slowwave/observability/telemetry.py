"""What a run tells other machines: logs, traces and metrics, and its alarms by webhook."""

import logging
import socket
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from slowwave.errors import ServerError, SettingsError
from slowwave.observability.night import Night
from slowwave.observability.progress import LeftBy, Watcher, words
from slowwave.report import Report, Span, counted
from slowwave.secrets import NAMELESS, logger_of
from slowwave.settings import AlarmSettings, TelemetrySettings

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricsData
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan

# What a run logs: its stages, the phases of its dreams, what was refused, damaged or failed, and how it ended.
#
# As a JSON object a line for machines that collect them, where the settings ask for it; a scheduler keeps the same
# lines with its run (``tasks/runs.py``).

ROOT = "slowwave"
log = logger_of(__name__)


class JsonFormatter(logging.Formatter):
    """Makes one JSON object of a record: what is always there, and the fields that it was given."""

    def __init__(self, run_id: str) -> None:
        """Note the run that every line names."""
        super().__init__()
        self._run_id = run_id

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without secrets and without line ends."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": NAMELESS(record.getMessage()),
            "run_id": self._run_id,
            **getattr(record, "fields", {}),
        }
        if record.exc_info or record.exc_text:
            line["error"] = NAMELESS(record.exc_text or self.formatException(record.exc_info or (None, None, None)))
        return msgspec.json.encode(line).decode()


@contextmanager
def json_logs(place: str, run_id: str) -> Generator[None]:
    """Write what slowwave logs inside to ``place``: a file, ``-`` for standard error, or nothing for ""."""
    if not place:
        yield
        return
    handler = _handler(place)
    handler.setFormatter(JsonFormatter(run_id))
    with closing(handler), heard_by(handler):
        yield


@contextmanager
def heard_by(handler: logging.Handler) -> Generator[None]:
    """Give a handler everything that slowwave logs inside."""
    root = logging.getLogger(ROOT)
    level = root.level
    root.addHandler(handler)
    root.setLevel(min(level or logging.INFO, logging.INFO))
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def _handler(place: str) -> logging.Handler:
    if place == "-":
        return logging.StreamHandler(sys.stderr)
    try:
        path = Path(place).expanduser()
        if not path.exists():
            path.touch(mode=0o600)
        # many processes may append: every line is one write
        return logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise SettingsError("telemetry.log_file", place, f"cannot be opened: {error.strerror}") from error


# what a step is told to have done besides the time that it took
_TOLD = ("extracted", "candidates", "compacted", "pruned", "replaced", "removed", "rescued", "purged")


def is_told(record: logging.LogRecord) -> bool:
    """Say whether a line is about something that was done or went wrong: who watches a run is told no more of each."""
    return not getattr(record, "is_routine", False)


def log_step(span: Span, done: str = "", *, name: str = "", is_routine: bool = False) -> None:
    """Log that a step is over.

    Args:
        span: the step, and how long it took.
        done: what it did, in words.
        name: what people call its project.
        is_routine: nothing was done, see :func:`is_told`.
    """
    fields = {"event": "step", "step": span.step, "project": span.project, "seconds": round(span.seconds, 3)}
    about = f"{span.step} of {name or span.project or 'all projects'}"
    extra = {"fields": fields, "is_routine": is_routine}
    log.info("%s: %s%.1f s", about, f"{done}, " if done else "", span.seconds, extra=extra)


def log_report(report: Report, names: Mapping[str, str] | None = None) -> None:
    """Log what one step came to: how long it took, what a dream did, and what was refused, damaged or failed.

    Where nobody listens nothing is said: Python itself would print warnings, and the report holds them. ``names`` are
    what people call projects, by their keys.
    """
    if not log.hasHandlers():
        return
    names, is_routine = names or {}, not report.did_something
    done = ", ".join(counted(name, report.counts[name]) for name in _TOLD if report.counts.get(name))
    for span in report.spans:
        log_step(span, done, name=names.get(span.project, ""), is_routine=is_routine)
    for project, dream in report.phases.items():
        fields = {"event": "dream", "project": project, **msgspec.to_builtins(dream)}
        is_new = bool(dream.gathered or dream.pruned)
        told = str(dream) if is_new else "nothing new to dream over"
        extra = {"fields": fields, "is_routine": not is_new}
        log.info("%s: %s", names.get(project, project), told, extra=extra)
    for gate in report.gates:
        if not gate.passed:
            name = names.get(gate.project, gate.project)
            log.info("%s: not now: %s", name, gate.reason, extra={"is_routine": True})
    for warning in report.warnings:
        log.warning("%s", warning)
    for failure in report.failures:
        log.error("%s", failure)


class LoggedStages:
    """Logs each stage of a run in plain words, and tells whoever else watches."""

    def __init__(self, other: Watcher) -> None:
        """Note who else watches."""
        self._other = other

    def plan(self, step: str, total: int, left: LeftBy | None = None) -> None:
        """Log that a stage begins."""
        log.info("%s%s", words(step), f", in {total} parts" if total > 1 else "")
        self._other.plan(step, total, left)

    def done(self, step: str, what: str) -> None:
        """Pass it on."""
        self._other.done(step, what)


def log_night(night: Night, why: str) -> None:
    """Log how a run ended, with the sentence that says why, and each of its alarms."""
    for alarm in night.alarms:
        if alarm.name == "failures" and not log.hasHandlers():
            continue  # Python itself would print it, and who began the run prints each failure
        fields = {"event": "alarm", "alarm": alarm.name, "count": alarm.count}
        # where Python itself prints it, the line says what it is; a log has a field for that
        told = alarm.summary if log.hasHandlers() else f"alarm {alarm.name}: {alarm.summary}"
        log.warning("%s", told, extra={"fields": fields})
    fields = {
        "event": "run",
        "job": night.job,
        "outcome": night.outcome,
        "seconds": night.seconds,
        "counts": night.counts,
    }
    log.info("%s: %s", night.outcome, why, extra={"fields": fields})


# OpenTelemetry: a night as a trace, its numbers as metrics, sent to a collector at its end.
#
# Spans are made from what was timed (:class:`slowwave.report.Span`), also in other processes; so nothing of
# OpenTelemetry is imported, and no thread of it runs, unless ``telemetry.otlp`` names a collector. Attributes are names
# of projects and numbers; words of a transcript are in none.

# a collector refuses requests of many megabytes
MOST_SPANS = 2000
_NS = 1_000_000_000


def export(night: Night, spans: Sequence[Span], settings: TelemetrySettings) -> None:
    """Send a night to the collector, or raise after the time limit."""
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


# Alarms by webhook: one JSON object by POST, once a run, with a time limit, and without a secret in it.


def body_of(night: Night) -> bytes:
    """Return what is posted: which run on which machine, and its alarms."""
    alarms = [{"name": a.name, "summary": NAMELESS(a.summary), "count": a.count} for a in night.alarms]
    text = "\n".join(f"{alarm['name']}: {alarm['summary']}" for alarm in alarms)
    about = {"source": "slowwave", "host": socket.gethostname(), "job": night.job, "run_id": night.run_id}
    # chat services show `text`; the rest is for programs
    return msgspec.json.encode({**about, "at": night.at, "outcome": night.outcome, "text": text, "alarms": alarms})


def post(night: Night, settings: AlarmSettings) -> None:
    """Post the alarms of a night, where it has any; the address is checked every night.

    Raises SettingsError: the address is none; ServerError: nobody takes it; the message names the host only, since the
    rest of such an address is a secret.
    """
    host = host_of(settings.webhook)
    if not night.alarms:
        return
    import urllib.request  # noqa: PLC0415 - few nights raise an alarm
    from http.client import HTTPException  # noqa: PLC0415 - as above
    from urllib.error import HTTPError, URLError  # noqa: PLC0415 - as above

    class Straight(urllib.request.HTTPRedirectHandler):
        """Follows nobody: an alarm goes where the settings say, and nowhere else."""

        def redirect_request(self, *_args: Any, **_more: Any) -> None:
            """Refuse."""

    head = {"Content-Type": "application/json", "User-Agent": "slowwave"}
    try:
        request = urllib.request.Request(settings.webhook, body_of(night), head, method="POST")  # noqa: S310 - see host_of
        with urllib.request.build_opener(Straight).open(request, timeout=settings.timeout.total_seconds()):
            pass
    except HTTPError as error:
        error.close()
        raise ServerError(f"{host} answered {error.code} to {len(night.alarms)} alarms") from None
    except URLError as error:
        raise ServerError(f"{host} did not take {len(night.alarms)} alarms ({error.reason})") from None
    except (OSError, HTTPException) as error:
        # what http.client says of an odd address quotes it
        raise ServerError(f"{host} did not take {len(night.alarms)} alarms ({type(error).__name__})") from None


def host_of(address: str, key: str = "alarms.webhook") -> str:
    """Return the host of an address, the only part of it that is no secret."""
    try:
        place = urlsplit(address)
    except ValueError:
        place = urlsplit("")
    if place.scheme not in ("http", "https") or not place.hostname:
        raise SettingsError(key, "***", "write an address that begins with http:// or https://")
    return place.hostname
