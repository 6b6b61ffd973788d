"""Which message stands before which: by the ids of each dialect, over records that say nothing, in damaged files."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.formats import Message, SessionFiles, Text, Transcript
from slowwave.formats.messages import NO_PARENT, PlainMessage, children_of, parents_of, state_of
from slowwave.formats.registry import by_name
from tests.unit.formats import claude_files, opencode_files, pi_files
from tests.unit.stores.store_builder import as_bytes, cersei, tombstone


def parents(transcript: Transcript) -> dict[str | None, str | None]:
    return {message.id: message.parent for message in transcript.messages}


def shape(messages: list[Message]) -> list[int]:
    return parents_of(messages)


def test_claude_hangs_a_message_under_the_one_above_over_notes_and_compactions(tmp_path: Path):
    session = claude_files.Session()
    asked = session.user("fix it")
    session.add("attachment", attachment={"type": "hook"})
    session.add("system", subtype="note", content="x")
    session.says("m1", "one", claude_files.call("c1"))
    session.says("m1", claude_files.call("c2"))
    result = session.result("c2", "out")
    session.boundary()
    summary = session.summary("so far")
    read = session.read(tmp_path)
    assert parents(read) == {asked: None, "m1": asked, result: "m1", summary: result}


def test_claude_knows_a_rewind_and_a_sub_agent(tmp_path: Path):
    session = claude_files.Session()
    first = session.user("one")
    session.says("m1", "ok")
    left = session.user("this way")
    session.says("m2", "no")
    session.sidechain = True
    task = session.user("count", None)
    session.says("m3", "three")
    session.sidechain = False
    taken = session.user("that way", "u2")
    read = session.read(tmp_path)
    assert parents(read) == {first: None, "m1": first, left: "m1", "m2": left, task: None, "m3": task, taken: "m1"}
    assert [state_of(m, read) for m in read.messages] == [
        "active", "active", "abandoned", "abandoned", "sub-agent", "sub-agent", "active",
    ]  # fmt: skip
    assert shape(read.messages) == [NO_PARENT, 0, 1, 2, 1, 4, 1]


def test_pi_hangs_a_message_under_the_one_above_over_entries_that_say_nothing(tmp_path: Path):
    session = pi_files.Session()
    first = session.user("one")
    session.add("model_change", provider="p", modelId="m")
    said = session.model("ok")
    session.user("left behind")
    other = session.user("taken", parent=said)
    read = session.read(tmp_path)
    assert parents(read) == {first: None, said: first, "e4": said, other: said}
    assert [m.active for m in read.messages] == [True, True, False, True]


def test_codex_hangs_what_follows_a_rollback_under_what_was_left(tmp_path: Path):
    def item(number: int, role: str, text: str) -> dict[str, object]:
        kind = "input_text" if role == "user" else "output_text"
        content = [{"type": kind, "text": text}]
        payload = {"type": "message", "role": role, "content": content, "id": f"i{number}"}
        return {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": payload}

    back = {"timestamp": "2026-01-01T00:00:00Z", "type": "event_msg"}
    back["payload"] = {"type": "thread_rolled_back", "num_turns": 1}  # pyright: ignore[reportArgumentType]
    meta = {"type": "session_meta", "payload": {"id": "t", "cwd": "/w"}}
    path = tmp_path / "r.jsonl"
    lines = [meta, item(1, "user", "a"), item(2, "assistant", "b"), item(3, "user", "c"), item(4, "assistant", "d")]
    path.write_bytes(as_bytes([*lines, back, item(5, "user", "e")]))
    read = by_name("codex").read(SessionFiles("t", (path,)))
    assert parents(read) == {"i1": None, "i2": "i1", "i3": "i2", "i4": "i3", "i5": "i2"}
    assert shape(read.messages) == [NO_PARENT, 0, 1, 2, 1]


def test_messages_without_ids_follow_each_other_and_branch_at_a_rollback():
    def said(text: str, *, active: bool = True) -> Message:
        return PlainMessage("user", (Text(text),), (), "typed", active=active)

    assert shape([said("a"), said("b", active=False), said("c", active=False), said("d")]) == [NO_PARENT, 0, 1, 0]


@pytest.mark.parametrize("dialect", ["cersei", "ulid"])
def test_sessions_without_branches_are_one_chain(tmp_path: Path, dialect: str):
    lines: list[dict[str, Any]]
    if dialect == "cersei":
        lines = [cersei("user", "a", 0), cersei("assistant", "b", 1), cersei("user", "c", 2), tombstone("u1")]
        expected = {"u0": None, "u2": "u0"}
    else:
        lines = [
            {"recordType": "message", "schemaVersion": 1, "seq": n, "role": "user", "content": []} for n in range(3)
        ]
        expected = {"0": None, "1": "0", "2": "1"}
    path = tmp_path / "s.jsonl"
    path.write_bytes(as_bytes(lines))
    assert parents(by_name(dialect).read(SessionFiles("s", (path,)))) == expected


def test_opencode_is_one_chain(tmp_path: Path):
    session = opencode_files.Session("ses_one1")
    session.user("first")
    session.user("second")
    path = opencode_files.database(tmp_path, session)
    first, second = by_name("opencode").read(SessionFiles("ses_one1", (path,))).messages
    assert (first.parent, second.parent) == (None, first.id)


def test_cycles_duplicates_and_missing_parents_end_somewhere(tmp_path: Path):
    session = claude_files.Session()
    session.user("a", "u3", uuid="u1")
    session.user("b", "u1", uuid="u2")
    session.user("c", "u2", uuid="u3")
    session.user("again", "u3", uuid="u2")
    session.user("lost", "nowhere")
    session.user("own", "u6")
    read = session.read(tmp_path)
    assert [m.parent for m in read.messages] == ["u3", "u1", "u2", "u3", None, None]
    assert shape(read.messages) == [NO_PARENT, 0, 1, 2, 3, 4]
    session.lines = [
        json.dumps({"type": "system", "uuid": f"s{n}", "parentUuid": f"s{(n + 1) % 3}", "sessionId": "s"})
        for n in range(3)
    ]
    session.user("under a circle", "s0")
    assert [m.parent for m in session.read(tmp_path).messages] == [None]


def test_a_long_chain_of_records_that_say_nothing_is_walked_once(tmp_path: Path):
    number = 20_000
    lines = ['{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"a"}}']
    above = "a"
    for n in range(number):
        lines.append(f'{{"type":"progress","uuid":"p{n}","parentUuid":"{above}","sessionId":"s"}}')
        above = f"p{n}"
    for n in range(200):
        message = f'{{"role":"user","content":"{n}"}}'
        lines.append(f'{{"type":"user","uuid":"b{n}","parentUuid":"{above}","sessionId":"s","message":{message}}}')
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    read = by_name("claude").read(SessionFiles("s", (path,)))
    assert {m.parent for m in read.messages[1:]} == {"a"}


def test_a_branch_whose_parent_is_missing_or_comes_later_is_a_tree_of_its_own():
    def left(own: str, parent: str) -> Message:
        return PlainMessage("user", (), (), "typed", own, active=False, parent=parent)

    assert shape([left("a", "b"), left("b", "a"), left("c", "nowhere"), left("d", "d")]) == [NO_PARENT, 0, -1, -1]


def test_results_of_parallel_calls_stand_one_after_the_other(tmp_path: Path):
    session = claude_files.Session()
    session.user("one")
    first = session.says("m1", claude_files.call("c1"))
    second = session.says("m1", claude_files.call("c2"))
    session.result("c1", "a", first)
    session.result("c2", "b", second)
    session.says("m2", "done")
    read = session.read(tmp_path)
    assert [m.parent for m in read.messages] == [None, "u1", "m1", "m1", "u5"]
    assert shape(read.messages) == [NO_PARENT, 0, 1, 2, 3]


def test_children_stand_in_file_order():
    assert children_of([NO_PARENT, 0, 0, 1, NO_PARENT]) == ([0, 4], [[1, 2], [3], [], [], []])
