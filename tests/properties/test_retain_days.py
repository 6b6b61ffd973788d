"""Retention over many simulated days: every client, holds, restores, clock jumps, kills, full and closed disks.

Clients begin, resume and fork sessions, also in the middle of a run, and Claude Code cleans up by itself. Whatever
happens: nothing that a guard keeps ever goes, no byte is lost, all that went comes back as it was, within its grace
period from the trash and afterwards from the archive, and the audit log proves itself.

Three years of a fleet take four minutes of a processor: two fleets with each set of rules, with DRILLS=all; two fleets
over a year with DRILLS=full.
"""

import os
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from slowwave.retention import plan, removal
from slowwave.retention.audit import AuditLog
from slowwave.retention.removal import Freer
from slowwave.stores.archive import pack
from slowwave.stores.trash import TrashItem, trash_folder, trash_items
from tests.properties.retain_world import World
from tests.unit.consolidation.dreams import no_fsync
from tests.unit.retention.fleets import ADD
from tests.unit.retention.homes import DAY

DAYS, FLEETS = {"all": (1_095, 12), "full": (365, 2)}.get(os.environ.get("DRILLS", ""), (25, 2))
# what three years of any fleet must have met
_MET = (
    *ADD,
    *("opencode", "resumed", "resumed in the database", "forked", "wrote in mid-run", "cleaned up", "clock jumps"),
    *("killed", "full", "denied", "closed", "client", "removed", "restored", "refused_held", "refused_database"),
)


@pytest.mark.parametrize("seed", range(FLEETS))
def test_nothing_that_must_stay_goes_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(os, "fsync", no_fsync)
    world = World(tmp_path / "home", seed)
    _live(world, DAYS)
    print(seed, dict(sorted(world.seen.items())))
    assert world.seen["removed"] > (DAYS // 10 if DAYS > 300 else 0)
    assert world.seen["killed"] > 0
    assert [what for what in _MET if not world.seen[what]] == [] or DAYS < 1_000
    world.truth.check_whole()
    _check_freed(world)
    shutil.rmtree(world.home.root)


def _ignores_holds(patch: pytest.MonkeyPatch) -> None:
    def nobody(*_: object) -> str:
        return ""

    patch.setattr(plan, "held_by", nobody)


def _frees_at_once(patch: pytest.MonkeyPatch) -> None:
    def due(*_: object) -> bool:
        return True

    patch.setattr(Freer, "_is_due", due)


def _packs_another_byte(patch: pytest.MonkeyPatch) -> None:
    real = pack._read

    def changed(fd: int, into: memoryview) -> int:
        number = real(fd, into)
        into[number - 1 : number] = b" "[:number]
        return number

    def compared(*_: object) -> None:
        return

    patch.setattr(pack, "_read", changed)
    patch.setattr(pack, "_compare", compared)


def _restores_without_times(patch: pytest.MonkeyPatch) -> None:
    real = removal.restore

    def untimed(item: TrashItem, trash: Path) -> list[str]:
        said = real(item, trash)
        for file in item.files:
            os.utime(file.path)
        return said

    patch.setattr(removal, "restore", untimed)


@pytest.mark.parametrize("broken", [_ignores_holds, _frees_at_once, _packs_another_byte, _restores_without_times])
def test_a_defect_that_costs_something_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: Callable[[pytest.MonkeyPatch], None]
) -> None:
    monkeypatch.setattr(os, "fsync", no_fsync)
    broken(monkeypatch)
    world = World(tmp_path / "home", 0)
    with pytest.raises(AssertionError):
        _live(world, 60)


def _live(world: World, days: int) -> None:
    for _ in range(days):
        world.day()


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
