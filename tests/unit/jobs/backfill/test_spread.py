"""A shard over several processes: what kills its process is found and set aside, and the rest is read."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import UsageError
from slowwave.jobs import portions
from slowwave.jobs.backfill import begin, plan, shard
from slowwave.jobs.backfill.folder import Folder
from slowwave.jobs.backfill.shard import Deaths, reading
from tests.unit.jobs.backfill.rig import World, filled

DEADLY = "00000007"


def deadly(*given: Any) -> None:
    """Die as the kernel lets a process die that takes too much memory."""
    if DEADLY in given[0].id:
        os.kill(os.getpid(), signal.SIGKILL)
    _extract(*given)


_extract = shard.extract_one


def read_alone(folder: Path, number: int, environ: Any, workers: int, at: int) -> shard.Done:
    """Stand in for the function of the pool: its process knows of no patch of this one."""
    shard.extract_one = deadly
    return shard.read_alone(folder, number, environ, workers, at)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(plan.cut, "__kwdefaults__", {"most_sessions": 4, "enough_bytes": 1 << 30})
    monkeypatch.setattr(shard, "PAYS_FROM_BYTES", 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    return filled(tmp_path, sessions=9, projects=1)


@pytest.mark.timeout(900)  # each death costs a new process
def test_a_session_that_kills_its_process_is_set_aside_and_the_rest_is_read(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shard, "read_alone", read_alone)
    report = world.backfill()
    assert (report.counts["extracted"], report.counts["failed"]) == (8, 1)
    assert f"session {DEADLY}" in report.failures[0]
    assert "2 processes died while they read it" in report.failures[0]
    assert len(report.failures) == 1
    monkeypatch.undo()
    assert world.backfill("b2").counts["given_up"] == 1
    assert world.extract().counts.get("extracted", 0) == 0
    assert world.backfill("b3", retry_failed=True).counts["extracted"] == 1


def test_a_machine_on_which_every_process_dies_is_not_tried_for_ever(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(portions, "_end_with_parent", os.abort)
    monkeypatch.setattr(shard, "MOST_DEATHS", 3)
    report = world.backfill()
    assert "a worker process died" in report.failures[0]
    assert report.counts["left"] == 9


def test_only_what_a_process_was_reading_counts(tmp_path: Path):
    world = filled(tmp_path / "world", sessions=2, projects=1)
    session = Folder(begin(world.given(), world.environ).folder).shard(0).pieces[0].sessions[0]
    path = tmp_path / "0.deaths"
    for _ in range(2):
        assert Deaths(path).of(session) == 0
        assert not Deaths(path).count()
        Deaths(path).expect(session)
        assert Deaths(path).count()
    assert Deaths(path).of(session) == 2
    with Deaths(path) as deaths:
        deaths.expect(session)
    assert not Deaths(path).count()


@pytest.mark.parametrize(
    ("setting", "option", "runner"),
    [
        ("threads", "as set", "threads"),
        ("ray", "as set", "ray"),
        ("ray", "threads", "threads"),
        ("ray", "dask", "dask"),
    ],
)
def test_the_settings_say_who_reads_and_the_option_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, option: str, runner: str
):
    for name in ("ray", "distributed"):
        monkeypatch.setitem(sys.modules, name, None)
    world = filled(tmp_path, sessions=2)
    (tmp_path / "config" / "slowwave" / "config.toml").write_text(f'[backfill]\ntask_runner = "{setting}"\n')
    begun = begin(world.given(runner=option), world.environ)
    assert begun.runner == runner
    if runner == "threads":
        with reading(begun.runner, begun.folder, begun.shards, world.environ) as read:
            assert read(begun.folder, 0).pieces == 2
    else:
        with pytest.raises(UsageError, match=rf"install slowwave\[{runner}\]"):
            reading(begun.runner, begun.folder, begun.shards, world.environ).__enter__()
    assert begin(world.given(action="resume", backfill="b1"), world.environ).runner == runner
    assert begin(world.given(action="resume", backfill="b1", runner="threads"), world.environ).runner == "threads"
