"""From sessions and rules to verdicts: the same answer whatever the order of the sessions, and nothing is touched."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from math import inf
from operator import attrgetter

import msgspec

from slowwave.retention.policy.keep import kept
from slowwave.retention.policy.model import LEAST_MISSED, Policy, Rules, Subject, Verdict

# why a session must stay whatever the rules say, or ""
Guard = Callable[[Subject], str]
_RANK = {source: rank for rank, source in enumerate(LEAST_MISSED)}


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
    decision = Decision([], [])
    for rules, members in _by_class(subjects, policy):
        _Class(rules, now, guard).judge(members, decision)
    decision.verdicts.sort(key=lambda verdict: verdict.subject.id)
    return decision


def _by_class(subjects: Iterable[Subject], policy: Policy) -> list[tuple[Rules, list[Subject]]]:
    members: list[list[Subject]] = [[] for _ in range(len(policy.classes) + 1)]
    known: dict[tuple[str, str, str], int] = {}
    for subject in subjects:
        key = (subject.dialect, subject.project, subject.source)
        if key not in known:
            fits = (number for number, one in enumerate(policy.classes) if one.holds(subject))
            known[key] = next(fits, len(policy.classes))
        members[known[key]].append(subject)
    return list(zip([*policy.classes, policy], members, strict=True))


class _Class:
    """The sessions of one class on their way through its rules."""

    def __init__(self, rules: Rules, now: datetime, guard: Guard) -> None:
        self.rules = rules
        self.now = now
        self.guard = guard
        # of the sessions that are spoken for; the others still stand
        self.verdicts: dict[str, Verdict] = {}

    def judge(self, members: list[Subject], decision: Decision) -> None:
        """Add the verdicts over all members."""
        groups: dict[tuple[str, ...], list[Subject]] = defaultdict(list)
        for subject in members:
            groups[subject.dialect, subject.project, subject.source].append(subject)
        for key, group in groups.items():
            group.sort(key=attrgetter("id"))
            group.sort(key=attrgetter("at"), reverse=True)
            decision.shortfalls += self._group(key, group)
        decision.shortfalls += self._quota(members)
        decision.verdicts += (self.verdicts.get(one.id) or Verdict(one, removes=False, rule="") for one in members)

    def _group(self, key: tuple[str, ...], group: Sequence[Subject]) -> Iterable[Shortfall]:
        """Judge what is counted per dialect, project and source; newest first."""
        now = self.now.timestamp()
        named = kept(self.rules, group, self.now) if self.rules.keeps else {}
        oldest = self.rules.max_age.start(self.now) if self.rules.max_age is not None else -inf
        only_keeps = self.rules.keeps and not self.rules.limits
        for number, subject in enumerate(group):
            if subject.at > now:
                self.verdicts[subject.id] = Verdict(subject, removes=False, rule="future")
            elif number in named:
                self.verdicts[subject.id] = Verdict(subject, removes=False, rule=named[number])
            elif only_keeps:
                self._remove(subject, "keep")
            elif subject.at < oldest:
                self._remove(subject, "max_age")
        if self.rules.max_count is not None:
            over = self._standing(group) - self.rules.max_count
            for subject in reversed(group):
                if over <= 0:
                    break
                over -= subject.id not in self.verdicts and self._remove(subject, "max_count")
            if over > 0:
                yield Shortfall("max_count", key, over)

    def _quota(self, members: Sequence[Subject]) -> Iterable[Shortfall]:
        """Judge what counts over the whole class."""
        limit = self.rules.max_bytes
        if limit is None:
            return
        total = sum(one.size for one in members if not self._goes(one))
        if total <= limit:
            return
        aim = limit * self.rules.low_water
        for subject in sorted(members, key=lambda one: (_RANK[one.source], one.at, one.id)):
            if total <= aim:
                return
            if subject.id not in self.verdicts and self._remove(subject, "max_bytes"):
                total -= subject.size
        if total > limit:
            yield Shortfall("max_bytes", (), total - limit)

    def _remove(self, subject: Subject, rule: str) -> bool:
        """Let a session go unless a guard holds it, and say whether it goes."""
        held = self.guard(subject)
        self.verdicts[subject.id] = Verdict(subject, not held, rule, held)
        return not held

    def _goes(self, subject: Subject) -> bool:
        known = self.verdicts.get(subject.id)
        return known is not None and known.removes

    def _standing(self, group: Sequence[Subject]) -> int:
        return sum(not self._goes(one) for one in group)
