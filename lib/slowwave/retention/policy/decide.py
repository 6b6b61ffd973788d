"""From sessions and rules to verdicts: the same answer whatever the order of the sessions, and nothing is touched."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain
from math import floor, inf
from operator import attrgetter

import msgspec

from slowwave.formats.lines import relaxed_collector
from slowwave.retention.policy.keep import kept
from slowwave.retention.policy.model import LEAST_MISSED, Policy, Rules, Source, Subject, Verdict

# why a session must stay whatever the rules say, or ""
Guard = Callable[[Subject], str]


class Shortfall(msgspec.Struct, frozen=True):
    """A limit that could not be reached, since what is above it must stay.

    Attributes:
        rule: name of the setting.
        group: dialect, project and source; empty for a quota over a class.
        over: sessions or bytes above the limit.
    """

    rule: str
    group: tuple[str, ...]
    over: int


class Decision(msgspec.Struct):
    """Verdicts over all sessions, each once and in their order, and the limits that could not be reached."""

    verdicts: list[Verdict]
    shortfalls: list[Shortfall]


def decide(subjects: Iterable[Subject], policy: Policy, now: datetime, guard: Guard = lambda _: "") -> Decision:
    """Return what is to become of every session.

    In this order: what a ``keep_*`` rule names stays; what is older than ``max_age`` goes; then the oldest above
    ``max_count``; then, over the whole class, the least missed and oldest until ``max_bytes`` times ``low_water`` is
    reached. A session that a guard holds stays and counts, and the next one goes in its place.

    Args:
        subjects: the sessions.
        policy: the rules.
        now: the current time, in the zone whose calendar counts.
        guard: asked only about sessions that would go, once each.
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
    """The sessions of one class on their way through its rules.

    Args:
        rules: what holds for them.
        groups: their numbers in the fleet.
        fleet: all sessions.
        at: their times.
        verdicts: over all sessions; of those that nobody spoke of yet None.
        now: the current time.
        guard: asked about every session that would go.
    """

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
        """Let sessions go of which nobody spoke yet and that no guard holds, and return how many go.

        Args:
            numbers: the sessions.
            rule: what lets them go.
            most: no more than so many.
            enough: none more when so many bytes go.
        """
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
