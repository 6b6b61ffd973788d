"""What a person waits for who runs a night by hand: the first line at a terminal, nothing to do, and a dry run."""

import os
import pty
import statistics
import subprocess
import sys
import time
from pathlib import Path

from measure import Row, seconds
from rows_orchestration import MOST_LOAD
from sessions_data import VERSION, fleet

LINE_S, NOTHING_S, DRY_S = 0.3, 1.0, 4.0
FILES, MEDIAN, PROJECTS = 215, 135_000, 8


def first_minute(build: Path, rounds: int) -> list[Row]:
    """Run the command at a terminal of its own; wall time, which tells something only where nothing else is at work."""
    is_busy = os.getloadavg()[0] > MOST_LOAD * (os.cpu_count() or 1)
    home = build / "first"
    home.mkdir(parents=True, exist_ok=True)
    store = fleet(build / f"data-{VERSION}" / "first", FILES, MEDIAN, projects=PROJECTS)
    size = sum(path.stat().st_size for path in store.rglob("*.jsonl")) / 1e6
    sample = ["--sample", str(home / "sample")]
    waited(home, sample)  # the night after which there is nothing to do
    nothing = [waited(home, sample) for _ in range(max(1, rounds // 2))]
    dry = [waited(home, ["--dry-run", "--store", str(store)]) for _ in range(max(1, rounds // 2))]
    demands = [
        ("first line at a terminal", [line for line, _ in [*nothing, *dry]], LINE_S),
        ("nightly, nothing to do", [whole for _, whole in nothing], NOTHING_S),
        (f"nightly --dry-run, {size:.0f} MB", [whole for _, whole in dry], DRY_S),
    ]
    rows: list[Row] = []
    for job, times, most in demands:
        median = statistics.median(times)
        rows.append(Row(job, seconds(median), "most", seconds(most), None if is_busy else median / most, 1))
    return rows


def waited(home: Path, options: list[str]) -> tuple[float, float]:
    """Return after how long a night shows something at its terminal, and after how long it is over, in seconds."""
    ours, theirs = pty.openpty()
    environ = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "TERM": "xterm"}
    begin = time.perf_counter()
    command = [sys.executable, "-m", "slowwave", "run", "nightly", "--direct", *options]
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        line = 0.0
        while part := read(ours):
            shown += part
            line = line or (time.perf_counter() - begin if b"Looking" in shown else 0.0)
    os.close(ours)
    if process.returncode or not line:
        raise RuntimeError(f"{command} ended with code {process.returncode} and showed {shown[-500:]!r}")
    return line, time.perf_counter() - begin


def read(terminal: int) -> bytes:
    """Return what a terminal shows next; nothing when the program is gone, which Linux tells as an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
