"""The flow of retention: the same bytes as a direct run, its plan as a table, and the freed bytes as a chart."""

import json
import os
from typing import Any

import pytest

from slowwave.retention.audit import AuditLog
from tests.flows.test_jobs import artifacts, flow_state, report_of
from tests.unit.retention.homes import Home

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_server")]

AGE = ["retention.max_age=30d", "retention.require_extracted=false", "retention.confirm=2"]


@pytest.fixture
def home(own_home: Any) -> Home:
    made = Home(own_home)
    made.add("claude", 1, 40, side=True)
    made.add("pi", 2, 40)
    made.add("pi", 3, 2)
    return made


def newest(key: str) -> Any:
    return max(artifacts(key), key=lambda artifact: artifact.created).data


def given(home: Home, **more: Any) -> dict[str, Any]:
    return {"overrides": AGE, "now": home.clock.at.isoformat(), "run_id": "r1", **more}


def test_without_apply_it_shows_its_plan(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    before = home.clients()
    state = flow_state("retain", given(home), monkeypatch)
    assert state.name == "Planned"
    assert report_of(state)["counts"]["would_remove"] == 2
    assert home.clients() == before
    rows = json.loads(newest("retain-plan"))
    assert [(row["action"], row["rule"]) for row in rows] == [("remove", "max_age")] * 2 + [("stay", "")]
    assert all(row["bytes"] > 0 for row in rows)


def test_it_leaves_what_a_direct_run_leaves(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    state = flow_state("retain", given(home, apply=True), monkeypatch)
    assert state.name == "Completed", state.message
    report = report_of(state)
    assert (report["counts"]["archived"], report["counts"]["removed"]) == (2, 2)
    assert [line.action for line in AuditLog(os.environ).lines()] == ["archive"] * 2 + ["trash"] * 2
    assert len(home.clients()) == 1
    chart = newest("retain-reclaimed")
    assert "| 2026-11-16 |" in chart
    home.clock.advance(days=8)
    state = flow_state("retain", given(home, apply=True, run_id="r2"), monkeypatch)
    assert report_of(state)["counts"]["freed"] == 2
    assert "█" in newest("retain-reclaimed")


def test_the_night_retains_where_the_rules_are_enforced(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    state = flow_state("nightly", given(home, overrides=[*AGE, "retention.enforce=true"]), monkeypatch)
    assert report_of(state)["counts"]["removed"] == 2
