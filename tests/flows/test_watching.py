"""Who watches a run sees the same through Prefect as without it: progress, log, history, report."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowwave.observability.history import read_nights
from slowwave.observability.page.store import report_path
from slowwave.observability.progress import watched_by
from slowwave.samples import build
from tests.flows.test_jobs import artifacts, flow_state, given

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_server")]

NOW = datetime(2026, 3, 9, 6, 30, tzinfo=UTC)


class Notes:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, object]] = []

    def plan(self, step: str, total: int) -> None:
        self.told.append((step, total))

    def done(self, step: str, what: str) -> None:
        self.told.append((step, what))


def test_a_night_through_prefect_is_watched_logged_and_recorded(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = build(own_home, NOW).home
    log = tmp_path / "log.jsonl"
    notes = Notes()
    with watched_by(notes):
        state = flow_state("nightly", given(store, overrides=[f"telemetry.log_file={log}"]), monkeypatch)
    assert state.name == "Completed"
    assert notes.told == [
        *(("look", 1), ("look", "")),
        *(("extract_batch", 1), ("extract_batch", "1 of 1")),
        *(("consolidate_group", 1), ("consolidate_group", "1 of 1")),
        *(("propose_shared", 1), ("propose_shared", "")),
        *(("retain_at_the_end", 1), ("retain_at_the_end", "")),
    ]
    environ = {"HOME": str(own_home), "XDG_STATE_HOME": str(own_home / "state")}
    (night,), problems = read_nights(environ)
    assert problems == []
    assert (night.job, night.run_id, night.dreams) == ("nightly", "r1", 2)
    assert {span.step for span in night.slowest} == {"extract", "consolidate", "retain"}
    assert report_path(environ).is_file()
    events = [json.loads(line)["event"] for line in log.read_text().splitlines() if "event" in json.loads(line)]
    assert events.count("step") >= 4
    assert events[-1] == "run"
    assert artifacts("nights")[0].data.startswith("## Alarms")


def test_a_night_that_cannot_begin_is_recorded(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = flow_state("nightly", given(tmp_path / "away"), monkeypatch)
    assert state.type.value == "FAILED"
    (night,), _ = read_nights({"HOME": str(own_home), "XDG_STATE_HOME": str(own_home / "state")})
    assert (night.outcome, [alarm.name for alarm in night.alarms]) == ("Broken", ["failures"])
