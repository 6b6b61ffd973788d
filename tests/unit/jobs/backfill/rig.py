"""A small world for backfills: a store, folders of its own, and the ways to run one."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from slowwave.jobs.backfill import run_backfill
from slowwave.jobs.parameters import BackfillParameters, ExtractParameters, run_of
from slowwave.jobs.story import run_job
from slowwave.report import Report
from tests.unit.extraction.talk import Talk
from tests.unit.secrets.keys import give_key

NOW = datetime(2026, 11, 3, 3, 30, tzinfo=UTC)
# what a backfill leaves to the next night: it notes nothing about lines of others
_NOT_OURS = ("guard.lock", "foreign.json")


@dataclass
class World:
    """One machine: a home with a store.

    Attributes:
        root: everything lies below it.
    """

    root: Path

    def __post_init__(self) -> None:
        self.store.mkdir(parents=True, exist_ok=True)
        (self.root / "home").mkdir(exist_ok=True)
        give_key(self.root / "config")

    @property
    def store(self) -> Path:
        return self.root / "projects"

    @property
    def environ(self) -> Mapping[str, str]:
        return {
            "HOME": str(self.root / "home"),
            "XDG_STATE_HOME": str(self.root / "state"),
            "XDG_DATA_HOME": str(self.root / "data"),
            "XDG_CONFIG_HOME": str(self.root / "config"),
        }

    def add(self, number: int, *lines: str, project: str = "shop", days_ago: int = 1, chatter: int = 20) -> Path:
        """Write a session that ends with these lines; return its file."""
        talk = Talk(id=f"{number:08d}-0000-4000-8000-000000000001").chatter(chatter)
        for line in lines:
            talk.person(line).assistant("Done.")
        return self.write(talk, project, days_ago)

    def write(self, talk: Talk, project: str = "shop", days_ago: int = 1) -> Path:
        at = NOW - timedelta(days=days_ago)
        for number, record in enumerate(reversed(talk.records)):
            record["timestamp"] = (at - timedelta(minutes=number)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
            record["cwd"] = f"/home/ada/code/{project}"
        path = self.store / f"-home-ada-code-{project}" / f"{talk.id}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(talk.data())
        os.utime(path, (at.timestamp(), at.timestamp()))
        return path

    def given(self, run_id: str = "b1", **more: Any) -> BackfillParameters:
        return BackfillParameters.model_validate({"store": [self.store], "now": NOW, "run_id": run_id, **more})

    def backfill(self, run_id: str = "b1", **more: Any) -> Report:
        return run_backfill(self.given(run_id, **more), self.environ)

    def extract(self, **more: Any) -> Report:
        """Run extraction as a night does."""
        given = ExtractParameters.model_validate({"store": [self.store], "now": NOW, "run_id": "night", **more})
        return run_job("extract", run_of(given, self.environ))

    def memory(self, project: str = "shop") -> Path:
        return self.store / f"-home-ada-code-{project}" / "memory"

    def memories(self) -> dict[str, bytes]:
        """Return every file of every memory folder, but what is not of a backfill."""
        found = [p for p in sorted(self.store.glob("*/memory/**/*")) if p.is_file() and p.name not in _NOT_OURS]
        return {str(p.relative_to(self.store)): p.read_bytes() for p in found}


RULES = (
    "Always use pnpm for installs in this repo.",
    "Please never commit fixtures to main.",
    "We decided to keep the schema at v3, not v4.",
    "Remember that releases need cargo 1.82.",
)


def filled(root: Path, sessions: int = 12, projects: int = 2) -> World:
    """Return a world of sessions with rules and commands, some of them alike."""
    world = World(root)
    for number in range(sessions):
        talk = Talk(id=f"{number:08d}-0000-4000-8000-000000000001").chatter(20)
        talk.person(RULES[number % 4]).assistant("Understood.")
        talk.bash(f"pnpm run check-{number % 3}").bash("pnpm test", "1 failed", 1).bash("pnpm test", "3 passed")
        world.write(talk, f"p{number % projects}", days_ago=40 - number)
    return world
