"""Limits as people write them in settings: ``6 months``, ``10 GB``, ``unlimited``."""

import re
from datetime import datetime, timedelta
from math import inf
from typing import Self

UNLIMITED = "unlimited"
OFF = "off"
_MOST = 2**63 - 1
_ITEM = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")
_FORMS = "write for example 12h, 30d, 2 weeks, 6 months, 1y or unlimited"
# a calendar's own units keep their meaning: one month before 31 March is the end of February
_CALENDAR = {"month": 1, "mo": 1, "mon": 1, "y": 12, "yr": 12, "year": 12}
_EXACT = {
    "s": "seconds", "sec": "seconds", "second": "seconds", "min": "minutes", "minute": "minutes",
    "h": "hours", "hour": "hours", "d": "days", "day": "days", "w": "weeks", "week": "weeks",
}  # fmt: skip
_BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*(b|bytes?|[kmgt]i?b?)?", re.IGNORECASE)


class Period:
    """A length of time that may name months and years, counted back from a moment on the calendar."""

    __slots__ = ("_length", "text")

    def __init__(self, value: object) -> None:
        """Read a period.

        Args:
            value: a text such as ``30d``, ``6 months``, ``1y 6 months`` or ``unlimited``.

        Raises:
            ValueError: it is none; a bare number is refused, nobody can tell hours from days in a settings file, and
                so is ``6m``, since half of those who write it mean months.
        """
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
        """Read a period, or that there is none.

        Raises:
            ValueError: it is neither.
        """
        self.is_off = str(value).strip().lower() == OFF
        try:
            super().__init__("0s" if self.is_off else value)
        except ValueError as error:
            raise ValueError(f"{error}, or off") from error
        self.text = OFF if self.is_off else self.text


class Count(int):
    """A number of things, at least 1, or ``unlimited``."""

    def __new__(cls, value: object) -> Self:
        """Read a count.

        Raises:
            ValueError: it is no whole number, or less than 1: what keeps nothing would remove everything.
        """
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
        """Read a number of bytes.

        Raises:
            ValueError: it is none.
        """
        text = str(value).strip()
        match = _BYTES.fullmatch(text)
        if text.lower() != UNLIMITED and match is None:
            raise ValueError("not a number of bytes; write for example 500 MB, 2 GiB or unlimited")
        if match is None:
            return super().__new__(cls, UNLIMITED)
        unit = (match[2] or "").lower()
        power = "bkmgt".find(unit[:1] or "b")
        return super().__new__(cls, round(float(match[1]) * (1024 if "i" in unit else 1000) ** power))


def _length(text: str) -> tuple[int, timedelta]:
    items = list(_ITEM.finditer(text))
    if not items or _ITEM.sub("", text).replace(",", "").strip():
        raise ValueError(f"not a period; {_FORMS}")
    months, rest = 0, timedelta()
    for item in items:
        number, unit = item[1], item[2]
        name = unit if unit in _CALENDAR or unit in _EXACT else unit.removesuffix("s")
        if name in _EXACT:
            rest += timedelta(**{_EXACT[name]: float(number)})
        elif unit == "m":
            raise ValueError(f"{text!r} could be minutes or months; write {number} min or {number} months")
        elif name not in _CALENDAR:
            raise ValueError(f"unknown unit {unit!r}; {_FORMS}")
        elif not number.isdecimal():
            raise ValueError(f"no part of a {name} is of a fixed length; {_FORMS}")
        else:
            months += int(number) * _CALENDAR[name]
    return months, rest


def _months_before(moment: datetime, months: int) -> datetime:
    if not months:
        return moment
    from dateutil.relativedelta import relativedelta  # noqa: PLC0415 - commands that list start in a tenth of a second

    return moment - relativedelta(months=months)
