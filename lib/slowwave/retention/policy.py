"""From sessions and rules to verdicts: the same answer whatever the order of the sessions, and nothing is touched."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from itertools import chain, count
from math import floor, inf
from operator import attrgetter

import msgspec

from slowwave.errors import SettingsError
from slowwave.formats.lines import relaxed_collector
from slowwave.quantities import Count
from slowwave.settings import ClassRules, Policy, Rules, Source, Subject

# why a session must stay whatever the rules say, or ""
Guard = Callable[[Subject], str]


class Shortfall(msgspec.Struct, frozen=True):
    """A limit that could not be reached, since what is above it must stay."""

    rule: str  # name of the setting
    group: tuple[str, ...]  # dialect, project and source; empty for a quota over a class
    over: int  # sessions or bytes above the limit


# the order in which a quota takes them, the least missed first (OpenClaw's maintenance: artifacts, then synthetic)
LEAST_MISSED: tuple[Source, ...] = ("empty", "deleted", "reset", "archived", "cron", "subagent", "interactive")


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """What is to become of one session."""

    subject: Subject  # the session
    removes: bool  # it is to go
    # what decided: the name of a setting; ``keep`` when it goes because no ``keep_*`` names it; ``future`` when its
    # time has not come yet; "" when no rule is about it
    rule: str
    guard: str = ""  # why it stays although ``rule`` says that it goes, or ""


class Decision(msgspec.Struct):
    """Verdicts over all sessions, each once and in their order, and the limits that could not be reached."""

    verdicts: list[Verdict]
    shortfalls: list[Shortfall]


def decide(subjects: Iterable[Subject], policy: Policy, now: datetime, guard: Guard = lambda _: "") -> Decision:
    """Return what is to become of every session.

    In this order: what a ``keep_*`` rule names stays; what is older than ``max_age`` goes; then the oldest above
    ``max_count``; then, over the whole class, the least missed and oldest until ``max_bytes`` times ``low_water`` is
    reached. A session that a guard holds stays and counts, and the next one goes in its place. ``now``: the current
    time, in the zone whose calendar counts; ``guard``: asked only about sessions that would go, once each.
    """
    with relaxed_collector():
        fleet = list(subjects)
        at = [one.at for one in fleet]
        verdicts: list[Verdict | None] = [None] * len(fleet)
        shortfalls: list[Shortfall] = []
        for rules, groups in _by_class(fleet, policy):
            shortfalls += _Class(rules, groups, fleet, at, verdicts, now, guard).judge()
        found = [known or Verdict(one, removes=False, rule="") for known, one in zip(verdicts, fleet, strict=True)]
    return Decision(found, shortfalls)


# dialect, project and source of the sessions whose numbers follow, in their order
_Groups = dict[tuple[str, str, Source], list[int]]


def _by_class(fleet: Sequence[Subject], policy: Policy) -> list[tuple[Rules, _Groups]]:
    """Return the sessions of each class by what they are counted by, as numbers in the fleet."""
    every: _Groups = defaultdict(list)
    for number, key in enumerate(map(attrgetter("dialect", "project", "source"), fleet)):
        every[key].append(number)
    found: list[_Groups] = [{} for _ in range(len(policy.classes) + 1)]
    for key, group in sorted(every.items()):
        fits = (number for number, one in enumerate(policy.classes) if one.holds(fleet[group[0]]))
        found[next(fits, len(policy.classes))][key] = group
    return list(zip([*policy.classes, policy], found, strict=True))


class _Class:
    """The sessions of one class on their way through its rules."""

    def __init__(
        self,
        rules: Rules,
        groups: _Groups,
        fleet: Sequence[Subject],
        at: Sequence[float],
        verdicts: list[Verdict | None],
        now: datetime,
        guard: Guard,
    ) -> None:
        self.rules = rules
        self.groups = groups
        self.fleet = fleet
        self.at = at
        self.verdicts = verdicts
        self.now = now
        self.guard = guard
        # what goes of them, in bytes
        self.gone_bytes = 0

    def judge(self) -> Iterator[Shortfall]:
        """Give the verdicts over all members, and yield the limits that could not be reached."""
        oldest = self.rules.max_age.start(self.now) if self.rules.max_age is not None else -inf
        for key, numbers in self.groups.items():
            yield from self._group(key, numbers, oldest)
        yield from self._quota()

    def _group(self, key: tuple[str, ...], numbers: Sequence[int], oldest: float) -> Iterator[Shortfall]:
        """Judge what the age, the ``keep_*`` rules and the count say of a group."""
        fleet, verdicts, rules = self.fleet, self.verdicts, self.rules
        group = self._by_age(numbers, newest_first=True)
        ages = [-self.at[number] for number in group]
        future = bisect_left(ages, -self.now.timestamp())
        if rules.keeps:
            for place, names in kept(rules, ages, self.now).items():
                verdicts[group[place]] = Verdict(fleet[group[place]], removes=False, rule=names)
        for number in group[:future]:
            verdicts[number] = Verdict(fleet[number], removes=False, rule="future")
        only_keeps = rules.keeps and not rules.limits
        young = 0 if only_keeps else bisect_right(ages, -oldest)
        gone = self._remove(reversed(group[young:]), "keep" if only_keeps else "max_age")
        if rules.max_count is not None:
            over = len(group) - gone - rules.max_count
            over -= self._remove(reversed(group[:young]), "max_count", over)
            if over > 0:
                yield Shortfall("max_count", key, over)

    def _remove(self, numbers: Iterable[int], rule: str, most: float = inf, enough: float = inf) -> int:
        """Let sessions go of which nobody spoke yet and that no guard holds, and return how many go."""
        fleet, verdicts, guard = self.fleet, self.verdicts, self.guard
        gone = size = 0
        for number in numbers:
            if gone >= most or size >= enough:
                break
            if verdicts[number] is None:
                subject = fleet[number]
                held = guard(subject)
                verdicts[number] = Verdict(subject, not held, rule, held)
                if not held:
                    gone += 1
                    size += subject.size
        self.gone_bytes += size
        return gone

    def _quota(self) -> Iterator[Shortfall]:
        """Judge what counts over the whole class."""
        limit = self.rules.max_bytes
        if limit is None:
            return
        fleet = self.fleet
        total = sum([fleet[number].size for number in chain.from_iterable(self.groups.values())]) - self.gone_bytes
        if total <= limit:
            return
        gone = self.gone_bytes
        for source in LEAST_MISSED:
            enough = total - floor(limit * self.rules.low_water) - self.gone_bytes + gone
            self._remove(self._left(source), "max_bytes", enough=enough)
        total -= self.gone_bytes - gone
        if total > limit:
            yield Shortfall("max_bytes", (), total - limit)

    def _left(self, source: Source) -> list[int]:
        """Return whom of a source nobody spoke of yet, the oldest first."""
        verdicts = self.verdicts
        groups = [group for key, group in self.groups.items() if key[2] == source]
        left = [number for group in groups for number in group if verdicts[number] is None]
        return self._by_age(left, newest_first=False)

    def _by_age(self, numbers: Sequence[int], *, newest_first: bool) -> list[int]:
        """Put sessions in the order of their time; those of one moment by id, whatever order they come in."""
        at = self.at
        if len({at[number] for number in numbers}) < len(numbers):
            numbers = sorted(numbers, key=lambda number: self.fleet[number].id)
        return sorted(numbers, key=at.__getitem__, reverse=newest_first)


# What the ``keep_*`` rules keep of one group, with the published semantics of restic and borg.
#
# Every rule looks at all sessions of the group, newest first, and one rule is enough to stay. A rule for hours, days,
# weeks, months or years counts only those that have sessions; while it has some left, it keeps the oldest session, too.
# What lies in the future is neither counted nor removed.

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

    ``rules``: the rules of their class. ``ages``: the times of a group's sessions, newest first, in seconds *before*
    1970, so that they grow. ``now``: the current time, in the zone whose calendar counts.
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


# Rules that contradict each other, found before anything is decided by them.

# where periods are laid side by side; a month is as long as it is on average within a day
_AT = datetime(2024, 1, 1, tzinfo=UTC)


def check(policy: Policy, dialects: Collection[str]) -> None:
    """Stop at the first contradiction.

    Raises SettingsError: two rules cannot both hold, or a class can never hold a session; names key, value and remedy.
    """
    _check_rules(policy, "retention.")
    for number, one in enumerate(policy.classes):
        name = f"retention.classes[{number}]."
        if one.dialect and one.dialect not in dialects:
            raise SettingsError(f"{name}dialect", one.dialect, f"write one of {', '.join(sorted(dialects))}")
        _check_rules(one, name)
        _check_reached(one, name, policy.classes[:number])


def _check_rules(rules: Rules, name: str) -> None:
    within, age = rules.keep_within, rules.max_age
    if within is not None and age is not None and within.start(_AT) < age.start(_AT):
        remedy = f"keeps sessions that max_age = {str(age)!r} removes; make it shorter, or max_age longer"
        raise SettingsError(f"{name}keep_within", str(within), remedy)
    last, most = rules.keep_last, rules.max_count
    if last is not None and most is not None and last > most:
        remedy = f"keeps more sessions than max_count = {most} allows; make it smaller, or max_count larger"
        raise SettingsError(f"{name}keep_last", str(last), remedy)


def _check_reached(one: ClassRules, name: str, before: Sequence[ClassRules]) -> None:
    taken = next((number for number, other in enumerate(before) if all(_covers(other, one))), None)
    if taken is not None:
        shown = ", ".join(
            f"{key} = {value!r}" for key in ("dialect", "project", "source") if (value := getattr(one, key))
        )
        remedy = f"retention.classes[{taken}] holds all of its sessions already; put it before that, or take it out"
        raise SettingsError(name.rstrip("."), shown or "all sessions", remedy)


def _covers(other: ClassRules, one: ClassRules) -> Iterator[bool]:
    yield other.dialect in ("", one.dialect)
    yield other.source in ("", one.source)
    # a pattern that fits another pattern, letter by letter, fits whatever that one fits
    yield not other.project or (bool(one.project) and fnmatchcase(one.project, other.project))
