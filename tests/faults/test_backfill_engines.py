"""A backfill on Dask and on Ray, one worker of which is killed in mid-run: the bytes of one process.

Both are extras; where they are not installed, the tests say so.
"""

import os
import signal
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from slowwave.errors import UsageError
from slowwave.jobs.backfill import begin, lead, plan
from slowwave.jobs.backfill.landing import land_shard
from slowwave.jobs.backfill.shard import places_of, reading
from slowwave.report import Report
from tests.unit.jobs.backfill.rig import World, filled

pytestmark = pytest.mark.drill

Kill = Callable[[], int]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Shards of few sessions, so that there are many."""
    monkeypatch.setattr(plan.cut, "__kwdefaults__", {"most_sessions": 2, "enough_bytes": 1 << 30})
    monkeypatch.setattr(plan.sharded, "__kwdefaults__", {"most_sessions": 4, "enough_bytes": 1 << 30})


@contextmanager
def dask_workers(monkeypatch: pytest.MonkeyPatch) -> Generator[Kill]:
    """Start a cluster of three processes; what is yielded kills one that works, and returns its id, or 0."""
    distributed: Any = pytest.importorskip("distributed", reason="the extra dask is not installed")
    cluster = distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None)
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", cluster.scheduler_address)
    client = distributed.Client(cluster)

    def kill() -> int:
        pids: Mapping[str, int] = client.run(os.getpid)
        busy = [address for address, keys in client.processing().items() if keys]
        if not busy:
            return 0
        os.kill(pids[busy[0]], signal.SIGKILL)
        return pids[busy[0]]

    try:
        yield kill
    finally:
        client.close()
        cluster.close()


@contextmanager
def ray_workers(monkeypatch: pytest.MonkeyPatch) -> Generator[Kill]:
    """Let Ray start workers of its own; what is yielded kills one that reads a shard: its id, or 0."""
    pytest.importorskip("ray", reason="the extra ray is not installed")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)

    def kill() -> int:
        mine = psutil.Process().children(recursive=True)
        busy = [process for process in mine if "run_there" in " ".join(process.cmdline())]
        if not busy:
            return 0
        busy[0].kill()
        return busy[0].pid

    yield kill


ENGINES = {"dask": dask_workers, "ray": ray_workers}


@pytest.mark.parametrize("runner", sorted(ENGINES))
@pytest.mark.timeout(600)
def test_with_a_worker_killed_it_leaves_the_bytes_of_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runner: str
):
    whole, world = filled(tmp_path / "whole", 24), filled(tmp_path / "world", 24)
    whole.backfill()
    killed: list[int] = []
    with ENGINES[runner](monkeypatch) as kill:
        # slow enough that workers are at it when the first shard lands
        begun = begin(world.given(sessions_per_second=12), world.environ)

        def land(folder: Path, number: int) -> Report:
            if not killed and (pid := kill()):
                killed.append(pid)
            return land_shard(folder, number, world.environ)

        with reading(runner, begun.folder, begun.shards, world.environ) as read:
            report = lead(begun, world.environ, read, land).report
    assert (report.failures, report.counts["extracted"]) == ([], 24)
    assert not psutil.pid_exists(killed[0])
    assert as_of(world) == as_of(whole)


def as_of(world: World) -> dict[str, bytes]:
    """Return the memories of a world with its own folder taken out of them."""
    return {name: data.replace(f"{world.root}/".encode(), b"/world/") for name, data in world.memories().items()}


def test_an_engine_that_is_not_there_is_named_with_the_extra_that_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(UsageError, match=r"install slowwave\[ray\]"):
        filled(tmp_path, 2).backfill(runner="ray")


def test_a_worker_gets_the_places_of_the_run_and_no_keys():
    environ = {"HOME": "/h", "XDG_STATE_HOME": "/s", "OPENAI_API_KEY": "k", "XDG_DATA_HOME": ""}
    assert places_of(environ) == {"HOME": "/h", "XDG_STATE_HOME": "/s"}
