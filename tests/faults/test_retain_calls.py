"""Retention with a fault at every system call that changes something: killed, a full disk, a missing permission.

After each fault nothing is lost, and the next run leaves exactly what one run without a fault leaves.
"""

import errno
import os
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from slowwave.errors import SlowwaveError
from tests.faults.calls import (
    Fault,
    closed,
    counted,
    denied,
    full_from,
    in_child,
    killed_at,
    once,
    points,
    refused,
)
from tests.faults.retain_homes import DOES, copied, leftovers, prepared, saved, totals
from tests.unit.consolidation.dreams import no_fsync
from tests.unit.retention.homes import Home

STRIDE = 1 if os.environ.get("DRILLS") == "all" else 41


class Drill(NamedTuple):
    """A home before its run, and what is there afterwards: all that was, and what a run without a fault leaves."""

    root: Path
    kept: Path
    like: Home
    changes: int
    whole: dict[str, object]
    contents: set[bytes]

    def begin(self) -> Home:
        return copied(self.kept, self.root, self.like)

    def lost(self, home: Home) -> set[bytes]:
        return self.contents - saved(home)


@pytest.fixture
def drill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drill:
    monkeypatch.setattr(os, "fsync", no_fsync)
    root, kept = tmp_path / "home", tmp_path / "kept"
    like = prepared(root)
    shutil.copytree(root, kept, symlinks=True)
    contents = saved(like)
    changes = counted(root, lambda: _does_all(like))
    drill = Drill(root, kept, like, changes, totals(like), contents)
    assert drill.lost(like) == set()
    assert leftovers(like) == []
    return drill


def _does_all(home: Home) -> None:
    report = home.run()
    assert {name: report.counts.get(name) for name in DOES} == DOES
    assert report.failures == []


def test_a_run_that_is_killed_at_any_change_is_completed_by_the_next_one(drill: Drill) -> None:
    assert drill.changes > 400
    for point in points(drill.changes, STRIDE):
        home = drill.begin()
        assert killed_at(point, drill.root, home.run)
        assert drill.lost(home) == set(), point
        _completed(drill, home, point)


@pytest.mark.parametrize("fault", [refused(errno.ENOSPC), denied], ids=["full", "denied"])
def test_a_change_that_is_refused_once_is_told_and_costs_nothing(drill: Drill, fault: Fault) -> None:
    for point in points(drill.changes, STRIDE):
        home = drill.begin()
        was_told = _is_told(drill, home, once(point, fault))
        assert drill.lost(home) == set(), point
        assert was_told or totals(home) == drill.whole, point
        _completed(drill, home, point)


def test_a_disk_that_is_full_from_any_change_on_costs_nothing(drill: Drill) -> None:
    for point in points(drill.changes, STRIDE):
        home = drill.begin()
        was_told = _is_told(drill, home, full_from(point))
        assert drill.lost(home) == set(), point
        assert was_told or totals(home) == drill.whole, point
        _completed(drill, home, point)


FOLDERS = {
    "trash": "data/slowwave/trash",
    "archive": "data/slowwave/archive",
    "data": "data/slowwave",
    "state": "state/slowwave",
    "claude": ".claude/projects/-home-ann-shop",
    "codex": ".codex",
    "pi": ".pi/agent/sessions/--w--",
    "crabtalk": ".crabtalk/sessions",
    "ulid": ".agent/sessions",
    "clawdbot": ".clawdbot/agents/main/sessions",
    "memory": ".claude/projects/-home-ann-shop/memory/.slowwave",
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_that_nobody_may_change_costs_nothing_and_stops_no_other(drill: Drill, name: str) -> None:
    home = drill.begin()
    was_told = _is_told(drill, home, closed(drill.root / FOLDERS[name]))
    assert drill.lost(home) == set()
    # what is in a memory folder is not changed there: the folder is exchanged as a whole
    assert was_told == (name != "memory")
    assert was_told or totals(home) == drill.whole
    _completed(drill, home, 0)


def _is_told(drill: Drill, home: Home, fault: Fault) -> bool:
    """Run with a fault and say whether the run says that something went wrong."""

    def run() -> bool:
        try:
            report = home.run()
        except (OSError, SlowwaveError):
            return True
        return bool(report.failures or report.warnings)

    home.runs += 1  # as the child will count
    return bool(in_child(drill.root, fault, run))


def _completed(drill: Drill, home: Home, point: int) -> None:
    again = home.run()
    assert again.failures == [], point
    left = totals(home)
    assert left == drill.whole, (point, _differing(left, drill.whole))
    assert leftovers(home) == [], point


def _differing(left: dict[str, object], whole: dict[str, object]) -> list[str]:
    return [name for name, one in whole.items() if left[name] != one]
