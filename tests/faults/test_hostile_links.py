"""Circles, self-parents, double ids, parents that are nowhere, two headers: every message is read, and reading ends."""

import json
from pathlib import Path

import pytest

from slowwave.formats.registry import NAMES, sniff
from tests.faults.hostile_sessions import HEADERS, LINES, TREES, Link, read, session, write

pytestmark = pytest.mark.timeout(30)

STRUCTURES = {
    "a circle of two": [Link("1", "2", "a"), Link("2", "1", "b")],
    "a circle of all": [Link(f"{n}", f"{(n + 1) % 50}", f"t{n}") for n in range(50)],
    "a circle that the end hangs under": [Link("1", "2", "a"), Link("2", "1", "b"), Link("3", "2", "c")],
    "a circle beside the conversation": [
        Link("1", None, "a"),
        Link("8", "9", "x"),
        Link("9", "8", "y"),
        Link("2", "1", "b"),
    ],
    "its own parent": [Link("1", None, "a"), Link("2", "2", "b")],
    "its own parent, alone": [Link("1", "1", "a")],
    "one id for all": [Link("1", None, f"t{n}") for n in range(20)],
    "an id twice, a child between": [Link("1", None, "a"), Link("2", "1", "b"), Link("1", "2", "c")],
    "parents that are nowhere": [Link(f"{n}", f"no{n}", f"t{n}") for n in range(20)],
    "one parent that is nowhere": [Link("1", None, "a"), Link("2", "gone", "b"), Link("3", "2", "c")],
    "a parent further down": [Link("3", "2", "c"), Link("2", "1", "b"), Link("1", None, "a")],
    "ids that are empty": [Link("", None, "a"), Link("", "", "b"), Link("", "", "c")],
    "all under one": [Link("0", None, "root"), *(Link(f"{n}", "0", f"t{n}") for n in range(1, 300))],
}


def test_every_dialect_has_a_builder() -> None:
    assert set(LINES) == set(NAMES)


@pytest.mark.parametrize("dialect", LINES)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_every_message_is_read_and_the_context_ends(dialect: str, structure: str, tmp_path: Path) -> None:
    links = STRUCTURES[structure]
    path = write(dialect, tmp_path, session(dialect, links))
    assert sniff(path) == dialect
    transcript, context = read(dialect, path)
    assert [m.text for m in transcript.messages] == [link.text for link in links]
    assert transcript.problems == []
    # Claude Code sends neighbours of one role as one, and adds an answer of its own to an open prompt
    sent = [text for m in context for text in m.text.split("\n") if text != "No response requested."]
    assert set(sent) <= {link.text for link in links}
    assert len(sent) == len(set(sent))
    if dialect not in TREES:
        assert sent == [link.text for link in links]
    elif dialect != "claude":  # the last entry of the file is what is gone on from
        assert sent[-1] == links[-1].text


@pytest.mark.parametrize("dialect", HEADERS)
def test_a_second_header_costs_no_message(dialect: str, tmp_path: Path) -> None:
    links = [Link("1", None, "a"), Link("2", "1", "b")]
    one = read(dialect, write(dialect, tmp_path, session(dialect, links)))
    two = read(dialect, write(dialect, tmp_path, session(dialect, links, headers=2)))
    assert [m.text for m in two[0].messages] == [m.text for m in one[0].messages] == ["a", "b"]
    assert [m.text for m in two[1]] == [m.text for m in one[1]] == ["a", "b"]
    assert two[0].records == one[0].records + 1


@pytest.mark.parametrize("dialect", HEADERS)
def test_a_header_between_messages_costs_no_message(dialect: str, tmp_path: Path) -> None:
    first, second = Link("1", None, "a"), Link("2", "1", "b")
    data = session(dialect, [first]) + session(dialect, [second])
    transcript, context = read(dialect, write(dialect, tmp_path, data))
    assert [m.text for m in transcript.messages] == ["a", "b"]
    assert [m.text for m in context] == ["a", "b"]


def fork(thread: str, parent: str) -> bytes:
    """Return a rollout of Codex that goes on from another one."""
    base = {"thread_id": parent, "end_byte_offset": 10_000, "end_ordinal_exclusive": 99}
    about = {"id": thread, "cwd": "/w", "history_mode": "paginated", "history_base": base}
    meta = {"type": "session_meta", "payload": about}
    return json.dumps(meta).encode() + b"\n" + json.dumps(LINES["codex"](Link("1", None, thread))).encode() + b"\n"


@pytest.mark.parametrize("ring", [("a",), ("a", "b"), ("a", "b", "c")])
def test_forks_that_inherit_from_each_other_end_with_a_report(ring: tuple[str, ...], tmp_path: Path) -> None:
    for thread, parent in zip(ring, (*ring[1:], ring[0]), strict=True):
        name = f"rollout-2026-11-20T10-00-00-{thread * 8}-0000-4000-8000-{thread * 12}.jsonl"
        (tmp_path / name).write_bytes(fork(name[28:-6], f"{parent * 8}-0000-4000-8000-{parent * 12}"))
    path = next(tmp_path.glob(f"*{ring[0] * 12}.jsonl"))
    transcript, context = read("codex", path)
    assert [m.text for m in transcript.messages] == [path.name[28:-6]]
    assert context[-1].text == path.name[28:-6]
    assert [p.kind for p in transcript.problems] == ["gap"]


def test_a_fork_with_more_ancestors_than_any_says_that_the_oldest_are_left_out(tmp_path: Path) -> None:
    threads = [f"{n:08}-0000-4000-8000-{n:012}" for n in range(103)]
    for thread, parent in zip(threads[1:], threads[:-1], strict=True):
        (tmp_path / f"rollout-2026-11-20T10-00-00-{thread}.jsonl").write_bytes(fork(thread, parent))
    transcript, _ = read("codex", tmp_path / f"rollout-2026-11-20T10-00-00-{threads[-1]}.jsonl")
    assert ["more than 100 ancestors" in str(p) for p in transcript.problems] == [True]
    transcript, _ = read("codex", tmp_path / f"rollout-2026-11-20T10-00-00-{threads[99]}.jsonl")
    assert ["missing" in str(p) for p in transcript.problems] == [True]
