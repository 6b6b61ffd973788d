"""A night as a trace and as metrics: in memory, and over the wire to a collector on this machine."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import ServerError, SettingsError
from slowwave.observability.night import Night
from slowwave.observability.telemetry import MOST_SPANS, export, metrics_of, trace_of
from slowwave.report import Span
from slowwave.settings import TelemetrySettings
from tests.unit.observability.nights import a_busy_month, a_night
from tests.unit.observability.receiver import receiving

pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")

SPANS = [Span("extract", "-p", 1000.0, 2.5), Span("consolidate", "-p", 1002.5, 0.5), Span("retain", "", 1003.0, 0.25)]


def figures(night: Night) -> dict[str, Any]:
    data = metrics_of(night)
    points: dict[str, Any] = {}
    for resource in data.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for point in metric.data.data_points:
                    about = dict(point.attributes or {})
                    about.pop("slowwave.job")
                    points[" ".join([metric.name, *map(str, about.values())])] = getattr(point, "value", None)
    return points


def test_a_trace_has_the_run_and_its_steps_with_the_times_that_were_measured() -> None:
    spans = {span.name: span for span in trace_of(a_night(seconds=4.0), SPANS)}
    root = spans["slowwave.nightly"]
    assert set(spans) == {"slowwave.nightly", "extract", "consolidate", "retain"}
    assert (root.start_time, root.end_time) == (1000 * 10**9, 1004 * 10**9)
    assert (spans["extract"].start_time, spans["extract"].end_time) == (1000 * 10**9, 1002_500_000_000)
    for name in ("extract", "consolidate", "retain"):
        parent = spans[name].parent
        assert parent is not None
        assert root.context is not None
        assert parent.span_id == root.context.span_id
    assert dict(spans["extract"].attributes or {}) == {"slowwave.step": "extract", "slowwave.project": "-p"}
    assert root.resource.attributes["service.name"] == "slowwave"


def test_a_failed_night_is_an_error() -> None:
    (root,) = trace_of(a_night(failed=1, outcome="Failed"), [])
    assert (root.status.status_code.name, root.status.description) == ("ERROR", "Failed")


def test_only_the_longest_spans_go_out() -> None:
    many = [Span("extract", f"-p{n}", 1000.0 + n, float(n)) for n in range(MOST_SPANS + 50)]
    trace = trace_of(a_night(), many)
    assert len(trace) == MOST_SPANS + 1
    assert not any((span.attributes or {}).get("slowwave.project") == "-p0" for span in trace)


def test_metrics_are_what_was_recorded() -> None:
    night = a_busy_month()[29]
    told = figures(night)
    assert told["slowwave.sessions"] == 10_029
    assert told["slowwave.backlog"] == 29
    assert told["slowwave.model.tokens"] == 4_960_000
    assert told["slowwave.model.cost"] == 5.0
    assert told["slowwave.count candidates"] == 25
    assert told["slowwave.refusals messages"] == 31


def test_a_collector_gets_both_and_no_failure_of_any_session() -> None:
    night = a_night(failed=1, failures=["-p: session s1: words of a transcript"], counts={"candidates": 3})
    with receiving() as receiver:
        export(night, SPANS, TelemetrySettings(otlp=f"{receiver.address}/"))
    assert [path for path, _ in receiver.got] == ["/v1/traces", "/v1/metrics"]
    assert set(receiver.types) == {"application/x-protobuf"}
    assert not any(b"words of a transcript" in body for _, body in receiver.got)


def test_a_collector_that_refuses_is_told() -> None:
    with receiving() as receiver:
        receiver.status = 400
        with pytest.raises(ServerError, match="did not take the run"):
            export(a_night(), SPANS, TelemetrySettings(otlp=receiver.address, timeout=timedelta(seconds=2)))


def test_missing_packages_are_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(SettingsError, match=r"install slowwave\[otel\]"):
        export(a_night(), SPANS, TelemetrySettings(otlp="http://127.0.0.1:1"))


def test_nothing_of_it_is_imported_while_it_is_off(tmp_path: Path) -> None:
    program = """
import sys
from slowwave.cli import main
main(["run", "nightly", "--direct", "--json", "--sample", sys.argv[1]])
sys.exit(sum(name.partition(".")[0] == "opentelemetry" for name in sys.modules))
"""
    run = [sys.executable, "-c", program, str(tmp_path / "sample")]
    assert subprocess.run(run, capture_output=True, check=False).returncode == 0
