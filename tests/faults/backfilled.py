"""A store of many small sessions of several projects and dialects, the same for every seed."""

import json
import os
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.unit.extraction.talk import Talk

NOW = datetime(2026, 11, 3, 3, 30, tzinfo=UTC)
BEGIN = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
_TOOLS = ("pnpm", "uv", "make", "cargo", "npm", "poetry", "just", "bun")
_THINGS = ("installs", "tests", "builds", "releases", "linting", "migrations", "snapshots", "fixtures")
_RULES = (
    "Always use {tool} for {thing} in this repo.",
    "Please never commit {thing} to main, we squash {number} times a week.",
    "We decided to keep {thing} in schema v{number}, not in {tool}.",
    "Remember that {thing} need {tool} {number}.{number}.",
    "No, don't use {tool} for {thing}; I prefer plain scripts.",
)


def fill(root: Path, number: int, *, seed: int = 1, projects: int = 8) -> Path:
    """Write so many sessions of 20 to 80 records over some projects, oldest first; return the store."""
    store = root / "projects"
    for at in range(number):
        talk, when = talk_of(at, seed)
        folder = store / f"-home-ada-code-p{at % projects}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{talk.id}.jsonl"
        path.write_bytes(talk.data())
        seconds = int(when.timestamp())
        os.utime(path, (seconds, seconds))
    return store


def talk_of(at: int, seed: int) -> tuple[Talk, datetime]:
    """Return session ``at`` and when it ended."""
    rng = random.Random(f"{seed}:{at}")
    talk = Talk(id=f"{rng.getrandbits(32):08x}-0000-4000-8000-{at:012x}")
    for line in _lines(rng):
        talk.person(line).assistant(f"I looked at it: {rng.choice(_THINGS)} number {rng.randrange(9999)} is fine.")
        if rng.random() < 0.4:
            talk.bash(f"{rng.choice(_TOOLS)} run check-{rng.randrange(40)}", "ok\n" * rng.randrange(1, 60))
    begin = BEGIN + timedelta(minutes=40 * at % (60 * 24 * 280), seconds=at % 60)
    for number, record in enumerate(talk.records):
        moment = begin + timedelta(seconds=20 * number)
        record["timestamp"] = moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        record["cwd"] = f"/home/ada/code/p{at % 8}"
    return talk, begin + timedelta(seconds=20 * len(talk.records))


def _lines(rng: random.Random) -> Iterator[str]:
    for number in range(rng.randrange(8, 26)):
        if rng.random() < 0.12:
            rule = rng.choice(_RULES)
            yield rule.format(tool=rng.choice(_TOOLS), thing=rng.choice(_THINGS), number=rng.randrange(2, 90))
        else:
            yield f"have a look at part {number} of {rng.choice(_THINGS)}, run {rng.randrange(99999)}"


def total(store: Path) -> int:
    """Return the bytes of a store."""
    return sum(path.stat().st_size for path in store.rglob("*.jsonl"))


def dumped(value: object) -> str:
    """Return a value as sorted JSON, to compare."""
    return json.dumps(value, sort_keys=True, default=str)
