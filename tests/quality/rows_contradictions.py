"""Contradictions: an older and a newer statement, written without sight of the code, and what a dream makes of them.

Each pair is dreamt as what a person said on two days, and as lines that an agent wrote on two days: by the rules alone,
and in folders of many with a strong reader in the place of the model (:mod:`tests.quality.paired_folders`).
"""

from collections import Counter
from collections.abc import Callable, Sequence

from slowwave.consolidation.decisions import consolidate
from slowwave.consolidation.model import Gathered, State
from slowwave.consolidation.snapshot import adoptions, orient
from slowwave.memory import Evidence
from slowwave.memory.authors import Authors, Writes, Written
from slowwave.memory.book import Book
from slowwave.memory.provenance import ForeignLine
from tests.quality.intervals import counted
from tests.quality.paired_folders import Change, Recorded, as_lines, as_said, changes, folders, kept, room_for
from tests.quality.rows_merges import outcome
from tests.quality.table import Must, Section, Table
from tests.quality.twins import Pair

_PAGE = "notes.md"
_TAKES_ITS_PLACE = ("changed", "negated")
_BESIDE = ("narrowed", "other_subject", "other_version", "unrelated")
_LEAST, _MOST = 0.85, 0.02
# three writers; of the second set nothing but its figures was looked at until a reader had answered, the third is new
_SETS = {"pairs.jsonl": "", "pairs_second.jsonl": ", second set", "pairs_third.jsonl": ", third set"}


Dreamer = Callable[[Change], str]


def measure(*, errors: bool = False) -> Section:
    """Measure what is superseded, and what is merged."""
    apart = changes("nomerge.jsonl")
    ways: dict[str, Dreamer] = {"a person said": _as_said, "an agent wrote": _as_lines}
    done = {
        f"{name}{of}": [(pair, dream(pair)) for pair in changes(file)]
        for file, of in _SETS.items()
        for name, dream in ways.items()
    }
    beside = {name: [(pair, dream(pair)) for pair in apart] for name, dream in ways.items()}
    read, told = _with_reader()
    for pair, way, what in read:
        if pair.file in _SETS:
            done.setdefault(f"with a strong reader, {way}{_SETS[pair.file]}", []).append((pair, what))
        else:
            beside.setdefault(f"with a strong reader, {way}", []).append((pair, what))
    musts = [must for name, of in done.items() for must in _musts(name, of)]
    wrong = sum(what == "merged" for of in beside.values() for _, what in of)
    section = Section(
        [
            Table(f"{name} {len(of)} pairs, by how the newer one relates to the older one", _HEADER, _rows(of))
            for name, of in done.items()
        ],
        [*musts, Must(f"wrong merges of {len(apart)} pairs, both ways, without and with", wrong, 0, at_least=False)],
        told,
    )
    if errors:
        section.notes += [
            f"  {what:<11} [{name}, {pair.relation}] {pair.older} | {pair.newer}"
            for name, of in done.items()
            for pair, what in of
            if what != _WANTED.get(pair.relation, "apart")
        ]
        section.notes += [
            f"  merged      [{name}] {pair.older} | {pair.newer}"
            for name, of in beside.items()
            for pair, what in of
            if what == "merged"
        ]
    return section


def _with_reader() -> tuple[list[tuple[Change, str, str]], list[str]]:
    """Return what becomes of each pair in a folder of many, by the way in which it was said, and what to tell."""
    found: list[tuple[Change, str, str]] = []
    told: list[str] = []
    ways = {"a person said": as_said, "an agent wrote": as_lines}
    for way, dream in ways.items():
        refused, elsewhere, asked, most, unknown = Counter[str](), 0, 0, 0, 0
        for pairs in folders():
            reader = Recorded(kept())
            night = dream(pairs, reader)
            asked += len(reader.tokens)
            most, unknown = max(most, *reader.tokens), unknown + reader.unknown
            refused.update(night.refused)
            elsewhere += sum(map(night.ended_elsewhere, pairs))
            found += [(pair, way, night.outcome(pair)) for pair in pairs]
        told.append(
            f"{way}: {asked} questions of {most} tokens at most; {unknown} pairs never asked about; {elsewhere} older "
            f"statements ended in favour of another one than their partner; refused {dict(refused.most_common())}"
        )
    return found, [*told, room_for()]


_HEADER = ("", "pairs", "share", "95 %", "merged", "superseded", "asked")
_WANTED = {"same": "merged", "changed": "superseded", "negated": "superseded"}


def _rows(of: Sequence[tuple[Change, str]]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for relation in ("same", *_TAKES_ITS_PLACE, *_BESIDE):
        what = [w for pair, w in of if pair.relation == relation]
        right = what.count(_WANTED.get(relation, "apart"))
        others = (str(what.count(one)) for one in ("merged", "superseded", "asked"))
        rows.append((relation, *counted(right, len(what)), *others))
    return rows


def _musts(name: str, of: Sequence[tuple[Change, str]]) -> list[Must]:
    taken = [what for pair, what in of if pair.relation in _TAKES_ITS_PLACE]
    left = [what for pair, what in of if pair.relation in _BESIDE]
    return [
        Must(f"superseded, {name}", taken.count("superseded") / len(taken), _LEAST),
        Must(f"wrongly superseded, {name}", left.count("superseded") / len(left), _MOST, at_least=False),
    ]


def _as_said(pair: Change) -> str:
    return outcome(Pair("", "decision", pair.older, pair.newer))


def _as_lines(pair: Change) -> str:
    """Dream over a page on which an agent wrote the two statements on two days."""
    page = f"- {pair.older}\n- {pair.newer}\n".encode()
    proof = Evidence("/s.jsonl", "", 0, 1, "0" * 64)
    written = {
        ForeignLine(_PAGE, text).key: Written(f"2026-11-0{day}T09:00:00Z", "claude", f"s{day}", "/s.jsonl", proof)
        for day, text in enumerate((pair.older, pair.newer), 1)
    }
    files = {_PAGE: page}
    authors = Authors(files, Writes(lines={_PAGE: written}))
    if len(adoptions(files, Book(), authors)) != len(written):
        return "apart"  # what is no entry of its own is not touched
    state: State = orient(files, Book(), authors=authors)
    actions = {o.action for o in consolidate(state, Gathered(()), accept_confidence=0.0)}
    return "merged" if "MERGE" in actions else "superseded" if "SUPERSEDE" in actions else "apart"
