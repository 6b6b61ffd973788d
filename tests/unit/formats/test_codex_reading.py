"""What a Codex rollout says to a reader: messages, origins, places, kinds and titles."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.formats import Injected, Other, Text, Thinking, ToolCall
from slowwave.formats.codex.dialect import CODEX
from tests.unit.formats.codex_files import (
    AGENTS,
    ENVIRONMENT,
    STAMP,
    THREAD,
    call,
    compacted,
    event,
    item,
    line,
    meta,
    output,
    read,
    rollout,
    said,
    turn,
)

ODD_PAYLOADS = [
    *(b"null", b"[]", b'"x"', b"{}", b'{"type": 7}', b'{"type": "message", "role": 7}'),
    b'{"type": "message", "role": "user", "content": 7}',
]
OTHER = "01a1ffe2-70a4-7cb3-ab90-000000000000"


def test_items_are_read_once_and_events_are_not(tmp_path: Path) -> None:
    path = rollout(tmp_path, meta(), said("user", "hi"), event("user_message", message="hi"), said("assistant", "ho"))
    assert [(m.role, m.text, m.origin) for m in read(path).messages] == [
        ("user", "hi", "typed"),
        ("assistant", "ho", "model"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        ENVIRONMENT,
        AGENTS,
        "<skill>\n<name>x</name>\n</skill>",
        "<turn_aborted>\nThe user interrupted\n</turn_aborted>",
        "<user_instructions>\nbe nice\n</user_instructions>\n",
        "<subagent_notification>{}</subagent_notification>",
    ],
)
def test_what_the_harness_wrote_is_injected(tmp_path: Path, text: str) -> None:
    (message,) = read(rollout(tmp_path, meta(), said("user", text))).messages
    assert (message.origin, message.blocks) == ("injected", (Injected(text),))


def test_a_prompt_that_only_speaks_of_marks_is_typed(tmp_path: Path) -> None:
    texts = ["<environment_context> is what?", "see # AGENTS.md instructions", "<skill>", "<skills> and </skills>"]
    messages = read(rollout(tmp_path, meta(), *(said("user", t) for t in texts))).messages
    assert [m.origin for m in messages] == ["typed"] * len(texts)


def test_a_prompt_beside_injected_text_is_typed_alone(tmp_path: Path) -> None:
    (message,) = read(rollout(tmp_path, meta(), said("user", AGENTS, "Fix it"))).messages
    assert (message.origin, message.text) == ("typed", "Fix it")


def test_an_editor_s_state_is_not_what_was_asked(tmp_path: Path) -> None:
    text = "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nFix it\n"
    (message,) = read(rollout(tmp_path, meta(), said("user", text))).messages
    assert (message.origin, message.text) == ("typed", "Fix it")


def test_developer_messages_are_the_harness(tmp_path: Path) -> None:
    (message,) = read(rollout(tmp_path, meta(), said("developer", "You may write to /w"))).messages
    assert (message.role, message.origin, message.text) == ("system", "injected", "")


def test_calls_results_and_reasoning(tmp_path: Path) -> None:
    path = rollout(
        tmp_path,
        meta(),
        item("reasoning", summary=[{"type": "summary_text", "text": "hm"}], encrypted_content="gAAA"),
        call(),
        output(),
        item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c2"),
        item(
            "custom_tool_call_output",
            call_id="c2",
            output=[{"type": "input_text", "text": "ok"}, {"type": "input_image"}],
        ),
        item("local_shell_call", call_id="c3", action={"type": "exec", "command": ["ls"]}),
        output("c3", {"content": "no", "success": False}),
        item("web_search_call", action={"query": "x"}),
    )
    messages = read(path).messages
    assert messages[0].blocks == (Thinking("hm"),)
    assert [c for m in messages for c in m.calls] == [
        ToolCall("c1", "exec_command", {"cmd": "ls"}),
        ToolCall("c2", "apply_patch", "*** Begin Patch"),
        ToolCall("c3", "local_shell", {"type": "exec", "command": ["ls"]}),
    ]
    results = [(r.id, r.text, r.is_error) for m in messages for r in m.results]
    assert results == [("c1", "a.txt\n", False), ("c2", "ok\n[input_image]", False), ("c3", "no", True)]
    assert messages[-1].blocks == (Other("web_search_call"),)
    assert [m.origin for m in messages] == ["model", "model", "tool", "model", "tool", "model", "tool", "model"]


def test_places_times_folders_and_branches(tmp_path: Path) -> None:
    path = rollout(
        tmp_path,
        meta(git={"branch": "main"}),
        said("user", "one"),
        line("turn_context", {"cwd": "/v"}),
        said("user", "two"),
    )
    one, two = read(path).messages
    assert ((one.cwd, one.branch), (two.cwd, two.branch)) == (("/w", "main"), ("/v", "main"))
    assert one.timestamp is not None
    assert one.timestamp.isoformat() == "2026-11-21T20:53:12+00:00"
    data = path.read_bytes()
    for span in (*one.sources, *two.sources):
        assert data[span.offset : span.offset + len(span.raw)] == span.raw


def test_bare_rollouts_are_read(tmp_path: Path) -> None:
    header = {"id": THREAD, "timestamp": STAMP, "instructions": None, "git": {"branch": "dev"}}
    path = rollout(
        tmp_path,
        header,
        {"record_type": "state"},
        said("user", "hi")["payload"],
        call()["payload"],
        {"record_type": "state"},
        output()["payload"],
        b'{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a \\ud800"}]}',
    )
    transcript = read(path)
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool", "assistant"]
    assert (transcript.records, transcript.unknown_types) == (7, {})
    assert transcript.messages[0].branch == "dev"
    assert transcript.messages[-1].text == "a \ufffd"


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({}, "main"),
        ({"source": {"subagent": {"thread_spawn": {}}}, "parent_thread_id": OTHER}, "subagent"),
        ({"thread_source": "subagent"}, "subagent"),
        ({"forked_from_id": OTHER}, "fork"),
        ({"forked_from_id": OTHER, "source": {"subagent": "review"}}, "subagent"),
    ],
)
def test_the_first_header_says_what_a_session_is(tmp_path: Path, fields: dict[str, Any], kind: str) -> None:
    later = meta(OTHER, source={"subagent": "review"}, cwd="/elsewhere")
    transcript = read(rollout(tmp_path, meta(**fields), later, said("user", "hi")))
    assert transcript.kind == kind
    assert transcript.messages[0].cwd == "/w"


def test_the_task_of_a_sub_agent_was_not_typed(tmp_path: Path) -> None:
    (message,) = read(rollout(tmp_path, meta(thread_source="subagent"), said("user", "Search it"))).messages
    assert (message.origin, message.blocks) == ("injected", (Injected("Search it"),))


def test_a_compaction_shows_its_summary(tmp_path: Path) -> None:
    messages = read(
        rollout(tmp_path, meta(), compacted("We did it"), compacted("", said("user", "x")["payload"]))
    ).messages
    assert [(m.origin, m.blocks) for m in messages] == [
        ("summary", (Text("We did it"),)),
        ("summary", (Other("compaction"),)),
    ]


def test_unknown_types_are_counted(tmp_path: Path) -> None:
    path = rollout(tmp_path, meta(), line("novelty", {}), item("riddle"), item("riddle"), line("world_state", {}))
    transcript = read(path)
    assert transcript.unknown_types == {"novelty": 1, "response_item/riddle": 2}
    assert (transcript.records, transcript.problems) == (5, [])


@pytest.mark.parametrize("payload", ODD_PAYLOADS)
@pytest.mark.parametrize("kind", ["session_meta", "response_item", "compacted", "event_msg", "turn_context", 7])
def test_odd_payloads_cost_nothing_but_themselves(tmp_path: Path, kind: object, payload: bytes) -> None:
    odd = b'{"timestamp": 7, "type": ' + json.dumps(kind).encode() + b', "payload": ' + payload + b"}"
    path = rollout(tmp_path, meta(), odd, said("user", "hi"))
    transcript = read(path)
    assert (transcript.records, transcript.problems) == (3, [])
    assert [m.text for m in transcript.messages if m.text] == ["hi"]
    assert [m.text for m in CODEX.context(transcript) if m.text][-1] == "hi"


def test_an_item_with_one_foreign_field_keeps_the_others(tmp_path: Path) -> None:
    odd = item("message", role="user", id=7, content=[{"type": "input_text", "text": "hi"}])
    (message,) = read(rollout(tmp_path, meta(), odd)).messages
    assert (message.text, message.id) == ("hi", None)


def test_the_name_of_a_thread_comes_from_the_rollout_or_the_index(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "2026" / "11" / "21"
    path = rollout(folder, meta(), said("user", "hi"))
    assert read(path).title == ""
    index = [{"id": THREAD, "thread_name": n, "updated_at": STAMP} for n in ("old", "x" * 9000, "new")]
    index.append({"id": OTHER, "thread_name": "another's"})
    (tmp_path / "session_index.jsonl").write_text(
        "\n".join(map(json.dumps, index)) + '\n{"id": "torn', encoding="utf-8"
    )
    assert read(path).title == "new"
    rollout(folder, meta(), event("thread_name_updated", thread_name="newest"))
    assert read(path).title == "newest"


def test_rolled_back_turns_are_not_active(tmp_path: Path) -> None:
    path = rollout(
        tmp_path,
        meta(),
        said("user", ENVIRONMENT),
        *turn("one", "1"),
        *turn("two", "2"),
        *turn("three", "3"),
        event("thread_rolled_back", num_turns=2),
        *turn("four", "4"),
    )
    found = {m.text: m.active for m in read(path).messages if m.text}
    assert found == {
        "one": True,
        "1": True,
        "two": False,
        "2": False,
        "three": False,
        "3": False,
        "four": True,
        "4": True,
    }


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nno", True),
        ("Exit code: 0\nOutput:\nExit code: 1", False),
        ("Chunk ID: cb24ad\nWall time: 0.7 seconds\nProcess exited with code 2\nOutput:\n", True),
        ("Chunk ID: cb24ad\nWall time: 0.7 seconds\nProcess exited with code 0\nOutput:\n", False),
        ("Wall time: 1 seconds\nOutput:\na\nb\nProcess exited with code 2", False),
        ('{"output":"no\\n","metadata":{"exit_code":1,"duration_seconds":0.1}}', True),
        ('{"output":"\\"exit_code\\": 1","metadata":{"exit_code":0,"duration_seconds":0.1}}', False),
        ("failed in sandbox LinuxSeccomp with execution error", True),
        ("all fine", False),
    ],
)
def test_a_command_failed_when_its_output_says_so(tmp_path: Path, text: str, failed: bool) -> None:
    (result,) = read(rollout(tmp_path, meta(), call(), output(text=text))).messages[-1].results
    assert (result.text, result.is_error) == (text, failed)
