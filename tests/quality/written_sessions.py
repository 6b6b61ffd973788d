"""Whole sessions that were written for training: the typed side as many different people would type it, with labels.

Real transcripts come from few people. These lie in ``typed/sessions-*.jsonl``, written without sight of the code: what
a person typed, what the agent said last, how much it did meanwhile, and what of it is worth a line for weeks.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from slowwave.extraction.classifier import Surroundings, dialog
from slowwave.extraction.offline import standing
from slowwave.reading.items import Chosen, Edited, Failed, Meaning, Option, Part, Ran, Reading, Said
from slowwave.reading.pastes import parts_of
from slowwave.reading.statements import statements
from slowwave.shell.commands import run_of
from tests.quality.statement_labels import Judged, Mark, words_of
from tests.quality.typed_messages import FOLDER


@cache
def written_dialogs() -> tuple[Judged, ...]:
    """Return questions of dialogs with what was chosen; each stands for a repository of its own."""
    found: list[Judged] = []
    for number, row in enumerate(map(json.loads, (FOLDER / "dialogs.jsonl").read_text("utf-8").splitlines())):
        options = tuple(Option(one["label"], one.get("description", "")) for one in row["options"])
        item = Chosen(0, (), "", None, "", row["q"], row.get("header", ""), options, row["answer"])
        mark = Mark(0, 0, 0, row["g"], row["c"], alone=True, scope="project", group=0) if row["g"] else None
        names, words = frozenset(dialog(item)), f"{item.question} {item.answer}"
        found.append(Judged(f"written/dialog-{number}/session", "c", words, words, frozenset(), mark, 0, names))
    return tuple(found)


@cache
def written_sessions() -> tuple[Judged, ...]:
    """Return every statement of all written sessions; each session stands for a repository of its own."""
    found: list[Judged] = []
    for file in sorted(FOLDER.glob("sessions-*.jsonl")):
        for number, line in enumerate(file.read_text("utf-8").splitlines()):
            found += _judged(f"written/{file.stem}-{number}/session", json.loads(line)["turns"])
    return tuple(found)


def _judged(session: str, turns: Sequence[dict[str, Any]]) -> Iterator[Judged]:
    reading = Reading()
    marked: dict[int, list[tuple[str, Mark]]] = {}
    for turn in turns:
        for item in _items(turn, len(reading.items)):
            reading.items.append(item)
        marked[len(reading.items) - 1] = [(words_of(m["t"]), _mark(m)) for m in turn.get("m", ())]
    around = Surroundings(reading)
    for order, given in marked.items():
        said = reading.items[order]
        assert isinstance(said, Said)
        for statement in statements(said):
            words = words_of(statement.text)
            inside = [mark for text, mark in given if text in words or words in text]
            mark = max(inside, key=lambda one: one.grade, default=None)
            features = frozenset(around.features(statement))
            yield Judged(session, said.speaker[0], standing(statement), statement.text, features, mark, order)


def _mark(given: dict[str, Any]) -> Mark:
    return Mark(0, 0, 0, given["g"], given["c"], bool(given["alone"]), given["scope"], 0)


def _items(turn: dict[str, Any], order: int) -> Iterator[Meaning]:
    """Yield a turn: what the agent did meanwhile, then what was said."""

    def place(number: int) -> tuple[int, tuple[()], str, None, str]:
        return order + number, (), "", None, ""

    if "p" in turn:
        yield Said(*place(0), "person", parts_of(turn["p"]))
        return
    edits = int(turn.get("e", 0))
    others = max(0, int(turn.get("w", 0)) - edits)
    done: list[Meaning] = [Ran(*place(number), "ls", run_of("ls", "", is_error=False), "") for number in range(others)]
    done += [Edited(*place(others + number), f"file{number}") for number in range(edits)]
    if turn.get("f"):
        done.append(Failed(*place(len(done)), "Read", "failed"))
    yield from done
    yield Said(*place(len(done)), "assistant", (Part(turn["a"], is_pasted=False),))
