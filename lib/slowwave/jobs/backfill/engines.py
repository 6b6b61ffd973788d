"""Who reads the shards: the processes of this machine, a Dask cluster, or Ray.

All of them call :func:`~slowwave.jobs.backfill.shard.run_shard` with a path and a number, and get counts back. What
was read lies in the folder of the run, which the workers must see, as they must see the transcripts. A worker that dies
costs what it had not yet written: the engine gives its shard to another one, which goes on where it was.

Dask is found by ``DASK_SCHEDULER_ADDRESS`` and Ray by ``RAY_ADDRESS``; without them a cluster of this machine's
processors is started, and ended with the run.
"""

import importlib
import os
import threading
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import msgspec

from slowwave.errors import SlowwaveError, UsageError
from slowwave.jobs.backfill.plan import Deaths
from slowwave.jobs.backfill.shard import Counts, Reader, read_alone, run_shard, summed
from slowwave.jobs.portions import PAYS_FROM_BYTES
from slowwave.observability.progress import watcher
from slowwave.processes import deaf_to_interrupts


class Done(msgspec.Struct):
    """What became of a shard.

    Attributes:
        counts: pieces and sessions that were read now.
        failures: what was lost with its process.
        is_paused: a pause ended it.
    """

    counts: Counts
    failures: list[str] = []
    is_paused: bool = False


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
        watcher().done("read", "")  # read elsewhere, where nobody watches
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


# One shard over the processors of this machine: its pieces go to processes in turn, and none depends on another.
#
# A process that dies (out of memory, killed) costs the pieces that were being read. They are tried again, one process
# at a time; a session that kills its process twice is set aside as failed, and the rest of the shard goes on.

# A machine on which every process dies has another trouble than a session.
MOST_DEATHS = 20


def read_shard(folder: Path, number: int, environ: Mapping[str, str]) -> Done:
    """Read what is left of a shard.

    Raises:
        CorruptStateError: the run's files are damaged.
        OSError: the run's folder cannot be written.
    """
    reader = Reader(folder, number, environ)
    left = reader.left()
    size = sum(session.size for at in left for session in reader.pieces[at].sessions)
    processes = min(os.cpu_count() or 1, len(left))
    if processes < 2 or size < PAYS_FROM_BYTES:  # noqa: PLR2004 - one process is no pool
        counts = run_shard(folder, number, environ)
        return Done(counts, is_paused=bool(counts.get("paused")))
    done, deaths = _in_pool(reader, folder, number, environ, processes), 0
    while done.failures and not done.is_paused and deaths < MOST_DEATHS:
        _count_deaths(reader, is_alone=bool(deaths))
        deaths += 1
        again = _in_pool(reader, folder, number, environ, 1)
        done = Done(summed(done.counts, again.counts), again.failures, again.is_paused)
    return done


def _count_deaths(reader: Reader, *, is_alone: bool) -> None:
    """Note what a process died of; only of one that read alone it is certain that it did not die with the others."""
    for at in reader.left():
        path = reader.run.deaths(reader.pieces[at].number)
        if is_alone:
            Deaths(path).count()
        else:
            path.with_suffix(".at").unlink(missing_ok=True)


def _in_pool(reader: Reader, folder: Path, number: int, environ: Mapping[str, str], processes: int) -> Done:
    others = set(active_children())
    done = Done({"pieces": 0, "sessions": 0})
    given = tuple(environ.items())
    # spawn: a scheduler's threads hold locks that a forked child would wait for for ever
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_begin)
    try:
        with deaf_to_interrupts():
            futures = {pool.submit(read_alone, folder, number, given, processes, at): at for at in reader.left()}
        for future in as_completed(futures):
            counts = future.result()
            done.counts = summed(done.counts, counts)
            if not counts.get("paused"):
                watcher().done("read", reader.project_of(futures[future]))
    except BrokenProcessPool as error:
        done.failures = [f"shard {number}: backfill: a worker process died ({error}); resume the run to try again"]
    except BaseException:
        # cancelled or out of time: what runs is ended, which every write survives, and what has not begun never begins
        for child in set(active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    done.is_paused = bool(done.counts.get("paused"))
    return done


def _begin() -> None:
    """End this process when the one that started it was killed: nobody would take what it reads, or end it."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)  # every write survives that

    threading.Thread(target=watch, name="parent", daemon=True).start()
