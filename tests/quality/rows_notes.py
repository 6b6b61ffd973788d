"""Agents' notes: does what every session may need stay in the index, and does what one task did leave it?

On written notes by heads that have not seen their project, and on a folder of a project that nothing was fitted to.
Needs scikit-learn for the first (``make train`` installs it); without it only the second is measured.
"""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import msgspec

from slowwave.extraction.classifier import Weights, weights
from slowwave.memory.book import AWAY
from tests.quality.table import Must, Section, Table
from tests.quality.train import Example, note_head, noted

FRESH = Path(__file__).parent / "fresh" / "notes.txt"
# below this share of what a note is worth at most it tells of one task (:func:`slowwave.memory.book.is_of_a_task`)
_OF_A_TASK = 0.5**AWAY
_HEADER = ("", "notes", "area", "kept", "gone")


def measure(*, errors: bool = False) -> Section:
    """Judge both sets."""
    scored = {"a project that was not seen": _scored(noted(FRESH), weights())}
    if importlib.util.find_spec("sklearn"):
        scored = {"projects left out one by one": _left_out(noted())} | scored
    rows = [_row(name, found) for name, found in scored.items()]
    section = Section([Table("Notes of agents", _HEADER, rows)], [])
    kept, gone = _shares(scored["a project that was not seen"])
    section.musts += [Must("what lasts stays in the index", kept, 0.9), Must("what is done leaves it", gone, 0.6)]
    if errors:
        wrong = [(e, s) for e, s in scored["a project that was not seen"] if e.is_so == (s < _OF_A_TASK)]
        section.notes += [f"{score:.2f} {'lasts' if e.is_so else 'done'}: {e.text}" for e, score in wrong]
    return section


def _scored(examples: Sequence[Example], known: Weights) -> list[tuple[Example, float]]:
    return [(example, known.noted(example.text)) for example in examples]


def _left_out(examples: Sequence[Example]) -> list[tuple[Example, float]]:
    found: list[tuple[Example, float]] = []
    for place in dict.fromkeys(example.place for example in examples):
        head = note_head([example for example in examples if example.place != place])
        known = msgspec.structs.replace(weights(), note=head)
        found += _scored([example for example in examples if example.place == place], known)
    return found


def _row(name: str, scored: Sequence[tuple[Example, float]]) -> tuple[str, ...]:
    lasting = [score for example, score in scored if example.is_so]
    done = [score for example, score in scored if not example.is_so]
    above = sum((one > other) + (one == other) / 2 for one in lasting for other in done)
    kept, gone = _shares(scored)
    return name, str(len(scored)), f"{above / len(lasting) / len(done):.3f}", f"{kept:.3f}", f"{gone:.3f}"


def _shares(scored: Sequence[tuple[Example, float]]) -> tuple[float, float]:
    """Return how much of what lasts stays in the index, and how much of what is done leaves it."""
    lasting = [score >= _OF_A_TASK for example, score in scored if example.is_so]
    done = [score < _OF_A_TASK for example, score in scored if not example.is_so]
    return sum(lasting) / len(lasting), sum(done) / len(done)
