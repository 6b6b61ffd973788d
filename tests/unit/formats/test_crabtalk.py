"""Lines of crabtalk's sessions as messages: OpenAI's tool calls, reasoning, the fields of RFC 0135, events."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slowwave.formats import Block, Origin, Role, SessionFiles, Text, Thinking, ToolCall, ToolResult
from slowwave.formats.crabtalk import write as crabtalk
from slowwave.formats.crabtalk.dialect import CRABTALK, CrabtalkTranscript
from slowwave.formats.messages import PlainMessage, normal_form

META = {"agent": "crab", "created_by": "user", "created_at": "2026-02-25T10:00:00+00:00"}


def read(folder: Path, *lines: dict[str, Any]) -> CrabtalkTranscript:
    path = folder / "crab_user_1.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (META, *lines)), encoding="utf-8")
    return CRABTALK.read(SessionFiles("crab_user_1", (path,)))


def test_tool_calls_and_reasoning(tmp_path: Path) -> None:
    function = {"name": "bash", "arguments": '{"command": "ls"}'}
    broken = {"name": "bash", "arguments": '{"command'}
    calls = [{"id": "c1", "type": "function", "function": function, "index": 0}, {"id": "c2", "function": broken}]
    transcript = read(
        tmp_path,
        {"role": "assistant", "reasoning_content": "hm", "content": "ok", "tool_calls": calls, "agent": "helper"},
        {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
        {"role": "system", "content": "be kind"},
    )
    answer, result, system = transcript.messages
    assert answer.blocks == (
        Thinking("hm"),
        Text("ok"),
        ToolCall("c1", "bash", {"command": "ls"}),
        ToolCall("c2", "bash", '{"command'),
    )
    assert (result.role, result.origin, result.blocks) == ("tool", "tool", (ToolResult("c1", "a.py"),))
    assert (system.role, system.origin) == ("system", "injected")
    data = transcript.files.paths[0].read_bytes()
    assert all(data[s.offset :].startswith(s.raw) for m in transcript.messages for s in m.sources)


def test_a_call_without_text_is_one_message(tmp_path: Path) -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]
    transcript = read(tmp_path, {"role": "assistant", "content": "", "tool_calls": calls})
    expected: list[dict[str, Any]] = [{"role": "assistant", "calls": [{"id": "c1", "name": "ls", "args": {}}]}]
    assert normal_form(CRABTALK.context(transcript)) == expected


def test_markers_of_rfc_0135_have_a_time_and_a_title(tmp_path: Path) -> None:
    marker = {"compact": "All of it.", "title": "All of it.", "archived_at": "2026-03-01T10:00:00.123456789+00:00"}
    (message,) = read(tmp_path, marker).messages
    assert (message.role, message.text, message.origin) == ("user", "All of it.", "summary")
    assert message.timestamp == datetime(2026, 3, 1, 10, 0, 0, 123456, tzinfo=UTC)


def test_events_and_other_lines_are_counted(tmp_path: Path) -> None:
    transcript = read(tmp_path, {"event": {"kind": "x"}}, {"other": 1}, {"role": "user", "content": 5})
    assert transcript.unknown_types == {"event": 1, "no role": 1}
    assert (transcript.records, len(transcript.messages)) == (4, 1)


def message(role: Role, *blocks: Block, origin: Origin = "typed") -> PlainMessage:
    return PlainMessage(role, blocks, (), origin)


def test_a_message_of_another_client_becomes_lines_of_crabtalk() -> None:
    call = ToolCall("c1", "ls", {"path": "."})
    result = ToolResult("c1", "a.py", is_error=True)
    lines = [
        crabtalk.line_of(message("system", Text("be kind"), origin="injected")),
        crabtalk.line_of(message("user", Text("one"), Text("two"))),
        crabtalk.line_of(message("assistant", Thinking("hm"), call, origin="model")),
        crabtalk.line_of(message("user", result, Text("and now?"))),
        crabtalk.line_of(message("tool", result, origin="tool")),
    ]
    assert [json.loads(line) for found in lines for line in (found or b"").splitlines()] == [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "one\ntwo"},
        {
            "role": "assistant",
            "reasoning_content": "hm",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path":"."}'}}],
        },
        {"role": "tool", "content": "a.py", "tool_call_id": "c1"},
        {"role": "user", "content": "and now?"},
        {"role": "tool", "content": "a.py", "tool_call_id": "c1"},
    ]


def test_who_answered_is_written_when_it_is_given() -> None:
    assert crabtalk.message_line("assistant", "x", agent="helper") == (
        b'{"role":"assistant","content":"x","agent":"helper"}\n'
    )
