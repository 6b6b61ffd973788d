"""Retention over many simulated days: random fleets, rules, holds, restores, clock jumps, clients at work, and kills.

Whatever happens: nothing that a guard keeps ever goes, no byte is lost, all that went comes back as it was within
its grace period, and the audit log proves itself.
"""

import os
import random
import shutil
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from slowwave import files
from slowwave.retention.audit import AuditLog, Entry
from slowwave.retention.holds import place_hold, read_holds, release_hold
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.freeing import is_whole
from slowwave.stores.trash import TrashItem, restore, trash_folder, trash_items
from tests.unit.consolidation.dreams import no_fsync
from tests.unit.retention.job.homes import DAY, Home

FULL = os.environ.get("DRILLS") == "full"
DAYS = 1_095 if FULL else 40
FLEETS = 10 if FULL else 4
PEOPLE = ("Erika Mustermann", "Jürgen Groß", "Ann O'Neill")
File = tuple[bytes, int, int]


class _KilledError(BaseException):
    """Stands for the end of the process."""


class World:
    """A home, and what a person would know about it: every file that ever was, and what is held."""

    def __init__(self, root: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.home = Home(root, **self._rules())
        self.number = 0
        self.written: dict[str, File] = {}
        self.held: dict[str, str] = {}
        self.live: set[str] = set()
        self.seen: Counter[str] = Counter()

    def _rules(self) -> dict[str, object]:
        return self.dice.choice(
            [
                {"max_age": "20d"},
                {"max_age": "40d", "max_count": 6},
                {"max_age": "unlimited", "max_bytes": 4_000, "low_water": 0.7},
                {"max_age": "10d", "keep_last": 2, "keep_weekly": 3},
                {"max_age": "15d", "require_archive": False},
                {"max_age": "15d", "per_run": 2},
            ]
        )

    def day(self) -> None:
        """Let one day go by."""
        self.home.clock.advance(hours=24 + self.dice.uniform(-2, 2))
        for _ in range(self.dice.randrange(3)):
            self._begin()
        for chance, happens in (
            (0.15, self._hold),
            (0.1, self._release),
            (0.15, self._bring_back),
            (0.2, self._resume),
        ):
            if self.dice.random() < chance:
                happens()
        jump = self.dice.choice([-30, -2, 5]) if self.dice.random() < 0.05 else 0
        self.home.clock.advance(days=jump)
        self._run()
        self.home.clock.advance(days=-jump)

    def _begin(self) -> None:
        self.number += 1
        words = [f"say {self.number}", *(self.dice.sample(PEOPLE, 1) if self.dice.random() < 0.3 else [])]
        dialect = self.dice.choice(["claude", "claude", "pi", "codex"])
        side = dialect == "claude" and self.dice.random() < 0.3
        self.home.add(dialect, self.number, self.dice.choice([0.01, 1, 5]), *words, side=side)
        self._note()

    def _note(self) -> None:
        self.written = self.home.clients()

    def _hold(self) -> None:
        person = self.dice.choice(PEOPLE)
        hold = place_hold(self.home.environ, self.home.clock.at, reason="r", by="ann", person=person)
        self.held[hold.id] = person

    def _release(self) -> None:
        for name in list(self.held)[:1]:
            release_hold(self.home.environ, name, self.home.clock.at)
            del self.held[name]

    def _bring_back(self) -> None:
        trash = trash_folder(self.home.environ)
        items = [item for item in trash_items(trash) if is_whole(item, trash)]
        if items:
            item = self.dice.choice(items)
            expected = self._of(item)
            assert restore(item, trash) == []
            found = self.home.clients()
            assert {name: found[name] for name in expected} == expected
            line = Entry(action="restore", session=item.session, item=item.id)
            AuditLog(self.home.environ).append([line], self.home.clock.at)
            self.seen["restored"] += 1
            self._note()

    def _resume(self) -> None:
        """Let a client write to an old session."""
        paths = [
            path for path in self.home.root.rglob("*.jsonl") if path.parts[-2] != "slowwave" and self._is_main(path)
        ]
        if paths:
            path = self.dice.choice(sorted(paths))
            with path.open("ab") as file:
                file.write(path.read_bytes().splitlines(keepends=True)[-1])
            self.home.touch(path, 0.001)
            self._note()

    def _is_main(self, path: Path) -> bool:
        name = str(path.relative_to(self.home.root))
        return name in self.written and "subagents" not in name

    def _of(self, item: TrashItem) -> dict[str, File]:
        """Return what an item stands for, as it was when it was last in its place."""
        trash = trash_folder(self.home.environ) / item.id
        return {
            str(Path(one.path).relative_to(self.home.root)): ((trash / one.stored).read_bytes(), one.mode, one.mtime_ns)
            for one in item.files
            if one.kind == "file"
        }

    def _run(self) -> None:
        before = self.home.clients()
        if self.dice.random() < 0.3:
            self._killed_run()
        report = self.home.run()
        self.seen.update(
            {name: number for name, number in report.counts.items() if name.startswith(("ref", "rem", "fre"))}
        )
        self.seen.update(gate.gate for gate in report.gates)
        assert report.failures == []
        after = self.home.clients()
        self._check(before, after)
        self.written = after

    def _killed_run(self) -> None:
        left = self.dice.randrange(1, 120)

        def stop(_event: str, _path: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise _KilledError

        files.fault_hook = stop
        try:
            self.home.run()
        except _KilledError:
            self.seen["killed"] += 1
        finally:
            files.fault_hook = _nothing

    def _check(self, before: dict[str, File], after: dict[str, File]) -> None:
        gone = before.keys() - after.keys()
        assert {name: after[name] for name in after if name in before} == {
            name: one for name, one in before.items() if name not in gone
        }
        assert not after.keys() - before.keys()
        trash = trash_folder(self.home.environ)
        thrown: dict[str, File] = {}
        for item in trash_items(trash):
            thrown |= self._of(item)
        now = self.home.clock.at.timestamp()
        for name in gone:
            data, _, mtime = before[name]
            assert thrown[name] == before[name], name
            assert now - mtime / 1e9 > timedelta(minutes=30).total_seconds() or "subagents" in name
            assert not any(person.encode() in data or _escaped(person) in data for person in self.held.values()), name
        if self.home.settings.retention.require_archive and gone:
            packed = {f.path for one in Shelf(self.home.data / "archive").sessions() for f in one.session.files}
            assert {str(self.home.root / name) for name in gone} <= packed
        assert AuditLog(self.home.environ).verify() == []
        assert {hold.id for hold in read_holds(self.home.environ)} == set(self.held)


def _escaped(text: str) -> bytes:
    return text.encode("ascii", "backslashreplace")


def _nothing(_event: str, _path: str) -> None:
    pass


@pytest.mark.parametrize("seed", range(FLEETS))
def test_nothing_that_must_stay_goes_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(os, "fsync", no_fsync)
    world = World(tmp_path / "home", seed)
    for _ in range(DAYS):
        world.day()
    assert world.seen["removed"] > DAYS // 10
    assert world.seen["killed"] > 0
    _check_freed(world)
    shutil.rmtree(world.home.root)


def _check_freed(world: World) -> None:
    """Say that nothing was freed before its grace was over, and never what was not thrown away."""
    thrown: dict[str, float] = {}
    for line in AuditLog(world.home.environ).lines():
        at = _seconds(line.at)
        if line.action == "trash":
            assert line.item not in thrown
            thrown[line.item] = at
        elif line.action == "free":
            assert at - thrown.pop(line.item) >= 7 * DAY
        elif line.action == "restore":
            thrown.pop(line.item)
    assert set(thrown) == {item.id for item in trash_items(trash_folder(world.home.environ))}


def _seconds(text: str) -> float:
    from datetime import datetime  # noqa: PLC0415 - only here

    return datetime.fromisoformat(text).timestamp()
