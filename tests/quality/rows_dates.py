"""Dates: relative expressions made absolute, at the ends of months and years and far from Greenwich.

And whole sentences in seven languages, half of which tell of no day: durations, rates, rules.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dateparser
from dateutil import parser as dateutil_parser

from slowwave.memory.dates import dated
from tests.quality.date_rules import DateCase, cases
from tests.quality.intervals import counted
from tests.quality.table import Must, Section, Table

LEAST = 200
LEAST_SENTENCES = 80
ACCURACY = 0.90
WRONG = 0.02
SENTENCES = Path(__file__).with_name("dated_sentences.txt")
SAID_AT = datetime(2026, 11, 18, 15, 0, tzinfo=UTC)
# what has happened and what will: a bare expression tells nothing
_CARRIERS = {
    "en": ("the branch was frozen {}", "we will freeze the branch {}"),
    "de": ("wir haben den Zweig {} gesperrt", "wir werden den Zweig {} sperren"),
    "fr": ("nous avons gelé la branche {}", "nous allons geler la branche {}"),
    "es": ("congelamos la rama {}", "vamos a congelar la rama {}"),
}
_ADDED = re.compile(r" \((?:week of )?(\d{4}[^)]*)\)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{4}-\d\d|\d{4} Q\d|\b\d{4}\b")
Reader = Callable[[DateCase], str]


def measure(*, errors: bool = False) -> Section:
    """Measure how often a relative date becomes the right one."""
    every = list(cases())
    got = {case: product(case) for case in every}
    sentences = _sentences()
    verdicts = Counter(verdict for _, verdict, _ in sentences)
    section = Section(
        [_by_kind(every, got), _beside(every, got), _by_language(sentences)],
        [
            Must("cases", len(every), LEAST),
            Must("right", sum(map(_is_right, got, got.values())) / len(every), ACCURACY),
            Must("wrong dates", sum(map(_is_wrong, got, got.values())) / len(every), WRONG, at_least=False),
            Must("sentences", len(sentences), LEAST_SENTENCES),
            Must("dated rightly", verdicts["right"] / (verdicts["right"] + verdicts["left"]), ACCURACY),
            Must("falsely dated", verdicts["false"] / len(sentences), WRONG, at_least=False),
        ],
        [
            "left: the words stay as they are; wrong: a date that no reading of the words gives",
            "before the rules had seen the sentences: 38 of 41 dated rightly, 3 left, 2 of 45 falsely dated",
        ],
    )
    if errors:
        section.notes += [f"  {verdict}  {words}" for _, verdict, words in sentences if verdict in ("left", "false")]
        section.notes += [_told(case, got[case]) for case in every if not _is_right(case, got[case])]
    return section


def _told(case: DateCase, got: str) -> str:
    what = "wrong" if got else "left "
    said = f"[{case.language} {case.kind}] {case.words!r} said {case.base:%Y-%m-%d %H:%M %Z}"
    return f"  {what}  {said}: {got or 'nothing'}, expected {' or '.join(sorted(case.accepted))}"


def product(case: DateCase) -> str:
    """Return the date that the product puts into a sentence, "" when it leaves the sentence alone."""
    texts = (dated(carrier.format(case.words), case.base) for carrier in _CARRIERS[case.language])
    return next((found[0] for text in texts if (found := _DATE.search(text))), "")


def _sentences() -> list[tuple[str, str, str]]:
    """Return what each sentence is: its language, "right", "left", "false" or "none", and its words."""
    found: list[tuple[str, str, str]] = []
    for line in SENTENCES.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            language, day, words = line.split("\t")
            got = _added(words)
            is_right = got == ([] if day == "-" else [day])
            verdict = ("none" if day == "-" else "right") if is_right else "false" if got else "left"
            found.append((language, verdict, words))
    return found


def _added(words: str) -> list[str]:
    """Return the dates that the product adds to a sentence."""
    return [added for added in _ADDED.findall(dated(words, SAID_AT)) if added not in words]


def _by_language(sentences: Sequence[tuple[str, str, str]]) -> Table:
    by: dict[str, Counter[str]] = defaultdict(Counter)
    for language, verdict, _ in sentences:
        by[language][verdict] += 1
    rows = [(name, *(str(of[verdict]) for verdict in ("right", "left", "none", "false"))) for name, of in by.items()]
    return Table("Sentences by language", ("", "dated rightly", "left", "rightly not dated", "falsely dated"), rows)


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
