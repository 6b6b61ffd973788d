"""Forks of Codex by reference: the fork's header names the parent, and both read what they share in one place."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from slowwave.context import FixedClock
from slowwave.errors import NotFoundError, UsageError
from slowwave.formats import SessionFiles
from slowwave.formats.codex.dialect import CODEX
from slowwave.formats.codex.write import CodexWriter, ordered_id
from slowwave.formats.writing import Draft, Means, Target
from tests.unit.formats.codex_files import THREAD

NOW = datetime(2026, 11, 22, 3, 30, tzinfo=UTC)


def home(tmp_path: Path) -> Target:
    folder = tmp_path / ".codex" / "sessions" / "2026" / "11" / "21"
    folder.mkdir(parents=True)
    ids = {"id": THREAD, "session_id": THREAD, "context_window": {"window_id": "w1"}}
    head = ids | {"timestamp": "", "cwd": "/w", "source": "cli", "history_mode": "paginated"}
    rows: list[tuple[str, Any]] = [("session_meta", head)]

    def said(role: str, text: str, own: str) -> tuple[str, Any]:
        kind = "output_text" if role == "assistant" else "input_text"
        message = {"type": "message", "id": own, "role": role, "content": [{"type": kind, "text": text}]}
        return "response_item", message

    rows += [said("user", "one", "m1"), said("assistant", "1", "m2"), said("user", "two", "m3")]
    rows.append(
        ("response_item", {"type": "function_call", "id": "f1", "call_id": "c1", "name": "ls", "arguments": "{}"})
    )
    rows.append(("response_item", {"type": "function_call_output", "id": "o1", "call_id": "c1", "output": "a.py"}))
    rows.append(said("assistant", "2", "m4"))
    path = folder / f"rollout-2026-11-21T21-22-42-{THREAD}.jsonl"
    lines = [
        json.dumps({"timestamp": "2026-11-21T21:22:42.199Z", "ordinal": n, "type": kind, "payload": payload})
        for n, (kind, payload) in enumerate(rows)
    ]
    path.write_text("\n".join(lines) + "\n")
    return Target(THREAD, path, (path,))


def writer(tmp_path: Path) -> CodexWriter:
    return CodexWriter(Means(FixedClock(NOW), tmp_path))


def texts(path: Path) -> list[str]:
    files = SessionFiles("fork", (path,))
    return [m.text for m in CODEX.context(CODEX.read(files)) if m.text]


def test_a_fork_names_its_parent_and_where_their_history_ends(tmp_path: Path):
    target, codex = home(tmp_path), writer(tmp_path)
    before = target.path.read_bytes()
    made = codex.new_id(target.path.parent, target)
    assert UUID(made).version == 7
    (path,) = codex.fork(target, target.path.parent, made)
    assert path.name.endswith(f"-{made}.jsonl")
    (line,) = path.read_text().splitlines()
    record = json.loads(line)
    payload = record["payload"]
    base = {"thread_id": THREAD, "end_ordinal_exclusive": 7, "end_byte_offset": len(before)}
    assert (record["ordinal"], payload["history_base"]) == (7, base)
    assert (payload["id"], payload["session_id"], payload["forked_from_id"]) == (made, made, THREAD)
    assert payload["context_window"]["window_id"] != "w1"
    assert target.path.read_bytes() == before
    # what is said in one of them is not heard in the other
    codex.message(Target(made, path, (path,)), Draft("user", "in the fork"))
    codex.message(target, Draft("user", "in the parent"))
    assert texts(path) == ["one", "1", "two", "2", "in the fork"]
    assert CODEX.read(SessionFiles(made, (path,))).kind == "fork"


def test_a_fork_at_a_message_shares_nothing_behind_it(tmp_path: Path):
    target, codex = home(tmp_path), writer(tmp_path)
    (path,) = codex.fork(target, target.path.parent, ordered_id(codex.means.ids(), NOW), "m2")
    assert texts(path) == ["one", "1"]
    with pytest.raises(UsageError, match="answered after it"):
        codex.fork(target, target.path.parent, ordered_id(codex.means.ids(), NOW), "f1")
    with pytest.raises(NotFoundError, match="shows no message"):
        codex.fork(target, target.path.parent, ordered_id(codex.means.ids(), NOW), "nope")


@pytest.mark.parametrize(
    ("change", "reason"),
    [({"history_mode": "legacy"}, "no numbers"), ({"parent_thread_id": "x"}, "sub-agent")],
)
def test_what_its_client_would_not_fork_is_refused(tmp_path: Path, change: dict[str, str], reason: str):
    target, codex = home(tmp_path), writer(tmp_path)
    first, *rest = target.path.read_text().splitlines()
    record = json.loads(first)
    record["payload"] |= change
    target.path.write_text("\n".join([json.dumps(record), *rest]) + "\n")
    with pytest.raises(UsageError, match=reason):
        codex.fork(target, target.path.parent, "x")


def test_threads_sort_by_time():
    made = [
        ordered_id("7c9e6679-7425-40de-944b-e07fc1f90ae7", datetime(2026, 11, day, tzinfo=UTC)) for day in (1, 2, 3)
    ]
    assert made == sorted(made)
    assert {UUID(one).version for one in made} == {7}
