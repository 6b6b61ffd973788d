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
from slowwave.extraction.voice import spoken
from slowwave.reading.items import Chosen, Edited, Failed, Meaning, Option, Part, Ran, Reading, Said, statements
from slowwave.reading.pastes import parts_of
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
            row = json.loads(line)
            # a person of their own wrote each of the first ones; of the others ten are of one project
            place = row["project"] if _tells_voices(file.stem) else number
            found += _judged(f"written/{file.stem}-{place}/{number}", row["turns"])
    return tuple(found)


def read_turns(turns: Sequence[dict[str, Any]]) -> tuple[Reading, dict[int, dict[str, Any]]]:
    """Return a written session as it is read, and its turns by the rank of what was said in each."""
    reading = Reading()
    given: dict[int, dict[str, Any]] = {}
    for turn in turns:
        for item in _items(turn, len(reading.items)):
            reading.items.append(item)
        given[len(reading.items) - 1] = turn
    return reading, given


def _judged(session: str, turns: Sequence[dict[str, Any]]) -> Iterator[Judged]:
    reading, given = read_turns(turns)
    around = Surroundings(reading)
    for order, turn in given.items():
        said = reading.items[order]
        assert isinstance(said, Said)
        others = {words_of(text) for text in turn.get("o", ())}
        every = statements(said)
        for one in every:
            words, mark = words_of(one.text), mark_in(turn, one.text)
            features, whose = frozenset(around.features(one)), frozenset(spoken(one, every))
            yield Judged(
                *(session, said.speaker[0], standing(one), one.text, features, mark, order),
                whose=whose if said.speaker == "person" and _tells_voices(session) else frozenset(),
                is_own=words not in others,
            )


def mark_in(turn: dict[str, Any], text: str) -> Mark | None:
    """Return what a reader said of a sentence of a turn that was typed."""
    words = words_of(text)
    marked = [(words_of(given["t"]), _mark(given)) for given in turn.get("m", ())]
    inside = [mark for told, mark in marked if told in words or words in told]
    return max(inside, key=lambda mark: mark.grade, default=None)


def _tells_voices(name: str) -> bool:
    """Say whether somebody said of every sentence in a file of sessions whose it is; of the first ones nobody did."""
    return not any(first in name for first in ("sessions-a", "sessions-b"))


def _mark(given: dict[str, Any]) -> Mark:
    return Mark(0, 0, 0, given["g"], given["c"], bool(given["alone"]), given["scope"], 0)


def _items(turn: dict[str, Any], order: int) -> Iterator[Meaning]:
    """Yield a turn: what the agent did meanwhile, then what was said."""

    def place(number: int) -> tuple[int, tuple[()], str, None, str]:
        return order + number, (), "", None, ""

    if "p" in turn:
        yield Said(*place(0), "person", parts_of(turn["p"]), turn.get("channel", "typed"))
        return
    edits = int(turn.get("e", 0))
    others = max(0, int(turn.get("w", 0)) - edits)
    done: list[Meaning] = [Ran(*place(number), "ls", run_of("ls", "", is_error=False), "") for number in range(others)]
    done += [Edited(*place(others + number), f"file{number}") for number in range(edits)]
    if turn.get("f"):
        done.append(Failed(*place(len(done)), "Read", "failed"))
    yield from done
    yield Said(*place(len(done)), "assistant", (Part(turn["a"], is_pasted=False),))
