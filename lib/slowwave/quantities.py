"""Numbers, lengths and times as people write them: ``3 parts``, ``30m``, ``10 GB``, ``7d`` (ago), ``20 Nov 2026``."""

import re
from datetime import UTC, datetime, time, timedelta
from itertools import product
from math import inf, isinf
from typing import Self

from slowwave.errors import UsageError

UNLIMITED = "unlimited"
OFF = "off"
_MOST = 2**63 - 1
_ITEM = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")
_PERIODS = "write for example 12h, 30d, 2 weeks, 6 months, 1y or unlimited"
_DURATIONS = "write for example 30m, 12h, 7d or 2 weeks"
_MOMENTS = "write a date such as 2026-11-20, a date with a time, or how long ago: 36h, 7d, 6 months"
# a calendar's own units keep their meaning: one month before 31 March is the end of February
_CALENDAR = {"month": 1, "mo": 1, "mon": 1, "y": 12, "yr": 12, "year": 12}
_EXACT = {
    "s": "seconds", "sec": "seconds", "second": "seconds", "m": "minutes", "min": "minutes", "minute": "minutes",
    "h": "hours", "hour": "hours", "d": "days", "day": "days", "w": "weeks", "week": "weeks",
}  # fmt: skip
_BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*(b|bytes?|[kmgt]i?b?)?", re.IGNORECASE)


def counted(number: int, thing: str, several: str = "") -> str:
    """Return a number with its noun, ``1 part`` or ``3 parts``; ``several`` is for a noun of an odd plural."""
    if number == 1:
        return f"1 {thing}"
    usual = f"{thing[:-1]}ies" if thing.endswith("y") and thing[-2:-1] not in "aeiou" else f"{thing}s"
    return f"{number:,} {several or usual}"


class Period:
    """A length of time that may name months and years, counted back from a moment on the calendar."""

    __slots__ = ("_length", "text")

    def __init__(self, value: object) -> None:
        """Read a period."""
        self.text = str(value).strip()
        # months, and what is of a fixed length
        self._length = None if self.text.lower() == UNLIMITED else _length(self.text.lower())

    @property
    def is_unlimited(self) -> bool:
        """Whether it has no end."""
        return self._length is None

    @property
    def is_nothing(self) -> bool:
        """Whether it is of no length at all."""
        return self._length == (0, timedelta())

    def start(self, end: datetime) -> float:
        """Return when a period began that ends at ``end``, in seconds since 1970; minus infinity without a beginning.

        Days, months and years are those of the calendar in the zone of ``end``.
        """
        if self._length is None:
            return -inf
        months, rest = self._length
        try:
            return (_months_before(end, months) - rest).timestamp()
        except (OverflowError, ValueError):
            return -inf  # further back than the calendar goes

    def over(self, begin: datetime) -> datetime | None:
        """Return from when on ``begin`` lies further back than this, None when it never does."""
        if self._length is None:
            return None
        months, rest = self._length
        try:
            end = _months_before(begin, -months) + rest
            # the last days of a month lie before shorter months, too
            while self.start(end) < begin.timestamp():
                end += timedelta(days=1)
        except (OverflowError, ValueError):
            return None  # further ahead than the calendar goes
        return end

    def __eq__(self, other: object) -> bool:
        """Say whether two periods are of the same length."""
        return isinstance(other, Period) and self._length == other._length

    def __hash__(self) -> int:
        """Return the same for periods of the same length."""
        return hash(self._length)

    def __str__(self) -> str:
        """Return it as it was written."""
        return self.text

    def __repr__(self) -> str:
        """Return it as Python would write it."""
        return f"Period({self.text!r})"


class PeriodOrOff(Period):
    """A period, or ``off``."""

    __slots__ = ("is_off",)

    def __init__(self, value: object) -> None:
        """Read a period, or that there is none."""
        self.is_off = str(value).strip().lower() == OFF
        try:
            super().__init__("0s" if self.is_off else value)
        except ValueError as error:
            raise ValueError(f"{error}, or off") from error
        self.text = OFF if self.is_off else self.text


class Count(int):
    """A number of things, at least 1, or ``unlimited``."""

    def __new__(cls, value: object) -> Self:
        """Read a count."""
        text = str(value).strip().lower()
        if text == UNLIMITED:
            return super().__new__(cls, _MOST)
        if isinstance(value, bool) or not text.isdecimal() or int(text) < 1:
            raise ValueError("not a count; write a whole number from 1 up, or unlimited")
        return super().__new__(cls, int(text))

    @property
    def is_unlimited(self) -> bool:
        """Whether it has no end."""
        return self == _MOST

    def __str__(self) -> str:
        """Return it as people write it."""
        return UNLIMITED if self.is_unlimited else int.__repr__(self)


class ByteCount(Count):
    """A number of bytes, at least 1, or ``unlimited``. ``kB``, ``MB`` are decimal, ``KiB``, ``MiB`` binary."""

    def __new__(cls, value: object) -> Self:
        """Read a number of bytes."""
        text = str(value).strip()
        match = _BYTES.fullmatch(text)
        if text.lower() != UNLIMITED and match is None:
            raise ValueError("not a number of bytes; write for example 500 MB, 2 GiB or unlimited")
        if match is None:
            return super().__new__(cls, UNLIMITED)
        unit = (match[2] or "").lower()
        power = "bkmgt".find(unit[:1] or "b")
        return super().__new__(cls, round(float(match[1]) * (1024 if "i" in unit else 1000) ** power))


