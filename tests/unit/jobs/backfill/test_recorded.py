"""What a backfill leaves in the history, the logs and the status, and what whoever watches it is told."""

import json
from pathlib import Path

import pytest

from slowwave.cli.screen import lines_of_backfill
from slowwave.cli.status import of_backfills
from slowwave.errors import UsageError
from slowwave.extraction import job
from slowwave.jobs.backfill import landing, plan, shard
from slowwave.jobs.backfill.folder import Folder, backfills_folder
from slowwave.jobs.conclusion import outcome_of
from slowwave.jobs.status import unfinished
from slowwave.observability.night import Night, read_nights, state
from slowwave.observability.progress import LOOK, LeftBy, read_notes, watched_by
from slowwave.report import Report
from tests.model_server.scripted import notes, serving
from tests.unit.jobs.backfill.rig import World, filled
from tests.unit.jobs.backfill.test_pace import paused_after


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Pieces and shards of few sessions, so that there are many."""
    monkeypatch.setattr(plan.cut, "__kwdefaults__", {"most_sessions": 2, "enough_bytes": 1 << 30})
    monkeypatch.setattr(plan.sharded, "__kwdefaults__", {"most_sessions": 4, "enough_bytes": 1 << 30})


def nights_of(world: World) -> list[Night]:
    nights, problems = read_nights(world.environ)
    assert problems == []
    assert read_notes(world.environ) == ([], [])
    return nights


def resume(world: World) -> Report:
    return world.backfill(action="resume", backfill="b1")


def test_a_backfill_is_a_line_of_the_history(tmp_path: Path):
    world = filled(tmp_path)
    report = world.backfill()
    (night,) = nights_of(world)
    assert (night.job, night.run_id, night.outcome) == ("backfill", "b1", "Completed")
    assert (night.sessions, night.counts) == (12, report.counts)
    assert night.backlog == report.counts["candidates"]
    assert set(night.steps) == {"read", "land"}
    assert (night.partial, night.alarms) == (False, [])


@pytest.mark.parametrize("action", ["preview", "coverage"])
def test_what_changes_nothing_is_none(tmp_path: Path, action: str):
    world = filled(tmp_path)
    world.backfill(action=action)
    assert nights_of(world) == []


def test_what_was_paused_and_resumed_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with serving(lambda _asked: notes()) as server:
        settings = {"base_url": server.base_url, "name": "m", "retries": 0}
        model = [f"model.{name}={value}" for name, value in settings.items()]
        world, whole = filled(tmp_path / "paused"), filled(tmp_path / "whole")
        left = [5]
        extract = shard.extract_one

        def count(*given: object) -> None:
            extract(*given)  # pyright: ignore[reportArgumentType]
            left[0] -= 1
            if not left[0]:
                world.backfill("p", action="pause", backfill="b1")

        whole.backfill(overrides=model)
        monkeypatch.setattr(shard, "extract_one", count)
        world.backfill(overrides=model)
        monkeypatch.setattr(shard, "extract_one", extract)
        report = resume(world)
    (once,), (first, second) = nights_of(whole), nights_of(world)
    assert (first.outcome, second.outcome) == ("Unfinished", "Completed")
    for name in ("extracted", "candidates", "model_answers", "model_prompt_tokens"):
        assert first.counted(name) + second.counted(name) == once.counted(name) == report.counts[name], name
        assert first.counted(name) > 0
        # what was read and not landed when it was paused, was read before
        assert report.before[name] >= first.counted(name), name
        assert report.now[name] + report.before[name] == once.counted(name)
    read = report.before["extracted"]
    assert 0 < read < 12
    told = [line.split(maxsplit=1) for line in lines_of_backfill(report.to_builtins())]
    parts = f"of them were read: {12 - read} now, {read} before"
    assert ["12", parts] in told
    assert parts in [row["text"] for row in plan.table_of(report) if row["what"] == "12"]
    assert outcome_of(report).message.startswith(f"backfill b1 read {12 - read} sessions")
    assert first.spent.prompt_tokens + second.spent.prompt_tokens == once.spent.prompt_tokens > 0
    assert first.counts["left"] == 8


def test_what_could_not_land_raises_an_alarm_and_waits_in_the_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    world = filled(tmp_path)

    def full(*_given: object) -> object:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(landing, "_land", full)
        world.backfill()
    (night,) = nights_of(world)
    assert [alarm.name for alarm in night.alarms] == ["failures"]
    (one,), problems = unfinished(world.environ)
    assert (one.how, one.sessions, one.read, one.pieces, one.of, problems) == ("failed", 12, 12, 6, 6, [])
    assert "No space left on device" in one.why
    assert one.command == "slowwave run backfill --resume b1"
    assert resume(world).failures == []
    assert unfinished(world.environ) == ([], [])
    assert nights_of(world)[-1].alarms == []


def test_what_could_not_land_keeps_a_run_from_its_end_whatever_its_project_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    world = World(tmp_path)
    world.add(1, "Always use pnpm for installs.", project="shop: new: odd")

    def full(*_given: object) -> object:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(landing, "_land", full)
        assert (
            "what was read is not added to every project yet; continue with --resume b1"
            in world.backfill().warnings[-1]
        )
    (one,), _ = unfinished(world.environ)
    assert one.how == "failed"
    assert resume(world).counts["candidates"] > 0
    assert world.memories() != {}


def test_a_session_that_cannot_be_read_keeps_no_run_from_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    world = filled(tmp_path, sessions=3, projects=1)

    def fails(*_given: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(job, "_lines", fails)
    assert len(world.backfill().failures) == 3
    assert unfinished(world.environ) == ([], [])


def test_the_status_says_that_it_is_paused_and_what_goes_on_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    world = filled(tmp_path)
    paused_after(world, 5, monkeypatch)
    (one,), _ = unfinished(world.environ)
    assert (one.how, one.read, one.pieces, one.of) == ("paused", 4, 2, 6)
    assert "Backfill b1 is paused: 4 of 12 sessions read" in list(of_backfills([one], []))
    with Folder(backfills_folder(world.environ) / "b1").alone():
        assert unfinished(world.environ) == ([], [])
    resume(world)
    assert unfinished(world.environ) == ([], [])


def test_one_whose_process_is_gone_is_unfinished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    world = filled(tmp_path)

    def interrupted(*_given: object) -> object:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(landing, "_land", interrupted)
        with pytest.raises(KeyboardInterrupt):
            world.backfill()
    ((one,), _), (notes_left, _) = unfinished(world.environ), read_notes(world.environ)
    assert (one.how, one.pieces) == ("unfinished", 2)
    assert [note.ended for note in notes_left] == ["somebody interrupted it"]
    resume(world)
    assert [night.outcome for night in nights_of(world)] == ["Completed"]


def test_one_that_is_taken_back_in_part_says_so_and_is_not_resumed(tmp_path: Path):
    world = filled(tmp_path)
    world.backfill()
    path = world.memory("p0") / ".slowwave" / "candidates.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"pnpm", b"****"))
    assert len(world.backfill(action="rollback", backfill="b1").failures) == 1
    (one,), _ = unfinished(world.environ)
    assert (one.how, one.command) == ("rolling-back", "slowwave run backfill --rollback b1")
    with pytest.raises(UsageError, match="is being taken back"):
        resume(world)
    path.write_bytes(whole)
    assert world.backfill(action="rollback", backfill="b1").failures == []
    assert unfinished(world.environ) == ([], [])
    assert world.memories() == {}
    assert [(n.outcome, n.counted("rolled_back")) for n in nights_of(world)[1:]] == [("Failed", 1), ("Completed", 1)]


def test_steps_and_the_end_are_lines_of_the_log(tmp_path: Path):
    world, log = filled(tmp_path), tmp_path / "log.jsonl"
    world.backfill(overrides=[f"telemetry.log_file={log}"])
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    steps = [(line["step"], line["project"]) for line in lines if line.get("event") == "step"]
    assert [step for step, _ in steps].count("read") == 3
    assert {project for step, project in steps if step == "land"} == {"-home-ada-code-p0", "-home-ada-code-p1"}
    assert (lines[-1]["event"], lines[-1]["job"], lines[-1]["outcome"]) == ("run", "backfill", "Completed")


class Watching:
    """Takes note of what it is told."""

    def __init__(self) -> None:
        self.plans: dict[str, int] = {}
        self.dones: list[str] = []

    def plan(self, step: str, total: int, left: LeftBy | None = None) -> None:
        del left
        self.plans[step] = total

    def done(self, step: str, what: str) -> None:
        del what
        self.dones.append(step)


def test_whoever_watches_is_told_of_every_session_and_shard(tmp_path: Path):
    world = filled(tmp_path)
    with watched_by(watching := Watching()):
        world.backfill()
    assert watching.plans == {LOOK: 1, "read": 12, "land": 3}
    assert [watching.dones.count(step) for step in (LOOK, "read", "land")] == [1, 12, 3]


def test_one_that_was_taken_back_is_told_as_such(tmp_path: Path):
    world = filled(tmp_path)
    world.backfill()
    world.backfill(action="rollback", backfill="b1")
    assert [state(night) for night in nights_of(world)] == ["completed", "taken back"]
