"""What is written to rollouts of Codex, bare messages, crabtalk and ULID sessions is read back, in any order of steps.

The steps go through :class:`slowwave.library.Sessions`, as those of the command do. Clients of these forms have
no trees, so what one session should hold is a list.
"""

import json
import tempfile
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.errors import UsageError
from slowwave.formats import Block, Message, ToolResult
from slowwave.formats.writing import Compaction
from slowwave.library import Sessions
from tests.properties.said import CALLS, TEXTS, Said, answer, result, user
from tests.unit.formats import codex_files
from tests.unit.stores.writing.written import sessions_in

FORMS = ("bare", "wrapped", "paginated")
TALKS = st.lists(
    st.builds(user, TEXTS)
    | st.builds(answer, TEXTS, st.lists(CALLS, max_size=2), st.just("") | TEXTS)
    | st.builds(result, TEXTS, TEXTS),
    max_size=6,
)


def rollout(folder: Path, form: str) -> tuple[Sessions, str]:
    """Begin a rollout as its client does."""
    old = {"id": codex_files.THREAD, "timestamp": codex_files.STAMP, "instructions": None}
    header = old if form == "bare" else codex_files.meta()
    codex_files.rollout(folder / "sessions" / "2026", header | ({"ordinal": 0} if form == "paginated" else {}))
    return sessions_in(folder / "sessions" / "2026", "codex", home=folder), codex_files.THREAD


def bare(folder: Path) -> tuple[Sessions, str]:
    return sessions_in(folder / "p", "cersei-bare", home=folder), "s"


def crabtalk(folder: Path) -> tuple[Sessions, str]:
    return sessions_in(folder / "sessions", "crabtalk", home=folder), "crab_user_1"


def ulid(folder: Path) -> tuple[Sessions, str]:
    return sessions_in(folder / "sessions", "ulid", home=folder), "01JKQ5W8ZP3V9YB2C4D6E8F0GH"


BEGINNINGS: dict[str, Callable[[Path], tuple[Sessions, str]]] = {
    **{f"codex {form}": lambda folder, form=form: rollout(folder, form) for form in FORMS},
    "cersei-bare": bare,
    "crabtalk": crabtalk,
    "ulid": ulid,
}


