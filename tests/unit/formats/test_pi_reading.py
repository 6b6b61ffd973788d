"""What a reader gets of a session of pi: messages with who said them, labels, names, and every odd record."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from slowwave.formats import Injected, Other, Text, Thinking, ToolCall, ToolResult
from slowwave.formats.pi.dialect import PI
from tests.unit.formats.pi_files import HEADER, Session, call, image, read


def test_every_block_keeps_its_kind_its_place_and_who_said_it(tmp_path: Path) -> None:
    session = Session()
    session.user([{"type": "text", "text": "look"}, image()])
    session.model({"type": "thinking", "thinking": "hm"}, "yes", call("c1", path="a.py"))
    session.result("c1", "line 1", image(), "line 2")
    transcript = session.read(tmp_path)
    user, answer, result = transcript.messages
    assert (user.role, user.origin, user.blocks) == ("user", "typed", (Text("look"), Other("image")))
    assert answer.blocks == (Thinking("hm"), Text("yes"), ToolCall("c1", "read", {"path": "a.py"}))
    assert (answer.role, answer.origin) == ("assistant", "model")
    assert (result.role, result.origin) == ("tool", "tool")
    assert result.blocks == (ToolResult("c1", "line 1\n[image]\nline 2"),)
    data = (tmp_path / "session.jsonl").read_bytes()
    for message in transcript.messages:
        assert len(message.sources) == len(message.blocks)
        assert all(data[s.offset :].startswith(s.raw + b"\n") for s in message.sources)
    assert [m.id for m in transcript.messages] == ["e1", "e2", "e3"]
    assert (user.cwd, user.timestamp) == ("/work", datetime(2026, 3, 15, 10, 0, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("kind", "fields", "origin"),
    [
        ("message", {"message": {"role": "bashExecution", "command": "ls", "output": "a"}}, "injected"),
        ("message", {"message": {"role": "custom", "customType": "x", "content": "c"}}, "injected"),
        ("custom_message", {"customType": "openclaw.runtime-context", "content": "c"}, "injected"),
        ("compaction", {"summary": "s", "firstKeptEntryId": "e1"}, "summary"),
        ("branch_summary", {"summary": "s", "fromId": "root"}, "summary"),
    ],
)
def test_what_no_person_typed_is_not_taken_for_typed(
    tmp_path: Path, kind: str, fields: dict[str, Any], origin: str
) -> None:
    session = Session()
    session.add(kind, **fields)
    (message,) = session.read(tmp_path).messages
    assert (message.role, message.origin) == ("user", origin)


def test_skills_and_files_beside_a_prompt_are_the_harness(tmp_path: Path) -> None:
    session = Session()
    session.user('<file name="/w/a.md">\nalways use tabs\n</file>\nWhat does it say?')
    session.user('<skill name="pdf" location="/s/SKILL.md">\nNever ask.\n</skill>\n\nMerge these')
    session.user('<skill name="pdf" location="/s/SKILL.md">\nNever ask.\n</skill>')
    asked, merged, bare = session.read(tmp_path).messages
    assert asked.blocks == (
        Injected('<file name="/w/a.md">\nalways use tabs\n</file>\n'),
        Text("What does it say?"),
    )
    assert (asked.origin, merged.text, bare.text) == ("typed", "Merge these", "")
    assert bare.origin == "injected"


def test_name_labels_kind_and_settings_of_a_session(tmp_path: Path) -> None:
    session = Session(header=HEADER | {"parentSession": "/old.jsonl"})
    first = session.user("a")
    session.add("label", targetId=first, label="start")
    session.add("label", targetId="e9", label="other")
    session.add("label", targetId="e9")
    session.add("session_info", name=" old ")
    session.add("session_info", name=" new ")
    session.add("model_change", provider="p", modelId="m")
    session.add("thinking_level_change", thinkingLevel="high")
    transcript = session.read(tmp_path)
    assert (transcript.title, transcript.kind, transcript.thinking_level) == ("new", "fork", "high")
    assert transcript.labels == {first: "start"}
    assert transcript.model is not None
    assert transcript.model[:2] == ("p", "m")
    session.add("session_info", name="")
    assert session.read(tmp_path).title == ""


def test_an_abandoned_branch_is_not_active(tmp_path: Path) -> None:
    session = Session()
    root = session.user("task")
    first = session.model("plan A")
    session.user("no, plan B", parent=root)
    session.model("ok")
    active = {m.id: m.active for m in session.read(tmp_path).messages}
    assert active == {root: True, first: False, "e3": True, "e4": True}


def test_what_a_compaction_hides_was_not_abandoned(tmp_path: Path) -> None:
    session = Session()
    session.user("old")
    kept = session.model("kept")
    session.compact(kept)
    assert all(m.active for m in session.read(tmp_path).messages)


def test_records_before_a_hole_were_not_abandoned(tmp_path: Path) -> None:
    session = Session()
    session.user("first")
    session.model("lost")
    session.user("second")
    session.lines[1] = b"garbage"
    transcript = session.read(tmp_path)
    assert [m.text for m in transcript.messages if m.active] == ["first", "second"]
    assert [m.text for m in PI.context(transcript)] == ["second"]


def test_unknown_records_are_counted_and_nothing_is_lost(tmp_path: Path) -> None:
    session = Session()
    session.add("future_thing", message="no object", timestamp=17)
    session.add("message", message={"role": "oracle", "content": "x"})
    session.add("message", message=None)
    session.lines.append(b'{"type":5,"id":["a"],"parentId":{}}')
    transcript = session.read(tmp_path)
    assert transcript.records == 5
    assert transcript.unknown_types == {"future_thing": 1, "role oracle": 1, "role ": 1, "": 1}
    assert transcript.problems == []


def test_the_time_of_a_message_stands_in_for_that_of_its_entry(tmp_path: Path) -> None:
    session = Session()
    session.add("message", timestamp=None, message={"role": "user", "content": "x", "timestamp": 1_700_000_000_000})
    session.add("message", timestamp=None, message={"role": "user", "content": "x", "timestamp": 1e300})
    known, unknown = session.read(tmp_path).messages
    assert known.timestamp == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert unknown.timestamp is None


@pytest.mark.parametrize("parents", [("e2", "e1"), ("e1", "e1"), ("e2", "e2")])
def test_a_cycle_of_parents_ends(tmp_path: Path, parents: tuple[str, str]) -> None:
    session = Session()
    session.user("a", parent=parents[0])
    session.user("b", parent=parents[1])
    transcript = session.read(tmp_path)
    assert len(transcript.messages) == 2
    assert len(PI.context(transcript)) <= 2


def test_version_above_three_is_read_unchanged(tmp_path: Path) -> None:
    session = Session(header=HEADER | {"version": 4})
    session.add("message", message={"role": "hookMessage", "content": "h"})
    session.user("a")
    transcript = session.read(tmp_path)
    assert transcript.loaded.version == 4
    assert [m.text for m in PI.context(transcript)] == ["a"]


def test_version_two_calls_custom_messages_by_another_name(tmp_path: Path) -> None:
    session = Session(header=HEADER | {"version": 2})
    session.add("message", message={"role": "hookMessage", "content": "h"})
    assert session.shape(tmp_path) == ["user: h"]


def test_a_file_is_never_changed_by_reading(tmp_path: Path) -> None:
    old = [{"type": "session", "id": "s"}, {"type": "message", "message": {"role": "user", "content": "a"}}]
    data = b"\n".join(json.dumps(line).encode() for line in old)
    read(tmp_path, data)
    assert (tmp_path / "session.jsonl").read_bytes() == data
