"""Durations as people write them: ``30m``, ``12h``, ``7 days``, ``2 weeks``."""

import re
from datetime import timedelta

_UNITS = {
    "s": 1, "sec": 1, "second": 1,
    "m": 60, "min": 60, "minute": 60,
    "h": 3600, "hour": 3600,
    "d": 86400, "day": 86400,
    "w": 604800, "week": 604800,
}  # fmt: skip
_ITEM = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")


def parse_duration(value: object) -> timedelta:
    """Return the duration that ``value`` means.

    A bare number is refused: nobody can tell minutes from hours in a settings file.

    Raises:
        ValueError: not a duration; the message shows accepted forms.
    """
    if isinstance(value, timedelta):
        return value
    text = str(value).strip().lower()
    total = 0.0
    items = list(_ITEM.finditer(text))
    for item in items:
        # a plural is one of a word: 50ms are no fifty minutes
        unit = item[2].removesuffix("s") if len(item[2]) > len("ms") else item[2]
        if unit not in _UNITS:
            raise ValueError(f"unknown unit {item[2]!r}; write for example 30m, 12h, 7d or 2 weeks")
        total += float(item[1]) * _UNITS[unit]
    if not items or _ITEM.sub("", text).strip():
        raise ValueError("not a duration; write for example 30m, 12h, 7d or 2 weeks")
    return timedelta(seconds=total)
