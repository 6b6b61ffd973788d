"""What the ``keep_*`` rules keep of one group, with the published semantics of restic and borg.

Every rule looks at all sessions of the group, newest first, and one rule is enough to stay. A rule for hours, days,
weeks, months or years counts only those that have sessions; while it has some left, it keeps the oldest session, too.
What lies in the future is neither counted nor removed.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import count
from math import inf

from slowwave.quantities import Count
from slowwave.retention.policy.model import Rules

_BUCKETS: dict[str, Callable[[datetime], object]] = {
    "keep_hourly": lambda at: (at.date(), at.hour),
    "keep_daily": datetime.date,
    "keep_weekly": lambda at: at.isocalendar()[:2],
    "keep_monthly": lambda at: (at.year, at.month),
    "keep_yearly": lambda at: at.year,
}
# where the hour, day, week, month or year of a moment begins on the calendar
_BEGINS: dict[str, Callable[[datetime], datetime]] = {
    "keep_hourly": lambda at: at.replace(minute=0, second=0, microsecond=0, fold=0),
    "keep_daily": lambda at: datetime(at.year, at.month, at.day, tzinfo=at.tzinfo),
    "keep_weekly": lambda at: datetime(at.year, at.month, at.day, tzinfo=at.tzinfo) - timedelta(days=at.weekday()),
    "keep_monthly": lambda at: datetime(at.year, at.month, 1, tzinfo=at.tzinfo),
    "keep_yearly": lambda at: datetime(at.year, 1, 1, tzinfo=at.tzinfo),
}


class _Bucket:
    """One rule on its way through a group."""

    def __init__(self, name: str, left: Count, of: Callable[[datetime], object]) -> None:
        self.name = name
        self.left = int(left)
        self.since = inf  # from then on all sessions are of the bucket that was counted last
        self._of = of
        self._last: object = None

    def keeps(self, time: float, at: datetime, *, oldest: bool) -> bool:
        """Say whether the next session stays, and count it."""
        if time >= self.since and not oldest:
            return False
        value = self._of(at)
        if not self.left or (value == self._last and not oldest):
            return False
        self._last = value
        self.left -= 1
        self.since = self._begin(at) if self.left else -inf
        return True

    def _begin(self, at: datetime) -> float:
        """Return since when sessions are of the same bucket as one, so that most need no look at the calendar."""
        begins = _BEGINS.get(self.name)
        try:
            begin = begins(at) if begins else at
            # where the clock was set in between, an earlier hour may lie in a later bucket
            return begin.timestamp() if begins and begin.utcoffset() == at.utcoffset() else inf
        except (OverflowError, ValueError):
            return inf  # the calendar begins within the bucket


def kept(rules: Rules, ages: Sequence[float], now: datetime) -> dict[int, str]:
    """Return which sessions stay, by their number in the group, with the rules that keep them.

    Args:
        rules: the rules of their class.
        ages: the times of a group's sessions, newest first, in seconds *before* 1970, so that they grow.
        now: the current time, in the zone whose calendar counts.
    """
    first = bisect_left(ages, -now.timestamp())
    found: dict[int, list[str]] = {}
    if first < len(ages) and rules.keep_within is not None:
        # restic keeps what is younger than the period, not what is exactly as old
        since = rules.keep_within.start(datetime.fromtimestamp(-ages[first], now.tzinfo))
        found = {number: ["keep_within"] for number in range(first, bisect_left(ages, -since))}
    buckets = _buckets(rules)
    last = len(ages) - 1
    number = first
    while number <= last and any(bucket.left for bucket in buckets):
        time = -ages[number]
        at = datetime.fromtimestamp(time, now.tzinfo)
        for bucket in buckets:
            if bucket.keeps(time, at, oldest=number == last):
                found.setdefault(number, []).append(bucket.name)
        # on to the next one that is of no bucket that was counted, and at least to the oldest
        since = max(bucket.since for bucket in buckets)
        number = max(number + 1, min(last, bisect_right(ages, -since)))
    return {number: ", ".join(names) for number, names in found.items()}


def _buckets(rules: Rules) -> list[_Bucket]:
    numbers = count()

    def each(_: datetime) -> object:
        return next(numbers)

    rows = {"keep_last": each, **_BUCKETS}
    return [_Bucket(name, left, of) for name, of in rows.items() if (left := getattr(rules, name)) is not None]
