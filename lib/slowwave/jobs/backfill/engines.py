"""Who reads the shards: the processes of this machine, a Dask cluster, or Ray.

All of them call :func:`~slowwave.jobs.backfill.working.run_shard` with a path and a number, and get counts back. What
was read lies in the folder of the run, which the workers must see, as they must see the transcripts. A worker that dies
costs what it had not yet written: the engine gives its shard to another one, which goes on where it was.

Dask is found by ``DASK_SCHEDULER_ADDRESS`` and Ray by ``RAY_ADDRESS``; without them a cluster of this machine's
processors is started, and ended with the run.
"""

import importlib
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from slowwave.errors import SlowwaveError, UsageError
from slowwave.jobs.backfill.spread import Done, read_shard
from slowwave.jobs.backfill.working import Counts, run_shard
from slowwave.observability.progress import watcher

Read = Callable[[Path, int], Done]

# a shard whose workers died so often is not given to another one: it may be what kills them
RETRIES = 3
# where a person's files are; all else, keys of a model above all, is the worker's own
_PLACES = ("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")


def reading(runner: str, folder: Path, shards: int, environ: Mapping[str, str]) -> AbstractContextManager[Read]:
    """Return who reads the shards of a run, for as long as it takes.

    Args:
        runner: threads, dask or ray.
        folder: of the run.
        shards: how many there are; an engine is given all of them at once.
        environ: the environment of the run.

    Raises:
        UsageError: the engine is not installed, or not reached.
    """
    if runner == "threads":
        return _here(environ)
    return {"dask": _dask, "ray": _ray}[runner](folder, range(shards), places_of(environ))


def places_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the part of an environment that goes with a shard to its worker."""
    return {name: environ[name] for name in _PLACES if environ.get(name)}


def run_there(folder: str, number: int, places: Mapping[str, str], workers: int) -> Counts:
    """Read a shard in the process of an engine.

    Args:
        folder: of the run.
        number: of the shard.
        places: where the run's files are.
        workers: among how many its pace is shared.
    """
    return run_shard(Path(folder), number, {**os.environ, **places}, workers=workers)


@contextmanager
def _here(environ: Mapping[str, str]) -> Generator[Read]:
    yield lambda folder, number: read_shard(folder, number, environ)


@contextmanager
def _dask(folder: Path, numbers: range, places: Mapping[str, str]) -> Generator[Read]:
    distributed = _engine("distributed", "dask")
    address = os.environ.get("DASK_SCHEDULER_ADDRESS")
    # no dashboard: the run has its own pages
    here = {"n_workers": os.cpu_count() or 1, "threads_per_worker": 1, "dashboard_address": None}
    with _started("dask", lambda: distributed.Client(address) if address else distributed.Client(**here)) as client:
        workers = max(1, sum(client.nthreads().values()))
        given = {
            n: client.submit(run_there, str(folder), n, dict(places), workers, pure=False, retries=RETRIES)
            for n in numbers
        }
        yield lambda _folder, number: _done(number, given[number].result)


@contextmanager
def _ray(folder: Path, numbers: range, places: Mapping[str, str]) -> Generator[Read]:
    ray = _engine("ray", "ray")
    # without an address Ray looks at RAY_ADDRESS, and starts a cluster of its own when there is none
    own = {} if os.environ.get("RAY_ADDRESS") else {"include_dashboard": False}
    _started("ray", lambda: ray.init(log_to_driver=False, **own))
    try:
        workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        there = ray.remote(max_retries=RETRIES, num_cpus=1)(run_there)
        given = {n: there.remote(str(folder), n, dict(places), workers) for n in numbers}
        yield lambda _folder, number: _done(number, lambda: ray.get(given[number]))
    finally:
        ray.shutdown()


def _done(number: int, result: Callable[[], Counts]) -> Done:
    """Return what became of a shard; engines have many errors of their own for a worker that is gone."""
    try:
        counts = result()
    except (SlowwaveError, OSError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever an engine raises, the other shards go on
        return Done({}, [f"shard {number}: backfill: {type(error).__name__}: {error}; resume the run to try again"])
    for _ in range(counts.get("pieces", 0)):
        watcher().done("read", f"shard {number + 1}")  # read elsewhere, where nobody watches
    return Done(counts, is_paused=bool(counts.get("paused")))


def _started(runner: str, start: Callable[[], Any]) -> Any:
    """Return what an engine starts or connects to; engines have errors of their own for what is not there."""
    try:
        return start()
    except Exception as error:
        words = " ".join(str(error).split())
        raise UsageError(f"runner {runner}: cannot be started or reached ({type(error).__name__}: {words})") from error


def _engine(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(f"runner {extra}: {module} is not installed; install slowwave[{extra}]") from error
