"""Planning the compaction of a session: one that was compacted before against a plain scan of it, and its memory.

Clients compact by themselves long before a session is as long as these, so what counts is one that goes on from a
compaction. What one costs that never was compacted is told beside it, and is read as a whole.
"""

import subprocess
import sys
from pathlib import Path

from measure import Row, cpu_of_command, peak_of, seconds
from peers import HERE
from rows_context import MAKERS, compacted_file
from sessions_data import VERSION
from sessions_long import DIALECTS, long_session

MEGABYTES = 200
NEVER_COMPACTED = 50_000_000
MOST_RATIO = 2.0
MOST_BYTES = 40_000_000


def plan(build: Path, rounds: int) -> list[Row]:
    """Plan sessions, whole process, against a scan of every line that looks at its envelope only."""
    rows: list[Row] = []
    for dialect in MAKERS:
        path = compacted_file(build, dialect, MEGABYTES)
        own, other, peak = _measured(dialect, path, rounds, least=100)
        job = f"plan of {MEGABYTES} MB, compacted, {dialect}"
        rows.append(Row(job, seconds(own), "a plain scan", seconds(other), own / other, MOST_RATIO))
        most = f"{MOST_BYTES / 1e6:.0f} MB"
        rows.append(Row(f"its memory, {dialect}", f"{peak / 1e6:.0f} MB", "most", most, peak / MOST_BYTES, 1))
    for dialect in DIALECTS:
        size = NEVER_COMPACTED // 1_000_000
        path = long_session(build / f"data-{VERSION}" / "long" / f"{dialect}-{size}.jsonl", dialect, NEVER_COMPACTED)
        own, other, peak = _measured(dialect, path, rounds, least=10_000)
        job = f"plan of {size} MB, never compacted, {dialect}, {peak / 1e6:.0f} MB"
        rows.append(Row(job, seconds(own), "a plain scan", seconds(other), own / other, None))
    return rows


def _measured(dialect: str, path: Path, rounds: int, *, least: int) -> tuple[float, float, int]:
    """Return the best times of a plan and of a scan, run in turns: whatever else the machine does only adds to one.

    Raises:
        AssertionError: the plan summarises fewer messages than ``least``: it leaves out most of the session.
    """
    ours = [sys.executable, str(HERE / "plan_one.py"), dialect, str(path)]
    scan = [sys.executable, str(HERE / "scan_one.py"), str(path)]
    summarised = int(subprocess.run(ours, check=True, capture_output=True, text=True).stdout.split()[1])
    assert summarised > least, summarised
    cpu_of_command(scan)  # the file is in memory afterwards
    times = [(cpu_of_command(ours), cpu_of_command(scan)) for _ in range(rounds)]
    own, other = (min(column) for column in zip(*times, strict=True))
    return own, other, peak_of(ours)
