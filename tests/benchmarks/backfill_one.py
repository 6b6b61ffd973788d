"""Foresee a backfill over a store, or run it, in this process; print its counts and what it took as JSON.

Called as ``backfill_one.py preview|run STORE PLACE``; state and data of slowwave lie below PLACE.
"""

import json
import os
import sys
import time
from pathlib import Path

from slowwave.jobs.backfill import run_backfill
from slowwave.jobs.parameters import BackfillParameters

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.faults.backfilled import NOW


def main() -> None:
    """Do what the arguments say."""
    action, store, place = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    environ = {"HOME": str(place)}
    given = BackfillParameters.model_validate({"action": action, "store": [store], "now": NOW, "run_id": "b1"})
    wall, cpu = time.monotonic(), _processor()
    report = run_backfill(given, environ)
    took = {"wall": time.monotonic() - wall, "cpu": _processor() - cpu, "cores": os.cpu_count()}
    print(json.dumps({"counts": report.counts, "failures": report.failures, **took}))


def _processor() -> float:
    return sum(os.times()[:4])


if __name__ == "__main__":  # a process of a pool imports this file, too
    main()
