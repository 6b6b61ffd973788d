"""A machine over many days: clients that begin and resume sessions, people who hold and restore, and what fails."""

import json
import math
import os
import random
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from slowwave.report import Report
from slowwave.retention.by_hand import bring_back
from slowwave.retention.holds import Hold, place_hold, release_hold
from slowwave.retention.job.cleanup import CLEANUP_DAYS
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.client_index import any_stands
from slowwave.stores.freeing import is_whole
from slowwave.stores.openclaw.lock import lock_path
from slowwave.stores.trash import TrashItem, trash_folder, trash_items
from slowwave.stores.writing.codex_lock import is_held
from tests.faults.calls import Fault, closed, denied, faulty, full_from, in_child, kill, once
from tests.faults.retain_homes import leftovers
from tests.properties.retain_oracle import PEOPLE, must_stay
from tests.properties.retain_truth import Truth, seen, sessions_in
from tests.unit.retention.job.fleets import ADD
from tests.unit.retention.job.homes import DAY, Home

_MOST_CALLS = 600
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
        self.truth = Truth(self.home)
        self.number = 0
        self.holds: list[Hold] = []
        self.restored: dict[str, float] = {}
        self.forks: dict[str, str] = {}
        self.last_run = 0.0
        self.seen: Counter[str] = Counter()
        # files that a client has written to, and what was forked from, in the run that is at work
        self.touched: set[str] = set()

    def day(self) -> None:
        """Let one day go by."""
        self.home.clock.advance(hours=24 + self.dice.uniform(-2, 2))
        for _ in range(self.dice.randrange(4)):
            self._begin()
        for chance, happens in (
            (0.12, self._hold), (0.1, self._release), (0.15, self._restore), (0.05, self._restore_packed),
            (0.25, self._resume), (0.1, self._fork),
        ):  # fmt: skip
            if self.dice.random() < chance:
                happens()
        self.truth.note()
        self._clean_up()
        self.touched.clear()
        jump = self.dice.choice([-30, -2, 5]) if self.dice.random() < 0.05 else 0
        self.home.clock.advance(days=jump)
        if self.dice.random() < 0.5:
            self._run_with(self._fault())
        report = self._run()
        assert report.failures == []
        if all(gate.passed for gate in report.gates):
            assert leftovers(self.home) == []
            self.last_run = self.home.clock.at.timestamp()
        self.home.clock.advance(days=-jump)

    def _begin(self) -> None:
        self.number += 1
        dialect = self.dice.choice(list(ADD))
        texts = [f"say {self.number}", *(self.dice.sample(PEOPLE, 1) if self.dice.random() < 0.3 else [])]
        ADD[dialect](self.home, self.number, self.dice.choice([0.001, 1, 5]), *texts)
        self.seen[dialect] += 1

    def _hold(self) -> None:
        since = self.home.clock.at.timestamp() - self.dice.choice([2, 9]) * DAY
        what = self.dice.choice(
            [
                {"person": self.dice.choice(PEOPLE)},
                {"project": self.dice.choice(["shop", ".codex", ".clawdbot"])},
                {"session": str(UUID(int=self.dice.randrange(1, self.number + 2)))},
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
        packed = [one for one in Shelf(self.home.data / "archive").latest() if one.session.files]
        gone = [one for one in packed if not any(os.path.lexists(file.path) for file in one.session.files)]
        if gone:
            one = self.dice.choice(gone)
            bring_back(one, self.home.environ, self.home.clock)
            now = sessions_in(self.home)
            files = {_name(self.home, Path(file.path)): file for file in one.session.files if file.kind == "file"}
            assert all((now[name][1], now[name][2]) == (file.mode, file.mtime_ns) for name, file in files.items())
            self.restored |= dict.fromkeys(files, self.home.clock.at.timestamp())
            self.seen["restored from the archive"] += 1

    def _resume(self) -> None:
        if paths := self._transcripts():
            self.write_to(self.dice.choice(paths))

    def _fork(self) -> None:
        """Let pi fork one of its sessions."""
        if paths := [path for path in self._transcripts() if ".pi" in path.parts]:
            parent, self.number = self.dice.choice(paths), self.number + 1
            fork = ADD["pi"](self.home, self.number, 0.001)
            named = f'"parentSession": {json.dumps(parent.name)}, "type"'
            fork.write_bytes(fork.read_bytes().replace(b'"type"', named.encode(), 1))
            self.home.touch(fork, 0.001)
            self.forks[_name(self.home, fork)] = _name(self.home, parent)
            self.touched |= {_name(self.home, parent), _name(self.home, fork)}
            self.seen["forked"] += 1

    def _clean_up(self) -> None:
        """Let Claude Code delete what it would delete, once a week or so: all of that was archived in time."""
        if self.dice.random() > 0.15:
            return
        now, archived = self.home.clock.at.timestamp(), self.truth.archived()
        for name, one in self.truth.here.items():
            is_old = now - one[2] / 1e9 > CLEANUP_DAYS * DAY and self.last_run - one[2] / 1e9 > (CLEANUP_DAYS - 2) * DAY
            if is_old and name.startswith(".claude/projects/"):
                assert seen(one) in archived.get(name, ()), f"{name} was not rescued"
                (self.home.root / name).unlink()
                self.seen["cleaned up"] += 1
        self.truth.note()

    def _transcripts(self) -> list[Path]:
        names = (name for name in sessions_in(self.home) if name.endswith(".jsonl") and "/memory/" not in name)
        return [self.home.root / name for name in sorted(names)]

    def write_to(self, path: Path) -> None:
        """Let a client append to a session, as it does: under its lock where it has one."""
        if lock_path(path).exists() or (".codex" in path.parts and is_held(path)):
            return
        with path.open("ab") as file:
            file.write(path.read_bytes().splitlines(keepends=True)[-1])
        self.home.touch(path, 0.0001)
        self.touched.add(_name(self.home, path))
        self.seen["resumed"] += 1

    def _fault(self) -> tuple[str, Fault]:
        point = int(math.exp(self.dice.uniform(0, math.log(_MOST_CALLS))))
        folders = [self.home.data / name for name in ("trash", "archive")]
        folders += {path.parent for path in self._transcripts()}
        return self.dice.choice(
            [
                ("killed", once(point, kill)),
                ("killed", once(point, kill)),
                ("full", full_from(point)),
                ("denied", once(point, denied)),
                ("closed", closed(self.dice.choice(sorted(folders)))),
                ("client", once(point, self._client_acts)),
            ]
        )

    def _client_acts(self, _call: str, _path: str) -> None:
        paths = self._transcripts()
        if self.dice.random() < 0.2:
            self._fork()
        elif paths:
            self.write_to(self.dice.choice(paths))
        for name in self.touched:
            self.truth.here[name] = sessions_in(self.home)[name]

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
            self.home.run()
        except Exception:  # noqa: BLE001 - a full disk may stop a run altogether
            return

    def _run(self) -> Report:
        report = self.home.run()
        self.seen.update({name: n for name, n in report.counts.items() if name.split("_")[0] in _COUNTED})
        self.seen.update(gate.gate for gate in report.gates)
        self._check()
        return report

    def _check(self) -> None:
        went = self.truth.check(self._guarded())
        self.seen["files that went"] += len(went)
        self.touched.clear()

    def _guarded(self) -> set[str]:
        forks = {parent for fork, parent in self.forks.items() if fork in self.truth.here}
        now = self.home.clock.at.timestamp()
        restored = {name for name, at in self.restored.items() if 0 <= now - at < 7 * DAY}
        return must_stay(self.home, self.truth.here, now, self.holds, self.touched | forks | restored)


_COUNTED = ("refused", "removed", "freed", "rescued", "purged", "archived", "resumed", "taken", "openclaw")


def _name(home: Home, path: Path) -> str:
    return str(path.relative_to(home.root))
