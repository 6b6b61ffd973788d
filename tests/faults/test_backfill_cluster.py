"""A backfill by Prefect on PostgreSQL and a local Dask or Ray of several workers, one of which is killed in mid-run.

It leaves the bytes of one process, and a task run for each shard.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.faults.night_stage import Server, until
from tests.faults.test_backfill_engines import ENGINES, as_of
from tests.faults.test_night_database import Postgres, postgres
from tests.unit.jobs.backfill.rig import World, filled

__all__ = ["postgres"]
ROOT = Path(__file__).parents[2]
SESSIONS = 24

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.drill,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(os.environ.get("DRILLS") != "all", reason="DRILLS=all: minutes with a server and a cluster"),
]


@pytest.fixture
def server(postgres: Postgres, tmp_path: Path) -> Iterator[Server]:
    home = tmp_path / "server"
    environ = {**os.environ, "HOME": str(home), "PREFECT_API_DATABASE_CONNECTION_URL": postgres.url}
    with Server(home, environ) as running:
        yield running


def has_landed(world: World) -> bool:
    records = world.root.glob("state/slowwave/backfills/b1/landed/*/record.json")
    return any(b'"done"' in path.read_bytes() for path in records)


@pytest.mark.parametrize("runner", sorted(ENGINES))
def test_with_a_worker_killed_a_flow_leaves_the_bytes_of_one_process(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runner: str
):
    whole, world = filled(tmp_path / "whole", SESSIONS), filled(tmp_path / "world", SESSIONS)
    whole.backfill()
    given = tmp_path / "given.json"
    given.write_text(world.given(runner=runner, sessions_per_second=2).model_dump_json(), encoding="utf-8")
    with ENGINES[runner](monkeypatch) as kill:
        environ = {**os.environ, **world.environ, "PREFECT_API_URL": server.api, "PYTHONPATH": str(ROOT)}
        with (tmp_path / "log").open("w+") as log:
            command = [sys.executable, "-m", "tests.faults.cluster_run", str(given)]
            leading = subprocess.Popen(command, env=environ, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            try:
                until(lambda: has_landed(world) or leading.poll() is not None, "the first shard")
                assert leading.poll() is None, (tmp_path / "log").read_text()
                killed = until(kill, "a worker at work")
                leading.wait(600)
            finally:
                leading.kill()
                leading.wait()
    said = (tmp_path / "log").read_text()
    assert said.splitlines()[-1].startswith("Completed"), said
    assert not psutil.pid_exists(killed)
    assert as_of(world) == as_of(whole)
    (flow_run,) = server.ask("/flow_runs/filter", {"sort": "START_TIME_DESC", "limit": 1})
    tasks = server.ask("/task_runs/filter", {"flow_runs": {"id": {"any_": [flow_run["id"]]}}})
    assert {task["state"]["type"] for task in tasks} == {"COMPLETED"}
    assert len(tasks) >= SESSIONS // 4
