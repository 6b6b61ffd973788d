"""Run every step of a night over one store, in this process, and print what each took as JSON: processor seconds.

The steps are those of a backfill, which is how work leaves one machine: a worker reads shards, the leader lets them
land, dreams and plans of compactions follow. The comparator decodes every line once by ``orjson`` and keeps nothing.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import orjson

from slowwave.compaction.items import read_session
from slowwave.compaction.plan import Budget, planned
from slowwave.context import Run, SystemClock, new_run_id
from slowwave.formats import SessionFiles
from slowwave.jobs.backfill import begin, end
from slowwave.jobs.backfill.landing import land_shard
from slowwave.jobs.backfill.shard import run_shard
from slowwave.jobs.parameters import BackfillParameters
from slowwave.jobs.story import run_job
from slowwave.report import Report
from slowwave.settings import load_settings


def took(work: Callable[[], object]) -> float:
    """Return the processor seconds of this process that the work took."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def decode(files: list[Path]) -> None:
    """Decode every line once."""
    for path in files:
        with path.open("rb") as lines:
            for line in lines:
                orjson.loads(line)


def plan_each(files: list[Path]) -> None:
    """Plan the compaction of every session, as a dry run does."""
    for path in files:
        planned(read_session("claude", SessionFiles(path.stem, (path,))), Budget())


def dreams(store: Path) -> Report:
    """Dream over every project."""
    settings = load_settings(os.environ, overrides=["consolidation.min_sessions=1"]).with_roots([store])
    clock = SystemClock()
    return run_job("consolidate", Run(new_run_id(clock), settings, clock, os.environ))


def main() -> None:
    """Measure the store that the command line names."""
    store = Path(sys.argv[1])
    files = sorted(store.glob("*/*.jsonl"))
    seconds: dict[str, float] = {"decode": took(lambda: decode(files))}
    begun = begin(BackfillParameters(store=[store]), os.environ)
    shards = range(begun.shards)
    seconds["read"] = took(lambda: [run_shard(begun.folder, number, os.environ) for number in shards])
    landed: list[Report] = []
    seconds["land"] = took(lambda: landed.extend(land_shard(begun.folder, number, os.environ) for number in shards))
    end(begun.folder, os.environ, begun.report)
    reports: list[Report] = []
    seconds["dream"] = took(lambda: reports.append(dreams(store)))
    seconds["plan"] = took(lambda: plan_each(files))
    failures = [failure for report in (*landed, *reports) for failure in report.failures]
    if failures:
        sys.exit(f"measured nothing: {failures[:3]}")
    size = sum(path.stat().st_size for path in files)
    counts = {name: sum(report.counts.get(name, 0) for report in landed) for name in ("extracted", "candidates")}
    print(json.dumps({"sessions": len(files), "bytes": size, "seconds": seconds, **counts}))


if __name__ == "__main__":
    main()
