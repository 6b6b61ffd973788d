"""``slowwave sessions show --tree``: what is drawn where, and that nothing is too wide or too deep."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.cli import main
from slowwave.cli.sessions_show import TREE_WIDTH as WIDTH
from slowwave.cli.sessions_show import tree_lines
from slowwave.formats import Message, SessionFiles, Text, Transcript
from slowwave.formats.messages import PlainMessage
from tests.unit.formats import claude_files, pi_files
from tests.unit.stores.store_builder import as_bytes, claude

Capture = pytest.CaptureFixture[str]


def drawn(capsys: Capture, path: Path) -> list[str]:
    assert main(["sessions", "show", "--tree", str(path)]) == 0
    return capsys.readouterr().out.splitlines()[2:]


def as_json(capsys: Capture, path: Path) -> dict[str, Any]:
    assert main(["sessions", "show", "--tree", "--json", str(path)]) == 0
    return json.loads(capsys.readouterr().out)


def test_branches_stand_before_what_goes_on(tmp_path: Path, capsys: Capture):
    session = pi_files.Session()
    session.user("one")
    said = session.model("ok")
    left = session.user("left")
    session.model("deeper", parent=left)
    session.model("another", parent=left)
    taken = session.user("taken", parent=said)
    session.add("label", targetId=taken, label="best")
    session.add("compaction", summary="the gist", firstKeptEntryId=taken, tokensBefore=1)
    path = tmp_path / "s.jsonl"
    path.write_bytes(session.data())
    assert drawn(capsys, path) == [
        "● user 2026-03-15 10:00 e1  one",
        "● assistant 2026-03-15 10:00 e2  ok",
        "├─○ user 2026-03-15 10:00 abandoned e3  left",
        "│ ├─○ assistant 2026-03-15 10:00 abandoned e4  deeper",
        "│ ○ assistant 2026-03-15 10:00 abandoned e5  another",
        "● user 2026-03-15 10:00 [best] e6  taken",
        "◆ user 2026-03-15 10:00 compaction e8  The conversation history before this point was compacted i...",
    ]
    shown = as_json(capsys, path)
    assert shown["labels"] == {taken: "best"}
    assert [(m["id"], m["parent"], m["state"], m["kind"]) for m in shown["messages"]][-2:] == [
        ("e6", "e2", "active", "message"),
        ("e8", "e6", "active", "compaction"),
    ]


def test_sub_agents_inside_the_file_stand_under_what_started_them(tmp_path: Path, capsys: Capture):
    session = claude_files.Session()
    session.user("one")
    session.says("m1", claude_files.call("c1", "Task"))
    session.sidechain = True
    session.user("count", None)
    session.says("m2", "three")
    session.sidechain = False
    session.result("c1", "three", "u2")
    path = tmp_path / "s1.jsonl"
    session.read(tmp_path)
    assert [line.split(" 2026")[0] for line in drawn(capsys, path)] == [
        "● user",
        "● assistant",
        "├─◇ user",
        "│ ◇ assistant",
        "● user",
    ]


def test_sub_agents_and_forks_in_other_files_are_named_where_they_branch_off(tmp_path: Path, capsys: Capture):
    call: dict[str, Any] = {"type": "tool_use", "id": "c1", "name": "Task", "input": {}}
    lines = [
        claude("user", "count", 0, uuid="x0"),
        claude("assistant", "", 1, uuid="x1", message={"id": "m1", "role": "assistant", "content": [call]}),
        claude("user", "thanks", 2, uuid="x2", parentUuid="x1"),
    ]
    path = tmp_path / "s.jsonl"
    path.write_bytes(as_bytes(lines))
    side = tmp_path / "s" / "subagents"
    side.mkdir(parents=True)
    task = [claude("user", "go", 0, isSidechain=True), claude("assistant", "three", 1, isSidechain=True)]
    (side / "agent-1.jsonl").write_bytes(as_bytes(task))
    meta = {"agentType": "Explore", "description": "Count files", "toolUseId": "c1"}
    (side / "agent-1.meta.json").write_text(json.dumps(meta), encoding="utf-8")
    (tmp_path / "agent-2.jsonl").write_bytes(as_bytes(task))
    (tmp_path / "agent-3.jsonl").write_bytes(as_bytes([task[0] | {"sessionId": "other"}]))
    mark = {"sessionId": "s", "messageUuid": "x1"}
    copied = [line | {"sessionId": "f", "forkedFrom": mark} for line in lines[:2]]
    own = claude("user", "elsewhere", 3, uuid="y1", parentUuid="x1", sessionId="f")
    (tmp_path / "f.jsonl").write_bytes(as_bytes([*copied, own]))
    (tmp_path / "stranger.jsonl").write_bytes(as_bytes([claude("user", "count", 0, uuid="z0", sessionId="stranger")]))
    assert [line.partition(" 2026")[0] for line in drawn(capsys, path)] == [
        "● user",
        "├─◇ sub-agent agent-2 (2 messages, agent-2.jsonl)",
        "● assistant",
        "├─⑂ fork: f",
        "├─◇ sub-agent Explore: Count files (2 messages, agent-1.jsonl)",
        "● user",
    ]
    shown = as_json(capsys, path)
    assert [agent["name"] for agent in shown["agents"]] == ["Explore", "agent-2"]
    assert [(fork["session"], fork["message"]) for fork in shown["forks"]] == [("f", "m1")]


def chain(number: int, **fields: Any) -> list[Message]:
    return [
        PlainMessage("user", (Text("x" * 300),), (), "typed", f"{n}", parent=f"{n - 1}" if n else None, **fields)
        for n in range(number)
    ]


def test_a_chain_of_a_hundred_thousand_messages_is_drawn():
    lines = list(tree_lines(Transcript("claude", SessionFiles("s", ()), chain(100_000)), {}, {}))
    assert len(lines) == 100_000
    assert max(map(len, lines)) == WIDTH


def test_branches_of_branches_without_end_are_drawn_within_the_width():
    messages: list[Message] = []
    for n in range(2000):
        # two answers under each message, of which the first goes on: every message is a branch of a branch
        above = f"a{n - 1}" if n else None
        messages.append(PlainMessage("user", (Text("x" * 300),), (), "typed", f"a{n}", active=False, parent=above))
        messages.append(PlainMessage("user", (Text("y"),), (), "typed", f"b{n}", active=False, parent=above))
    lines = list(tree_lines(Transcript("claude", SessionFiles("s", ()), messages), {}, {}))
    assert len(lines) == 4000
    assert max(map(len, lines)) <= WIDTH


@pytest.mark.parametrize("text", ["数" * 200, "e\u0301" * 200, "🎉" * 200, "a\x1b[31mred\nb", ""])
def test_a_line_is_no_wider_than_a_terminal_and_harmless(text: str):
    message = PlainMessage("user", (Text(text),), (), "typed", "1")
    (line,) = tree_lines(Transcript("claude", SessionFiles("s", ()), [message]), {}, {})
    assert line.isprintable()
    columns = sum(2 if c in "数🎉" else c != "\u0301" for c in line)
    assert columns <= WIDTH
    assert columns > 90 or len(text) < 90


def test_show_says_of_each_message_what_it_is(tmp_path: Path, capsys: Capture):
    session = pi_files.Session()
    said = session.user("one")
    session.user("left")
    session.user("taken", parent=said)
    path = tmp_path / "s.jsonl"
    path.write_bytes(session.data())
    assert main(["sessions", "show", str(path)]) == 0
    assert "left" not in capsys.readouterr().out
    assert main(["sessions", "show", "--all", str(path)]) == 0
    shown = capsys.readouterr().out
    assert (shown.count(" active "), shown.count(" abandoned ")) == (2, 1)
