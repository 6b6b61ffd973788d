"""Retention over many simulated days: every client, holds, restores, clock jumps, kills, full and closed disks.

Clients begin, resume and fork sessions, also in the middle of a run, and Claude Code cleans up by itself. Whatever
happens: nothing that a guard keeps ever goes, no byte is lost, all that went comes back as it was, within its grace
period from the trash and afterwards from the archive, and the audit log proves itself.
"""

import os
import shutil
from datetime import datetime
from pathlib import Path

import pytest

from slowwave.retention.audit import AuditLog
from slowwave.stores.trash import trash_folder, trash_items
from tests.properties.retain_world import World
from tests.unit.consolidation.dreams import no_fsync
from tests.unit.retention.job.homes import DAY

DAYS, FLEETS = (1_095, 12) if os.environ.get("DRILLS") == "all" else (25, 3)


@pytest.mark.parametrize("seed", range(FLEETS))
def test_nothing_that_must_stay_goes_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(os, "fsync", no_fsync)
    world = World(tmp_path / "home", seed)
    for _ in range(DAYS):
        world.day()
    print(seed, dict(sorted(world.seen.items())))
    assert world.seen["removed"] > DAYS // 10
    assert world.seen["killed"] > 0
    world.truth.check_whole()
    _check_freed(world)
    shutil.rmtree(world.home.root)


def _check_freed(world: World) -> None:
    """Say that nothing was freed before its grace was over, and never what was not thrown away."""
    thrown: dict[str, float] = {}
    for line in AuditLog(world.home.environ).lines():
        at = datetime.fromisoformat(line.at).timestamp()
        if line.action == "trash":
            assert line.item not in thrown
            thrown[line.item] = at
        elif line.action == "free":
            assert at - thrown.pop(line.item) >= 7 * DAY
        elif line.action == "restore":
            thrown.pop(line.item, None)  # or out of a pack
    assert set(thrown) == {item.id for item in trash_items(trash_folder(world.home.environ))}
