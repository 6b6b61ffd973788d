"""Alarms over a history: each planted cause is told by the next night, thirty quiet nights tell nothing."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from slowwave.observability.night import Night, alarms_of
from slowwave.settings import AlarmSettings
from tests.unit.observability.nights import FIRST, a_busy_month, a_night

SETTINGS = AlarmSettings(silent_nights=3, backlog=timedelta(days=14))


def raised(nights: list[Night], settings: AlarmSettings = SETTINGS) -> list[str]:
    return [alarm.name for alarm in alarms_of(nights[:-1], nights[-1], settings)]


def working(number: int, **fields: Any) -> Night:
    """Return a night that read something and dreamt."""
    return a_night(number, **{"changed": 4, "dreams": 1, **fields})


QUIET: dict[str, Callable[[int], Night]] = {
    "nothing new": a_night,
    "work and dreams": working,
    "a dream every third night": lambda n: working(n, dreams=int(n % 3 == 0)),
    "only at the week's beginning": lambda n: working(n) if n % 7 == 0 else a_night(n),
    "a dream for review": lambda n: working(n, dreams=0, parked=1),
    "known unknown types": lambda n: working(n, unknown={"claude hologram": n + 1} if n else {}),
    "a young backlog": lambda n: a_night(n, backlog=3, oldest=(FIRST + timedelta(days=n - 13)).isoformat()),
    "small talk alone": lambda n: a_night(n, refusals={"messages": 3}),
}


@pytest.mark.parametrize("name", [name for name in QUIET if name != "known unknown types"])
def test_thirty_quiet_nights_raise_nothing(name: str) -> None:
    nights = [QUIET[name](number) for number in range(30)]
    assert [raised(nights[: number + 1]) for number in range(30)] == [[]] * 30


def test_a_type_of_record_is_told_once() -> None:
    nights = [QUIET["known unknown types"](number) for number in range(30)]
    assert [number for number in range(30) if raised(nights[: number + 1])] == [1]


@pytest.mark.parametrize(
    ("cause", "name"),
    [
        ({"failed": 1, "failures": ["-p: extract: torn"]}, "failures"),
        ({"oldest": (FIRST - timedelta(days=1)).isoformat(), "backlog": 2}, "backlog"),
        ({"lossy": ["-p: it would lose 9 of 10 memories (90%), more than 25%"], "parked": 1}, "loss"),
        ({"unknown": {"codex hologram": 1}}, "unknown-records"),
        ({"counts": {"rescue_left_out": 2}}, "rescue"),
        ({"sessions": 0}, "silence"),
    ],
)
def test_a_cause_is_told_by_the_next_night(cause: dict[str, Any], name: str) -> None:
    nights = [working(number) for number in range(20)]
    assert raised(nights) == []
    assert raised([*nights, working(20, **cause)]) == [name]
    told = alarms_of(nights, working(20, **cause), SETTINGS)[0]
    assert told.count >= 1
    assert "\n" not in told.summary


def test_silence_is_told_on_the_night_that_completes_it_and_as_long_as_it_lasts() -> None:
    nights = [working(number, dreams=int(number < 10), refusals={"sessions": 2}) for number in range(16)]
    silent = [number for number in range(16) if raised(nights[: number + 1]) == ["silence"]]
    assert silent == [12, 13, 14, 15]
    told = alarms_of(nights[:-1], nights[-1], SETTINGS)[0]
    assert told.summary.startswith("6 nights with new sessions gave 0 facts and no dream; gates refused: sessions 12")


def test_nights_without_new_sessions_neither_end_a_silence_nor_add_to_it() -> None:
    busy = [0, 3, 8]
    nights = [a_night(number, changed=int(number in busy)) for number in range(9)]
    assert [bool(raised(nights[: number + 1])) for number in range(9)] == [*[False] * 8, True]


def test_jobs_that_are_scheduled_apart_are_one_night() -> None:
    nights: list[Night] = []
    for number in range(10):
        nights += [working(number, job="extract", dreams=0), a_night(number, job="consolidate", dreams=1, changed=4)]
    assert all(raised(nights[: stop + 1]) == [] for stop in range(len(nights)))


def test_other_jobs_say_nothing_about_silence_and_backlog() -> None:
    nights = [working(number, job="retain", dreams=0, sessions=0) for number in range(9)]
    assert raised(nights) == []
    assert raised([*nights, working(9, job="retain", failed=1)]) == ["failures"]


def test_a_run_over_a_chosen_project_says_nothing_about_vanished_sessions() -> None:
    assert raised([working(0), a_night(1, sessions=0, partial=True)]) == []


def test_what_is_turned_off_is_silent() -> None:
    off = AlarmSettings(silent_nights=0, backlog=timedelta(0))
    nights = [working(n, dreams=0, oldest="2020-01-01T00:00:00+00:00", backlog=1) for n in range(9)]
    assert raised(nights, off) == []


def test_a_busy_month_with_one_bad_night_tells_that_night_and_the_old_backlog() -> None:
    nights = [*a_busy_month()]
    told = {number: raised(nights[: number + 1]) for number in range(30)}
    assert told[16] == ["backlog"]
    assert told[17] == ["failures", "backlog"]
    assert told[5] == []


def test_an_alarm_says_what_to_do_about_records_that_nobody_knows() -> None:
    (alarm,) = alarms_of([working(1)], working(2, unknown={"codex hologram": 1}), SETTINGS)
    assert alarm.summary.endswith("nothing of them is lost, and you need do nothing: a newer slowwave may read them")
