"""Sessions of a folder with a clock and ids that a test knows, and what they hold afterwards."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson

from slowwave.context import FixedClock
from slowwave.library import Sessions

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)


def numbered(first: int = 1) -> Iterator[str]:
    """Yield UUIDs whose first eight digits tell them apart, as pi's short ids need."""
    return (str(UUID(int=n << 96 | 0x40008000 << 40 | n)) for n in count(first))


def sessions_in(folder: Path, dialect: str = "cersei", *, first: int = 1, **options: Any) -> Sessions:
    """Return the sessions of a folder; new ids are numbered from ``first`` on."""
    ids = numbered(first)
    home = options.pop("home", folder / "home")
    clock = options.pop("clock", FixedClock(NOW))
    return Sessions(folder, dialect, clock=clock, ids=lambda: next(ids), home=home, cwd="/home/ann/shop", **options)


def texts(sessions: Sessions, session_id: str) -> list[str]:
    """Return the context of a session, a message a line."""
    return [f"{message.role}: {message.text}" for message in sessions.load(session_id)]


def records(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file, every line of which must be one."""
    data = path.read_bytes()
    assert data.endswith(b"\n")
    return [orjson.loads(line) for line in data.splitlines()]


def unchanged(path: Path, attempt: Callable[[], object]) -> None:
    """Run an attempt that raises and prove that it left the file as it was."""
    before = path.read_bytes()
    try:
        attempt()
    finally:
        assert path.read_bytes() == before
