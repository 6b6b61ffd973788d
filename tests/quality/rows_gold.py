"""Extraction on labelled sessions: precision, recall and F1, beside rules that anybody would write first."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from slowwave.memory.model import CATEGORIES
from tests.quality.beside import CORPUS, GOLD, missing
from tests.quality.gold_errors import error_lines, error_tables
from tests.quality.gold_found import Finding, by_cues, by_keywords, by_turns, ours
from tests.quality.gold_labels import Label, by_session, labels, merged
from tests.quality.intervals import counted, interval, wilson
from tests.quality.scores import Scored, counts, f1, one_to_one, precision, recall, row, scored
from tests.quality.table import Must, Section, Table

PRECISION, PRECISION_AIM = 0.60, 0.80
RECALL, RECALL_AIM = 0.40, 0.60
HEADER = ("", "found", "precision", "95 %", "labels", "recall", "95 %", "F1")
_WEIGHTY = 2


def measure(*, errors: bool = False) -> Section:
    """Measure extraction on the labelled sessions."""
    absent = missing(GOLD, CORPUS)
    if absent:
        return Section(skipped=absent)
    every = labels()
    known = by_session(merged(every))
    paths = tuple(known)
    sessions = judged(known, ours(paths))
    section = Section(
        [
            _systems(known, paths, sessions),
            _categories(sessions),
            _miners(sessions),
            _repositories(sessions),
            _agreement(every),
            *error_tables(sessions),
        ],
        [
            Must("precision", precision(sessions), PRECISION, aim=PRECISION_AIM),
            Must("recall of offline_findable", recall(sessions, lambda k: k.findable), RECALL, aim=RECALL_AIM),
        ],
        [f"{len(known)} sessions, {len(every)} labels; intervals: bootstrap over sessions", _distracted(sessions)],
    )
    if errors:
        section.notes += error_lines(sessions)
    return section


def judged(known: dict[Path, list[Label]], findings: Iterable[Finding]) -> list[Scored]:
    """Match findings with the labels of every session."""
    every = list(findings)
    return [scored(path, labels, every) for path, labels in known.items()]


def _systems(known: dict[Path, list[Label]], paths: Sequence[Path], sessions: Sequence[Scored]) -> Table:
    rows = [
        row("slowwave", sessions),
        row("  recall: only offline_findable", sessions, of_label=lambda k: k.findable),
        row("  recall: only importance >= 2", sessions, of_label=lambda k: k.importance >= _WEIGHTY),
        row("  findings with a person behind them", sessions, lambda f: f.origin.startswith("user"), _is_personal),
    ]
    for least in (0.6, 0.7, 0.8):
        surer = judged(known, (f for f in ours(paths) if f.confidence >= least))
        rows.append(row(f"  confidence >= {least}", surer, of_label=lambda k: k.findable))
    rows.append(_one_to_one(sessions))
    for name, find in (("cue rules", by_cues), ("every typed turn", by_turns), ("keyword lines", by_keywords)):
        theirs = judged(known, find(paths))
        rows += [
            row(f"baseline: {name}", theirs),
            row("  only offline_findable", theirs, of_label=lambda k: k.findable),
        ]
    return Table("Systems", HEADER, rows)


def _one_to_one(sessions: Sequence[Scored]) -> tuple[str, ...]:
    """Count a finding for one label only, and a label for one finding: what a long message holds twice counts once."""
    pairs = sum(one_to_one(s) for s in sessions)
    _, findings, _, labels = counts(sessions)
    p, r = pairs / max(1, findings), pairs / max(1, labels)
    name = "  a finding counts for one label only"
    within = (interval(*wilson(pairs, n)) for n in (findings, labels))
    return (
        name,
        f"{pairs}/{findings}",
        f"{p:.3f}",
        next(within),
        f"{pairs}/{labels}",
        f"{r:.3f}",
        next(within),
        f"{f1(p, r):.3f}",
    )


def _is_personal(label: Label) -> bool:
    return label.origin.startswith("user")


def _categories(sessions: Sequence[Scored]) -> Table:
    rows = [
        row(name, sessions, lambda f, n=name: f.category == n, lambda k, n=name: k.category == n) for name in CATEGORIES
    ]
    pairs = [(f, k) for s in sessions for f in s.right for k in s.found if f.places & k.places]
    same = sum(f.category == k.category for f, k in pairs)
    number, part, within = counted(same, len(pairs))
    rows.append(("matched pairs with the same category", number, part, within, "", "", "", ""))
    return Table("By category (precision of findings, recall of labels of that category)", HEADER, rows)


def _miners(sessions: Sequence[Scored]) -> Table:
    names = sorted({f.system for s in sessions for f in (*s.right, *s.wrong)})
    rows = [row(name, sessions, lambda f, n=name: f.system == n, lambda _label: False) for name in names]
    return Table("By miner", HEADER, rows)


def _repositories(sessions: Sequence[Scored]) -> Table:
    rows = [
        row(name, [s for s in sessions if s.session.parent.name == name])
        for name in sorted({s.session.parent.name for s in sessions})
    ]
    return Table("By repository", HEADER, rows)


def _agreement(every: Sequence[Label]) -> Table:
    """Return how well each annotator does when the other one is right: nobody can be better than that."""
    one, other = sorted({name for label in every for name in label.annotators})
    rows: list[tuple[str, ...]] = []
    for gold, system in ((one, other), (other, one)):
        theirs, mine = _of(every, gold), _of(every, system)
        both = theirs.keys() & mine.keys()
        findings = [
            Finding(system, k.category, k.statement, "user", 1.0, k.places)
            for path in both
            for k in mine[path]
            if not k.why
        ]
        rows.append(
            row(f"{system} against {gold}, {len(both)} sessions", judged({p: theirs[p] for p in both}, findings))
        )
    return Table("Agreement of the annotators: the ceiling", HEADER, rows)


def _of(every: Sequence[Label], annotator: str) -> dict[Path, list[Label]]:
    return by_session(label for label in every if annotator in label.annotators)


def _distracted(sessions: Sequence[Scored]) -> str:
    hits, distractors = sum(len(s.distracted) for s in sessions), sum(s.distractors for s in sessions)
    findings = sum(len(s.right) + len(s.wrong) for s in sessions)
    return f"distractors: {distractors}; findings that hit one: {hits} of {findings} (counted as errors above)"
