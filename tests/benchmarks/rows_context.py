"""Context of a compacted session: against pi on the same bytes, its memory, and that the file's size is nothing."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from measure import Row, compared, cpu_of, peak_of
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
# Its summaries say how many messages they hide, so that every line before them has to be looked at: no size is alike.
ONE_PASS = "cersei"
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
    rows += [_growth(times, dialect) for dialect in MAKERS]
    return rows + [_memory(commands[f"{dialect} 200"], dialect) for dialect in MAKERS]


def _check(command: list[str]) -> None:
    """Refuse to measure a context that is none."""
    answer = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert 100 < len(answer["messages"]) < 5000, len(answer["messages"])


def _growth(times: dict[str, float], dialect: str) -> Row:
    must = None if dialect == ONE_PASS else MOST_GROWTH
    small, large = (times[f"{dialect} {size}"] for size in SIZES)
    return Row(f"the same, by size, {dialect}", f"{large:.3f} s", "of 50 MB", f"{small:.3f} s", large / small, must)


def _memory(command: list[str], dialect: str) -> Row:
    peak = peak_of(command)
    job = f"memory of a context, {dialect}"
    return Row(job, f"{peak / 1e6:.0f} MB", "most", f"{MOST_BYTES / 1e6:.0f} MB", peak / MOST_BYTES, 1)
