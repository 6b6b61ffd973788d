"""A machine over many days: clients at work, people who hold and restore, what fails, and a run of retention a day."""

import math
import os
import random
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from slowwave.formats.notes import any_stands
from slowwave.report import Report
from slowwave.retention.audit import AuditLog
from slowwave.retention.holds import Hold, place_hold, release_hold
from slowwave.retention.removal import bring_back
from slowwave.stores.archive.shelf import Shelf, Shelved
from slowwave.stores.trash import TrashItem, is_whole, trash_folder, trash_items
from tests.faults.calls import Fault, closed, denied, faulty, full_from, in_child, kill, once
from tests.faults.retain_homes import leftovers
from tests.properties.retain_clients import Clients
from tests.properties.retain_disk import seen
from tests.properties.retain_oracle import PEOPLE, must_stay
from tests.properties.retain_truth import GRACE_S, Truth
from tests.unit.retention.homes import DAY, Home

_MOST_CALLS = 600
# so many days apart every byte is read anew
_WHOLE = 50
RULES: tuple[dict[str, Any], ...] = (
    {"max_age": "20d", "purge": True},
    {"max_age": "40d", "max_count": 6, "openclaw": "own"},
    {"max_age": "unlimited", "max_bytes": 9_000, "low_water": 0.7},
    {"max_age": "10d", "keep_last": 2, "keep_weekly": 3, "purge": True},
    {"max_age": "15d", "require_archive": False},
    {"max_age": "15d", "per_run": 2, "rescue": "12d"},
)


