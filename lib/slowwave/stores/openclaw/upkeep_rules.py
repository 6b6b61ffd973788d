"""The settings of OpenClaw's session maintenance (``session.maintenance``), read as its JSON store reads them.

A value that is none disables the step that it is for: what somebody meant as a limit must not remove by another one.
The client itself falls back to its defaults there, which lost people their sessions (formats.md 7.11, issue 107712).
Source: ``config/sessions/store-maintenance.ts`` of OpenClaw, mid-2026.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

from slowwave.durations import parse_duration

PRUNE_AFTER = "30d"
MAX_ENTRIES = 500
HIGH_WATER = 0.8
# up to here a cap acts at once, above it with slack, so that not every write removes one entry
STRICT_UP_TO = 49
_LEAST_SLACK = 25
_SLACK = 0.1

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(b|kb?|mb?|gb?|tb?)?", re.IGNORECASE)
_DAY_MS = 86_400_000


class UpkeepRules(NamedTuple):
    """What goes, None where a step is off.

    Attributes:
        enforces: whether anything goes at all; with ``mode: warn`` it is only told.
        prune_after_ms: entries that were not updated for longer than this go.
        max_entries: so many entries stay.
        archive_ms: what was reset or deleted longer ago than this goes; by default it stays.
        max_bytes: above this the folder is brought down to ``high_water``.
        high_water: bytes at which that ends.
        main_key: the key of direct chats, behind the agent.
        problems: values that are none, each with the step that they disable.
    """

    enforces: bool = True
    prune_after_ms: float | None = None
    max_entries: int | None = None
    archive_ms: float | None = None
    max_bytes: int | None = None
    high_water: int | None = None
    main_key: str = "main"
    problems: tuple[str, ...] = ()


def upkeep_rules(session: Mapping[str, object]) -> UpkeepRules:
    """Return the rules that the ``session`` part of the client's settings gives."""
    found = session.get("maintenance")
    given = cast("Mapping[str, object]", found) if isinstance(found, Mapping) else dict[str, object]()
    problems: list[str] = []
    if found is not None and not isinstance(found, Mapping):
        problems.append(f"session.maintenance: {found!r} is no object; nothing goes")
        return UpkeepRules(enforces=False, problems=tuple(problems))

    def value(name: str, read: Callable[[object], float], default: object = None) -> float | None:
        raw = given.get(name, default)
        if raw is None or raw is False:
            return None
        try:
            return read(raw)
        except ValueError:
            problems.append(f"session.maintenance.{name}: {raw!r} is none; that step is off")
            return None

    mode = given.get("mode", "enforce")
    if mode not in ("enforce", "warn"):
        problems.append(f"session.maintenance.mode: {mode!r} is neither enforce nor warn; nothing goes")
    entries = value("maxEntries", _count, MAX_ENTRIES)
    most = value("maxDiskBytes", byte_size)
    water = value("highWaterBytes", byte_size, math.floor(most * HIGH_WATER)) if most is not None else None
    main = session.get("mainKey")
    return UpkeepRules(
        mode == "enforce",
        value("pruneAfter", _duration_ms, PRUNE_AFTER),
        None if entries is None else int(entries),
        value("resetArchiveRetention", _duration_ms),
        None if most is None or water is None else int(most),
        None if most is None or water is None else int(max(1, min(water, most))),
        main.strip().lower() if isinstance(main, str) and main.strip() else "main",
        tuple(problems),
    )


def acts_from(max_entries: int) -> int:
    """Return at how many entries the cap acts: at the next one when it is small, else with slack."""
    if max_entries <= STRICT_UP_TO:
        return max_entries + 1
    return max_entries + max(_LEAST_SLACK, math.ceil(max_entries * _SLACK))


def byte_size(raw: object) -> float:
    """Return the bytes of a size such as ``500mb``; the client counts by 1024, and a bare number as bytes.

    Raises:
        ValueError: it is none, or nothing.
    """
    match = None if isinstance(raw, bool) else _SIZE.fullmatch(str(raw).strip())
    if match is None:
        raise ValueError("no size")
    size = float(match[1]) * 1024 ** "bkmgt".index((match[2] or "b")[0].lower())
    if size < 1:
        raise ValueError("no size")
    return math.floor(size)


def _duration_ms(raw: object) -> float:
    text = str(raw).strip()
    if isinstance(raw, bool) or not text:
        raise ValueError("no duration")
    bare = re.fullmatch(r"\d+(\.\d+)?", text)
    return float(text) * _DAY_MS if bare else parse_duration(text).total_seconds() * 1000


def _count(raw: object) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int) or raw < 1:
        raise ValueError("no count")
    return raw
