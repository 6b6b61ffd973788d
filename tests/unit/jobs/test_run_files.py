"""What runs leave in the state folder goes after a month, and nothing else that lies there does."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slowwave.context import FixedClock, Run
from slowwave.files import TEMP_PREFIX
from slowwave.jobs.run import KEPT
from slowwave.jobs.story import run_job
from slowwave.settings import Settings

NOW = datetime(2026, 11, 20, 3, 30, tzinfo=UTC)
NAMES = ("r1.model.json", "r1.manifest.json", "r1.notes.json")


@pytest.mark.parametrize(
    ("age", "dry_run", "left"),
    [
        (KEPT - timedelta(minutes=1), False, set(NAMES)),
        (KEPT + timedelta(minutes=1), False, {"r1.notes.json"}),
        (KEPT + timedelta(minutes=1), True, set(NAMES)),
    ],
)
def test_files_of_runs_are_kept_for_a_month(own_home: Path, age: timedelta, dry_run: bool, left: set[str]):
    folder = own_home / "state" / "slowwave" / "runs"
    folder.mkdir(parents=True)
    at = (NOW - age).timestamp()
    for name in NAMES:
        (folder / name).write_text("{}")
        os.utime(folder / name, (at, at))
    environ = {"HOME": str(own_home), "XDG_STATE_HOME": str(own_home / "state")}
    report = run_job("extract", Run("r2", Settings(), FixedClock(NOW), environ, dry_run=dry_run))
    assert {path.name for path in folder.iterdir()} == left
    assert report.counts.get("old_run_files", 0) == len(NAMES) - len(left)


@pytest.mark.parametrize(("pid", "left"), [(2**22 + 1, False), (os.getpid(), True)], ids=["gone", "alive"])
def test_what_a_killed_process_had_not_written_to_its_end_goes_at_once(own_home: Path, pid: int, *, left: bool):
    half = own_home / "state" / "slowwave" / "runs" / f"{TEMP_PREFIX}{pid}-0badcafe"
    half.parent.mkdir(parents=True)
    half.write_text("{")
    environ = {"HOME": str(own_home), "XDG_STATE_HOME": str(own_home / "state")}
    run_job("extract", Run("r2", Settings(), FixedClock(NOW), environ))
    assert half.exists() == left
