"""Memory folders of any kind, filled by any writers: what a dream never does to them, and what it always does."""

import os
import random
import re
from collections import Counter
from pathlib import Path

import pytest

from slowwave.consolidation.questions import ModelPlanner
from slowwave.memory.book import read_book
from slowwave.memory.candidates import EXTRACTED
from slowwave.memory.ledger import FULL, read_ledger
from slowwave.memory.pages import split, target_of
from slowwave.memory.undo import undo
from slowwave.models.base import Answer, Ask, Usage
from tests.unit.consolidation.dreams import no_fsync
from tests.unit.consolidation.folders import Folder

FOLDERS = 1000 if os.environ.get("DRILLS") == "full" else 40
SUBJECTS = ("The importer", "The API", "Billing", "Our CI", "The docs", "Staging", "The mobile app", "Search")
SAYS = (
    "{} runs on port {n}", "{} is built with tool{n}", "Never restart {} on Fridays", "{} moved to host{n} now",
    "Yesterday {} broke {n} times", "{} no longer uses tool{n}", "use tool{n} for {}", "`make check-{n}` checks {}",
)  # fmt: skip
OTHER = (
    "# Heading",
    "## Part",
    "",
    "```",
    "| a | b |",
    "1. step",
    "  - sub-point",
    "> quoted",
    "\u00fc\u4e2d \U0001f980",
)


def said(chance: random.Random) -> str:
    text = chance.choice(SAYS).format(chance.choice(SUBJECTS), n=chance.randrange(6))
    return f"{chance.choice(('- ', '- ', '* ', ''))}{text}"


def headed(chance: random.Random) -> list[str]:
    """Return what may stand above a line: mostly nothing, else a heading of an agent's, perhaps with steps."""
    if chance.random() > 0.08:
        return []
    title = chance.choice((*SUBJECTS, "Commands", "Decisions", "Topic files", "2026-11-09", "Notes", "Project"))
    steps = ["1. first", "2. second", ""] if chance.random() < 0.3 else []
    return ["", f"{chance.choice(('##', '##', '##', '###', '#'))} {title}", *chance.choice(([""], [])), *steps]


def typed(chance: random.Random, number: int) -> str:
    """Return a line that only a person has written."""
    return f"{said(chance)}, says Ada ({number})" if chance.random() < 0.9 else chance.choice(OTHER)


def filled(folder: Folder, chance: random.Random) -> list[bytes]:
    """Fill a folder; return the lines that people wrote."""
    people: list[bytes] = []
    names = ["MEMORY.md", *chance.sample(["notes.md", "build.md", "decisions.md", "user_role.md"], chance.randrange(4))]
    for day, name in enumerate(names):
        most = chance.choice((5, 20, 260)) if name == "MEMORY.md" else 12
        lines = [said(chance) for _ in range(chance.randrange(1, most))]
        lines += [f"- [Gone](gone{n}.md) - a hook" for n in range(chance.randrange(3))]
        if chance.random() < 0.6:
            lines = [line for one in lines for line in (*headed(chance), one)]
        front = f"---\nname: {name}\ndescription: d\ntype: {chance.choice(('user', 'project'))}\n---\n\n"
        start = front if name != "MEMORY.md" and chance.random() < 0.5 else ""
        if chance.random() < 0.2:
            lines += ["", "## Auto-extracted memories", "", "### Session memories \u2014 2026-11-18"]
            lines += [f"- **[project]** {said(chance).lstrip('-* ')} *(confidence: 80%)*" for _ in range(3)]
        at = f"2026-11-{10 + day}T09:00:00.000Z"
        folder.agent_writes(name, start + "\n".join(lines) + "\n", at=at)
        own = [typed(chance, n).encode() for n in range(chance.randrange(6))]
        own += [b"\xff\xfe bytes, says Ada"] * (chance.random() < 0.2)
        with (folder.memory / name).open("ab") as file:
            file.write(b"\n".join(own) + (b"\n" if chance.random() < 0.7 else b""))
        people += own
    if chance.random() < 0.5:
        texts = {said(chance).lstrip("-* ") for _ in range(chance.randrange(1, 6))}
        folder.extract(
            *(folder.candidate(t, session=f"c{n}", category="decision") for n, t in enumerate(sorted(texts)))
        )
    return people


