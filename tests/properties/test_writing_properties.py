"""Any order of writes to sessions: what is read back is what a plain list of messages would hold.

Appends, branches, tombstones, compactions, labels, names, forks and torn tails are mixed at random over sessions of
Cersei, Claude Code, pi and Clawdbot; after every step old bytes stand where they stood and every record has a line of
its own.
"""

import json
import re
import tempfile
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.errors import UsageError
from slowwave.formats.writing import Compaction
from slowwave.library import Sessions
from tests.unit.stores.writing.written import sessions_in

TOKEN = re.compile(r"[ms]\d+\Z")
ID = "01a20006-4850-7187-9c46-f871573043ed"
PI_LIKE = ("pi", "openclaw")
KINDS = ("user", "assistant", "rewind", "tombstone", "compact", "summarise", "fork", "extract", "mark", "tear")
# messages are more likely than anything else
STEPS = st.lists(st.tuples(st.sampled_from(KINDS[:2] * 4 + KINDS[2:]), st.integers(0, 99)), max_size=25)


@dataclass
class Expected:
    """What one session should hold, by the tokens that its messages consist of.

    Attributes:
        context: what would be sent now.
        at: what would be sent if each message were the last one.
        epochs: how many compactions came before each message, and before the next one ("").
        answered: messages with an answer on the way to them.
        leaf: the message that the next one follows.
    """

    context: list[str] = field(default_factory=list[str])
    at: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    epochs: dict[str, int] = field(default_factory=lambda: {"": 0})
    answered: set[str] = field(default_factory=set[str])
    leaf: str = ""

    def copy(self) -> "Expected":
        return deepcopy(self)


def begun_by_clawdbot() -> bytes:
    """Return what the client writes before the first message: nobody else begins its sessions.

    Without its note of the model, as of older versions: behind that, a last prompt without an answer is not sent.
    """
    header: dict[str, object] = {
        "type": "session",
        "version": 3,
        "id": ID,
        "timestamp": "2026-11-21T08:59:00.000Z",
        "cwd": "/w",
    }
    level: dict[str, object] = {
        "type": "thinking_level_change",
        "thinkingLevel": "off",
        "id": "abcdef12",
        "parentId": None,
    }
    return b"".join(json.dumps(row).encode() + b"\n" for row in (header, level))


class Story:
    """Sessions of one dialect, written step by step beside a model of them."""

    def __init__(self, dialect: str, folder: Path) -> None:
        self.dialect = dialect
        self.folder = folder
        self.sessions: Sessions = sessions_in(folder, dialect, part_bytes=900)
        self.expected = {ID: Expected()}
        self.ids: dict[str, str] = {}  # token -> id of the record
        self.torn = 0
        self.count = 0
        if dialect == "openclaw":
            (folder / f"{ID}.jsonl").write_bytes(begun_by_clawdbot())
        for role in ("user", "assistant"):
            self.say(ID, role)

    def token(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def say(self, session: str, role: str, under: str | None = None) -> None:
        text = self.token("m")
        write: Callable[..., str] = (
            self.sessions.write_user_message if role == "user" else self.sessions.write_assistant_message
        )
        self.ids[text] = write(session, text, parent=self.ids[under] if under else None)
        known = self.expected[session]
        known.context = [*(known.at[under] if under else known.context), text]
        known.at[text] = list(known.context)
        known.epochs[text] = known.epochs[""]
        if role == "assistant" or (under or known.leaf) in known.answered:
            known.answered.add(text)
        known.leaf = text

    def step(self, kind: str, number: int) -> None:
        session = sorted(self.expected)[number % len(self.expected)]
        messages = sorted(self.expected[session].at)
        if kind in ("user", "assistant") or not messages:
            self.say(session, "assistant" if kind == "assistant" else "user")
        else:
            getattr(self, kind)(session, messages[number % len(messages)])

    def tombstone(self, session: str, chosen: str) -> None:
        if self.dialect == "cersei":
            self.sessions.tombstone(session, self.ids[chosen])
            self.hide(self.expected[session], chosen)

    def fork(self, session: str, _chosen: str) -> None:
        self.expected[self.sessions.fork(session)] = self.expected[session].copy()

    def mark(self, session: str, chosen: str) -> None:
        if self.dialect in PI_LIKE:
            self.sessions.label(session, self.ids[chosen], f"label of {chosen}")
            self.sessions.name(session, f"name {chosen}")

    def tear(self, session: str, _chosen: str) -> None:
        found = self.sessions.find(session)
        with Path(found.folder, found.files[-1].name).open("ab") as file:
            file.write(b'{"type":"user","uuid":"torn')
        self.torn += 1

    def hide(self, known: Expected, chosen: str) -> None:
        known.context = [t for t in known.context if t != chosen]
        del known.at[chosen]
        for path in known.at.values():
            if chosen in path:
                path.remove(chosen)

    def rewind(self, session: str, chosen: str) -> None:
        epochs = self.expected[session].epochs
        if self.dialect == "claude" and epochs[chosen] < epochs[""]:
            with pytest.raises(UsageError, match="last compaction"):
                self.sessions.write_user_message(session, "x", parent=self.ids[chosen])
        elif self.dialect != "cersei":
            self.say(session, "user", under=chosen)

    def compact(self, session: str, chosen: str) -> None:
        if self.dialect != "cersei" and chosen in self.expected[session].context:
            self.shorten(session, chosen)

    def summarise(self, session: str, _chosen: str) -> None:
        self.shorten(session, None)

    def shorten(self, session: str, first: str | None) -> None:
        known = self.expected[session]
        text = self.token("s")
        self.sessions.compact(session, Compaction(text, self.ids[first] if first else None))
        known.context = [text, *(known.context[known.context.index(first) :] if first else [])]
        known.epochs[""] += 1
        if self.dialect == "cersei":
            known.at = {}

    def extract(self, session: str, chosen: str) -> None:
        known = self.expected[session]
        path = known.at[chosen]
        if self.dialect in PI_LIKE and chosen not in known.answered:
            with pytest.raises(UsageError, match="without an answer"):
                self.sessions.fork(session, at=self.ids[chosen])
            return
        new = self.sessions.fork(session, at=self.ids[chosen])
        at = {t: list(p) for t, p in known.at.items() if p == path[: len(p)] and t in path}
        epochs = {**known.epochs, "": known.epochs[chosen]}
        self.expected[new] = Expected(list(path), at, epochs, set(known.answered), chosen)

    def bytes(self) -> dict[str, bytes]:
        return {p.name: p.read_bytes() for p in self.folder.glob("*.jsonl")}

    def shown(self, session: str) -> list[str]:
        lines = [line.strip() for m in self.sessions.load(session) for line in m.text.split("\n")]
        return [line for line in lines if TOKEN.match(line)]


@pytest.mark.parametrize("dialect", ["cersei", "claude", "pi", "openclaw"])
@given(steps=STEPS)
@settings(max_examples=40, deadline=None)
def test_what_is_written_in_any_order_is_what_is_read(dialect: str, steps: list[tuple[str, int]]):
    with tempfile.TemporaryDirectory() as name:
        story = Story(dialect, Path(name))
        for kind, number in steps:
            before = story.bytes()
            story.step(kind, number)
            after = story.bytes()
            for file, data in before.items():
                assert after[file].startswith(data), (kind, file)
            for session, known in story.expected.items():
                assert story.shown(session) == known.context, (kind, session)
        problems: list[Any] = [p for s in story.expected for p in story.sessions.transcript(s).problems]
        assert sum(p.lines for p in problems) <= story.torn
        assert [p.name for p in Path(name).iterdir() if p.suffix != ".jsonl"] == []
