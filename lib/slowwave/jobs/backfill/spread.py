"""One shard over the processors of this machine: its pieces go to processes in turn, and none depends on another.

A process that dies (out of memory, killed) costs the pieces that it had begun. They are tried once more, one process at
a time; what kills its process again is named, and the rest of the run goes on.
"""

import os
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path

import msgspec

from slowwave.jobs.backfill.folder import Folder
from slowwave.jobs.backfill.working import Counts, run_shard
from slowwave.jobs.workers import PAYS_FROM_BYTES


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
    run = Folder(folder)
    left = [piece for piece in run.shard(number).pieces if not run.has(piece.number)]
    size = sum(session.size for piece in left for session in piece.sessions)
    processes = min(os.cpu_count() or 1, len(left))
    if processes < 2 or size < PAYS_FROM_BYTES:  # noqa: PLR2004 - one process is no pool
        counts = run_shard(folder, number, environ)
        return Done(counts, is_paused=bool(counts.get("paused")))
    done = _in_pool(folder, number, environ, processes)
    if done.failures and not done.is_paused:
        again = _in_pool(folder, number, environ, 1)
        done = Done(_sum(done.counts, again.counts), again.failures, again.is_paused)
    return done


def _in_pool(folder: Path, number: int, environ: Mapping[str, str], processes: int) -> Done:
    others = set(active_children())
    done = Done({})
    # spawn: a scheduler's threads hold locks that a forked child would wait for for ever
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_end_with_parent)
    try:
        futures = [
            pool.submit(run_shard, folder, number, dict(environ), workers=processes, part=(at, processes))
            for at in range(processes)
        ]
        for future in futures:
            _add(done, future, number)
    except BaseException:
        # cancelled or out of time: what runs is ended, which every write survives, and what has not begun never begins
        for child in set(active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    done.is_paused = bool(done.counts.get("paused"))
    return done


def _end_with_parent() -> None:
    """End this process when the one that started it was killed: nobody would take what it reads, or end it."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)  # every write survives that

    threading.Thread(target=watch, name="parent", daemon=True).start()


def _add(done: Done, future: Future[Counts], number: int) -> None:
    try:
        done.counts = _sum(done.counts, future.result())
    except BrokenProcessPool as error:
        done.failures = [f"shard {number}: backfill: a worker process died ({error}); resume the run to try again"]


def _sum(one: Counts, other: Counts) -> Counts:
    return {name: one.get(name, 0) + other.get(name, 0) for name in dict.fromkeys((*one, *other))}
