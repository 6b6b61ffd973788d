"""The end of a run: what is recorded of it, in both ways, and that nothing about it costs a night."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slowwave.context import FixedClock, Run
from slowwave.errors import UnreadableError
from slowwave.jobs import story
from slowwave.jobs.portions import extract_portion, group_portion
from slowwave.jobs.status import lately, standings
from slowwave.jobs.steps import consolidate
from slowwave.jobs.story import Tally, plan_job, run_job
from slowwave.memory.candidates import read_candidates
from slowwave.memory.delivery import Rule
from slowwave.memory.delivery.files import install
from slowwave.observability.lessons import Ask
from slowwave.observability.night import Night, history_path, read_nights
from slowwave.observability.page import report_path
from slowwave.samples import build, secrets
from slowwave.settings import load_settings
from tests.unit.observability.receiver import receiving

NOW = datetime(2026, 11, 20, 22, 0, tzinfo=UTC)


def sample_run(home: Path, *, overrides: tuple[str, ...] = (), **more: Any) -> Run:
    build(home, NOW)
    environ = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "XDG_DATA_HOME": str(home / "data")}
    return Run("r1", load_settings(environ, cwd=home, overrides=overrides), FixedClock(NOW), environ, **more)


def nights_of(run: Run) -> list[Night]:
    nights, problems = read_nights(run.environ)
    assert problems == []
    return nights


def test_a_night_is_recorded_with_what_it_did(tmp_path: Path):
    run = sample_run(tmp_path)
    report = run_job("nightly", run)
    (night,) = nights_of(run)
    assert (night.job, night.run_id, night.at, night.outcome) == ("nightly", "r1", NOW.isoformat(), "Completed")
    assert (night.dreams, night.failed, night.partial) == (2, 0, False)
    assert night.counts == report.counts
    assert night.memories == sum(folder.memories for folder in night.folders) > 20
    assert (night.backlog, night.oldest) == (0, "")
    assert set(night.steps) == {"extract", "consolidate", "retain"}
    assert sum(night.steps.values()) <= night.seconds
    assert report_path(run.environ).read_text().startswith("<!doctype html>")
    assert "spans" not in report.to_builtins()


@pytest.mark.parametrize("on", [None, True, False])
def test_a_night_names_the_clients_that_its_memories_do_not_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on: bool | None
):
    def unfit(root: str, _: object) -> str:
        return "" if "tern" in root else "not there"

    monkeypatch.setattr("slowwave.jobs.conclusion.unfit", unfit)
    monkeypatch.setattr("slowwave.memory.delivery.unfit", unfit)
    run = sample_run(tmp_path)
    if on is not None:
        install([], [Rule(on=True), Rule(on=on, client="codex")], run.settings, run.environ)
    learned = run_job("nightly", run).learned
    unloaded, reaches = (
        {name.rpartition("-")[2]: of for name, of in learned[key].items()} for key in ("unloaded", "reaches")
    )
    assert reaches["tern"]["cersei"] == "loaded: it reads MEMORY.md by itself"
    assert reaches["quill"]["pi"] == "not loaded: not there"
    assert re.match("not loaded: it reads AGENTS.md .*; slowwave install ", reaches["tern"]["codex"])
    if on is None:
        assert "codex" in unloaded["tern"]
        assert "quill" not in unloaded  # nobody could write a file there
        assert not any("claude" in of for of in unloaded.values())
    else:
        assert unloaded == {}


def test_a_dry_run_leaves_no_trace(tmp_path: Path):
    run = sample_run(tmp_path, dry_run=True)
    run_job("nightly", run)
    assert not history_path(run.environ).exists()
    assert not report_path(run.environ).exists()


def test_what_waits_for_evidence_is_no_backlog_and_what_no_dream_saw_is(tmp_path: Path):
    run = sample_run(tmp_path)
    run_job("extract", run)
    (night,) = nights_of(run)
    assert night.backlog == night.counts["candidates"]
    assert night.oldest == "2026-11-20T22:00:00Z"
    rows, _ = standings(run.settings, run.environ, run.clock)
    # what a copy of a session says, too, waits once
    memories = [path.parents[1] for path in tmp_path.rglob("candidates.jsonl")]
    assert sum(row.backlog for row in rows) == sum(len({c.text for c in read_candidates(m)[0]}) for m in memories)
    run_job("consolidate", replace(run, id="r2", clock=FixedClock(NOW + timedelta(minutes=5))))
    assert nights_of(run)[-1].counts["waiting"] > 0
    assert nights_of(run)[-1].backlog == 0


def test_candidates_that_were_noted_nobody_knows_when_cost_no_night(tmp_path: Path):
    run = sample_run(tmp_path)
    run_job("extract", run)
    for path in tmp_path.rglob("candidates.jsonl"):
        path.write_bytes(path.read_bytes().replace(b'"at":"2026-11-20T22:00:00Z"', b'"at":"yesterday"'))
    run_job("extract", replace(run, id="r2", clock=FixedClock(NOW + timedelta(days=30))))
    first, second = nights_of(run)
    assert (second.backlog, second.oldest) == (first.backlog, "")


def test_portions_of_a_flow_record_the_same_night(tmp_path: Path):
    direct = sample_run(tmp_path / "direct")
    run_job("nightly", direct)
    run = sample_run(tmp_path / "flow")
    tally = Tally(plan_job("nightly", run))
    for index in range(tally.plan.batches):
        tally.add(extract_portion(tally.plan.manifest, index, run.environ))
    for index in range(tally.plan.groups):
        tally.add(group_portion(tally.plan.manifest, consolidate, index, run.environ))
    _, concluded = tally.concluded(run.environ)
    assert concluded is not None
    (expected,), (night,) = nights_of(direct), nights_of(run)
    assert concluded.night == night
    for name in set(night.__struct_fields__) - {"seconds", "steps", "slowest"}:
        assert getattr(night, name) == getattr(expected, name), name


def test_a_run_that_cannot_begin_is_recorded_and_raises(tmp_path: Path):
    run = sample_run(tmp_path, overrides=(f"store.roots={tmp_path / 'away'}",))
    with pytest.raises(UnreadableError):
        run_job("nightly", run)
    (night,) = nights_of(run)
    assert (night.outcome, night.failed) == ("Broken", 1)
    assert [alarm.name for alarm in night.alarms] == ["failures"]


def test_a_name_that_a_person_mistyped_is_no_night(tmp_path: Path):
    run = sample_run(tmp_path, project="tren")
    with pytest.raises(story.SlowwaveError):
        run_job("nightly", run)
    assert nights_of(run) == []


def test_a_history_that_is_no_file_costs_the_record_only(tmp_path: Path):
    run = sample_run(tmp_path)
    history_path(run.environ).mkdir(parents=True)
    report = run_job("nightly", run)
    assert len(report.dream_ids) == 2
    assert any(warning.startswith("history: ") for warning in report.warnings)


def test_no_planted_secret_reaches_the_history_or_the_page(tmp_path: Path):
    run = sample_run(tmp_path)
    run_job("nightly", run)
    told = history_path(run.environ).read_text() + report_path(run.environ).read_text()
    for name, secret in secrets().items():
        assert secret not in told, name


def test_status_tells_the_last_night_its_alarms_and_what_is_left(tmp_path: Path):
    run = sample_run(tmp_path, overrides=("model.budget_tokens=5000",))
    run_job("nightly", run)
    past = lately(run.settings.model, run.environ, NOW + timedelta(hours=3))
    assert past.last == nights_of(run)[0]
    assert (past.hours, past.last_good, past.alarms) == (3.0, NOW.isoformat(), [])
    assert past.budget.tokens == 5000
    rows, _ = standings(run.settings, run.environ, FixedClock(NOW + timedelta(hours=3)))
    assert {row.due_at for row in rows} == {"2026-11-21T18:00:00Z"}
    assert all(row.last_change.startswith("d20261120T220000Z") for row in rows)


def test_status_without_a_history_says_nothing_of_it(tmp_path: Path):
    run = sample_run(tmp_path)
    assert lately(run.settings.model, run.environ, NOW).last is None


def test_a_run_reaches_its_collector_and_what_cannot_be_told_is_a_warning(tmp_path: Path):
    pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")
    with receiving() as receiver:
        run = sample_run(tmp_path, overrides=(f"telemetry.otlp={receiver.address}", "alarms.webhook=nowhere"))
        report = run_job("extract", run)
        assert [path for path, _ in receiver.got] == ["/v1/traces", "/v1/metrics"]
        assert [warning.partition(":")[0] for warning in report.warnings] == ["alarms.webhook"]
        receiver.status = 400
        again = run_job("extract", replace(run, id="r2"))
    assert any(warning.startswith("telemetry.otlp: the collector at") for warning in again.warnings)
    assert again.failures == []


def test_who_asks_about_one_project_is_told_what_waits_in_that_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asks = [Ask(kind="fact", project=f"-home-ana-{name}", id=name, text=name, why="?") for name in ("tern", "quill")]

    def asked(*_: object) -> tuple[list[Ask], list[str]]:
        return asks, []

    monkeypatch.setattr("slowwave.observability.memories.asked", asked)
    every = run_job("nightly", sample_run(tmp_path))
    assert [ask["id"] for ask in every.learned["asks"]] == ["tern", "quill"]
    one = run_job("nightly", sample_run(tmp_path, project="tern", force=True))
    assert [ask["id"] for ask in one.learned["asks"]] == ["tern"]