@pytest.mark.parametrize("begun", [*BEGINNINGS][:4])
@settings(max_examples=25)
@given(talk=TALKS)
def test_every_block_that_is_written_is_read_back(begun: str, talk: list[Said]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sessions, identity = BEGINNINGS[begun](Path(folder))
        sessions.write_user_message(identity, "first")
        for one in talk:
            sessions.write(identity, one.draft)
        transcript = sessions.transcript(identity)
        written = [block for one in talk for block in one.blocks]
        assert _blocks(transcript.messages)[1:] == written
        if not begun.startswith("codex"):  # which sends no result without its call
            assert _blocks(sessions.load(identity))[1:] == written
        assert (transcript.problems, transcript.unknown_types) == ([], {})
        if begun != "cersei-bare":  # whose records have no ids
            ids = [message.id for message in transcript.messages]
            assert len(set(ids)) == len(ids)


def _blocks(messages: Sequence[Message]) -> list[Block]:
    """Return all blocks in a row: Codex has an item for each; a client may compare its results as they stand."""
    found = [block for message in messages for block in message.blocks]
    return [ToolResult(b.id, b.text, b.is_error) if isinstance(b, ToolResult) else b for b in found]


class Held(NamedTuple):
    """One message that a session should send: who said it, its words, and the id under which it can be kept."""

    role: str
    text: str
    id: str


STEPS = st.lists(
    st.tuples(st.sampled_from(["user", "user", "answer", "answer", "shorten", "keep", "fork", "tear", "name"]),
              st.integers(0, 99)), max_size=16)  # fmt: skip


class Story:
    """Sessions of one form, written step by step beside lists of what they should send."""

    def __init__(self, begun: str, folder: Path) -> None:
        self.form = begun
        self.folder = folder
        self.sessions, first = BEGINNINGS[begun](folder)
        self.expected: dict[str, list[Held]] = {first: []}
        self.count = self.torn = 0
        self.user(first, 0)

    def token(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def step(self, kind: str, number: int) -> None:
        session = sorted(self.expected)[number % len(self.expected)]
        getattr(self, kind)(session, number)

    def user(self, session: str, _: int) -> None:
        text = self.token()
        self.expected[session].append(Held("user", text, self.sessions.write_user_message(session, text)))

    def answer(self, session: str, _: int) -> None:
        text = self.token()
        self.expected[session].append(Held("assistant", text, self.sessions.write_assistant_message(session, text)))

    def shorten(self, session: str, _: int) -> None:
        self.compact(session, len(self.expected[session]))

    def keep(self, session: str, number: int) -> None:
        said = [i for i, held in enumerate(self.expected[session]) if held.role != "summary"]
        if said and self.form in ("codex wrapped", "codex paginated", "ulid"):
            self.compact(session, said[number % len(said)])

    def compact(self, session: str, start: int) -> None:
        known = self.expected[session]
        summary = Held("summary", self.token(), "")
        record = Compaction(summary.text, known[start].id if start < len(known) else None)
        if self.form in ("cersei-bare", "codex bare"):
            with pytest.raises(UsageError, match="compaction"):
                self.sessions.compact(session, record)
            return
        self.sessions.compact(session, record)
        # Codex keeps what people said; everything else that is older than the first kept message goes
        asked = [held for held in known[:start] if held.role == "user" and self.form.startswith("codex")]
        self.expected[session] = [*asked, summary, *known[start:]]

    def fork(self, session: str, _: int) -> None:
        if self.form.startswith("codex"):
            with pytest.raises(UsageError, match=r"Codex home|have no numbers"):
                self.sessions.fork(session)
            return
        copy = self.sessions.fork(session)
        assert copy not in self.expected
        self.expected[copy] = deepcopy(self.expected[session])

    def tear(self, session: str, _: int) -> None:
        found = self.sessions.find(session)
        with Path(found.folder, found.files[-1].name).open("ab") as file:
            file.write(b'{"torn')
        self.torn += 1

    def name(self, session: str, number: int) -> None:
        if self.form in ("ulid", "crabtalk"):
            self.sessions.name(session, f"name {number}")

    def check(self) -> None:
        problems = 0
        for session, known in self.expected.items():
            shown = self.sessions.load(session)
            assert [(m.role, _token(m.text)) for m in shown] == [(_shown(h.role), h.text) for h in known]
            problems += sum(p.lines for p in self.sessions.transcript(session).problems)
        if self.form == "codex paginated":
            (data,) = self.data().values()
            numbers = [json.loads(line)["ordinal"] for line in data.splitlines() if line.endswith(b"}")]
            assert numbers == list(range(len(numbers)))
        # forks do not take a torn end with them
        assert problems <= self.torn * len(self.expected)

    def data(self) -> dict[str, bytes]:
        """Return the bytes of every transcript, those of crabtalk without the first line, which holds the title."""
        found = [self.sessions.find(session) for session in self.expected]
        data = [Path(f.folder, f.files[0].name).read_bytes() for f in found]
        if self.form == "crabtalk":
            data = [whole.partition(b"\n")[2] for whole in data]
        return dict(zip(self.expected, data, strict=True))


def _shown(role: str) -> str:
    return "user" if role == "summary" else role


def _token(text: str) -> str:
    return next(line for line in text.splitlines()[::-1] if line.startswith("t") and line[1:].isdigit())


@pytest.mark.parametrize("begun", BEGINNINGS)
@settings(max_examples=30)
@given(steps=STEPS)
def test_steps_in_any_order_leave_what_lists_would_hold(begun: str, steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        story = Story(begun, Path(folder))
        for kind, number in steps:
            before = story.data()
            story.step(kind, number)
            after = story.data()
            for session, data in before.items():
                assert after[session].startswith(data), (kind, session)
            story.check()
