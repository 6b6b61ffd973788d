"""Extraction with a strong reader in the place of the model: what becomes of its notes, and whether they are right.

The answers are kept (:mod:`tests.quality.recorded_reader`); the checks are those of today. Right is a memory whose text
says what a label of its session says, by the labels' own expressions (``score_text.py`` beside the labels).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from slowwave.memory import DROPS, Candidate
from tests.quality.beside import CORPUS, GOLD, missing
from tests.quality.gold_found import is_sure
from tests.quality.gold_texts import SCORER, labels, said_by, sessions
from tests.quality.recorded_reader import Asked, kept, replayed
from tests.quality.table import Must, Section, Table

_SURVIVE, _RIGHT, _FOUND, _TOKENS = 0.85, 0.85, 0.55, 6_000
_MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory of a session, with the labels that it says."""

    session: str
    candidate: Candidate
    says: frozenset[str]


def measure(*, errors: bool = False) -> Section:
    """Measure what survives of a strong reader's notes."""
    absent = missing(GOLD, CORPUS, SCORER)
    if absent:
        return Section(skipped=absent)
    known, asked = kept(), dict[str, Asked]()
    for path in sessions():
        session = str(path.relative_to(CORPUS))
        asked[session] = replayed(path, known[session])
    every = [Memory(s, c, said_by(s, c.text)) for s, one in asked.items() for c in one.candidates if c.key != DROPS]
    notes = [m for m in every if m.candidate.extractor.startswith("model/")]
    rules = [m for m in every if m not in notes]
    gone = {c.value for one in asked.values() for c in one.candidates if c.key == DROPS}
    gone |= {r.id for m in notes if is_sure(m.candidate) for r in m.candidate.replaces}
    sure = [m for m in notes if is_sure(m.candidate)]
    left = [m for m in rules if m.candidate.id not in gone]
    proposed = sum(one.proposed for one in asked.values())
    tokens = sum(one.tokens for one in asked.values()) / sum(path.stat().st_size for path in sessions()) * _MB
    section = Section(
        [
            Table(
                f"{len(asked)} labelled sessions; by text",
                ("", "memories", "right", "share", "labels", "found"),
                [
                    _row("the reader's, behind the checks of form", notes),
                    _row("  of it accepted", sure),
                    _row("the rules alone", rules),
                    _row("  of them what the reader leaves", left),
                    _row("both", [*sure, *left]),
                ],
            ),
            _why(asked, notes),
        ],
        [
            Must("share of the reader's notes that survive", len(sure) / proposed, _SURVIVE),
            Must("share right of them", _share(sure), _RIGHT),
            Must("share of all labels found", len(_found(sure)) / len(labels()), _FOUND),
            Must("tokens a MB of transcript", tokens, _TOKENS, at_least=False),
        ],
        [f"{sum(len(one.unknown) for one in asked.values())} notes read otherwise than when the reader judged them"],
    )
    if errors:
        section.notes += [f"waits: {m.candidate.text} ({m.candidate.doubt})" for m in notes if m not in sure]
        section.notes += [f"says no label: {m.candidate.text}" for m in sure if not m.says]
    return section


def _row(name: str, memories: Sequence[Memory]) -> Sequence[str]:
    found, every = len(_found(memories)), len(labels())
    right = sum(bool(m.says) for m in memories)
    return (
        name,
        str(len(memories)),
        str(right),
        f"{_share(memories):.2f}",
        str(every),
        f"{found} ({found / every:.2f})",
    )


def _share(memories: Sequence[Memory]) -> float:
    return sum(bool(m.says) for m in memories) / len(memories) if memories else 0.0


def _found(memories: Sequence[Memory]) -> frozenset[str]:
    return frozenset[str]().union(*(m.says for m in memories))


def _why(asked: dict[str, Asked], notes: Sequence[Memory]) -> Table:
    """Return why notes of the reader were left out or wait."""
    counts: Counter[str] = Counter()
    for one in asked.values():
        for name, number in one.report.counts.items():
            if name.startswith("model_dropped_"):
                counts[f"left out: {name.removeprefix('model_dropped_')}"] += number
    for memory in notes:
        if not is_sure(memory.candidate):
            why = memory.candidate.doubt.partition(" (")[0] or f"for the {memory.candidate.scope} alone"
            counts[f"waits: {why[:70]}"] += 1
    return Table("What does not survive", ("", "notes"), [(why, str(number)) for why, number in counts.most_common()])
