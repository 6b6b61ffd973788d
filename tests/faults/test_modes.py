"""Whatever slowwave makes is for its owner alone, under any umask; what a client made keeps its mode."""

import os
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowwave.samples import build
from slowwave.service.server import own_server

COMMANDS = (
    ("doctor",),
    ("sessions", "list"),
    ("sessions", "search", "tests"),
    ("run", "nightly", "--direct", "--force"),
    ("status", "--html"),
    ("run", "compact", "--direct", "--force"),
    ("run", "retain", "--direct", "--apply", "--confirm", "99", "--set", "retention.max_count=1"),
    ("run", "backfill", "--since", "2020-01-01", "--direct"),
    ("run", "erase", "--secrets", "--direct", "--apply"),
    ("run", "erase", "--topic", "pytest", "--apply"),
    ("run", "nightly", "--direct", "--force", "--set", "consolidation.mode=review"),
    ("doctor",),
)


# as a worker of Prefect or Dask calls the library: with the umask that it was given
LIBRARY = ("-c", "import sys; from slowwave.cli import _main; sys.exit(_main(sys.argv[1:]))")
COMMAND = ("-m", "slowwave")


def command(home: Path, umask: int, how: tuple[str, ...], *words: str) -> None:
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    start = [sys.executable, *how, *words]
    done = subprocess.run(start, env=environ, capture_output=True, text=True, check=False, umask=umask)
    assert done.returncode in (0, 4, 5), (words, done.stdout, done.stderr)


def modes(home: Path) -> dict[Path, int]:
    return {p: stat.S_IMODE(p.lstat().st_mode) for p in home.rglob("*") if not p.is_symlink()}


def is_open(home: Path, before: dict[Path, int]) -> list[str]:
    """Return what was made since and is not for its owner alone, or not what it was."""
    now = modes(home)
    made = [f"{mode:o} {p}" for p, mode in now.items() if p not in before and mode & 0o077]
    return sorted(made + [f"{now[p]:o} {p}" for p, mode in before.items() if p in now and now[p] != mode])


@pytest.mark.parametrize(("umask", "how"), [(0o000, LIBRARY), (0o022, LIBRARY), (0o000, COMMAND)])
def test_nothing_that_the_jobs_make_is_open_to_others(own_home: Path, umask: int, how: tuple[str, ...]) -> None:
    store = build(own_home, datetime.now(UTC)).home
    of_client = next(iter(store.glob(".claude/projects/*"))) / "memory"
    of_client.mkdir(mode=0o755)
    of_client.chmod(0o755)
    (of_client / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
    (of_client / "MEMORY.md").chmod(0o644)
    before = modes(own_home)
    for words in COMMANDS:
        command(own_home, umask, how, *words)
    assert is_open(own_home, before) == []
    assert (of_client / ".slowwave" / "guard.lock").exists()
    assert list(of_client.glob(".slowwave/undo/*/before/*"))


@pytest.mark.e2e
def test_nothing_that_prefect_makes_for_us_is_open_to_others(own_home: Path) -> None:
    build(own_home, datetime.now(UTC))
    before = modes(own_home)
    command(own_home, 0o000, COMMAND, "run", "nightly", "--prefect", "--force")
    assert list(own_home.rglob("prefect.db*"))
    assert is_open(own_home, before) == []


@pytest.mark.e2e
def test_nothing_that_a_server_of_ours_makes_is_open_to_others(tmp_path: Path) -> None:
    home = tmp_path / "home" / "prefect"
    before = os.umask(0o000)
    try:
        with own_server(home, {**os.environ, "HOME": str(tmp_path)}):
            assert list(home.rglob("prefect.db*"))
    finally:
        os.umask(before)
    assert is_open(tmp_path, {}) == []
