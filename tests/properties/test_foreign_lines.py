"""Whoever had the words of a line first is named: no verbatim copy is missed, and nobody's own words are a tool's."""

import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.formats.sessions import StoredSession
from slowwave.memory.provenance import known_lines, look_at_foreign
from tests.unit.extraction.talk import Talk, project, stored

NOW = datetime(2026, 11, 20, 3, 30, tzinfo=UTC)
Kind = Literal["person", "agent", "tool"]
WORDS = (
    "cache",
    "build",
    "größe",
    "merge",
    "deploy",
    "файл",
    "release",
    "schema",
    "widget",
    "número",
    "queue",
    "token",
)


def line_of(number: int, words: list[int]) -> str:
    """Return a sentence that shares no word with another one."""
    return " ".join(f"{WORDS[word]}{number}x{place}" for place, word in enumerate(words))


def dressed(text: str, how: int) -> str:
    """Return the words as they may stand elsewhere: wrapped, in capitals, marked up, with characters nobody sees."""
    ways = (
        text,
        text.upper(),
        text.replace(" ", "\n    "),
        f"- **{text}.**",
        f'{{"note": "{text}"}}',
        "\u200b".join((text[:4], text[4:])).replace(" ", "  "),
        text.replace("a", "\u0430").replace("e", "\u0435"),
    )
    return ways[how % len(ways)]


def part_of(text: str) -> str:
    """Return less than half of a line, which is nobody's copy of it."""
    words = text.split()
    return " ".join(words[: len(words) // 3])


EVENT = st.tuples(st.sampled_from(["person", "agent", "tool"]), st.integers(0, 4), st.integers(0, 6), st.booleans())


@given(
    lines=st.lists(st.lists(st.integers(0, len(WORDS) - 1), min_size=6, max_size=14), min_size=1, max_size=5),
    events=st.lists(EVENT, max_size=14),
    sessions=st.integers(1, 3),
    chance=st.randoms(use_true_random=False),
)
@settings(max_examples=120)
def test_the_first_to_have_the_words_is_named(
    lines: list[list[int]], events: list[tuple[Kind, int, int, bool]], sessions: int, chance: random.Random
):
    texts = [line_of(number, words) for number, words in enumerate(lines)]
    talks = [Talk(f"{n:08x}-0000-4000-8000-000000000001") for n in range(sessions)]
    expected: dict[str, Kind] = {}
    for at, (kind, number, how, is_whole) in enumerate(events):
        text = texts[number % len(texts)]
        talk = talks[at * sessions // len(events)]
        _say(talk, kind, dressed(text if is_whole else part_of(text), how), chance)
        if is_whole:
            expected.setdefault(text, kind)
    with TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        kept = [_kept(talk, store, number) for number, talk in enumerate(talks) if talk.records]
        memory = store / "memory"
        memory.mkdir(parents=True)
        (memory / "MEMORY.md").write_text("".join(f"- {text}\n" for text in texts))
        # in whatever order and portions the sessions come
        chance.shuffle(kept)
        where = project(store, *kept)
        for session in kept or [()]:
            look_at_foreign(where, [session] if isinstance(session, StoredSession) else [], NOW, Path(folder), memory)
        found = {line.text: known.writer if known else "person" for line, known in known_lines(memory)}
    assert found == {text: expected.get(text, "person") for text in texts}


def _say(talk: Talk, kind: Kind, text: str, chance: random.Random) -> None:
    noise = f"please look at this {chance.random()}"
    if kind == "person":
        talk.person(f"{noise}\n{text}\nthanks")
    elif kind == "agent" and chance.random() < 0.5:
        talk.assistant(f"I think so: {text}")
    elif kind == "agent":
        talk.tool("Write", {"file_path": "/p/notes.md", "content": f"{noise}\n{text}\n"}, "ok")
    elif chance.random() < 0.5:
        talk.tool("WebFetch", {"url": "https://x.example"}, f"{noise}\n{text}\nmore of it")
    else:
        talk.bash("make docs", f"{noise}\n{text}\nmore of it")


def _kept(talk: Talk, store: Path, number: int) -> StoredSession:
    begin = datetime(2026, 11, 10 + number, 9, tzinfo=UTC)
    for place, record in enumerate(talk.records):
        record["timestamp"] = (begin + timedelta(seconds=place)).isoformat()
    session = talk.write(store)
    os.utime(session.files.paths[0], (begin.timestamp(), begin.timestamp()))
    return stored(session.files.paths[0], at=begin)
