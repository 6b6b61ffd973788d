"""What is remembered of what people type in whole sessions, by people to whom nothing was fitted, beside simpler rules.

The sessions lie in ``fresh/people*.jsonl``: six of each person, written by outsiders, each sentence judged by another
one. Choices in dialogs and what commands proved are not in them.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from slowwave.extraction.offline import notes
from slowwave.reading import Reading, Said, statements
from slowwave.settings import Settings
from tests.quality.cue_rules import cues_in
from tests.quality.intervals import counted
from tests.quality.statement_labels import words_of
from tests.quality.table import Must, Section, Table
from tests.quality.written_sessions import mark_in, read_turns

FOLDER = Path(__file__).parent / "fresh"
_CLEAR = 2
_HEADER = ("", "worth it", "share", "95 %", "or arguable", "share", "95 %", "of all")
# what a person typed, by its rank and words, with the mark that readers gave it
Typed = dict[tuple[int, str], int]
System = Callable[[Reading], Iterable[tuple[int, str]]]


def measure(*, errors: bool = False) -> Section:
    """Judge what is accepted of what people typed."""
    section = Section()
    for file in sorted(FOLDER.glob("people*.jsonl")):
        sessions = _sessions(file)
        systems: dict[str, System] = {
            "slowwave accepts": _ours,
            "slowwave, with what waits": _waiting,
            "cue rules": _cues,
        }
        kept = {
            name: [(typed, _found(system(reading), typed)) for reading, typed in sessions]
            for name, system in systems.items()
        }
        section.tables.append(Table(file.stem, _HEADER, [_row(name, of) for name, of in kept.items()]))
        ours, cues = (_right(kept[name]) for name in ("slowwave accepts", "cue rules"))
        section.musts.append(Must(f"{file.stem}: share worth it above that of cue rules", ours, cues))
        if errors:
            section.notes += [
                f"  {typed[key]} {key[1]}" for typed, found in kept["slowwave accepts"] for key in sorted(found)
            ]
    return section


@cache
def _sessions(file: Path) -> list[tuple[Reading, Typed]]:
    found: list[tuple[Reading, Typed]] = []
    for line in file.read_text("utf-8").splitlines():
        reading, turns = read_turns(json.loads(line)["turns"])
        typed: Typed = {}
        for order, turn in turns.items():
            said = reading.items[order]
            for one in statements(said) if isinstance(said, Said) and said.speaker == "person" else ():
                mark = mark_in(turn, one.text)
                typed[order, words_of(one.text)] = mark.grade if mark else 0
        found.append((reading, typed))
    return found


def _ours(reading: Reading) -> Iterator[tuple[int, str]]:
    least = Settings().consolidation.accept_confidence
    return ((n.items[-1].order, n.quote) for n in notes(reading) if n.confidence >= least and not n.doubt)


def _waiting(reading: Reading) -> Iterator[tuple[int, str]]:
    least = Settings().consolidation.review_confidence
    return ((n.items[-1].order, n.quote) for n in notes(reading) if n.confidence >= least)


def _cues(reading: Reading) -> Iterator[tuple[int, str]]:
    return ((said.order, text) for said in reading.said("person") for _, text in cues_in(said.own))


def _found(told: Iterable[tuple[int, str]], typed: Typed) -> set[tuple[int, str]]:
    """Return the sentences that a system wants; what is not typed by a person is left out."""
    wanted = [(order, words_of(text)) for order, text in told]
    return {
        key
        for key in typed
        for order, words in wanted
        if key[0] == order and key[1] and (key[1] in words or words in key[1])
    }


def _row(name: str, of: list[tuple[Typed, set[tuple[int, str]]]]) -> tuple[str, ...]:
    marks = [typed[key] for typed, found in of for key in found]
    every = sum(mark == _CLEAR for typed, _ in of for mark in typed.values())
    clear = sum(mark == _CLEAR for mark in marks)
    return name, *counted(clear, len(marks)), *counted(sum(map(bool, marks)), len(marks)), f"{clear}/{every}"


def _right(of: list[tuple[Typed, set[tuple[int, str]]]]) -> float:
    marks = [typed[key] for typed, found in of for key in found]
    return sum(mark == _CLEAR for mark in marks) / len(marks) if marks else 0.0
