"""One shard over the processors of this machine: its pieces go to processes in turn, and none depends on another.

A process that dies (out of memory, killed) costs the pieces that were being read. They are tried again, one process at
a time; a session that kills its process twice is set aside as failed, and the rest of the shard goes on.
"""

import os
import threading
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path

import msgspec

from slowwave.jobs.backfill.states import Deaths
from slowwave.jobs.backfill.working import Counts, Reader, read_alone, run_shard, summed
from slowwave.jobs.workers import PAYS_FROM_BYTES
from slowwave.observability.progress import watcher
from slowwave.processes import deaf_to_interrupts

# A machine on which every process dies has another trouble than a session.
MOST_DEATHS = 20


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
