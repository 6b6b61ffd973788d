"""When a session ends by itself: at an hour of the day, or after silence; per kind of conversation and per channel.

Pure rules over ``session`` of the client's settings; times are milliseconds since 1970, and the hour is one of the
machine's own time zone. Evaluated by the client at the next message, so a stale session is one that rests for good.
Source: ``config/sessions/reset.ts`` of Clawdbot 2026.1.27.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Literal, NamedTuple, cast

from slowwave.formats.openclaw.keys import parse_key

ResetMode = Literal["daily", "idle"]
ResetType = Literal["dm", "group", "thread"]
DEFAULT_HOUR = 4
DEFAULT_IDLE_MINUTES = 60
TRIGGERS = ("/new", "/reset")
_MINUTE_MS = 60_000
_NO_RULES: Mapping[str, object] = {}


class ResetPolicy(NamedTuple):
    """What ends a session: the hour (mode ``daily``) and, where it is set, silence; whichever comes first."""

    mode: ResetMode = "daily"
    hour: int = DEFAULT_HOUR
    idle_minutes: int | None = None


class Freshness(NamedTuple):
    """Whether a session goes on, and until when in milliseconds.

    Attributes:
        fresh: it goes on at the next message.
        reset_at: the last daily hour; what was updated before it is stale.
        idle_until: the end of the silence that is allowed.
    """

    fresh: bool
    reset_at: float | None
    idle_until: float | None


def reset_type(key: str, *, is_group: bool = False, is_thread: bool = False) -> ResetType:
    """Return which rules a session falls under; a thread in a group is a thread."""
    parsed = parse_key(key)
    if is_thread or parsed.thread or parsed.topic:
        return "thread"
    return "group" if is_group or parsed.kind in ("group", "channel", "room") else "dm"


def reset_policy(session: Mapping[str, object], kind: ResetType, channel: str = "") -> ResetPolicy:
    """Return the rules for a kind of conversation and its channel, from the ``session`` part of the settings.

    A channel's own rules replace all others, rules of the kind go over the general ones, and ``idleMinutes`` alone,
    as old settings have it, means silence only.
    """
    override = _rules(_rules(session, "resetByChannel"), channel.strip().lower())
    general = override or _rules(session, "reset")
    own = _NO_RULES if override else _rules(_rules(session, "resetByType"), kind)
    legacy = None if override else session.get("idleMinutes")
    is_explicit = bool(general) or "resetByType" in session
    mode = own.get("mode") or general.get("mode") or ("idle" if legacy is not None and not is_explicit else "daily")
    hour = _first(own.get("atHour"), general.get("atHour"))
    idle = _first(own.get("idleMinutes"), general.get("idleMinutes"), legacy)
    minutes = max(1, math.floor(idle)) if idle is not None else DEFAULT_IDLE_MINUTES if mode == "idle" else None
    at = DEFAULT_HOUR if hour is None else min(23, max(0, math.floor(hour)))
    return ResetPolicy("idle" if mode == "idle" else "daily", at, minutes)


def _rules(settings: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = settings.get(name)
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else _NO_RULES


def _first(*values: object) -> float | None:
    """Return the first value that is there, None when that is no finite number."""
    found = next((value for value in values if value is not None), None)
    is_number = isinstance(found, int | float) and not isinstance(found, bool) and math.isfinite(found)
    return float(cast("float", found)) if is_number else None


def freshness(updated_at: float, policy: ResetPolicy, now: datetime) -> Freshness:
    """Say whether a session that was last updated at ``updated_at`` (milliseconds) goes on.

    Args:
        updated_at: time of its last update.
        policy: what ends it.
        now: the current time in the time zone that the hour is meant in.
    """
    reset_at = daily_reset(now, policy.hour).timestamp() * 1000 if policy.mode == "daily" else None
    idle_until = None if policy.idle_minutes is None else updated_at + policy.idle_minutes * _MINUTE_MS
    is_old = reset_at is not None and updated_at < reset_at
    is_silent = idle_until is not None and now.timestamp() * 1000 > idle_until
    return Freshness(not (is_old or is_silent), reset_at, idle_until)


def daily_reset(now: datetime, hour: int) -> datetime:
    """Return the last time before ``now`` at which sessions ended for the day, by the wall clock of its zone."""
    zone: tzinfo | None = now.tzinfo
    today = now.replace(hour=hour, minute=0, second=0, microsecond=0)
    if now >= today:
        return today
    day = (now.replace(tzinfo=None) - timedelta(days=1)).date()
    return datetime(day.year, day.month, day.day, hour, tzinfo=zone)


def asks_for_reset(text: str, triggers: Sequence[str] = TRIGGERS) -> tuple[bool, str]:
    """Say whether a message starts a new session, and return what is left of it; the case of a trigger is free."""
    said = text.strip()
    for trigger in triggers:
        if said.lower() == trigger.lower():
            return True, ""
        if said.lower().startswith(trigger.lower() + " "):
            return True, said[len(trigger) :].strip()
    return False, said
