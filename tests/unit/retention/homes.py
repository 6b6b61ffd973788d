"""A home with sessions of several clients, and runs of retention over it at any time."""

import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec

from slowwave.context import FixedClock, Run
from slowwave.jobs.run import for_all
from slowwave.jobs.steps import retain_everywhere
from slowwave.jobs.story import run_job
from slowwave.report import Report
from slowwave.settings import RetentionSettings, Settings
from slowwave.stores.discovery import known_projects
from tests.faults.hostile_sessions import Link, session

NOW = datetime(2026, 11, 22, 3, 30, tzinfo=UTC)
DAY = 86_400
Tree = dict[str, tuple[bytes, int, int]]

_PLACES: dict[str, Callable[[str, int], str]] = {
    "claude": lambda sid, _: f".claude/projects/-home-ann-shop/{sid}.jsonl",
    "pi": lambda sid, _: f".pi/agent/sessions/--w--/2026-11-20T10-00-00-000Z_{sid}.jsonl",
    "codex": lambda sid, n: f".codex/sessions/2026/{1 + n % 9:02d}/20/rollout-2026-11-20T10-00-00-{sid}.jsonl",
    "crabtalk": lambda _, n: f".crabtalk/sessions/crab_user_{n}.jsonl",
}
DIALECTS = tuple(_PLACES)


class Home:
    """A home folder, its clock, and how its retention is set."""

    def __init__(self, root: Path, **retention: Any) -> None:
        self.root = root
        self.clock = FixedClock(NOW)
        self.environ = {
            "HOME": str(root),
            "XDG_STATE_HOME": str(root / "state"),
            "XDG_DATA_HOME": str(root / "data"),
        }
        self.settings = Settings()
        self.set(**{"require_extracted": False, "max_age": "30d", "confirm": "unlimited"} | retention)
        self.runs = 0

    def set(self, **retention: Any) -> None:
        """Change settings of retention."""
        known = msgspec.to_builtins(self.settings.retention, enc_hook=str)
        rules = msgspec.convert(
            known | retention, RetentionSettings, strict=False, dec_hook=lambda kind, one: kind(one)
        )
        self.settings = msgspec.structs.replace(self.settings, retention=rules)

    def add(self, dialect: str, number: int, days: float, *texts: str, side: bool = False, cwd: str = "/w") -> Path:
        """Write a session that was last changed so many days ago."""
        sid = str(UUID(int=number))
        path = self.root / _PLACES[dialect](sid, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        said = texts or (f"hello {number}", f"again {number}")
        ids = [f"{number:08d}-{at:04d}" for at in range(len(said))]
        links = [
            Link(one, ids[at - 1] if at else None, text) for at, (one, text) in enumerate(zip(ids, said, strict=True))
        ]
        data = session(dialect, links)
        path.write_bytes(data.replace(b'"s"', f'"{sid}"'.encode()).replace(b'"/w"', f'"{cwd}"'.encode()))
        if side:
            self._side(path.with_suffix(""), days)
        self.touch(path, days)
        return path

    def _side(self, folder: Path, days: float) -> None:
        for name in ("subagents/agent-1.jsonl", "tool-results/one.txt"):
            (folder / name).parent.mkdir(parents=True)
            (folder / name).write_bytes(session("claude", [Link("a", None, "task")]).replace(b"false", b"true"))
            self.touch(folder / name, days)

    def touch(self, path: Path, days: float) -> None:
        """Let a file be so many days old."""
        at = self.clock.at.timestamp() - days * DAY
        os.utime(path, (at, at))

    def run(self, *, apply: bool = True, project: str = "", force: bool = False, step: bool = False) -> Report:
        """Run retention now: the whole job, or its step without the history and the page that the job keeps."""
        self.runs += 1
        run = Run(f"r{self.runs}", self.settings, self.clock, self.environ, project, force, not apply)
        if step:
            return for_all(retain_everywhere, known_projects(self.settings, self.environ).projects, run)
        return run_job("retain", run)

    def clients(self) -> Tree:
        """Return every file of clients with its mode and time."""
        own = {"state", "data"}
        return {name: one for name, one in tree(self.root).items() if name.split("/")[0] not in own}

    @property
    def data(self) -> Path:
        """Where what cannot be rebuilt lies."""
        return self.root / "data" / "slowwave"


def tree(root: Path) -> Tree:
    """Return bytes, mode and time of every file below a folder."""
    found: Tree = {}
    for path in sorted(root.rglob("*")):
        if path.is_file():
            at = path.stat()
            found[str(path.relative_to(root))] = path.read_bytes(), stat.S_IMODE(at.st_mode), at.st_mtime_ns
    return found
