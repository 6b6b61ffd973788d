"""Precision and recall of findings against labels, session by session."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.quality.gold_found import Finding
from tests.quality.gold_labels import Label
from tests.quality.intervals import bootstrap, interval


@dataclass(slots=True)
class Scored:
    """One labelled session with what was found in it.

    Attributes:
        right: findings that share a record with a memory that was labelled.
        wrong: the others; those of them that hit a distractor stand in ``distracted`` as well.
        found: memories that share a record with a finding.
        missed: the others.
    """

    session: Path
    right: list[Finding] = field(default_factory=list[Finding])
    wrong: list[Finding] = field(default_factory=list[Finding])
    distracted: list[Finding] = field(default_factory=list[Finding])
    found: list[Label] = field(default_factory=list[Label])
    missed: list[Label] = field(default_factory=list[Label])
    distractors: int = 0


def scored(session: Path, labels: Sequence[Label], findings: Iterable[Finding]) -> Scored:
    """Match the findings of one session with its labels by the records that they cite."""
    own = [f for f in findings if any(path == str(session) for path, _ in f.places)]
    memories = [label for label in labels if not label.why]
    distractors = [label for label in labels if label.why]
    result = Scored(session, distractors=len(distractors))
    for finding in own:
        if any(finding.places & label.places for label in memories):
            result.right.append(finding)
            continue
        result.wrong.append(finding)
        if any(finding.places & label.places for label in distractors):
            result.distracted.append(finding)
    for label in memories:
        is_found = any(finding.places & label.places for finding in own)
        (result.found if is_found else result.missed).append(label)
    return result


AnyFinding = Callable[[Finding], bool]
AnyLabel = Callable[[Label], bool]


def counts(
    sessions: Sequence[Scored],
    of_finding: AnyFinding = lambda _finding: True,
    of_label: AnyLabel = lambda _label: True,
) -> tuple[int, int, int, int]:
    """Return right and all findings, found and all labels."""
    right = sum(of_finding(f) for s in sessions for f in s.right)
    wrong = sum(of_finding(f) for s in sessions for f in s.wrong)
    found = sum(of_label(label) for s in sessions for label in s.found)
    missed = sum(of_label(label) for s in sessions for label in s.missed)
    return right, right + wrong, found, found + missed


def precision(sessions: Sequence[Scored], of_finding: AnyFinding = lambda _finding: True) -> float:
    """Return the share of findings that were labelled; NaN when nothing was found."""
    right, every, _, _ = counts(sessions, of_finding)
    return right / every if every else math.nan


def recall(sessions: Sequence[Scored], of_label: AnyLabel = lambda _label: True) -> float:
    """Return the share of labels that were found; NaN when there is none."""
    _, _, found, every = counts(sessions, of_label=of_label)
    return found / every if every else math.nan


def f1(p: float, r: float) -> float:
    """Return the harmonic mean."""
    return 2 * p * r / (p + r) if p + r > 0 else 0.0


def row(
    name: str,
    sessions: Sequence[Scored],
    of_finding: AnyFinding = lambda _finding: True,
    of_label: AnyLabel = lambda _label: True,
) -> tuple[str, ...]:
    """Return the cells of a line: findings, precision, labels, recall, F1, each share with its interval."""
    right, findings, found, labels = counts(sessions, of_finding, of_label)
    p, r = precision(sessions, of_finding), recall(sessions, of_label)
    p_interval = interval(*bootstrap(sessions, lambda drawn: precision(drawn, of_finding)))
    r_interval = interval(*bootstrap(sessions, lambda drawn: recall(drawn, of_label)))
    both = f"{f1(p, r):.3f}" if p == p and r == r else "-"  # noqa: PLR0124 - NaN is not itself
    cell_p, cell_r = (f"{x:.3f}" if x == x else "-" for x in (p, r))  # noqa: PLR0124
    return name, f"{right}/{findings}", cell_p, p_interval, f"{found}/{labels}", cell_r, r_interval, both


def one_to_one(session: Scored) -> int:
    """Return how many findings can be paired with a label of their own (augmenting paths)."""
    findings = session.right
    taken: dict[int, int] = {}

    def pair(number: int, seen: set[int]) -> bool:
        for at, label in enumerate(session.found):
            if at not in seen and findings[number].places & label.places:
                seen.add(at)
                if at not in taken or pair(taken[at], seen):
                    taken[at] = number
                    return True
        return False

    return sum(pair(number, set()) for number in range(len(findings)))
