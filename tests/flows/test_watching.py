"""Who watches a run sees the same through Prefect as without it: progress, log, history, report."""

import json
import logging
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from slowwave.observability.night import read_nights
from slowwave.observability.page import report_path
from slowwave.observability.progress import LeftBy, watched_by
from slowwave.samples import build
from slowwave.service.server import entrypoint_of, load_job
from tests.flows.test_jobs import artifacts, flow_state, given

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_server")]

NOW = datetime(2026, 3, 9, 6, 30, tzinfo=UTC)


class Notes:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, object]] = []

    def plan(self, step: str, total: int, left: LeftBy | None = None) -> None:
        del left
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
    # other tests of this server left theirs, in no certain order
    head = "## What your agents learned\n\nnightly r1: "
    told = [one.data for one in artifacts("nights") if one.data.startswith(head)]
    assert told
    assert all("\n## Alarms\n" in one for one in told)


def logs_of(run_id: UUID) -> list[tuple[int, str]]:
    """Return level and text of what stands in the log of a flow run, in order."""
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - tests of the library never pay for it
    from prefect.client.schemas.filters import LogFilter, LogFilterFlowRunId  # noqa: PLC0415 - as above
    from prefect.logging.handlers import APILogWorker  # noqa: PLC0415 - as above

    APILogWorker.drain_all(timeout=30)
    with get_client(sync_client=True) as client:
        wanted = LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run_id]))
        found = client.read_logs(wanted, limit=200)
    return [(one.level, one.message) for one in sorted(found, key=lambda one: one.timestamp)]


def name_of(run_id: UUID) -> str:
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - tests of the library never pay for it

    with get_client(sync_client=True) as client:
        return client.read_flow_run(run_id).name


def test_the_log_of_a_flow_run_tells_stages_phases_and_damage_and_its_name_and_end_what_it_was_about(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prefect.settings import PREFECT_LOGGING_TO_API_ENABLED, temporary_settings  # noqa: PLC0415 - as above

    store = build(own_home, NOW).home
    session = max((store / ".claude/projects/-home-ana-tern").glob("*.jsonl"), key=lambda path: path.stat().st_size)
    at = session.stat().st_mtime_ns
    whole = session.read_bytes()
    session.write_bytes(whole + b"{torn\n" + whole.splitlines(keepends=True)[-1])
    os.utime(session, ns=(at, at))
    level = logging.getLogger("slowwave").level
    with temporary_settings({PREFECT_LOGGING_TO_API_ENABLED: True}):
        state = flow_state("nightly", given(store), monkeypatch)
        told = logs_of(state.state_details.flow_run_id)
    lines = [text for _, text in told]
    assert {"reading sessions", "dreaming"} <= set(lines)
    phases = r"oriented on .*\d.*, gathered .*\d.*, consolidated .*\d.*, pruned .*\d"
    for name in ("tern", "quill"):
        assert any(re.match(f"{name}: {phases}", line) for line in lines), lines
    damage = f"{session}:{len(whole.splitlines()) + 1} "
    assert [(number, text[: len(damage)]) for number, text in told if number >= logging.WARNING] == [
        (logging.WARNING, damage)
    ]
    assert name_of(state.state_details.flow_run_id) == f"nightly {NOW.astimezone():%Y-%m-%d %H:%M} tern, quill"
    assert re.fullmatch(r"nightly r1 kept \d+ new memories, .* in \d+ sessions of 2 projects\.", state.message)
    assert (logging.getLogger("slowwave").level, logging.getLogger("slowwave").handlers) == (level, [])


def test_a_name_that_somebody_gave_a_run_stays(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = build(own_home, NOW).home
    monkeypatch.chdir(Path.cwd())
    flow = load_job(entrypoint_of("extract")).with_options(flow_run_name="before the release")
    state = flow(given(store), return_state=True)
    assert name_of(state.state_details.flow_run_id) == "before the release"


def test_a_night_that_cannot_begin_is_recorded(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = flow_state("nightly", given(tmp_path / "away"), monkeypatch)
    assert state.type.value == "FAILED"
    (night,), _ = read_nights({"HOME": str(own_home), "XDG_STATE_HOME": str(own_home / "state")})
    assert (night.outcome, [alarm.name for alarm in night.alarms]) == ("Broken", ["failures"])
