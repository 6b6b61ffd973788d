"""Words that depend on when or where they were said, made absolute: dates, and paths below the working folder."""

import re
from calendar import monthrange
from datetime import datetime, timedelta

from slowwave.extraction.other_dates import in_other_languages

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_RELATIVE = re.compile(
    r"\b(?:(?P<day>today|tonight|yesterday|tomorrow|(?:the )?day (?:after tomorrow|before yesterday))"
    r"|(?P<lead>next|last|this|on|by|until|till|before|since|after|coming) (?P<weekday>" + "|".join(_DAYS) + r")"
    r"|(?P<turn>next|last) (?P<unit>week|month|year|quarter)"
    r"|(?P<span>(?:a|an|one|two|three|four|five|six|\d{1,3}) (?:days?|weeks?|months?|years?) ago"
    r"|in (?:a|one|two|three|four|five|six|\d{1,3}) (?:days?|weeks?|months?|years?)"
    r"|vor \w+ (?:tagen|wochen|monaten)|in \w+ (?:tagen|wochen|monaten)|il y a \w+ (?:jours|semaines"
    r"|mois)|hace \w+ (?:días|semanas|meses)))\b(?!['\u2019]?s\b)",
    re.IGNORECASE,
)
_CODE = re.compile(r"`[^`]*`")
# restricted on purpose: recognising the language of two words is slow and often wrong
LANGUAGES = ["en", "de", "fr", "es"]
_PAST = ("last", "since")
_MONTHS = 12


def absolute_dates(text: str, base: datetime | None) -> str:
    """Return ``text`` with the date behind every relative one, taken from when it was said; code stays as it is."""
    if base is None:
        return text
    code = [match.span() for match in _CODE.finditer(text)]

    def replaced(match: re.Match[str]) -> str:
        if any(start <= match.start() < stop for start, stop in code):
            return match[0]
        return _absolute(match, base) or match[0]

    return in_other_languages(_RELATIVE.sub(replaced, text), base)


def _absolute(match: re.Match[str], base: datetime) -> str:
    if match["weekday"]:
        return f"{match[0]} ({_weekday(match['lead'].lower(), match['weekday'].lower(), base):%Y-%m-%d})"
    if match["turn"]:
        return _period(match[0], match["turn"].lower(), match["unit"].lower(), base)
    import dateparser  # noqa: PLC0415 - a third of a second, and few texts need it

    at = dateparser.parse(
        match[0].removeprefix("the "),
        languages=LANGUAGES,
        settings={"RELATIVE_BASE": base.replace(tzinfo=None), "RETURN_AS_TIMEZONE_AWARE": False},
    )
    if at is None:
        return ""
    return f"{match[0]} ({at:%Y-%m-%d})"


def _weekday(lead: str, name: str, base: datetime) -> datetime:
    """Return the nearest such day in the direction that the words point to."""
    away = (_DAYS.index(name) - base.weekday()) % 7
    if lead in _PAST:
        return base - timedelta(days=(7 - away) if away else 7)
    return base + timedelta(days=away or (0 if lead in ("this", "on", "by") else 7))


def _period(words: str, turn: str, unit: str, base: datetime) -> str:
    sign = 1 if turn == "next" else -1
    if unit == "week":
        monday = base - timedelta(days=base.weekday()) + timedelta(weeks=sign)
        return f"{words} (week of {monday:%Y-%m-%d})"
    if unit == "year":
        return f"{words} ({base.year + sign})"
    months = base.year * _MONTHS + base.month - 1 + sign * (1 if unit == "month" else 3)
    year, month = divmod(months, _MONTHS)
    first = base.replace(year=year, month=month + 1, day=min(base.day, monthrange(year, month + 1)[1]))
    return f"{words} ({first:%Y-%m})" if unit == "month" else f"{words} ({year} Q{month // 3 + 1})"


def relative_paths(text: str, cwd: str) -> str:
    """Return ``text`` with paths below the working folder written from there, so that they hold in any checkout."""
    folder = cwd.rstrip("/\\")
    parts = re.split(r"[/\\]", folder)
    on_drive = len(parts) == 2 and parts[0].endswith(":") and parts[1].lower() != "users"  # noqa: PLR2004
    if len(parts) < 3 and not on_drive:  # noqa: PLR2004 - never a root or a home folder's parent
        return text
    # a Windows folder as the shells there spell it
    drive = re.match(r"([A-Za-z]):[/\\]+(.+)", folder)
    rest = drive[2].replace("\\", "/") if drive else ""
    spelled = [folder, *(f"{mount}/{drive[1].lower()}/{rest}" for mount in ("", "/mnt", "/cygdrive") if drive)]
    below = re.compile(
        rf"(?<![\w./\\-])(?:{'|'.join(map(re.escape, spelled))})(?:[/\\]+(?=[\w.@-])|(?![\w.-]))",
        re.IGNORECASE if "\\" in cwd else 0,
    )
    return below.sub(lambda m: "" if m[0][-1:] in "/\\" else ".", text)
