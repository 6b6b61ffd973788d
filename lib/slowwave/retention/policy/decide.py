"""From sessions and rules to verdicts: the same answer whatever the order of the sessions, and nothing is touched."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain
from math import inf
from operator import attrgetter

import msgspec

from slowwave.records.bulk import relaxed_collector
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
    """Verdicts over all sessions, each once, and the limits that could not be reached."""

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
        # one order by id is enough: all others are made of it by sorts that keep it among equals
        fleet = sorted(subjects, key=attrgetter("id"))
        verdicts: list[Verdict | None] = [None] * len(fleet)
        at = [one.at for one in fleet]
        shortfalls: list[Shortfall] = []
        for rules, groups in _by_class(fleet, policy):
            for group in groups.values():
                group.sort(key=at.__getitem__, reverse=True)
            shortfalls += _Class(rules, groups, fleet, verdicts, now, guard).judge()
        found = [known or Verdict(one, removes=False, rule="") for known, one in zip(verdicts, fleet, strict=True)]
    return Decision(found, shortfalls)


# dialect, project and source of the sessions whose numbers follow, newest first
_Groups = dict[tuple[str, str, Source], list[int]]


def _by_class(fleet: Sequence[Subject], policy: Policy) -> list[tuple[Rules, _Groups]]:
    """Return the sessions of each class by what they are counted by, as numbers in the fleet."""
    every: _Groups = {}
    for number, one in enumerate(fleet):
        key = one.dialect, one.project, one.source
        group = every.get(key)
        if group is None:
            every[key] = [number]
        else:
            group.append(number)
    found: list[_Groups] = [{} for _ in range(len(policy.classes) + 1)]
    for key, group in every.items():
        fits = (number for number, one in enumerate(policy.classes) if one.holds(fleet[group[0]]))
        found[next(fits, len(policy.classes))][key] = group
    return list(zip([*policy.classes, policy], found, strict=True))


class _Class:
    """The sessions of one class on their way through its rules.

    Args:
        rules: what holds for them.
        groups: their numbers in the fleet, newest first.
        fleet: all sessions.
        verdicts: over all sessions; of those that nobody spoke of yet None.
        now: the current time.
        guard: asked about every session that would go.
    """

    def __init__(
        self,
        rules: Rules,
        groups: _Groups,
        fleet: Sequence[Subject],
        verdicts: list[Verdict | None],
        now: datetime,
        guard: Guard,
    ) -> None:
        self.rules = rules
        self.groups = groups
        self.fleet = fleet
        self.verdicts = verdicts
        self.now = now
        self.guard = guard
        # what goes of them
        self.gone, self.gone_bytes = 0, 0

    def judge(self) -> Iterator[Shortfall]:
        """Give the verdicts over all members, and yield the limits that could not be reached."""
        oldest = self.rules.max_age.start(self.now) if self.rules.max_age is not None else -inf
        for key, group in self.groups.items():
            gone = self.gone
            self._group(group, oldest)
            yield from self._count(key, group, len(group) - self.gone + gone)
        yield from self._quota()

    def _group(self, group: Sequence[int], oldest: float) -> None:
        """Judge what the age and the ``keep_*`` rules say of a group; newest first."""
        fleet, verdicts, now = self.fleet, self.verdicts, self.now.timestamp()
        named = kept(self.rules, [fleet[number] for number in group], self.now) if self.rules.keeps else {}
        for place, names in named.items():
            verdicts[group[place]] = Verdict(fleet[group[place]], removes=False, rule=names)
        for number in group:
            if fleet[number].at <= now:
                break
            verdicts[number] = Verdict(fleet[number], removes=False, rule="future")
        only_keeps = self.rules.keeps and not self.rules.limits
        rule = "keep" if only_keeps else "max_age"
        for number in reversed(group):
            if not only_keeps and fleet[number].at >= oldest:
                break
            if verdicts[number] is None:
                self._remove(number, rule)

    def _count(self, key: tuple[str, ...], group: Sequence[int], standing: int) -> Iterator[Shortfall]:
        """Judge what is above ``max_count`` in a group of which so many still stand."""
        if self.rules.max_count is None:
            return
        over = standing - self.rules.max_count
        for number in reversed(group):
            if over <= 0:
                return
            over -= self.verdicts[number] is None and self._remove(number, "max_count")
        if over > 0:
            yield Shortfall("max_count", key, over)

    def _quota(self) -> Iterator[Shortfall]:
        """Judge what counts over the whole class."""
        limit = self.rules.max_bytes
        if limit is None:
            return
        fleet = self.fleet
        total = sum([fleet[number].size for number in chain.from_iterable(self.groups.values())]) - self.gone_bytes
        if total <= limit:
            return
        aim = limit * self.rules.low_water
        for number in self._least_missed():
            if total <= aim:
                return
            if self._remove(number, "max_bytes"):
                total -= fleet[number].size
        if total > limit:
            yield Shortfall("max_bytes", (), total - limit)

    def _least_missed(self) -> Iterator[int]:
        """Yield whom nobody spoke of yet as a quota takes them: by source, then the oldest first, then by id."""
        for source in LEAST_MISSED:
            groups = [group for key, group in self.groups.items() if key[2] == source]
            members = sorted([number for group in groups for number in group if self.verdicts[number] is None])
            times = [self.fleet[number].at for number in members]
            yield from [members[place] for place in sorted(range(len(members)), key=times.__getitem__)]

    def _remove(self, number: int, rule: str) -> bool:
        """Let a session go unless a guard holds it, and say whether it goes."""
        subject = self.fleet[number]
        held = self.guard(subject)
        self.verdicts[number] = Verdict(subject, not held, rule, held)
        if held:
            return False
        self.gone += 1
        self.gone_bytes += subject.size
        return True
