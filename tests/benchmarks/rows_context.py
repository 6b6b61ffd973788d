"""Context of a compacted session: against pi on the same bytes, its memory, and that the file's size is nothing."""

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from measure import Row, compared, cpu_of, peak_of, rounds_of, seconds
from peers import pi_context
from sessions_compacted import compacted_cersei, compacted_claude, compacted_codex, compacted_pi
from sessions_data import VERSION, Maker, write_lines

SIZES = (50, 200)
MAKERS: dict[str, Callable[[Maker, int], Iterator[bytes]]] = {
    "claude": compacted_claude,
    "pi": compacted_pi,
    "codex": compacted_codex,
    "cersei": compacted_cersei,
}
# Its summaries say how many messages they hide, so that every line before them has to be looked at the first time.
COUNTED = "cersei"
# A growth of nothing is told from noise by many pairs, each measured within half a second.
PAIRS = 3
MOST_RATIO = 0.1
MOST_BYTES = 40_000_000
MOST_GROWTH = 1.3


def compacted_file(build: Path, dialect: str, megabytes: int) -> Path:
    """Return a compacted session of some dialect and size, made once."""
    path = build / f"data-{VERSION}" / "compacted" / f"{dialect}-{megabytes}.jsonl"
    return write_lines(path, MAKERS[dialect](Maker(4), megabytes * 1_000_000))


def context_command(path: Path) -> list[str]:
    """Return the command a person would type, as its own process."""
    return [sys.executable, "-m", "slowwave", "sessions", "context", str(path), "--json"]


def context(build: Path, rounds: int) -> list[Row]:
    """Build contexts of 50 and 200 MB, whole process: against pi's ``open`` and ``buildSessionContext``."""
    files = {(dialect, size): compacted_file(build, dialect, size) for dialect in MAKERS for size in SIZES}
    commands = {f"{dialect} {size}": context_command(path) for (dialect, size), path in files.items()}
    for command in commands.values():
        _check(command)
    peer = pi_context(build)
    if peer:
        commands |= {f"pi itself, {size} MB": [*peer, str(files["pi", size])] for size in SIZES}
    times = cpu_of(commands, rounds)
    rows: list[Row] = []
    for dialect, size in files:
        job, ours = f"context of {size} MB, {dialect}", f"{dialect} {size}"
        if peer:
            rows.append(compared(job, times, ours, f"pi itself, {size} MB", MOST_RATIO))
        else:
            rows.append(Row(job, f"{times[ours]:.3f} s", "pi, not here", "-", None, MOST_RATIO))
    rows += [_growth([commands[f"{dialect} {size}"] for size in SIZES], rounds * PAIRS, dialect) for dialect in MAKERS]
    rows += [_memory(commands[f"{dialect} 200"], dialect) for dialect in MAKERS]
    return rows + [_first(commands[f"{COUNTED} {size}"], times[f"{COUNTED} {size}"], size, rounds) for size in SIZES]


def _first(command: list[str], later: float, size: int, rounds: int) -> Row:
    """Tell what it costs to count a session for the first time; no comparator, so that it is only told."""
    notes = Path(os.environ["XDG_STATE_HOME"]) / "slowwave" / "contexts"
    spent = cpu_of({"first": command}, rounds, before=lambda: shutil.rmtree(notes, ignore_errors=True))["first"]
    job = f"the first context of {size} MB, {COUNTED}"
    return Row(job, seconds(spent), "every later one", seconds(later), spent / later, None)


def _check(command: list[str]) -> None:
    """Refuse to measure a context that is none."""
    answer = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert 100 < len(answer["messages"]) < 5000, len(answer["messages"])


def _growth(pair: list[list[str]], rounds: int, dialect: str) -> Row:
    """Compare the two sizes by the median of ratios: the two of a pair ran one right after the other."""
    times = rounds_of({"small": pair[0], "large": pair[1]}, rounds)
    ratio = statistics.median(large / small for small, large in zip(times["small"], times["large"], strict=True))
    small, large = (seconds(statistics.median(times[name])) for name in ("small", "large"))
    return Row(f"the same, by size, {dialect}", large, "of 50 MB", small, ratio, MOST_GROWTH)


def _memory(command: list[str], dialect: str) -> Row:
    peak = peak_of(command)
    job = f"memory of a context, {dialect}"
    return Row(job, f"{peak / 1e6:.0f} MB", "most", f"{MOST_BYTES / 1e6:.0f} MB", peak / MOST_BYTES, 1)
