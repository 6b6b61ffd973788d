"""Any order of writes to sessions: what is read back is what a plain list of messages would hold.

Appends, branches, tombstones, compactions, labels, names, forks and torn tails are mixed at random over sessions of
Cersei, Claude Code and pi; after every step old bytes stand where they stood and every record has a line of its own.
"""

import re
import tempfile
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slowwave.errors import UsageError
from slowwave.stores.sessions import Sessions
from slowwave.stores.writing.base import Compaction
from tests.unit.stores.writing.written import sessions_in

TOKEN = re.compile(r"[ms]\d+\Z")
ID = "01a20006-4850-7187-9c46-f871573043ed"
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *["user"] * 4,
                *["assistant"] * 4,
                "rewind",
                "tombstone",
                "compact",
                "compact all",
                "fork",
                "extract",
                "mark",
                "tear",
            ]
        ),  # fmt: skip
        st.integers(0, 99),
    ),
    max_size=25,
)


@dataclass
class Expected:
    """What one session should hold, by the tokens that its messages consist of.

    Attributes:
        context: what would be sent now.
        at: what would be sent if each message were the last one.
        reachable: messages since the last compaction.
        answered: messages with an answer on the way to them.
        leaf: the message that the next one follows.
    """

    context: list[str] = field(default_factory=list[str])
    at: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    reachable: set[str] = field(default_factory=set[str])
    answered: set[str] = field(default_factory=set[str])
    leaf: str = ""

    def copy(self) -> "Expected":
        return deepcopy(self)


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
        known.reachable.add(text)
        if role == "assistant" or (under or known.leaf) in known.answered:
            known.answered.add(text)
        known.leaf = text

    def step(self, kind: str, number: int) -> None:
        session = sorted(self.expected)[number % len(self.expected)]
        known = self.expected[session]
        messages = sorted(known.at)
        if not messages:
            kind = "user"
        chosen = messages[number % len(messages)] if messages else ""
        if kind in ("user", "assistant"):
            self.say(session, kind)
        elif kind == "rewind" and self.dialect != "cersei":
            self.rewind(session, chosen)
        elif kind == "tombstone" and self.dialect == "cersei":
            self.sessions.tombstone(session, self.ids[chosen])
            self.hide(known, chosen)
        elif kind == "compact" and self.dialect != "cersei":
            spoken = [t for t in known.context if t in known.at]
            if spoken:
                self.compact(session, spoken[number % len(spoken)])
        elif kind == "compact all":
            self.compact(session, None)
        elif kind == "fork":
            self.expected[self.sessions.fork(session)] = known.copy()
        elif kind == "extract":
            self.extract(session, chosen)
        elif kind == "mark" and self.dialect == "pi":
            self.sessions.label(session, self.ids[chosen], f"label {number}")
            self.sessions.name(session, f"name {number}")
        elif kind == "tear":
            with Path(self.sessions.find(session).folder, self.files(session)[-1]).open("ab") as file:
                file.write(b'{"type":"user","uuid":"torn')
            self.torn += 1

    def hide(self, known: Expected, chosen: str) -> None:
        known.context = [t for t in known.context if t != chosen]
        del known.at[chosen]
        for path in known.at.values():
            if chosen in path:
                path.remove(chosen)

    def rewind(self, session: str, chosen: str) -> None:
        if self.dialect == "claude" and chosen not in self.expected[session].reachable:
            with pytest.raises(UsageError, match="last compaction"):
                self.sessions.write_user_message(session, "x", parent=self.ids[chosen])
        else:
            self.say(session, "user", under=chosen)

    def compact(self, session: str, first: str | None) -> None:
        known = self.expected[session]
        text = self.token("s")
        self.sessions.compact(session, Compaction(text, self.ids[first] if first else None))
        known.context = [text, *(known.context[known.context.index(first) :] if first else [])]
        known.reachable = set()
        if self.dialect == "cersei":
            known.at = {}

    def extract(self, session: str, chosen: str) -> None:
        known = self.expected[session]
        path = known.at[chosen]
        if self.dialect == "pi" and chosen not in known.answered:
            with pytest.raises(UsageError, match="without an answer"):
                self.sessions.fork(session, at=self.ids[chosen])
            return
        new = self.sessions.fork(session, at=self.ids[chosen])
        at = {t: list(p) for t, p in known.at.items() if p == path[: len(p)] and t in path}
        self.expected[new] = Expected(list(path), at, known.reachable & set(at), set(known.answered), chosen)

    def files(self, session: str) -> list[str]:
        return [file.name for file in self.sessions.find(session, exactly=True).files]

    def bytes(self) -> dict[str, bytes]:
        return {p.name: p.read_bytes() for p in self.folder.glob("*.jsonl")}

    def shown(self, session: str) -> list[str]:
        lines = [line.strip() for m in self.sessions.load(session) for line in m.text.split("\n")]
        return [line for line in lines if TOKEN.match(line)]


@pytest.mark.parametrize("dialect", ["cersei", "claude", "pi"])
@given(steps=STEPS)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
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
