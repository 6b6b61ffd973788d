"""Words for days that are only understood on the day they were said, with the date behind them.

A date is added in brackets and never put in place of a word. It is added only where the clause tells of something that
has happened, or will, on that day: durations, rates and rules name the same days and mean no date. What tells is the
build of the clause (tense, subject, preposition, words like "every"), in :mod:`slowwave.memory.day_words`; in doubt
nothing is added.
"""

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from typing import Literal

from slowwave.memory.day_words import LANGUAGES, Language, whole

Kind = Literal["day", "ago", "ahead", "turn", "weekday"]
_MONTHS = 12
# words behind a day, as in "tomorrow at noon"
_FEW = 2
# characters of a sentence
_LONGEST = 1000
_APOSTROPHE = "\u2019"
# code and what is quoted is about words
_MENTIONED = re.compile(r"```.*?```|`[^`]*`|\"[^\"\n]*\"|“[^”]{0,500}”|«[^»]{0,500}»|„[^“\n]{0,500}“", re.DOTALL)
_DATED = re.compile(r"\s{0,3}\((?:week of )?\d{4}(?:-\d\d(?:-\d\d)?| Q\d)?\)")
_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\n+|\s[\u2013\u2014-]\s")
_CLAUSE = re.compile(r",\s+|\s+(?:and|but|so|because|und|aber|weil|et|mais|donc|y|pero|porque|ma|mas|maar)\s+")
_QUANTITY = re.compile(r"(?:\d|\b(?:first|last|times)\b)\W*(?:\w+\W+){0,3}$", re.IGNORECASE)
_FROM = re.compile(r"\b(?:from|to|with|through)\s+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Named:
    """Words that name a day or a period: where they begin and end, and in which of the ways."""

    start: int
    stop: int
    kind: Kind
    words: str
    language: Language


def dated(text: str, said_at: datetime | None) -> str:
    """Return ``text`` with the date behind every word for a day that tells of an event or a plan.

    What has its date stays as it is, so doing it twice changes nothing.

    Args:
        text: what was said.
        said_at: when, in the time zone whose days are meant; without it nothing is added.
    """
    if said_at is None:
        return text
    masked = _DATED.sub(_blank, _MENTIONED.sub(_blank, text.replace(_APOSTROPHE, "'")))
    found: list[tuple[int, str]] = []
    for begin, sentence in _sentences(masked):
        free = 0
        named = [named for language in LANGUAGES for named in _named(sentence, language)]
        for one in sorted(named, key=lambda n: (n.start, -n.stop)):
            if one.start >= free and (day := _day_of(one, sentence, said_at.date())):
                free = one.stop
                if not _DATED.match(text, begin + one.stop):
                    found.append((begin + one.stop, f" ({day})"))
    for at, day in reversed(found):
        text = text[:at] + day + text[at:]
    return text


def _sentences(masked: str) -> Iterator[tuple[int, str]]:
    """Yield each sentence and where it begins; one that no person says is left out."""
    begin = 0
    for end, after in [*(match.span() for match in _SENTENCE.finditer(masked)), (len(masked), len(masked))]:
        if end - begin <= _LONGEST:
            yield begin, masked[begin:end]
        begin = after


def _blank(match: re.Match[str]) -> str:
    # brackets with a date leave nothing, whatever is mentioned leaves a word
    return " " * len(match[0]) if match[0].lstrip().startswith("(") else "_" * len(match[0])


@cache
def _patterns(language: Language) -> list[tuple[Kind, re.Pattern[str]]]:
    days = "|".join(sorted(map(re.escape, language.days), key=len, reverse=True))
    weekdays = language.weekdays.replace(" ", "|")
    span = _span(language)
    turn, name = f"(?:{language.coming}|{language.gone})", f"(?:{weekdays}|{'|'.join(language.units)})"
    turns = [f"{turn}\\s+{name}"] * language.before + [f"{name}\\s+{turn}"] * language.after
    plain = rf"(?:{language.on}|{language.until}|{language.since})\s+(?:{weekdays})"
    return [
        ("day", whole(days)),
        ("ago", whole("|".join(one.replace("{}", span) for one in language.ago.split("|")))),
        ("ahead", whole(language.ahead.replace("{}", span))),
        ("turn", whole("|".join(turns))),
        ("weekday", whole(plain)),
    ]


def _span(language: Language) -> str:
    return rf"(?:{language.numbers.replace(' ', '|')}|\d{{1,3}})\s+(?:{'|'.join(language.units)})"


def _named(sentence: str, language: Language) -> Iterator[_Named]:
    for kind, pattern in _patterns(language):
        for match in pattern.finditer(sentence):
            # "today's", "tomorrow-style"
            if sentence[match.end() : match.end() + 1] not in ("'", "-", "_"):
                yield _Named(match.start(), match.end(), kind, match[0].lower(), language)


@dataclass(frozen=True, slots=True)
class _Clause:
    """What stands around a name of a day: its clause without it, what stands before and behind, and its sentence."""

    rest: str
    left: str
    right: str
    sentence: str


def _clause_of(named: _Named, sentence: str) -> _Clause:
    start, stop = _bounds(sentence, named)
    alone = rf"\W*(?:{named.language.definite})?\W*"
    if re.fullmatch(alone, sentence[start : named.start] + sentence[named.stop : stop], re.IGNORECASE):
        # "yesterday, we switched"
        start, stop = 0, len(sentence)
    left, right = sentence[start : named.start].lstrip(), sentence[named.stop : stop]
    return _Clause(f"{left} {right}".strip(" ,"), left, right.rstrip(" .!;:"), sentence.rstrip())


def _bounds(sentence: str, named: _Named) -> tuple[int, int]:
    """Return where the clause begins and ends that the words stand in."""
    start = 0
    for match in _CLAUSE.finditer(sentence):
        if match.end() <= named.start:
            start = match.end()
        elif match.start() >= named.stop:
            return start, match.start()
    return start, len(sentence)


def _day_of(named: _Named, sentence: str, base: date) -> str:
    """Return the day that is meant, "" where none is, or nobody can tell."""
    language, clause = named.language, _clause_of(named, sentence)
    is_rule = whole(language.condition).search(clause.sentence) or whole(language.rule).search(clause.rest)
    if is_rule or clause.sentence.endswith("?") or _ends_with(clause.left, language.never_after):
        return ""
    if named.kind == "weekday":
        return _weekday(named, clause, base)
    if not _tells(named, clause):
        return ""
    if named.kind == "day":
        return f"{base + timedelta(days=language.days[named.words])}"
    return _turned(named, base) if named.kind == "turn" else _away(named, _direction(named), base)


def _tells(named: _Named, clause: _Clause) -> bool:
    """Say whether the clause tells of something on that day."""
    language, direction = named.language, _direction(named)
    if named.kind == "turn" and not language.after and _ends_with(clause.left, language.definite):
        # "in the last week" is a span
        return False
    if named.kind != "ago" and direction <= 0 and _follows(clause.left, language.since, language):
        return _has_lasted(language, clause)
    if direction < 0:
        return _is_past(language, clause)
    if direction > 0:
        # "25 in a month"
        is_rate = named.kind == "ahead" and _QUANTITY.search(clause.left)
        return not is_rate and _is_planned(named, clause)
    is_end = _follows(clause.left, language.until, language)
    return is_end or _is_past(language, clause) or _is_future(language, clause)


def _direction(named: _Named) -> int:
    if named.kind == "day":
        return named.language.days[named.words]
    if named.kind in ("ago", "ahead"):
        return 1 if named.kind == "ahead" else -1
    return 1 if whole(named.language.coming).search(named.words) else -1


def _ends_with(left: str, words: str) -> bool:
    return bool(re.search(rf"(?<!\w)(?:{words})\s*$", left, re.IGNORECASE))


def _follows(left: str, words: str, language: Language) -> bool:
    """Say whether the words lead to what comes next, also over an article."""
    return _ends_with(left, rf"(?:{words})(?:\s*(?:{language.definite}))?")


def _is_past(language: Language, clause: _Clause) -> bool:
    """Say whether the clause itself, and not one that says which things are meant, tells what has happened."""
    is_ours = bool(whole(language.we).search(clause.rest))
    for words, alone in ((language.past, False), (language.bare, True)):
        if (verb := whole(words).search(clause.rest)) is None:
            continue
        which = _says_which(language, clause, verb.start())
        is_present = whole(language.present).search(clause.rest)
        if not (alone and _FROM.search(clause.left)) and (is_ours or not (which or is_present)):
            return True
    return False


def _is_future(language: Language, clause: _Clause) -> bool:
    verb = whole(language.future).search(clause.rest)
    return bool(verb) and not _says_which(language, clause, verb.start())


def _says_which(language: Language, clause: _Clause, verb: int) -> bool:
    """Say whether a verb stands in a clause that only says which things are meant."""
    which = whole(language.whose).search(clause.rest)
    return bool(which) and which.start() < verb


def _is_planned(named: _Named, clause: _Clause) -> bool:
    """Say whether the clause tells what will happen, or until when, or of one thing that it is on that day."""
    language = named.language
    if _is_future(language, clause):
        return True
    if named.kind == "ahead":
        return False
    is_range = whole("|".join((*language.days, *language.weekdays.split()))).search(clause.left)
    if (_follows(clause.left, language.until, language) and not is_range) or whole(language.we).search(clause.rest):
        return True
    return len(clause.right.split()) <= _FEW and bool(
        re.fullmatch(rf"(?:{language.definite})(?:\s+|(?<='))\S+(?:\s+\S+){{0,4}}\s+", clause.left, re.IGNORECASE)
    )


def _has_lasted(language: Language, clause: _Clause) -> bool:
    """Say whether what is said of a time since that day tells of one thing: "broken since", not "commits since"."""
    is_first = bool(
        re.fullmatch(rf"(?:{language.since})(?:\s+(?:{language.definite}))?\s*", clause.left, re.IGNORECASE)
    )
    begins = re.match(rf"(?:{language.definite}|{language.we})(?!\w)", clause.left, re.IGNORECASE)
    is_one = bool(begins) and not whole(language.whose).search(clause.left)
    return is_first or is_one or _is_past(language, clause)


def _weekday(named: _Named, clause: _Clause, base: date) -> str:
    """Return a plain weekday: the one before in what has happened, the one to come in what will."""
    language = named.language
    number, name = _weekday_in(language, named.words)
    lead = named.words[: -len(name)].strip()
    if re.match(
        rf"\s*(?:[-\u2013]|\w{{1,7}}\s)\s*(?:{language.weekdays.replace(' ', '|')})", clause.right, re.IGNORECASE
    ):
        return ""
    away = (number - base.weekday()) % 7
    before, coming = base - timedelta(days=7 - away), base + timedelta(days=away)
    if re.fullmatch(language.since, lead, re.IGNORECASE):
        around = _Clause(clause.rest, f"{clause.left}{lead}", clause.right, clause.sentence)
        return f"{before}" if _has_lasted(language, around) else ""
    if re.fullmatch(language.until, lead, re.IGNORECASE):
        return "" if _is_past(language, clause) and not _is_future(language, clause) else f"{coming}"
    if _is_future(language, clause):
        return f"{coming}"
    return f"{before}" if _is_past(language, clause) else ""


def _weekday_in(language: Language, words: str) -> tuple[int, str]:
    for number, name in enumerate(language.weekdays.split()):
        if found := re.search(rf"{name}\b", words):
            return number, found[0]
    return -1, ""


def _away(named: _Named, sign: int, base: date) -> str:
    """Return the day that lies a span before or behind another."""
    language = named.language
    found = re.search(_span(language), named.words)
    assert found, named.words
    words, unit = found[0].split()
    number = int(words) if words.isdigit() else _number(language, words)
    size = next(i for i, one in enumerate(language.units) if re.fullmatch(one, unit))
    days, months = ((1, 0), (7, 0), (0, 1), (0, 3), (0, _MONTHS))[size]
    year, month = divmod(base.year * _MONTHS + base.month - 1 + sign * number * months, _MONTHS)
    day = date(year, month + 1, min(base.day, monthrange(year, month + 1)[1]))
    return f"{day + timedelta(days=sign * number * days)}"


def _number(language: Language, words: str) -> int:
    return next(n for n, one in enumerate(language.numbers.split(), 1) if re.fullmatch(one, words))


def _turned(named: _Named, base: date) -> str:
    """Return the next or last weekday, week, month, quarter or year."""
    language, sign = named.language, _direction(named)
    number, name = _weekday_in(language, named.words)
    if name:
        away = (number - base.weekday()) % 7
        return f"{base + timedelta(days=(away or 7) if sign > 0 else away - 7)}"
    unit = next(i for i, one in enumerate(language.units) if whole(one).search(named.words))
    if unit == 1:
        return f"week of {base - timedelta(days=base.weekday()) + timedelta(weeks=sign)}"
    year, month = divmod(base.year * _MONTHS + base.month - 1 + sign * (0, 0, 1, 3, _MONTHS)[unit], _MONTHS)
    return {0: f"{base + timedelta(days=sign)}", 2: f"{year:04}-{month + 1:02}", 3: f"{year} Q{month // 3 + 1}"}.get(
        unit, f"{year}"
    )