def parse_duration(value: object) -> timedelta:
    """Return the length of time that ``value`` means, in units of a fixed length; ``m`` are minutes.

    Raises ValueError: it is none; a bare number is refused, nobody can tell minutes from hours in a settings file.
    """
    if isinstance(value, timedelta):
        return value
    text = str(value).strip().lower()
    total = timedelta()
    for number, unit, name in _items(text, "a duration", _DURATIONS):
        # 50ms are no fifty minutes
        if name not in _EXACT or unit == "ms":
            raise ValueError(f"unknown unit {unit!r}; {_DURATIONS}")
        total += timedelta(**{_EXACT[name]: float(number)})
    return total


def _length(text: str) -> tuple[int, timedelta]:
    months, rest = 0, timedelta()
    for number, unit, name in _items(text, "a period", _PERIODS):
        if unit == "m":
            raise ValueError(f"{text!r} could be minutes or months; write {number} min or {number} months")
        if name in _EXACT and unit != "ms":
            rest += timedelta(**{_EXACT[name]: float(number)})
        elif name not in _CALENDAR:
            raise ValueError(f"unknown unit {unit!r}; {_PERIODS}")
        elif not number.isdecimal():
            raise ValueError(f"no part of a {name} is of a fixed length; {_PERIODS}")
        else:
            months += int(number) * _CALENDAR[name]
    return months, rest


def _items(text: str, what: str, forms: str) -> list[tuple[str, str, str]]:
    """Return each number of ``text``, its unit as it is written, and in the singular."""
    items: list[tuple[str, str]] = _ITEM.findall(text)
    if not items or _ITEM.sub("", text).replace(",", "").strip():
        raise ValueError(f"not {what}; {forms}")
    return [(n, unit, unit if unit in _CALENDAR or unit in _EXACT else unit.removesuffix("s")) for n, unit in items]


def _months_before(moment: datetime, months: int) -> datetime:
    if not months:
        return moment
    from dateutil.relativedelta import relativedelta  # noqa: PLC0415 - commands that list start in a tenth of a second

    return moment - relativedelta(months=months)


def in_hundred(confidence: float) -> str:
    """Say how many facts like one are worth keeping, as every screen counts them."""
    return f"{100 * confidence:.0f} in 100 facts like it"


_DAY = timedelta(days=1)


def moment(option: str, value: str, now: datetime, *, ends: bool = False) -> datetime:
    """Return the aware time that ``value`` means; times without a zone are this machine's.

    Args:
        option: name of the option, for the message.
        value: what a person wrote; a bare date is the start of that day.
        now: what time it is.
        ends: a bare date is the end of that day instead, as in ``--until``, which includes what it names.

    Raises UsageError: it is no time, or could mean two days; the message shows accepted forms.
    """
    text = value.strip()
    try:
        ago = Period(text).start(now.astimezone())
    except ValueError:
        pass  # then it is a date
    except OverflowError as error:
        raise UsageError(f"{option} {value!r}: longer ago than dates go back; {_MOMENTS}") from error
    else:
        if isinf(ago):
            raise UsageError(f"{option} {value!r}: longer ago than dates go back; {_MOMENTS}")
        return datetime.fromtimestamp(ago, UTC)
    try:
        at, has_time = _date(text)
        if ends and not has_time:
            at += _DAY - timedelta(microseconds=1)
        # the zone of this machine on that day, which summer time may shift
        return at if at.tzinfo else at.astimezone()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(f"{option} {value!r}: {error}; {_MOMENTS}") from error


def told(at: datetime) -> str:
    """Return a moment as a person on this machine reads it: in its zone, which is named."""
    return f"{at.astimezone():%Y-%m-%d %H:%M %Z}"


def _date(text: str) -> tuple[datetime, bool]:
    """Return the date that ``text`` names, and whether it names a time of that day, too."""
    from dateutil import parser  # noqa: PLC0415 - a listing without these options starts without it

    try:
        at = parser.isoparse(text)
    except ValueError:
        # what is not in the text comes from the default, so two defaults show what is missing
        first = datetime(2000, 1, 1)  # noqa: DTZ001 - only compared
        other = datetime(2004, 2, 2, 1)  # noqa: DTZ001 - only compared
        at, twin = parser.parse(text, default=first), parser.parse(text, default=other)
        if at.date() != twin.date():
            raise ValueError("is not a whole date") from None
        orders = product((False, True), repeat=2)
        if len({parser.parse(text, default=first, dayfirst=d, yearfirst=y).date() for d, y in orders}) > 1:
            raise ValueError("could mean two days") from None
        return at, at.time() == twin.time()
    if sum(map(str.isdigit, text)) < len("20261120"):
        raise ValueError("is not a whole date")
    return at, at.time() != time() or "T" in text or " " in text
