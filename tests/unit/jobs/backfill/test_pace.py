"""Pausing, resuming and reading no faster than asked."""

from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import LockHeldError, UsageError
from slowwave.jobs.backfill import plan, shard
from slowwave.jobs.backfill.folder import Folder, Pace, backfills_folder
from slowwave.jobs.backfill.shard import PausedError, Throttle
from slowwave.jobs.erasure import erase_subjects
from slowwave.jobs.parameters import run_of
from slowwave.memory.candidates import read_candidates
from slowwave.observability.progress import LeftBy, watched_by
from slowwave.report import Report
from slowwave.retention.erase.subjects import Asked
from tests.unit.jobs.backfill.rig import World, filled


class Timer:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def waited(pace: Pace, sizes: list[int], workers: int = 1) -> float:
    timer = Timer()
    throttle = Throttle(pace, workers, lambda: False, lambda: timer.now, timer.sleep)
    for size in sizes:
        throttle.wait(size)
    return sum(timer.slept)


@pytest.mark.parametrize(
    ("pace", "workers", "seconds"),
    [
        (Pace(), 1, 0.0),
        (Pace(sessions=2.0), 1, 2.0),
        (Pace(sessions=2.0), 3, 6.0),
        (Pace(megabytes=1.0), 1, 4.0),
        (Pace(sessions=100.0, megabytes=1.0), 1, 4.0),
    ],
)
def test_a_worker_waits_for_its_share_of_the_pace(pace: Pace, workers: int, seconds: float):
    assert waited(pace, [1_000_000] * 5, workers) == pytest.approx(seconds)


def test_a_pause_is_noticed_while_it_waits():
    timer = Timer()
    throttle = Throttle(Pace(sessions=0.01), 1, lambda: len(timer.slept) > 2, lambda: timer.now, timer.sleep)
    throttle.wait(1)
    with pytest.raises(PausedError):
        throttle.wait(1)
    assert max(timer.slept) <= 1.0


def paused_after(
    world: World, sessions: int, monkeypatch: pytest.MonkeyPatch, run_id: str = "b1", **more: Any
) -> Report:
    """Run a backfill that somebody pauses after so many sessions."""
    left = [sessions]
    extract = shard.extract_one

    def count(*given: object) -> None:
        extract(*given)  # pyright: ignore[reportArgumentType]
        left[0] -= 1
        if not left[0]:
            world.backfill("p", action="pause", backfill=run_id)

    monkeypatch.setattr(shard, "extract_one", count)
    return world.backfill(run_id, **more)


@pytest.mark.parametrize("sessions", [1, 5, 11])
def test_what_was_paused_and_resumed_leaves_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sessions: int
):
    monkeypatch.setattr(plan.cut, "__kwdefaults__", {"most_sessions": 2, "enough_bytes": 1 << 30})
    world, whole = filled(tmp_path / "paused"), filled(tmp_path / "whole")
    whole.backfill()
    report = paused_after(world, sessions, monkeypatch)
    assert report.counts["left"] == 12 - sessions // 2 * 2
    assert "paused" in report.warnings[-1]
    assert world.memories() == {}
    resumed = world.backfill(action="resume", backfill="b1")
    assert resumed.counts["extracted"] == 12
    assert {n: d.replace(b"/paused/", b"/whole/") for n, d in world.memories().items()} == whole.memories()


def test_a_file_of_that_name_pauses_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    world = filled(tmp_path)
    extract = shard.extract_one

    def put(*given: object) -> None:
        (backfills_folder(world.environ) / "b1" / "pause").touch()
        extract(*given)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(shard, "extract_one", put)
    assert world.backfill().counts["left"] == 12


def test_what_is_done_says_so(tmp_path: Path):
    world = filled(tmp_path, sessions=2)
    world.backfill()
    assert "is done" in world.backfill(action="resume", backfill="b1").warnings[0]
    assert "done already" in world.backfill(action="pause", backfill="b1").warnings[0]
    world.backfill(action="rollback", backfill="b1")
    with pytest.raises(UsageError, match="was taken back"):
        world.backfill(action="resume", backfill="b1")
    with pytest.raises(UsageError, match="there is a backfill b1 already"):
        world.backfill()


def test_two_processes_do_not_lead_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    world = filled(tmp_path, sessions=2)
    paused_after(world, 1, monkeypatch)
    with Folder(backfills_folder(world.environ) / "b1").alone(), pytest.raises(LockHeldError, match="another process"):
        world.backfill(action="resume", backfill="b1")


@pytest.mark.parametrize("asked", [Asked(sessions=("00000001-0000-4000-8000-000000000001",)), Asked(topics=("pnpm",))])
def test_what_is_erased_while_it_is_paused_does_not_land(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: Asked):
    monkeypatch.setattr(plan.cut, "__kwdefaults__", {"most_sessions": 2, "enough_bytes": 1 << 30})
    world = filled(tmp_path, sessions=8, projects=1)
    paused_after(world, 7, monkeypatch)
    report = erase_subjects(asked, run_of(world.given("e1"), world.environ), tmp_path / "prefect")
    assert report.failures == []
    assert world.backfill(action="resume", backfill="b1").failures == []
    found = read_candidates(world.memory("p0"))[0]
    assert len(found) > 3
    assert {c.session.id for c in found}.isdisjoint(asked.sessions)
    assert "pnpm" not in str([c.text for c in found]) or not asked.topics


@pytest.mark.parametrize(
    ("pace", "pieces"),
    [({}, 2), ({"sessions_per_second": 0.1}, 12), ({"sessions_per_second": 2}, 6), ({"mb_per_second": 1e-6}, 12)],
)
def test_an_interrupted_run_at_a_slow_pace_loses_only_seconds(tmp_path: Path, pace: dict[str, Any], pieces: int):
    world = filled(tmp_path)
    given = world.given(**pace)
    planned, _ = plan.plan_backfill(run_of(given, world.environ), given)
    assert (planned.sessions, planned.pieces) == (12, pieces)


class Told:
    """Notes how many sessions each piece had landed when it was told of one."""

    def __init__(self, folder: Path) -> None:
        self.pieces = folder / "pieces"
        self.told: list[int] = []
        self.left: list[float] = []
        self._left: LeftBy | None = None

    def plan(self, step: str, total: int, left: LeftBy | None = None) -> None:
        if step == "read":
            self._left, self.total = left, total

    def done(self, step: str, what: str) -> None:
        if step == "read" and what:
            self.told.append(len(list(self.pieces.glob("*.json"))))
            if self._left:
                self.left.append(self._left(len(self.told)))


def test_who_watches_is_told_of_each_session_as_it_is_read_and_how_long_the_pace_makes_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shard, "_LONGEST_NAP_S", 0.0)
    world = filled(tmp_path)
    with watched_by(told := Told(backfills_folder(world.environ) / "b1")):
        world.backfill()
    assert len(told.told) == told.total
    assert told.told[:2] == [0, 0]  # its piece was not over then
    assert told.left == []
    world.backfill(action="rollback", backfill="b1")
    with watched_by(told := Told(backfills_folder(world.environ) / "b2")):
        world.backfill(now=None, sessions_per_second=100.0, run_id="b2")
    assert told.left == pytest.approx([(told.total - done) / 100 for done in range(1, told.total + 1)])
