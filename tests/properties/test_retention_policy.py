"""``decide`` against a slow oracle that was written from the words of the rules alone, and its promises.

The oracle asks of every session by itself whether it stays, over lists that it builds anew each time.
"""

import os
import random
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest

from slowwave.quantities import ByteCount, Count, Period
from slowwave.retention.policy import LEAST_MISSED, Decision, decide
from slowwave.settings import ClassRules, Policy, Rules, Subject

FLEETS = 10_000 if os.environ.get("DRILLS") == "full" else 600
ZONES = ("UTC", "America/New_York", "Europe/Berlin", "Asia/Kathmandu", "Pacific/Apia", "Australia/Lord_Howe")
NAMES = {
    "keep_hourly": "%Y%m%d%H",
    "keep_daily": "%Y%m%d",
    "keep_weekly": "%G%V",
    "keep_monthly": "%Y%m",
    "keep_yearly": "%Y",
}
Fleet = tuple[list[Subject], Policy, datetime, dict[str, str]]


def fleet(seed: int) -> Fleet:
    """Return sessions, a policy, a time and guards."""
    chance = random.Random(seed)
    now = datetime(2026, 11, 22, 10, tzinfo=ZoneInfo(chance.choice(ZONES))) - timedelta(hours=chance.randrange(20_000))
    reach = chance.choice([3, 40, 400, 2000]) * 86400
    subjects = [
        Subject(
            f"s{number:03}",
            chance.choice(["claude", "claude", "codex"]),
            chance.choice(["app", "app", "app", "web"]),
            chance.choice(["interactive", "interactive", *LEAST_MISSED]),
            # often at the very same moment, or just as old as a rule says, sometimes in the future
            now.timestamp() - chance.choice([chance.randrange(reach) - 3600, chance.randrange(reach) // 86400 * 86400]),
            chance.choice([0, 1, 7, 100, 5000]),
        )
        for number in range(chance.randrange(30))
    ]
    classes = tuple(
        ClassRules(
            dialect=chance.choice(["", "claude"]),
            project=chance.choice(["", "a*", "w?b"]),
            source=chance.choice(["", "subagent", "interactive"]),
            **rules(chance),
        )
        for _ in range(chance.randrange(3))
    )
    guards = {one.id: "live" for one in subjects if chance.random() < 0.15}
    return subjects, Policy(classes=classes, **rules(chance)), now, guards


def rules(chance: random.Random) -> dict[str, Any]:
    keeps = chance.choice([0.0, 0.0, 0.2, 0.5])

    def keep(*of: object) -> Count | None:
        return Count(chance.choice(of)) if chance.random() < keeps else None

    return {
        "max_age": chance.choice([None, *map(Period, ("2d", "30d", "6 months", "unlimited"))]),
        "max_count": chance.choice([None, *map(Count, (1, 2, 5, "unlimited"))]),
        "max_bytes": chance.choice([None, None, *map(ByteCount, (1, 7, 100, 200, 5000, 9000))]),
        "low_water": chance.choice([0.5, 0.8, 1.0]),
        "keep_last": keep(1, 3),
        "keep_hourly": keep(1, 4),
        "keep_daily": keep(1, 3, "unlimited"),
        "keep_weekly": keep(1, 4),
        "keep_monthly": keep(2, 12),
        "keep_yearly": keep(1, 5),
        "keep_within": Period(chance.choice(("1d", "3 weeks", "1y"))) if chance.random() < keeps else None,
    }


def judged(subjects: list[Subject], policy: Policy, now: datetime, guards: dict[str, str]) -> Decision:
    return decide(subjects, policy, now, lambda one: guards.get(one.id, ""))


def oracle(subjects: list[Subject], policy: Policy, now: datetime, guards: dict[str, str]) -> set[str]:
    """Return which sessions go."""
    goes: set[str] = set()
    for number, rule in enumerate([*policy.classes, policy]):
        members = [one for one in subjects if class_of(one, policy) == number]
        stay = {one.id for one in members if one.at > now.timestamp() or one.id in guards}
        for key in sorted({(one.dialect, one.project, one.source) for one in members}):
            group = sorted(
                (one for one in members if (one.dialect, one.project, one.source) == key), key=lambda o: (-o.at, o.id)
            )
            past = [one for one in group if one.at <= now.timestamp()]
            stay |= named_by(rule, past, now)
            too_old = [one for one in past if rule.max_age is not None and one.at < rule.max_age.start(now)]
            unnamed = past if rule.keeps and (rule.max_age, rule.max_count, rule.max_bytes) == (None,) * 3 else []
            goes.update(one.id for one in [*too_old, *unnamed] if one.id not in stay)
            while rule.max_count is not None and sum(one.id not in goes for one in group) > rule.max_count:
                free = [one for one in group if one.id not in goes | stay]
                if not free:
                    break
                goes.add(free[-1].id)
        goes |= over_quota(rule, members, goes, stay)
    return goes


def class_of(one: Subject, policy: Policy) -> int:
    for number, only in enumerate(policy.classes):
        named = not only.project or fnmatchcase(one.project, only.project)
        if named and only.dialect in ("", one.dialect) and only.source in ("", one.source):
            return number
    return len(policy.classes)


def over_quota(rule: Rules, members: list[Subject], goes: set[str], stay: set[str]) -> set[str]:
    """Return what goes, too, since a class is too large."""

    def size() -> int:
        return sum(one.size for one in members if one.id not in goes | more)

    more: set[str] = set()
    if rule.max_bytes is None or size() <= rule.max_bytes:
        return more
    while size() > rule.max_bytes * rule.low_water:
        free = [one for one in members if one.id not in goes | more | stay]
        if not free:
            break
        more.add(min(free, key=lambda one: (LEAST_MISSED.index(one.source), one.at, one.id)).id)
    return more


def named_by(rule: Rules, past: list[Subject], now: datetime) -> set[str]:
    """Return what the ``keep_*`` rules name of a group, newest first."""
    if not past:
        return set()
    time = {one.id: datetime.fromtimestamp(one.at, now.tzinfo) for one in past}
    found = {one.id for one in past[: rule.keep_last or 0]}
    if rule.keep_within is not None:
        since = rule.keep_within.start(time[past[0].id])
        found |= {one.id for one in past if one.at > since}
    for name, form in NAMES.items():
        most: Count | None = getattr(rule, name)
        if most is None:
            continue
        newest: dict[str, str] = {}
        for one in past:
            newest.setdefault(time[one.id].strftime(form), one.id)
        chosen = list(newest.values())[:most]
        found.update(chosen)
        if len(chosen) < most:
            found.add(past[-1].id)
    return found


@pytest.mark.parametrize("part", range(4))
def test_decide_agrees_with_the_oracle(part: int) -> None:
    for seed in range(part, FLEETS, 4):
        subjects, policy, now, guards = fleet(seed)
        decision = judged(subjects, policy, now, guards)
        got = {verdict.subject.id for verdict in decision.verdicts if verdict.removes}
        assert got == oracle(subjects, policy, now, guards), f"seed {seed}"


def test_every_session_gets_one_verdict_whatever_their_order() -> None:
    for seed in range(FLEETS // 10):
        subjects, policy, now, guards = fleet(seed)
        decision = judged(subjects, policy, now, guards)
        verdicts = decision.verdicts
        assert [v.subject for v in verdicts] == subjects
        shuffled = random.Random(seed).sample(subjects, len(subjects))
        again = judged(shuffled, policy, now, guards)
        assert [v.subject for v in again.verdicts] == shuffled
        assert sorted(again.verdicts, key=lambda v: v.subject.id) == sorted(verdicts, key=lambda v: v.subject.id)
        assert again.shortfalls == decision.shortfalls
        assert not [v for v in verdicts if v.removes and v.subject.id in guards]
        assert all(v.rule for v in verdicts if v.removes or v.guard)


def test_what_stays_is_within_the_limits_or_the_shortfall_is_told() -> None:
    for seed in range(FLEETS // 10):
        subjects, policy, now, guards = fleet(seed)
        policy = msgspec.structs.replace(policy, classes=())
        decision = judged(subjects, policy, now, guards)
        stays = [v.subject for v in decision.verdicts if not v.removes]
        told = {(short.rule, short.group): short.over for short in decision.shortfalls}
        limit = policy.max_bytes
        if limit is not None:
            assert max(0, sum(one.size for one in stays) - limit) == told.get(("max_bytes", ()), 0)
        most = policy.max_count
        for key in {(one.dialect, one.project, one.source) for one in stays}:
            if most is not None and not policy.max_bytes:
                number = sum((one.dialect, one.project, one.source) == key for one in stays)
                assert max(0, number - most) == told.get(("max_count", key), 0)
