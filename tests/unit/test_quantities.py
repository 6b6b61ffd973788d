"""Limits as people write them."""

from datetime import UTC, datetime, timedelta
from math import inf

import pytest

from slowwave.quantities import ByteCount, Count, Period, PeriodOrOff

END = datetime(2026, 3, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("12h", datetime(2026, 3, 31, 0, tzinfo=UTC)),
        ("30d", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("1 month", datetime(2026, 2, 28, 12, tzinfo=UTC)),
        ("6 months", datetime(2025, 9, 30, 12, tzinfo=UTC)),
        ("1y", datetime(2025, 3, 31, 12, tzinfo=UTC)),
        ("1 Year 2 Months, 3 days", datetime(2025, 1, 28, 12, tzinfo=UTC)),
        ("1.5h", datetime(2026, 3, 31, 10, 30, tzinfo=UTC)),
    ],
)
def test_periods_follow_the_calendar(text: str, start: datetime) -> None:
    assert Period(text).start(END) == start.timestamp()
    assert str(Period(text)) == text


@pytest.mark.parametrize("text", ["unlimited", "Unlimited", "99999 years"])
def test_a_period_without_a_beginning(text: str) -> None:
    assert Period(text).start(END) == -inf


@pytest.mark.parametrize("text", ["30", "", "soon", "-3d", "3 parsecs", "3d!", "0.5 months", "1.5y"])
def test_what_is_no_period_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write for example"):
        Period(text)


@pytest.mark.parametrize(
    ("text", "is_off", "shown"), [("off", True, "off"), (" OFF ", True, "off"), ("8d", False, "8d")]
)
def test_a_period_may_be_off(text: str, *, is_off: bool, shown: str) -> None:
    assert (PeriodOrOff(text).is_off, str(PeriodOrOff(text))) == (is_off, shown)


def test_what_is_neither_a_period_nor_off_is_refused() -> None:
    with pytest.raises(ValueError, match="unlimited, or off"):
        PeriodOrOff("no")


@pytest.mark.parametrize("text", ["6m", "1h 6 m", "6M"])
def test_months_are_not_taken_for_minutes(text: str) -> None:
    with pytest.raises(ValueError, match="write 6 min or 6 months"):
        Period(text)


@pytest.mark.parametrize("text", ["12h", "30d", "1 month", "6 months", "1y", "2 years 3 days"])
@pytest.mark.parametrize("begin", [END, END.replace(month=1), END.replace(year=2024, month=2, day=29)])
def test_what_lies_over_a_period_back_does_so_from_then_on(text: str, begin: datetime) -> None:
    over = Period(text).over(begin)
    assert over is not None
    assert Period(text).start(over) >= begin.timestamp()
    assert Period(text).start(over - timedelta(days=1)) < begin.timestamp()
    assert Period("unlimited").over(begin) is None


def test_periods_are_equal_by_length() -> None:
    assert Period("2 weeks") == Period("14d")
    assert Period("12 months") == Period("1y")
    assert Period("30d") != Period("1 month")


@pytest.mark.parametrize(("text", "number"), [("5", 5), (7, 7), ("UNLIMITED", 2**63 - 1)])
def test_counts(text: object, number: int) -> None:
    assert Count(text) == number


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", True, ""])
def test_what_is_no_count_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="whole number"):
        Count(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [("500 MB", 500_000_000), ("2GiB", 2 << 30), ("1.5 kB", 1500), ("10 g", 10_000_000_000), ("77", 77), (12, 12)],
)
def test_numbers_of_bytes(text: object, number: int) -> None:
    assert ByteCount(text) == number
    assert isinstance(ByteCount(text), ByteCount)


@pytest.mark.parametrize("text", ["0", "ten", "5 XB", "-1 GB", "0.1 b"])
def test_what_is_no_number_of_bytes_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write"):
        ByteCount(text)
