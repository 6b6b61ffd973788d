"""The cases with which restic documents its ``forget`` command, and the notes beside them."""

from datetime import UTC, datetime, timedelta

import pytest

from slowwave.quantities import Count, Period
from slowwave.retention.policy import decide
from slowwave.settings import Policy, Subject

NOW = datetime(2019, 11, 18, 9, tzinfo=UTC)
SUNDAYS = [datetime(2019, 9, 1, 11, tzinfo=UTC) + timedelta(weeks=week) for week in range(12)]


def session(at: datetime) -> Subject:
    return Subject(at.isoformat(), "claude", "work", "interactive", at.timestamp(), 1)


def kept_of(times: list[datetime], rules: Policy, now: datetime = NOW) -> list[datetime]:
    decision = decide([session(at) for at in times], rules, now)
    return sorted(datetime.fromisoformat(v.subject.id) for v in decision.verdicts if not v.removes)


def test_daily_counts_days_that_have_sessions() -> None:
    assert kept_of(SUNDAYS, Policy(keep_daily=Count(4))) == SUNDAYS[-4:]


def test_one_rule_is_enough_and_the_newest_matches_several() -> None:
    rules = Policy(keep_hourly=Count(1), keep_daily=Count(1), keep_weekly=Count(1), keep_monthly=Count(1))
    decision = decide([session(at) for at in SUNDAYS], rules, NOW)
    stays = [v for v in decision.verdicts if not v.removes]
    assert [v.subject.id for v in stays] == [SUNDAYS[-1].isoformat()]
    assert stays[0].rule == "keep_hourly, keep_daily, keep_weekly, keep_monthly"


def test_one_a_day_for_a_hundred_years() -> None:
    days = [datetime(2019, 11, 17, 23, tzinfo=UTC) - timedelta(days=day) for day in range(36525)]
    rules = Policy(keep_daily=Count(7), keep_weekly=Count(5), keep_monthly=Count(12), keep_yearly=Count(75))
    stays = kept_of(days, rules)
    assert stays[-7:] == sorted(days[:7])
    sundays = [at for at in stays[:-7] if at.isoweekday() == 7 and at > days[40]]
    assert len(sundays) == 4
    last_of_month = {at for at in stays if (at + timedelta(days=1)).day == 1 and at > days[366]}
    assert len(last_of_month) in (11, 12)
    last_of_year = {at for at in stays if (at.month, at.day) == (12, 31)}
    assert len(last_of_year) in (74, 75)


def test_within_is_seen_from_the_newest_session() -> None:
    long_ago = NOW + timedelta(days=4000)
    assert kept_of(SUNDAYS, Policy(keep_within=Period("14d")), long_ago) == SUNDAYS[-2:]
    assert kept_of(SUNDAYS, Policy(keep_within=Period("14d 1h")), long_ago) == SUNDAYS[-3:]


def test_what_lies_in_the_future_is_neither_counted_nor_removed() -> None:
    future = NOW + timedelta(days=3)
    assert kept_of([*SUNDAYS, future], Policy(keep_last=Count(1))) == [SUNDAYS[-1], future]
    assert kept_of([*SUNDAYS, future], Policy(keep_within=Period("1d"))) == [SUNDAYS[-1], future]


def test_the_oldest_stays_while_some_are_left() -> None:
    hours = [datetime(2019, 11, 17, hour, tzinfo=UTC) for hour in range(12)]
    assert kept_of(hours, Policy(keep_daily=Count(3))) == [hours[0], hours[-1]]
    assert kept_of(hours, Policy(keep_daily=Count(1))) == [hours[-1]]


def test_unlimited_keeps_all() -> None:
    assert kept_of(SUNDAYS, Policy(keep_weekly=Count("unlimited"))) == SUNDAYS


def test_an_empty_policy_removes_nothing() -> None:
    assert kept_of(SUNDAYS, Policy()) == SUNDAYS


def test_each_group_is_judged_by_itself() -> None:
    both = [Subject(f"{project}{day}", "pi", project, "interactive", float(day), 1) for project in "ab" for day in "12"]
    decision = decide(both, Policy(keep_last=Count(1)), NOW)
    assert [v.subject.id for v in decision.verdicts if v.removes] == ["a1", "b1"]


@pytest.mark.parametrize(("zone", "stays"), [("Etc/GMT+5", 1), ("Etc/GMT-5", 2)])
def test_days_are_those_of_the_zone(zone: str, stays: int) -> None:
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - for this test alone

    evening, night = datetime(2019, 11, 16, 18, tzinfo=UTC), datetime(2019, 11, 16, 20, tzinfo=UTC)
    older = [datetime(2019, 11, day, 12, tzinfo=UTC) for day in (3, 4)]
    now = NOW.astimezone(ZoneInfo(zone))
    kept = kept_of([*older, evening, night], Policy(keep_daily=Count(2)), now)
    assert len([at for at in kept if at in (evening, night)]) == stays
