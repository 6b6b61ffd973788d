"""Planning the compaction of a session that was never compacted: against a plain scan of it, and its memory."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from measure import Row, compared, cpu_of, peak_of
from peers import HERE
from sessions_compacted import codex_lines
from sessions_data import VERSION, Maker, cersei_lines, claude_lines, pi_lines, write_lines

SIZE = 200_000_000
MAKERS: dict[str, Callable[[Maker], Iterator[bytes]]] = {
    "claude": lambda make: claude_lines(make, SIZE),
    "pi": lambda make: pi_lines(make, SIZE),
    "codex": lambda make: codex_lines(make, SIZE),
    "cersei": lambda make: cersei_lines(make, SIZE, 241),
}
MOST_RATIO = 2.0
MOST_BYTES = 40_000_000


def plan(build: Path, rounds: int) -> list[Row]:
    """Plan 200 MB, whole process, against a scan of every line that looks at its envelope only."""
    rows: list[Row] = []
    for dialect, make in MAKERS.items():
        path = write_lines(build / f"data-{VERSION}" / "whole" / f"{dialect}-200.jsonl", make(Maker(7)))
        ours = [sys.executable, str(HERE / "plan_one.py"), dialect, str(path)]
        scan = [sys.executable, str(HERE / "scan_one.py"), str(path)]
        _check(ours)
        times = cpu_of({"ours": ours, "a plain scan": scan}, rounds)
        rows.append(compared(f"plan of 200 MB, {dialect}", times, "ours", "a plain scan", MOST_RATIO))
        peak = peak_of(ours)
        most = f"{MOST_BYTES / 1e6:.0f} MB"
        rows.append(Row(f"its memory, {dialect}", f"{peak / 1e6:.0f} MB", "most", most, peak / MOST_BYTES, 1))
    return rows


def _check(command: list[str]) -> None:
    """Refuse to measure a plan that leaves out most of the session."""
    summarised = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[1])
    assert summarised > 50_000, summarised
