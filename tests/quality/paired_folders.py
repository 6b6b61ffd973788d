"""Pairs of an older and a newer statement in folders of many, with a strong reader in the place of the model.

The older statements stand in a folder since one night, the newer ones come in the next; the dream asks, and
answers are kept by what they are about: the hash of each statement, and where in the newer one the words are that show
it. So an answer about statements that are also asked about as what a person said is put to both.

``python -m tests.quality.paired_folders FOLDER`` writes the questions about which nothing is known into a folder, and
keeps the answers that somebody who reads well has put beside them (NAME.answer.json beside NAME.request.txt).
"""

import hashlib
import json
import random
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slowwave.consolidation.model import Gathered, Operation, State, validate
from slowwave.consolidation.outcome import Stamp, amount_of
from slowwave.consolidation.plan import Planner, offline
from slowwave.consolidation.proposals import SAME, Entry
from slowwave.consolidation.questions import ROOM, ModelPlanner, shown_entries
from slowwave.consolidation.snapshot import orient
from slowwave.memory import Candidate, Evidence
from slowwave.memory.authors import Authors, Writes, Written
from slowwave.memory.book import Book
from slowwave.memory.provenance import ForeignLine
from slowwave.models.base import Answer, Ask, LanguageModel, Usage
from slowwave.settings import ConsolidationSettings
from tests.quality.fresh_messages import FOLDER
from tests.quality.recorded_reader import Spool
from tests.quality.rows_merges import said

ANSWERS = Path(__file__).with_name("reader_pairs.jsonl")
SETS = ("pairs.jsonl", "pairs_second.jsonl", "pairs_third.jsonl", "nomerge.jsonl")
_VERDICTS = ("same", "outdated", "beside")
_PAGE = "notes.md"
_PAIRS = 30
_SEED = 41
_ENTRY = re.compile(r"^(\d+)\. \[[^\]]*\] (.*)$", re.MULTILINE)
_NUMBERS = re.compile(r"\b\d+\b")
_PAIR = re.compile(r"^(\d+)\. older: (.*)\n   newer: (.*)$", re.MULTILINE)
_SETTINGS = ConsolidationSettings()


@dataclass(frozen=True, slots=True)
class Change:
    """Two statements of two days: the relation of the newer one to the older one, "" where nobody told."""

    older: str
    newer: str
    relation: str = ""
    file: str = ""


def changes(name: str) -> list[Change]:
    """Return the pairs of a file."""
    rows = [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]
    return [Change(row["a"], row["b"], row.get("relation", ""), name) for row in rows]


def folders() -> list[list[Change]]:
    """Return the pairs of all sets, mixed, by the folder that they stand in; none of them twice."""
    every = list({(pair.older, pair.newer): pair for name in SETS for pair in changes(name)}.values())
    random.Random(_SEED).shuffle(every)
    return [every[start : start + _PAIRS] for start in range(0, len(every), _PAIRS)]


