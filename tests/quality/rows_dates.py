"""Dates: relative expressions made absolute, at the ends of months and years and far from Greenwich."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

import dateparser
from dateutil import parser as dateutil_parser

from slowwave.extraction.absolute import absolute_dates
from tests.quality.date_rules import DateCase, cases
from tests.quality.intervals import counted
from tests.quality.table import Must, Section, Table

LEAST = 200
ACCURACY = 0.90
WRONG = 0.02
_CARRIERS = {"en": "the freeze {}", "de": "die Sperre {}", "fr": "le gel {}", "es": "el bloqueo {}"}
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{4}-\d\d|\d{4} Q\d|\b\d{4}\b")
Reader = Callable[[DateCase], str]


def measure(*, errors: bool = False) -> Section:
    """Measure how often a relative date becomes the right one."""
    every = list(cases())
    got = {case: product(case) for case in every}
    section = Section(
        [_by_kind(every, got), _beside(every, got)],
        [
            Must("cases", len(every), LEAST),
            Must("right", sum(map(_is_right, got, got.values())) / len(every), ACCURACY),
            Must("wrong dates", sum(map(_is_wrong, got, got.values())) / len(every), WRONG, at_least=False),
        ],
        ["left: the words stay as they are; wrong: a date that no reading of the words gives"],
    )
    if errors:
        section.notes += [_told(case, got[case]) for case in every if not _is_right(case, got[case])]
    return section


def _told(case: DateCase, got: str) -> str:
    what = "wrong" if got else "left "
    said = f"[{case.language} {case.kind}] {case.words!r} said {case.base:%Y-%m-%d %H:%M %Z}"
    return f"  {what}  {said}: {got or 'nothing'}, expected {' or '.join(sorted(case.accepted))}"


def product(case: DateCase) -> str:
    """Return the date that the product puts into a sentence, "" when it leaves the sentence alone."""
    text = absolute_dates(_CARRIERS[case.language].format(case.words), case.base)
    found = _DATE.search(text)
    return found[0] if found else ""


def _by_dateparser(case: DateCase) -> str:
    base = case.base.replace(tzinfo=None)
    at = dateparser.parse(case.words, languages=[case.language], settings={"RELATIVE_BASE": base})
    return _as_expected(at, case)


def _by_dateutil(case: DateCase) -> str:
    try:
        at = dateutil_parser.parse(case.words, default=case.base.replace(tzinfo=None), fuzzy=True)
    except (ValueError, OverflowError):
        return ""
    return _as_expected(at, case)


def _as_expected(at: datetime | None, case: DateCase) -> str:
    """Return a moment with as much of it as the expression tells: the baselines know days only."""
    if at is None:
        return ""
    form = next(iter(case.accepted))
    if "Q" in form:
        return f"{at.year} Q{(at.month + 2) // 3}"
    if case.kind == "periods" and form.count("-") == 2:
        at -= timedelta(days=at.weekday())
    return f"{at:%Y-%m-%d}"[: len(form)]


def _is_right(case: DateCase, got: str) -> bool:
    return got in case.accepted


def _is_wrong(case: DateCase, got: str) -> bool:
    return bool(got) and got not in case.accepted


def _by_kind(every: Iterable[DateCase], got: dict[DateCase, str]) -> Table:
    kinds: dict[str, list[DateCase]] = defaultdict(list)
    for case in every:
        kinds[f"{case.language} {case.kind}"].append(case)
    rows = [_row(name, of, got) for name, of in kinds.items()]
    return Table("By language and kind", ("", "right", "share", "95 %", "wrong", "left"), rows)


def _beside(every: Sequence[DateCase], got: dict[DateCase, str]) -> Table:
    rows = [_row("slowwave", every, got)]
    readers: tuple[tuple[str, Reader], ...] = (
        ("dateparser, told the language", _by_dateparser),
        ("dateutil", _by_dateutil),
    )
    for name, read in readers:
        rows.append(_row(f"baseline: {name}", every, {case: read(case) for case in every}))
    return Table(
        "Beside libraries that are given the bare expression", ("", "right", "share", "95 %", "wrong", "left"), rows
    )


def _row(name: str, cases: Sequence[DateCase], got: dict[DateCase, str]) -> tuple[str, ...]:
    right = sum(_is_right(case, got[case]) for case in cases)
    wrong = sum(_is_wrong(case, got[case]) for case in cases)
    return name, *counted(right, len(cases)), str(wrong), str(len(cases) - right - wrong)
