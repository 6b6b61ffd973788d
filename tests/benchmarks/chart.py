"""Cost against size, from 1 MB to 1 GB in one session and from 100 to 100,000 files in a store: table and picture.

A line that rises with what has not changed is a fault: the context of a compacted session stays where it is, and a
store that nothing happened in costs its walk. Processor time; whole processes in the first chart, calls in the second.
"""

import random
import shutil
import sys
from pathlib import Path

from drawing import Series, panel, picture
from measure import cpu_of, seconds
from peers import HERE
from rows_context import compacted_file, context_command
from rows_store import lister
from rows_text import text_command
from sessions_data import VERSION, Maker, claude_lines, fleet

from slowwave.settings import load_settings
from slowwave.stores.discovery import changed_since

MEGABYTES = (1, 10, 100, 1000)
FILES = (100, 1000, 10_000, 100_000)
_PANEL_HEIGHT = 400
_LONG_AGO = 1_000_000_000 * 10**9


def draw(build: Path, rounds: int) -> None:
    """Measure, print the two tables and write ``chart.svg``."""
    by_size = _by_size(build, rounds)
    by_files = _by_files(build, rounds)
    _print("bytes of one session", by_size)
    _print("files of a store", by_files)
    first = panel("One session of 1 MB to 1 GB, compacted near its end", "bytes of the session", by_size, 0)
    second = panel("A store of 100 to 100,000 sessions", "files of the store", by_files, _PANEL_HEIGHT)
    path = build / "chart.svg"
    path.write_text(picture([first, second]), encoding="utf-8")
    print(f"drawn: {path}")


def _by_size(build: Path, rounds: int) -> Series:
    series: dict[str, list[tuple[float, float]]] = {"load": [], "text": [], "context": []}
    for size in MEGABYTES:
        path = compacted_file(build, "claude", size)
        works = {
            "load": [sys.executable, str(HERE / "load_one.py"), str(path)],
            "text": text_command(path),
            "context": context_command(path),
        }
        times = cpu_of(works, 1 if size >= MEGABYTES[-1] else rounds)
        for name, spent in times.items():
            series[name].append((size * 1e6, spent))
    return series


def _by_files(build: Path, rounds: int) -> Series:
    series: dict[str, list[tuple[float, float]]] = {"list, warm": [], "1 % grew": [], "changed since": []}
    for files in FILES:
        folder = fleet(build / f"data-{VERSION}" / f"tiny{files}" / "projects", files, 1, projects=100)
        state = build / "catalogue" / f"tiny{files}.sqlite"
        times = _store_times(folder, state, files, rounds)
        for name, spent in times.items():
            series[name].append((files, spent))
    return series


def _store_times(folder: Path, state: Path, files: int, rounds: int) -> dict[str, float]:
    work = lister(folder, state)
    settings = load_settings({}, overrides=[f"store.roots={folder}"], cwd=folder)
    sessions = sorted(folder.glob("*/*.jsonl"))
    chance, line = random.Random(3), next(claude_lines(Maker(9), 1))

    def grow() -> None:
        for path in chance.sample(sessions, max(1, files // 100)):
            with path.open("ab") as file:
                file.write(line)

    shutil.rmtree(state.parent, ignore_errors=True)
    assert work() == files
    times = cpu_of({"list, warm": work, "changed since": lambda: changed_since(settings, {}, _LONG_AGO)}, rounds)
    return times | cpu_of({"1 % grew": work}, rounds, before=grow)


def _print(head: str, series: Series) -> None:
    sizes = [x for x, _ in next(iter(series.values()))]
    print(f"\n{head:24}" + "".join(f"{size:>14,.0f}" for size in sizes))
    for name, points in series.items():
        print(f"{name:24}" + "".join(f"{seconds(spent):>14}" for _, spent in points))
