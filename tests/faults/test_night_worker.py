"""A night on a real worker whose process, worker or server is killed in its middle; the next night is complete."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowwave.observability.night import STOPPED
from tests.faults.night_stage import SOON_S, USUAL_S, Server, Stage, kill
from tests.faults.night_town import Town, said

DRILLS = os.environ.get("DRILLS", "")
PROJECTS, SESSIONS = 4, 5
PORTIONS = PROJECTS * SESSIONS

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.drill,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(DRILLS != "all", reason="DRILLS=all: minutes with a real server and a real worker"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("server")
    with Server(home, {**os.environ, "HOME": str(home)}) as running:
        running.deploy()
        yield running


@pytest.fixture
def stage(server: Server, own_home: Path, tmp_path: Path) -> Stage:
    return Stage(server, Town(own_home, PROJECTS, SESSIONS), tmp_path)


def the_next_night_is_complete(stage: Stage, expected: dict[str, bytes], *, stopped: bool) -> None:
    state = stage.night("next")
    assert state["type"] == "COMPLETED", (state, stage.logs())
    assert stage.town.memories() == expected
    assert stage.town.note() is None
    nights = stage.town.nights()
    assert [night.run_id for night in nights if night.outcome == STOPPED] == ["first"] * stopped
    last = next(night for night in nights if night.run_id == "next")
    assert [alarm.name for alarm in last.alarms] == ["stopped"] * stopped


def test_a_night_whose_process_is_killed_is_crashed_at_once_and_made_up_for(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = stage.town.of_one_night()
    chance = random.Random()
    with stage.worker():
        first = stage.begin("first")
        pid = stage.in_its_middle(chance.randrange(1, PORTIONS * 3 // 4))
        kill(pid)
        state = stage.ended(first)
        assert (state["type"], "-9" in state["message"]) == ("CRASHED", True)
        status = said(capsys, "status")[1]
        assert "nightly stopped in " in status
        assert f"its process {pid} is gone: it was killed" in status
        the_next_night_is_complete(stage, expected, stopped=True)


def test_a_night_whose_worker_is_killed_goes_on_or_says_why_not(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = stage.town.of_one_night()
    with stage.worker() as worker:
        first = stage.begin("first")
        stage.in_its_middle(2)
        kill(worker.pid)
        # the worker read what the night prints: the next line that Prefect logs ends it, unless it logs none any more
        state = stage.ended(first)
    status = said(capsys, "status")[1]
    if state["type"] == "COMPLETED":
        assert stage.town.memories() == expected
        assert "Completed" in status
    else:
        assert state["type"] == "CRASHED", (state, stage.logs())
        assert "nightly stopped in " in status
    with stage.worker():
        the_next_night_is_complete(stage, expected, stopped=state["type"] != "COMPLETED")


def test_a_night_that_is_killed_with_its_worker_is_marked_by_the_automation_which_frees_its_place(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = stage.town.of_one_night()
    stage.server.patience(SOON_S)
    with stage.worker() as worker:
        first = stage.begin("first")
        pid = stage.in_its_middle(2)
        kill(worker.pid)
        kill(pid)
    assert "is gone: it was killed" in said(capsys, "status")[1]
    with stage.worker():
        state = stage.ended(first)
        assert (state["type"], "its worker died" in state["message"]) == ("CRASHED", True)
        stage.server.patience(USUAL_S)
        the_next_night_is_complete(stage, expected, stopped=True)


@pytest.mark.parametrize("done", [0, PORTIONS // 2])
def test_a_night_whose_server_is_killed_and_started_again_goes_on_or_says_why_not(
    stage: Stage, capsys: pytest.CaptureFixture[str], done: int
) -> None:
    expected = stage.town.of_one_night()
    with stage.worker():
        first = stage.begin("first")
        stage.in_its_middle(done)
        stage.server.kill()
        stage.server.start()
        state = stage.ended(first)
        status = said(capsys, "status")[1]
        if state["type"] == "COMPLETED":
            assert "Completed" in status
            assert stage.town.memories() == expected
        else:
            assert "stopped    2026-03-02 03:30" in status or "Completed" in status
        the_next_night_is_complete(stage, expected, stopped="  stopped" in status)
