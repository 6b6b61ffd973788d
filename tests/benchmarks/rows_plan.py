"""Planning the compaction of a session that was never compacted: against a plain scan of it, and its memory."""

import subprocess
import sys
from pathlib import Path

from measure import Row, cpu_of_command, peak_of, seconds
from peers import HERE
from sessions_data import VERSION
from sessions_long import DIALECTS, long_session

SIZE = 200_000_000
MOST_RATIO = 2.0
MOST_BYTES = 40_000_000


def plan(build: Path, rounds: int) -> list[Row]:
    """Plan 200 MB, whole process, against a scan of every line that looks at its envelope only.

    Both are run in turns, and of each the best round counts: whatever else the machine does only adds to one.
    """
    rows: list[Row] = []
    for dialect in DIALECTS:
        path = long_session(build / f"data-{VERSION}" / "long" / f"{dialect}-200.jsonl", dialect, SIZE)
        ours = [sys.executable, str(HERE / "plan_one.py"), dialect, str(path)]
        scan = [sys.executable, str(HERE / "scan_one.py"), str(path)]
        _check(ours)
        cpu_of_command(scan)  # the file is in memory afterwards
        times = [(cpu_of_command(ours), cpu_of_command(scan)) for _ in range(rounds)]
        own, other = (min(column) for column in zip(*times, strict=True))
        rows.append(
            Row(f"plan of 200 MB, {dialect}", seconds(own), "a plain scan", seconds(other), own / other, MOST_RATIO)
        )
        peak = peak_of(ours)
        most = f"{MOST_BYTES / 1e6:.0f} MB"
        rows.append(Row(f"its memory, {dialect}", f"{peak / 1e6:.0f} MB", "most", most, peak / MOST_BYTES, 1))
    return rows


def _check(command: list[str]) -> None:
    """Refuse to measure a plan that leaves out most of the session."""
    summarised = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[1])
    assert summarised > 50_000, summarised
