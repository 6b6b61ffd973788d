"""Relative dates with what they mean, worked out by plain arithmetic on calendar days and nothing of the product."""

from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY_NAMES = {
    "de": ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"),
    "fr": ("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    "es": ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
}
# around the ends of months, years, leap days and the nights in which clocks change; late and early in the day
_BASES = (
    ("2026-03-01T23:30", "America/Los_Angeles"),
    ("2026-03-29T00:45", "Europe/Berlin"),
    ("2024-02-29T12:00", "UTC"),
    ("2026-12-31T22:10", "Asia/Tokyo"),
    ("2026-01-31T08:05", "America/New_York"),
    ("2026-10-25T01:15", "Europe/Madrid"),
    ("2026-11-18T00:05", "Pacific/Auckland"),
)
Rule = Callable[[date], frozenset[str]]


@dataclass(frozen=True, slots=True)
class DateCase:
    """One expression at one moment.

    Attributes:
        accepted: what it may mean; more than one where people disagree ("next Friday" on a Wednesday).
    """

    language: str
    kind: str
    words: str
    base: datetime
    accepted: frozenset[str]


def cases() -> Iterator[DateCase]:
    """Yield every expression at every base."""
    for text, zone in _BASES:
        base = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))
        for language, kind, words, rule in (*_english(), *_german(), *_french(), *_spanish()):
            yield DateCase(language, kind, words, base, rule(base.date()))


def _day(days: int) -> Rule:
    return lambda base: frozenset({f"{base + timedelta(days=days)}"})


def _months(number: int) -> Rule:
    def rule(base: date) -> frozenset[str]:
        year, month = divmod(base.year * 12 + base.month - 1 + number, 12)
        return frozenset({f"{date(year, month + 1, min(base.day, monthrange(year, month + 1)[1]))}"})

    return rule


def _after(weekday: int) -> Rule:
    """Return the next such day; the one of the week after, too, where this week has one to come."""

    def rule(base: date) -> frozenset[str]:
        near = base + timedelta(days=(weekday - base.weekday() - 1) % 7 + 1)
        same_week = near.isocalendar()[:2] == base.isocalendar()[:2]
        return frozenset({f"{near}", f"{near + timedelta(days=7)}"} if same_week else {f"{near}"})

    return rule


def _coming(weekday: int) -> Rule:
    """Return the nearest such day that is not over."""

    def rule(base: date) -> frozenset[str]:
        away = (weekday - base.weekday()) % 7
        return frozenset({f"{base + timedelta(days=away)}", *([f"{base + timedelta(days=7)}"] if not away else [])})

    return rule


def _before(weekday: int) -> Rule:
    def rule(base: date) -> frozenset[str]:
        near = base - timedelta(days=(base.weekday() - weekday - 1) % 7 + 1)
        same_week = near.isocalendar()[:2] == base.isocalendar()[:2]
        return frozenset({f"{near}", f"{near - timedelta(days=7)}"} if same_week else {f"{near}"})

    return rule


def _week(number: int) -> Rule:
    return lambda base: frozenset({f"{base - timedelta(days=base.weekday()) + timedelta(weeks=number)}"})


def _month(number: int) -> Rule:
    def rule(base: date) -> frozenset[str]:
        year, month = divmod(base.year * 12 + base.month - 1 + number, 12)
        return frozenset({f"{year}-{month + 1:02}"})

    return rule


def _quarter(number: int) -> Rule:
    def rule(base: date) -> frozenset[str]:
        year, quarter = divmod(base.year * 4 + (base.month - 1) // 3 + number, 4)
        return frozenset({f"{year} Q{quarter + 1}"})

    return rule


def _year(number: int) -> Rule:
    return lambda base: frozenset({f"{base.year + number}"})


def _english() -> Iterator[tuple[str, str, str, Rule]]:
    for words, days in (
        ("today", 0), ("tonight", 0), ("yesterday", -1), ("tomorrow", 1), ("the day after tomorrow", 2),
        ("the day before yesterday", -2), ("3 days ago", -3), ("two weeks ago", -14), ("a week ago", -7),
        ("in 10 days", 10), ("in two weeks", 14), ("in a week", 7), ("in three days", 3), ("45 days ago", -45),
    ):  # fmt: skip
        yield "en", "days", words, _day(days)
    for words, number in (("a month ago", -1), ("in 2 months", 2), ("six months ago", -6), ("in a month", 1)):
        yield "en", "months", words, _months(number)
    for words, number in (("a year ago", -12), ("in 2 years", 24)):
        yield "en", "years", words, _months(number)
    for number, name in ((1, "Tuesday"), (4, "Friday")):
        yield "en", "weekdays", f"next {name}", _after(number)
        yield "en", "weekdays", f"last {name}", _before(number)
        yield "en", "weekdays", f"by {name}", _coming(number)
        yield "en", "weekdays", f"until {name}", _coming(number)
        yield "en", "weekdays", f"since {name}", _before(number)
    for words, number in (("next", 1), ("last", -1)):
        yield "en", "periods", f"{words} week", _week(number)
        yield "en", "periods", f"{words} month", _month(number)
        yield "en", "periods", f"{words} quarter", _quarter(number)
        yield "en", "periods", f"{words} year", _year(number)


def _german() -> Iterator[tuple[str, str, str, Rule]]:
    for words, days in (
        ("heute", 0), ("gestern", -1), ("morgen", 1), ("übermorgen", 2), ("vorgestern", -2), ("vor drei Tagen", -3),
        ("vor 2 Wochen", -14), ("in zwei Wochen", 14), ("in 10 Tagen", 10),
    ):  # fmt: skip
        yield "de", "days", words, _day(days)
    yield "de", "months", "vor 2 Monaten", _months(-2)
    yield "de", "weekdays", f"nächsten {_DAY_NAMES['de'][4]}", _after(4)
    yield "de", "weekdays", f"letzten {_DAY_NAMES['de'][1]}", _before(1)
    yield "de", "periods", "nächste Woche", _week(1)
    yield "de", "periods", "letzten Monat", _month(-1)


def _french() -> Iterator[tuple[str, str, str, Rule]]:
    for words, days in (
        ("aujourd'hui", 0), ("hier", -1), ("demain", 1), ("après-demain", 2), ("avant-hier", -2),
        ("il y a 3 jours", -3), ("il y a deux semaines", -14), ("dans 10 jours", 10),
    ):  # fmt: skip
        yield "fr", "days", words, _day(days)
    yield "fr", "months", "il y a 2 mois", _months(-2)
    yield "fr", "weekdays", f"{_DAY_NAMES['fr'][4]} prochain", _after(4)
    yield "fr", "weekdays", f"{_DAY_NAMES['fr'][1]} dernier", _before(1)
    yield "fr", "periods", "la semaine prochaine", _week(1)


def _spanish() -> Iterator[tuple[str, str, str, Rule]]:
    for words, days in (
        ("hoy", 0), ("ayer", -1), ("mañana", 1), ("pasado mañana", 2), ("anteayer", -2), ("hace 3 días", -3),
        ("hace dos semanas", -14), ("en 10 días", 10),
    ):  # fmt: skip
        yield "es", "days", words, _day(days)
    yield "es", "months", "hace 2 meses", _months(-2)
    yield "es", "weekdays", f"el próximo {_DAY_NAMES['es'][4]}", _after(4)
    yield "es", "weekdays", f"el pasado {_DAY_NAMES['es'][1]}", _before(1)
    yield "es", "periods", "la próxima semana", _week(1)