class World:
    """One machine, its days, and everything that a person would know about it."""

    def __init__(self, root: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.home = Home(root, **RULES[seed % len(RULES)])
        self.home.root.mkdir()
        self.truth = Truth(self.home)
        self.seen: Counter[str] = Counter()
        self.clients = Clients(self.home, self.truth, self.dice, self.seen)
        self.holds: list[Hold] = []
        self.restored: dict[str, float] = {}
        self.days = 0
        self.last_run = 0.0
        # the times of the files that lay there then: what is written with the clock set back is older than that run
        self.at_last_run: dict[str, int] = {}
        # whether today's runs are the whole job, with all that it keeps of its nights
        self.is_whole = False

    def day(self) -> None:
        """Let one day go by."""
        self.days += 1
        self.home.clock.advance(hours=24 + self.dice.uniform(-2, 2))
        for _ in range(self.dice.randrange(4)):
            self.clients.begin()
        for chance, happens in (
            (0.12, self._hold), (0.1, self._release), (0.15, self._restore), (0.05, self._restore_packed),
            (0.25, self.clients.resume), (0.1, self.clients.fork),
        ):  # fmt: skip
            if self.dice.random() < chance:
                happens()
        self.truth.note()
        if self.dice.random() < 0.15:
            self.clients.clean_up(self.last_run, self.at_last_run)
        self.clients.touched.clear()
        self.is_whole = self.dice.random() < 0.2
        jump = self.dice.choice([-30, -2, 5]) if self.dice.random() < 0.05 else 0
        self.seen["clock jumps"] += jump != 0
        self.home.clock.advance(days=jump)
        if self.dice.random() < 0.5:
            self._run_with(self._fault())
        report = self._run()
        assert report.failures == []
        assert AuditLog(self.home.environ).verify() == []
        if all(gate.passed for gate in report.gates):
            assert leftovers(self.home) == []
            self.last_run = self.home.clock.at.timestamp()
            self.at_last_run = {name: one[2] for name, one in self.truth.here.items()}
        self.home.clock.advance(days=-jump)
        if self.days % _WHOLE == 0:
            self.truth.check_whole()

    def _hold(self) -> None:
        since = self.home.clock.at.timestamp() - self.dice.choice([2, 9]) * DAY
        what = self.dice.choice(
            [
                {"person": self.dice.choice(PEOPLE)},
                {"project": self.dice.choice(["shop", ".codex", ".clawdbot"])},
                {"session": str(UUID(int=self.dice.randrange(1, self.clients.number + 2)))},
                {"since": datetime.fromtimestamp(since, UTC).isoformat()},
            ]
        )
        self.holds.append(place_hold(self.home.environ, self.home.clock.at, reason="r", by="ann", **what))

    def _release(self) -> None:
        for hold in self.holds[:2]:
            release_hold(self.home.environ, hold.id, self.home.clock.at)
            self.holds.remove(hold)

    def _restore(self) -> None:
        trash = trash_folder(self.home.environ)
        items = [item for item in trash_items(trash) if is_whole(item, trash) and self._is_free(item)]
        if items:
            self._back(self.dice.choice(items))

    def _is_free(self, item: TrashItem) -> bool:
        return not any(os.path.lexists(file.path) for file in item.files if file.kind == "file")

    def _back(self, item: TrashItem) -> None:
        trash = trash_folder(self.home.environ) / item.id
        stored = {Path(file.path): trash / file.stored for file in item.files if file.kind == "file"}
        expected = {path: one.read_bytes() for path, one in stored.items()}
        assert bring_back(item, self.home.environ, self.home.clock) == []
        assert {path: path.read_bytes() for path in stored} == expected
        for file in item.files:
            at = Path(file.path).stat()
            assert (at.st_mode & 0o7777, at.st_mtime_ns) == (file.mode, file.mtime_ns)
        assert not item.notes or any_stands(item.notes)
        self.restored |= {_name(self.home, path): self.home.clock.at.timestamp() for path in stored}
        self.seen["restored"] += 1

    def _restore_packed(self) -> None:
        """Bring back a session that was freed."""
        packed = [(one, [file for file in one.session.files if file.kind == "file"]) for one in self._latest()]
        gone = [(one, files) for one, files in packed if not any(os.path.lexists(file.path) for file in files)]
        if gone:
            one, files = self.dice.choice(gone)
            bring_back(one, self.home.environ, self.home.clock)
            now = self.truth.disk.sessions()
            for file in files:
                name = _name(self.home, Path(file.path))
                assert seen(now[name]) == (file.hash, file.mode, file.mtime_ns)
                self.restored[name] = self.home.clock.at.timestamp()
            self.seen["restored from the archive"] += 1

    def _latest(self) -> list[Shelved]:
        return [one for one in Shelf(self.home.data / "archive").latest() if one.session.files]

    def _fault(self) -> tuple[str, Fault]:
        point = int(math.exp(self.dice.uniform(0, math.log(_MOST_CALLS))))
        folders = [self.home.data / name for name in ("trash", "archive")]
        folders += {path.parent for path in self.clients.transcripts()}
        return self.dice.choice(
            [
                ("killed", once(point, kill)),
                ("killed", once(point, kill)),
                ("full", full_from(point)),
                ("denied", once(point, denied)),
                ("closed", closed(self.dice.choice(sorted(folders)))),
                ("client", once(point, self.clients.act)),
            ]
        )

    def _run_with(self, fault: tuple[str, Fault]) -> None:
        kind, what = fault
        self.seen[kind] += 1
        if kind == "client":
            with faulty(self.home.root, what):
                self._run()
        else:
            self.home.runs += 1
            in_child(self.home.root, what, self._tried)
            self._check()

    def _tried(self) -> None:
        try:
            self.home.run(step=not self.is_whole)
        except Exception:  # noqa: BLE001 - a full disk may stop a run altogether
            return

    def _run(self) -> Report:
        report = self.home.run(step=not self.is_whole)
        self.seen.update({name: n for name, n in report.counts.items() if name.split("_")[0] in _COUNTED})
        self.seen.update(gate.gate for gate in report.gates)
        self._check()
        return report

    def _check(self) -> None:
        went = self.truth.check(self._guarded())
        self.clients.opencode.check()
        self.seen["files that went"] += len(went)
        self.clients.touched.clear()

    def _guarded(self) -> set[str]:
        forks = {parent for fork, parent in self.clients.forks.items() if fork in self.truth.here}
        now = self.home.clock.at.timestamp()
        restored = {name for name, at in self.restored.items() if 0 <= now - at < GRACE_S}
        return must_stay(self.home, self.truth.here, now, self.holds, self.clients.touched | forks | restored)


_COUNTED = ("refused", "removed", "freed", "rescued", "purged", "archived", "resumed", "taken", "openclaw")


def _name(home: Home, path: Path) -> str:
    return str(path.relative_to(home.root))