class Wild:
    """A model that proposes anything over any entries, and writes pages of anything."""

    name = "wild"

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def answer(self, ask: Ask) -> Answer:
        chance = self.chance
        shown = [line.partition("] ")[2] for line in ask.user.splitlines()]
        operations = [
            {
                "op": chance.choice(("merge", "supersede", "supersede", "contradicts", "drop", "keep", "add")),
                "entries": [chance.randrange(40) for _ in range(chance.randrange(1, 4))],
                "by": chance.randrange(40),
                "text": chance.choice(("", said(chance), *shown)),
                "line": chance.choice(("", "", said(chance), *shown)),
            }
            for _ in range(chance.randrange(12))
        ]
        heads = ["nowhere", *re.findall(r" below '([^'\n]*)'", ask.user)]
        places = [
            {"heading": chance.choice(heads), "entries": [chance.randrange(60) for _ in range(chance.randrange(4))]}
            for _ in range(chance.randrange(6))
        ]
        pairs = [
            {"pair": n, "newer": chance.choice(("same", "more", "less", "outdated", "beside"))} for n in range(1, 80)
        ]
        answer = {"operations": operations, "places": places, "pairs": pairs}
        return Answer(answer, "", "schema", Usage(1, 1), "wild")


@pytest.mark.parametrize("with_model", [False, True])
@pytest.mark.parametrize("seed", range(FOLDERS))
def test_a_dream_keeps_what_it_promises_in_any_folder(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, with_model: bool
):
    monkeypatch.setattr("os.fsync", no_fsync)
    chance = random.Random(seed)
    folder = Folder(tmp_path)
    people = filled(folder, chance)
    before = folder.everything()
    planner = ModelPlanner(Wild(chance)) if with_model else None
    report = folder.dream(max_loss=1.0, planner=planner)
    after = folder.everything()

    # people's lines byte for byte
    for name, data in after.items():
        there = Counter(split(data))
        assert all(there[line] >= 1 for line in people if line.strip() and line in split(before.get(name, b"")))
    every = Counter(line for data in after.values() for line in split(data))
    assert not Counter(line for line in people if line.strip()) - every

    # every prior line is accounted for once, with a reason, and stands somewhere unless it was said why not
    book = read_book(folder.memory)
    targets = Counter(item.target for item in report.items if item.action not in ("skip", "dispute"))
    entries = {m.id for m in book.memories.values() if m.writer == "agent"}
    if report.dream_ids:
        assert all(targets[one] == 1 for one in entries)
        assert all(item.reason for item in report.items)
    text = b"\n".join(after.values()).decode("utf-8", "replace")
    for memory in book.memories.values():
        assert (memory.status != "active") or memory.text in text

    # the index within its limits, unless people alone fill it
    assert len(after["MEMORY.md"].splitlines()) <= 200
    assert len(after["MEMORY.md"]) <= 25_000

    # twice is once
    folder.clock.advance(days=2)
    second = folder.dream(max_loss=1.0, planner=planner)
    assert folder.everything() == after
    assert second.dream_ids == []

    # undone byte for byte, and not done again
    for dream in report.dream_ids:
        undo(folder.memory, dream, folder.clock.now())
        assert folder.everything() == before
    folder.clock.advance(days=2)
    again = folder.dream(max_loss=1.0)
    # what waited only because the model set it against a person's words is taken once that is undone
    waited = [i.text.encode() for i in report.items if i.action == "wait" and i.reason.startswith("contradicts")]

    def is_taken(line: bytes) -> bool:
        return any(text in line for text in waited)

    if report.dream_ids:
        # a page that was about to become empty may get its pointer now
        lines = {name: Counter(split(data)) for name, data in folder.everything().items()}
        news = {line for name, of in lines.items() for line in of - Counter(split(before[name]))}
        assert all(is_taken(line) or target_of(line.decode()) in before for line in news)
        left = {line for name, of in lines.items() for line in Counter(split(before[name])) - of}
        assert all(name == EXTRACTED or not Counter(split(before[name])) - of for name, of in lines.items())
        assert all(is_taken(line) or line.startswith(b"#") or not line.strip() for line in left)
    assert not {i.action for i in again.items} & {"update", "move"}

    if report.dream_ids:
        not_the_same_again(folder, chance, people)


def not_the_same_again(folder: Folder, chance: random.Random, people: list[bytes]) -> None:
    """Let an agent write more after an undo: that is tidied, and what was taken back is not done again."""
    folder.agent_writes("later.md", f"{said(chance)}\n{said(chance)}\n", at="2026-11-25T09:00:00.000Z")
    folder.clock.advance(days=2)
    taken_back = read_book(folder.memory)
    known = len(read_ledger(folder.memory))
    folder.dream(max_loss=1.0)
    news = [event for event in read_ledger(folder.memory)[known:] if event.memory in taken_back.left]
    told = {(e.event, e.memory, e.successor): e.text if e.event == "update" else e.reason for e in news}
    for kind, memory, by, said_then in taken_back.refused:
        now = told.get((kind, memory, by))
        assert now is None or (kind == "move" and said_then != FULL) or (kind == "update" and now != said_then)
    there = Counter(line for data in folder.everything().values() for line in split(data))
    assert not Counter(line for line in people if line.strip()) - there
    last = folder.everything()
    folder.clock.advance(days=2)
    assert folder.dream(max_loss=1.0).dream_ids == []
    assert folder.everything() == last
