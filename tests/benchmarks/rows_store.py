"""List, re-scan and find what changed, over many sessions."""

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from measure import Row, compared, cpu_of
from sessions_data import VERSION, Maker, claude_lines, fleet

from slowwave.settings import load_settings
from slowwave.stores.catalogue import Catalogue
from slowwave.stores.discovery import changed_since, list_sessions

# what takes a fraction of a second is run so many times more often
SHORT = 3


def bare_walk(folder: Path) -> int:
    """Stat every file of the projects, the fastest way that Python has."""
    total = 0
    for home in os.listdir(folder):  # noqa: PTH208
        if home.startswith("-"):
            fd = os.open(folder / home, os.O_RDONLY | os.O_DIRECTORY)
            try:
                total += sum(os.stat(name, dir_fd=fd).st_size for name in os.listdir(fd))  # noqa: PTH208
            finally:
                os.close(fd)
    return total


def lister(root: Path, state: Path) -> Callable[[], int]:
    """Return a function that lists all sessions by the catalogue, as ``sessions list`` does."""
    settings = load_settings({}, overrides=[f"store.roots={root}"], cwd=root)

    def work() -> int:
        with Catalogue(state) as catalogue:
            return len(list_sessions(settings, {"HOME": str(root)}, catalogue).rows)

    return work


def listing(build: Path, rounds: int, files: int = 10_000) -> list[Row]:
    """List 10,000 sessions: first scan, warm catalogue, and again after one in a hundred has grown."""
    folder = fleet(build / f"data-{VERSION}" / f"fleet{files}" / "projects", files, 67_000, projects=40)
    state = build / "catalogue" / "fleet.sqlite"
    work = lister(folder, state)
    sessions = sorted(folder.glob("*/*.jsonl"))
    chance = random.Random(1)
    line = next(claude_lines(Maker(9), 1))

    def first() -> None:
        shutil.rmtree(state.parent, ignore_errors=True)
        assert work() == files

    def grow() -> None:
        for path in chance.sample(sessions, files // 100):
            with path.open("ab") as file:
                file.write(line * 4)

    def warm() -> None:
        assert work() == files

    times = cpu_of({"first scan": first}, max(1, rounds // 4))
    times |= cpu_of({"warm": warm, "bare stat walk": lambda: bare_walk(folder)}, rounds * SHORT)
    times |= cpu_of({"again": warm}, rounds, before=grow)
    return [
        compared("list 10,000, warm", times, "warm", "bare stat walk", 2.5),
        compared("re-scan, 1 % grew", times, "again", "first scan", 0.08),
    ]


def changed(build: Path, rounds: int, files: int = 100_000) -> list[Row]:
    """Find what changed since a moment among 100,000 files: against ``find -newermt``."""
    folder = fleet(build / f"data-{VERSION}" / f"tiny{files}" / "projects", files, 1, projects=100)
    settings = load_settings({}, overrides=[f"store.roots={folder}"], cwd=folder)
    chance = random.Random(2)
    since = 1_700_000_000
    for number, path in enumerate(folder.glob("*/*.jsonl")):
        at = since + (50 if chance.random() < 0.01 or number == 0 else -50)
        os.utime(path, (at, at))
    homes = [str(home) for home in folder.iterdir() if home.is_dir()]
    find = ["find", *homes, "-name", "*.jsonl", "-newermt", f"@{since}"]
    expected = subprocess.run(find, check=True, capture_output=True, text=True).stdout.splitlines()
    assert sorted(changed_since(settings, {}, since * 10**9)) == sorted(expected)
    times = cpu_of({"ours": lambda: changed_since(settings, {}, since * 10**9), "find -newermt": find}, rounds * SHORT)
    return [compared("changed since, 100,000", times, "ours", "find -newermt", 1.5)]