@dataclass(slots=True)
class Recorded:
    """Answers as they were kept, put to a question by the statements that stand in it."""

    kept: Sequence[Mapping[str, Any]]
    again: LanguageModel | None = None  # who is asked about pairs alone; None: they were asked before
    name: str = "reader"
    tokens: list[int] = field(default_factory=list[int])
    unknown: int = 0

    def answer(self, ask: Ask) -> Answer:
        """Answer as the reader did."""
        if ask.purpose == "confirm":
            return self.again.answer(ask) if self.again else self._again(ask)
        texts = {int(number): text for number, text in _ENTRY.findall(ask.user)}
        number_of = {mark(text): number for number, text in texts.items()}
        operations: list[dict[str, Any]] = []
        for row in self.kept:
            if row["op"] in _VERDICTS or not {*row["entries"], *([row["by"]] if row["by"] else [])} <= number_of.keys():
                continue
            by = number_of.get(row["by"], 0)
            start, length = row["words"]
            words = texts[by][start : start + length] if by else ""
            entries = [number_of[one] for one in row["entries"]]
            operations.append({"op": row["op"], "entries": entries, "by": by, "text": words})
        text = json.dumps({"operations": operations, "lines": [], "as_they_are": []})
        self.tokens.append((len(ask.system + ask.user) + len(text)) // 4)
        return Answer(json.loads(text), text, "schema", Usage(0, 0), self.name)

    def _again(self, ask: Ask) -> Answer:
        said = {(row["entries"][0], row["by"]): row["op"] for row in self.kept if row["op"] in _VERDICTS}
        pairs = {int(n): (mark(older), mark(newer)) for n, older, newer in _PAIR.findall(ask.user)}
        self.unknown += sum(pair not in said for pair in pairs.values())
        found = [{"pair": n, "newer": said[pair]} for n, pair in pairs.items() if pair in said]
        self.tokens.append((len(ask.system + ask.user) + len(json.dumps(found))) // 4)
        return Answer({"pairs": found}, "", "schema", Usage(0, 0), self.name)


def mark(text: str) -> str:
    """Return by what a statement is known."""
    return hashlib.sha256(_plain(text).encode()).hexdigest()[:10]


def kept() -> list[dict[str, Any]]:
    """Return the answers that were kept."""
    return [json.loads(row) for row in ANSWERS.read_text(encoding="utf-8").splitlines()] if ANSWERS.exists() else []


@dataclass(frozen=True, slots=True)
class Night:
    """The second night: what is done with each statement, by the statement, and why proposals were refused."""

    done: Mapping[str, Operation]
    refused: Sequence[str] = ()
    disputed: Collection[str] = ()

    def outcome(self, pair: Change) -> str:
        """Return what became of a pair: merged, superseded (the older one by the newer one), asked or apart."""
        older, newer = (self.done.get(_plain(text)) for text in (pair.older, pair.newer))
        if older is None or newer is None:
            return "apart"
        if older.memory in self.disputed:
            return "asked"
        if older.memory == newer.memory:
            return "merged" if older.memory else "apart"
        for one, other in ((older, newer), (newer, older)):
            if one.successor == other.memory and one.successor:
                is_same = one.action == "MERGE" or SAME in one.reason
                return "merged" if is_same else "superseded" if one is older else "apart"
        return "apart"

    def ended_elsewhere(self, pair: Change) -> bool:
        """Say whether the older statement ended in favour of another one than its partner."""
        older = self.done.get(_plain(pair.older))
        return older is not None and bool(older.successor) and self.outcome(pair) == "apart"


def as_lines(pairs: Sequence[Change], model: LanguageModel) -> Night:
    """Dream over a page on which an agent wrote the older statements, and again when it has written the newer ones."""
    files, book, written = dict[str, bytes](), Book(), dict[str, Written]()
    operations: Sequence[Operation] = ()
    asking = ModelPlanner(model)
    for day, planner in ((1, offline), (2, asking)):
        texts = _mixed([pair.newer if day > 1 else pair.older for pair in pairs])
        added = [text for text in texts if ForeignLine(_PAGE, text).key not in written]
        written |= _written(added, day)
        files[_PAGE] = files.get(_PAGE, b"") + "".join(f"- {text}\n" for text in added).encode()
        state = orient(files, book, authors=Authors(files, Writes(lines={_PAGE: written})))
        files, book, operations = _dreamt(state, Gathered(()), planner, {})
    return _night(operations, book, {}, asking)


def as_said(pairs: Sequence[Change], model: LanguageModel) -> Night:
    """Dream over what a person said one day, and again over what they said the next."""
    files, book, known = dict[str, bytes](), Book(), dict[str, Candidate]()
    operations: Sequence[Operation] = ()
    asking = ModelPlanner(model)
    for day, planner in ((1, offline), (2, asking)):
        texts = _mixed([pair.newer if day > 1 else pair.older for pair in pairs])
        waiting = tuple(said(text, "decision", f"s{day}-{n}", day) for n, text in enumerate(texts))
        gathered = Gathered(waiting, known=dict(known))
        known |= {c.id: c for c in waiting}
        files, book, operations = _dreamt(orient(files, book), gathered, planner, known)
    return _night(operations, book, known, asking)


def _mixed(texts: Sequence[str]) -> list[str]:
    found = list(dict.fromkeys(texts))
    random.Random(len(found)).shuffle(found)
    return found


def _written(texts: Sequence[str], day: int) -> dict[str, Written]:
    proof = Evidence("/s.jsonl", "", 0, 1, "0" * 64)
    at = f"2026-11-0{day}T09:00:00Z"
    return {ForeignLine(_PAGE, text).key: Written(at, "claude", f"s{day}", "/s.jsonl", proof) for text in texts}


def _dreamt(
    state: State, gathered: Gathered, planner: Planner, known: Mapping[str, Candidate]
) -> tuple[dict[str, bytes], Book, Sequence[Operation]]:
    operations = planner(state, gathered, _SETTINGS)
    validate(operations, state, gathered)
    stamp = Stamp(f"d{len(state.book.dreams)}", "2026-11-03T03:30:00Z")
    made = amount_of(operations, state, known, _SETTINGS, stamp)
    files = {name: data for name, data in {**state.files, **made.files}.items() if data is not None}
    return files, made.book, operations


def _night(operations: Sequence[Operation], book: Book, known: Mapping[str, Candidate], asking: ModelPlanner) -> Night:
    done = {_plain(book.memories[o.memory].text): o for o in operations if o.memory}
    done |= {_plain(known[c].text): o for o in operations for c in o.candidates}
    disputed = {name for o in operations if o.action == "DISPUTE" for name in o.memories}
    refused = [_NUMBERS.sub("#", refusal.reason.partition(":")[0]) for refusal in asking.refusals]
    return Night(done, refused, disputed)


def room_for(new: int = 20) -> str:
    """Say of how many newer statements the partner is shown where all older ones stand in one folder.

    Args:
        new: how many newer statements come in one night.
    """
    every = [pair for pairs in folders() for pair in pairs]
    items = [said(pair.older, "project", f"a{n}", n % 300) for n, pair in enumerate(every)]
    older = [Entry(n, item) for n, item in enumerate(items, 1)]
    number_of = {pair: n for n, pair in enumerate(every, 1)}
    met = 0
    for start in range(0, len(every), new):
        night = every[start : start + new]
        newer = [
            Entry(len(older) + n, said(pair.newer, "project", f"b{n}", 300), is_new=True)
            for n, pair in enumerate(night, 1)
        ]
        shown, _ = shown_entries([*older, *newer], ROOM)
        numbers = {entry.number for entry in shown}
        met += sum(number_of[pair] in numbers for pair in night)
    share = f"{met} of {len(every)} ({met / len(every):.2f})"
    return (
        f"{new} newer statements a night in a folder of {len(older)}: the older one stands in the question for {share}"
    )


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip(".")


def record(folder: Path) -> tuple[int, int]:
    """Keep the answers of a folder; return how many are kept, and how many questions wait.

    What is asked about pairs alone is known only when all other questions are answered.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    waiting = 0
    for pairs in folders():
        spool = Spool(folder)
        as_lines(pairs, spool)
        waiting += "consolidate" not in spool.answers
        for ask, answered in (spool.answers[one] for one in ("consolidate",) if one in spool.answers):
            texts = {int(number): text for number, text in _ENTRY.findall(ask.user)}
            rows += [_kept_form(o, texts) for o in answered["operations"]]
    again: dict[tuple[str, str], str] = {}
    for pairs in () if waiting else folders():
        for dream in (as_lines, as_said):
            spool = Spool(folder)
            dream(pairs, Recorded(rows, again=spool))
            waiting += spool.waiting
            for ask, answered in spool.answers.values():
                said = {one["pair"]: one["newer"] for one in answered["pairs"]}
                again |= {(mark(a), mark(b)): said[int(n)] for n, a, b in _PAIR.findall(ask.user) if int(n) in said}
    rows += [{"op": op, "entries": [older], "by": newer, "words": [0, 0]} for (older, newer), op in again.items()]
    if not waiting:
        ANSWERS.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return len(rows), waiting


def _kept_form(operation: Mapping[str, Any], texts: Mapping[int, str]) -> dict[str, Any]:
    by = operation.get("by") or 0
    words = operation.get("text") or ""
    start = texts[by].find(words) if by and words else 0
    entries = [mark(texts[n]) for n in operation["entries"]]
    return {
        "op": operation["op"],
        "entries": entries,
        "by": mark(texts[by]) if by else "",
        "words": [start, len(words)],
    }


if __name__ == "__main__":
    done, left = record(Path(sys.argv[1]))
    print(f"{done} answers are kept, {left} questions wait for answers in {sys.argv[1]}")
    sys.exit(bool(left))
