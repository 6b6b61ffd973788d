"""Relative dates in German, French and Spanish: days, weekdays and periods, by fixed words."""

import re
from datetime import datetime, timedelta

_AWAY = {
    "heute": 0, "gestern": -1, "vorgestern": -2, "morgen": 1, "übermorgen": 2,
    "aujourd'hui": 0, "hier": -1, "avant-hier": -2, "demain": 1, "après-demain": 2,
    "hoy": 0, "ayer": -1, "anteayer": -2, "mañana": 1, "pasado mañana": 2,
}  # fmt: skip
_WEEKDAYS = (
    ("montag", "lundi", "lunes"),
    ("dienstag", "mardi", "martes"),
    ("mittwoch", "mercredi", "miércoles"),
    ("donnerstag", "jeudi", "jueves"),
    ("freitag", "vendredi", "viernes"),
    ("samstag", "samedi", "sábado"),
    ("sonntag", "dimanche", "domingo"),
)
_UNITS = {
    "tag": 1, "jour": 1, "día": 1, "woche": 7, "semaine": 7, "semana": 7,
}  # fmt: skip
_PERIODS = {
    "woche": "week", "semaine": "week", "semana": "week", "monat": "month", "mois": "month", "mes": "month",
    "jahr": "year", "année": "year", "an": "year", "año": "year",
}  # fmt: skip
_NUMBERS = {
    "einem": 1, "einer": 1, "zwei": 2, "drei": 3, "vier": 4, "un": 1, "une": 1, "una": 1, "deux": 2, "trois": 3,
    "quatre": 4, "dos": 2, "tres": 3, "cuatro": 4,
}  # fmt: skip
_NEXT = r"nächste[nrs]?|kommende[nrs]?|prochaine?|próxim[oa]"
_LAST = r"letzte[nrs]?|vorige[nrs]?|vergangene[nrs]?|derni(?:er|ère)|pasad[oa]"
_DAY = "|".join(name for names in _WEEKDAYS for name in names)
_PERIOD = "|".join(_PERIODS)
_BEGIN, _END = r"(?<![\w`'-])", r"(?![\w`'-])"
_WORD = re.compile(
    # "guten Morgen" and "por la mañana" are times of a day
    rf"{_BEGIN}(?<!guten )(?<!jeden )(?<!la )(?P<day>{'|'.join(sorted(_AWAY, key=len, reverse=True))}){_END}"
    rf"|{_BEGIN}(?:(?P<next>{_NEXT})|(?P<last>{_LAST})) (?:(?P<name>{_DAY})|(?P<period>{_PERIOD})){_END}"
    rf"|{_BEGIN}(?:(?P<name_fr>{_DAY})|(?P<period_fr>{_PERIOD})) (?:(?P<next_fr>{_NEXT})|(?P<last_fr>{_LAST})){_END}"
    rf"|{_BEGIN}(?P<way>vor|in|il y a|dans|hace|en) (?P<number>\d{{1,3}}|{'|'.join(_NUMBERS)}) "
    rf"(?P<unit>{'|'.join(_UNITS)})(?:e?n|s)?{_END}",
    re.IGNORECASE,
)
_PAST = frozenset({"vor", "il y a", "hace"})
# "hier" is yesterday in French and here in German
_FRENCH = re.compile(r"\b(?:le|la|les|un|une|des|est|nous|vous|avec|pour|dans|fait|été|avons|ai|et|a)\b", re.IGNORECASE)
_DATED = re.compile(r"\s*\(\d{4}|\s*\(week of")


def in_other_languages(text: str, base: datetime) -> str:
    """Return ``text`` with the date behind every relative one in these languages; code stays as it is."""
    parts = re.split(r"(`[^`]*`)", text)
    for at in range(0, len(parts), 2):
        parts[at] = _WORD.sub(lambda match: _dated(match, base), parts[at])
    return "".join(parts)


def _dated(match: re.Match[str], base: datetime) -> str:
    words = match[0]
    if _DATED.match(match.string, match.end()) or (words.lower() == "hier" and not _FRENCH.search(match.string)):
        return words
    if match["day"]:
        # written large it is the morning
        return words if words == "Morgen" else f"{words} ({base + timedelta(days=_AWAY[words.lower()]):%Y-%m-%d})"
    if match["way"]:
        number = int(match["number"]) if match["number"].isdigit() else _NUMBERS[match["number"].lower()]
        days = number * _UNITS[match["unit"].lower()] * (-1 if match["way"].lower() in _PAST else 1)
        return f"{words} ({base + timedelta(days=days):%Y-%m-%d})"
    sign = 1 if match["next"] or match["next_fr"] else -1
    name = match["name"] or match["name_fr"]
    if name:
        return f"{words} ({_weekday(name.lower(), sign, base):%Y-%m-%d})"
    return f"{words} ({_period(_PERIODS[(match['period'] or match['period_fr']).lower()], sign, base)})"


def _weekday(name: str, sign: int, base: datetime) -> datetime:
    """Return the nearest such day before or after the base, never the base itself."""
    number = next(number for number, names in enumerate(_WEEKDAYS) if name in names)
    away = (number - base.weekday()) % 7
    return base + timedelta(days=(away or 7) if sign > 0 else away - 7)


def _period(unit: str, sign: int, base: datetime) -> str:
    if unit == "week":
        return f"week of {base - timedelta(days=base.weekday()) + timedelta(weeks=sign):%Y-%m-%d}"
    if unit == "year":
        return str(base.year + sign)
    year, month = divmod(base.year * 12 + base.month - 1 + sign, 12)
    return f"{year:04d}-{month + 1:02d}"
