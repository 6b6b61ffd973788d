"""Bytes that retention moved into the trash and freed, week by week, out of the audit log."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import NamedTuple

from slowwave.retention.audit import Line


class Week(NamedTuple):
    """One week: its Monday, and bytes."""

    begin: date
    trashed: int
    freed: int


def weeks_of(lines: Iterable[Line]) -> list[Week]:
    """Return the weeks in which anything went, oldest first."""
    sums: dict[date, dict[str, int]] = defaultdict(lambda: {"trash": 0, "free": 0})
    for line in lines:
        if line.action in ("trash", "free"):
            day = datetime.fromisoformat(line.at).date()
            sums[day - timedelta(days=day.weekday())][line.action] += line.size
    return [Week(begin, went["trash"], went["free"]) for begin, went in sorted(sums.items())]
