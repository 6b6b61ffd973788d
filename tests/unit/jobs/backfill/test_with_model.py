"""Backfills that ask a model: what a preview says it will cost, what is metered, and that nothing is paid twice."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slowwave.jobs.backfill import plan, shard
from slowwave.jobs.backfill.folder import Folder, Result, backfills_folder
from slowwave.jobs.status import unfinished
from slowwave.memory.candidates import read_candidates
from slowwave.report import Report
from tests.faults.backfilled import NOW, fill
from tests.model_server.scripted import Reply, ScriptedServer, completion, note, notes, number_of, serving
from tests.unit.jobs.backfill.rig import World, filled


def thrifty(asked: dict[str, Any]) -> Reply:
    """Answer as a server with a tokenizer of its own: 4.1 characters to a token, and answers of different length."""
    material = "".join(message["content"] for message in asked["messages"])
    number = material.count("pnpm") % 5
    answer = {"operations": [], "aside": ["x" * 90 * n for n in range(number)]}
    return Reply(completion(json.dumps(answer), usage=(round(len(material) / 4.1), 9 + 40 * number)))


def with_model(server: ScriptedServer, **more: object) -> list[str]:
    settings = {"base_url": server.base_url, "name": "m", "retries": 0, **more}
    return [f"model.{name}={value}" for name, value in settings.items()]


def metered(report: Report) -> int:
    return report.counts["model_prompt_tokens"] + report.counts["model_completion_tokens"]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with serving(thrifty) as running:
        yield running


def test_a_preview_foresees_the_tokens_that_are_metered(tmp_path: Path, server: ScriptedServer):
    world = World(tmp_path)
    fill(tmp_path, 40, projects=3)
    how = {"overrides": with_model(server, price_input=2, price_output=8), "now": NOW}
    first = world.backfill("b0", action="preview", **how)
    assert server.requests == []
    report = world.backfill("b1", limit=20, **how)
    # before anything is known of the model the interval is wide, and holds the truth
    assert first.counts["tokens_foreseen_low"] / 2 < metered(report) < first.counts["tokens_foreseen_high"]
    foreseen = world.backfill("b2", dry_run=True, **how)
    report = world.backfill("b3", **how)
    assert foreseen.counts["tokens_foreseen"] == pytest.approx(metered(report), rel=0.1)
    assert foreseen.counts["questions_foreseen"] == report.counts["model_answers"]
    assert foreseen.counts["micro_usd_foreseen"] == pytest.approx(report.counts["model_micro_usd"], rel=0.1)
    assert "measured in 1 earlier backfills" in str(foreseen.items)


def test_a_damaged_list_of_past_runs_costs_a_run_nothing_but_a_warning(tmp_path: Path, server: ScriptedServer):
    world = filled(tmp_path)
    (backfills_folder(world.environ)).mkdir(parents=True)
    (backfills_folder(world.environ) / "past.json").write_bytes(b"x")
    report = world.backfill(overrides=with_model(server))
    assert any("past.json: is not a list of past runs" in warning for warning in report.warnings)
    assert (report.counts["extracted"], unfinished(world.environ)) == (12, ([], []))


def test_a_sample_tells_as_much(tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch):
    from slowwave.jobs.backfill import preview  # noqa: PLC0415 - patched right here

    monkeypatch.setattr(preview, "MOST_SESSIONS", 24)
    world = World(tmp_path)
    fill(tmp_path, 90, projects=3)
    how = {"overrides": with_model(server), "now": NOW}
    world.backfill("b1", limit=10, **how)
    foreseen, report = world.backfill("b2", dry_run=True, **how), world.backfill("b3", **how)
    assert "24 of " in str(foreseen.items)
    assert foreseen.counts["tokens_foreseen"] == pytest.approx(metered(report), rel=0.1)
    low, high = foreseen.counts["tokens_foreseen_low"], foreseen.counts["tokens_foreseen_high"]
    assert low <= metered(report) <= high


def test_a_batch_price_is_half(tmp_path: Path, server: ScriptedServer):
    world = filled(tmp_path)
    prices = {"price_input": 1000, "price_output": 1000}
    whole = world.backfill(dry_run=True, overrides=with_model(server, **prices))
    half = world.backfill(dry_run=True, overrides=with_model(server, batch="true", **prices))
    assert half.counts["micro_usd_foreseen"] == pytest.approx(whole.counts["micro_usd_foreseen"] / 2, rel=1e-3)
    assert "at a batch price" in str(half.items)


def remembers(asked: dict[str, Any]) -> Reply:
    """Note the rule of a session, if there is one."""
    material = asked["messages"][-1]["content"]
    if "the schema at v3" not in material:
        return notes()
    at = number_of(material, "the schema at v3")
    return notes(note("The schema stays at version three.", (at, "keep the schema at v3"), category="decision"))


def test_answers_that_were_paid_are_not_asked_for_again_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plan.cut, "__kwdefaults__", {"most_sessions": 4, "enough_bytes": 1 << 30})
    with serving(remembers) as server:
        world, whole = filled(tmp_path / "killed"), filled(tmp_path / "whole")
        how: dict[str, Any] = {"overrides": with_model(server)}
        assert whole.backfill(**how).counts["model_answers"] == 12
        once = len(server.requests)
        write, left = Folder.write_result, [2]

        def killed(folder: Folder, piece: int, result: Result) -> None:
            left[0] -= 1
            if not left[0]:
                raise KeyboardInterrupt
            write(folder, piece, result)

        monkeypatch.setattr(shard.Folder, "write_result", killed)
        with pytest.raises(KeyboardInterrupt):
            world.backfill(**how)
        monkeypatch.setattr(shard.Folder, "write_result", write)
        report = world.backfill(action="resume", backfill="b1")
        assert len(server.requests) == 2 * once == 2 * report.counts["model_answers"]
    assert {n: d.replace(b"/killed/", b"/whole/") for n, d in world.memories().items()} == whole.memories()
    ranges = [r for p in world.store.glob("*/memory") for r in read_candidates(p)[1]]
    assert len({r.session.id for r in ranges if r.extractor == "model/3:m"}) == 12


def test_a_model_that_is_set_later_reads_what_the_miners_have_read(tmp_path: Path):
    with serving(remembers) as server:
        world = filled(tmp_path)
        world.backfill()
        how: dict[str, Any] = {"overrides": with_model(server)}
        assert "not by the model that is set" in str(world.backfill(action="coverage", **how).items)
        report = world.backfill("b2", **how)
        assert (report.counts["unchanged"], report.counts["model_answers"]) == (12, 12)
        assert world.backfill("b3", action="coverage", **how).items[-1].reason.startswith("100 %")
        asked = len(server.requests)
        assert "nothing" in world.backfill("b4", **how).warnings[0]
        assert len(server.requests) == asked


def test_a_budget_holds_for_the_whole_run_and_the_next_one_goes_on(tmp_path: Path):
    with serving(remembers) as server:
        world = filled(tmp_path)
        report = world.backfill(overrides=with_model(server, budget_tokens=9000))
        assert 0 < report.counts["model_answers"] < 12
        assert report.counts["model_postponed"] == 12 - report.counts["model_answers"]
        again = world.backfill("b2", overrides=with_model(server))
        assert again.counts["model_answers"] == report.counts["model_postponed"]
