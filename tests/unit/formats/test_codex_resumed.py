"""What Codex sends of rollouts that something else touched, or that an older or newer client wrote; tried on 0.169."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.formats.codex_files import (
    ENVIRONMENT,
    THREAD,
    Line,
    call,
    compacted,
    context,
    event,
    item,
    line,
    message,
    meta,
    output,
    rollout,
    said,
    spoken,
    turn,
)

PAGED = {"history_mode": "paginated", "originator": "codex_exec", "cli_version": "0.169.0"}
AGENT: dict[str, Any] = {
    "author": "/root",
    "recipient": "/root/x",
    "other_recipients": [],
    "content": "go on",
    "trigger_turn": True,
}

TOLD: list[tuple[dict[str, Any], bool]] = [
    *(({}, True), ({"content": ""}, True), ({"author": "/root/x/y_1"}, True), ({"author": "/morpheus"}, True)),
    *(({"author": name}, False) for name in ("a", "/root/X", "/root/", "/root/root", "/x")),
    *(({"content": None}, False), ({"other_recipients": ["y"]}, False), ({"trigger_turn": "x"}, False)),
]


def started(identity: str) -> Line:
    return event("task_started", turn_id=identity)


def complete(identity: str) -> Line:
    return event("task_complete", turn_id=identity)


def taken_back(turns: int) -> Line:
    return event("thread_rolled_back", num_turns=turns)


def result_of(path: Path) -> Any:
    return context(path)[-1]["results"][0]["text"]  # pyright: ignore[reportIndexIssue, reportUnknownVariableType]


def beside(row: Line, **metadata: Any) -> Line:
    return {**row, "metadata": metadata}


def test_a_long_output_loses_its_middle_at_the_limit_of_an_unknown_model(tmp_path: Path):
    long = "a" * 8000 + "é" * 3000
    found = result_of(rollout(tmp_path, meta(), call(), output(text=long)))
    assert found == "a" * 6000 + "…2000 chars truncated…" + "é" * 3000
    assert result_of(rollout(tmp_path, meta(), call(), output(text="x" * 12_000))) == "x" * 12_000


def test_the_limit_beside_an_output_counts_tokens(tmp_path: Path):
    row = beside(output(text="a" * 20 + "b" * 20), fallback_token_limit_override=5)
    assert result_of(rollout(tmp_path, meta(), call(), row)) == "a" * 10 + "…5 tokens truncated…" + "b" * 10
    none = beside(output(text="a" * 40), fallback_token_limit_override=0)
    assert result_of(rollout(tmp_path, meta(), call(), none)) == "…10 tokens truncated…"


def test_parts_of_an_output_share_its_limit(tmp_path: Path):
    parts = [*({"type": "input_text", "text": t} for t in ("", "a" * 16, "b" * 16)), {"type": "input_image"}]
    row = beside(output(text=[*parts, {"type": "input_text", "text": "c"}]), fallback_token_limit_override=5)
    found = result_of(rollout(tmp_path, meta(), call(), row))
    assert found == "a" * 16 + "\nbb…3 tokens truncated…bb\n[input_image]\n[omitted 1 text items ...]"


def test_what_a_compaction_kept_is_not_shortened_again(tmp_path: Path):
    kept = [call()["payload"], output(text="x" * 13_000)["payload"]]
    assert result_of(rollout(tmp_path, meta(), compacted("s", *kept))) == "x" * 13_000


@pytest.mark.parametrize(
    "wrong",
    [
        {"phase": "x"},
        {"status": 1},
        {"encrypted_content": 3},
        {"internal_chat_message_metadata_passthrough": "x"},
        {"internal_chat_message_metadata_passthrough": {"turn_id": 3}},
        {"internal_chat_message_metadata_passthrough": {"create_time": ""}},
        {"content": [{"type": "output_text", "text": "b", "annotations": 1}]},
        {"content": [{"type": "output_text", "text": "b", "logprobs": "x"}]},
    ],
    ids=str,
)
def test_a_field_of_another_type_costs_a_message(tmp_path: Path, wrong: dict[str, Any]):
    rows = [said("user", "a"), line("response_item", message("assistant", "b", kind="output_text") | wrong)]
    assert spoken(rollout(tmp_path, meta(), *rows, said("user", "c"))) == ["u:a", "u:c"]


@pytest.mark.parametrize(
    "metadata",
    [
        "x",
        {"history_sequence": -1},
        {"client_authored": None},
        {"retained_source": {}},
        {"fallback_token_limit_override": "x"},
        {"user_input_order": "x"},
        {"compaction_output": "x"},
    ],
    ids=str,
)
def test_what_cannot_be_parsed_beside_an_item_costs_the_item(tmp_path: Path, metadata: object):
    rows = [said("user", "a"), {**said("user", "b"), "metadata": metadata}, said("user", "c")]
    assert spoken(rollout(tmp_path, meta(), *rows)) == ["u:a", "u:c"]


@pytest.mark.parametrize("metadata", [None, {}, {"foo": 3}, {"mcp_attribution": 3}, {"client_authored": True}], ids=str)
def test_what_is_unknown_beside_an_item_costs_nothing(tmp_path: Path, metadata: object):
    rows = [said("user", "a"), {**said("user", "b"), "metadata": metadata}]
    assert spoken(rollout(tmp_path, meta(), *rows)) == ["u:a", "u:b"]


def test_a_line_without_a_time_is_not_sent(tmp_path: Path):
    bare = {k: v for k, v in said("user", "b").items() if k != "timestamp"}
    rows = [said("user", "a"), bare, {**said("user", "c"), "timestamp": 3}, said("user", "d")]
    assert spoken(rollout(tmp_path, meta(), *rows)) == ["u:a", "u:d"]


CONTRADICTIONS: list[dict[str, Any]] = [
    {"replacement_history_metadata": [{}, {}]},
    {"replacement_history": None, "replacement_history_metadata": []},
    {"message": None},
]


@pytest.mark.parametrize("change", CONTRADICTIONS, ids=str)
def test_a_compaction_that_contradicts_itself_does_not_count(tmp_path: Path, change: dict[str, Any]):
    row = compacted("s", message("user", "kept"))
    rows = [said("user", "a"), {**row, "payload": row["payload"] | change}, said("user", "b")]
    assert spoken(rollout(tmp_path, meta(), *rows)) == ["u:a", "u:b"]


def test_a_newest_compaction_without_a_number_makes_the_client_read_all(tmp_path: Path):
    first, second = compacted("s", message("user", "k1")), compacted("s", message("user", "k2"))
    numbered = {**first, "payload": {**first["payload"], "window_number": 1}}
    rows = [said("user", ENVIRONMENT), *turn("a", "1"), numbered, complete("a")]
    rows += [*turn("b", "2"), complete("b"), taken_back(9), second, *turn("c", "3")]
    assert spoken(rollout(tmp_path, meta(**PAGED), *rows)) == [f"u:{ENVIRONMENT}", "u:c", "a:3"]


def test_the_id_of_a_window_was_its_number_once(tmp_path: Path):
    row = compacted("s", message("user", "k1"), message("user", "k2"))
    old = {**row, "payload": {**row["payload"], "window_id": 3}}
    rows = [*turn("a", "1"), complete("a"), *turn("b", "2"), old, complete("b"), taken_back(2)]
    assert spoken(rollout(tmp_path, meta(**PAGED), *rows)) == []


def test_a_base_in_another_rollout_is_looked_for_in_windows_only(tmp_path: Path):
    parent = "01a1ffe2-0000-7cb3-ab90-7e7c940d626d"
    other = rollout(tmp_path, meta(parent, **PAGED), *turn("a", "1"), thread=parent)
    base = {"thread_id": parent, "end_ordinal_exclusive": 4, "end_byte_offset": other.stat().st_size}
    rows = (said("user", "b"),)
    assert spoken(rollout(tmp_path, meta(history_base=base), *rows)) == ["u:a", "a:1", "u:b"]
    assert spoken(rollout(tmp_path, meta(history_base=base, history_mode="legacy"), *rows)) == ["u:b"]


def test_a_later_header_hides_what_stands_before_it_in_its_own_file_only(tmp_path: Path):
    parent = "01a1ffe2-0000-7cb3-ab90-7e7c940d626d"
    other = rollout(tmp_path, meta(parent, **PAGED), *turn("a", "1"), thread=parent)
    base = {"thread_id": parent, "end_ordinal_exclusive": 4, "end_byte_offset": other.stat().st_size}
    own = meta(**PAGED, history_base=base)
    rows = [own, *turn("b", "2"), own, *turn("c", "3")]
    assert spoken(rollout(tmp_path, *rows)) == ["u:a", "a:1", "u:c", "a:3"]


@pytest.mark.parametrize(("change", "counts"), TOLD)
@pytest.mark.parametrize("as_text", [False, True])
def test_what_another_agent_tells_is_the_start_of_a_turn(
    tmp_path: Path, change: dict[str, Any], *, counts: bool, as_text: bool
):
    told = AGENT | change
    row = said("assistant", json.dumps(told)) if as_text else line("inter_agent_communication", told)
    found = spoken(rollout(tmp_path, meta(), *turn("a", "1"), row, *turn("b", "2"), taken_back(2)))
    assert found == (["u:a", "a:1"] if counts else [])


def test_words_of_another_agent_and_calls_of_the_old_shell_are_no_messages(tmp_path: Path):
    rows = [item("agent_message", author="a", recipient="b", content=[{"type": "input_text", "text": "psst"}])]
    rows += [line("inter_agent_communication", AGENT), said("user", "a")]
    rows += [item("local_shell_call", status="completed", action={"type": "exec", "command": ["ls"]}, call_id="c1")]
    sent = context(rollout(tmp_path, meta(), *rows, output(text="a.txt")))
    assert sent == [{"role": "user", "text": "a"}, {"role": "tool", "results": [{"id": "c1", "text": "a.txt"}]}]


@pytest.mark.parametrize(("execution", "is_sent"), [("server", True), ("client", False)])
def test_a_search_by_the_api_needs_no_call(tmp_path: Path, execution: str, *, is_sent: bool):
    row = item("tool_search_output", call_id="c1", execution=execution, status="completed", tools=[])
    assert len(context(rollout(tmp_path, meta(), row))) == is_sent


def test_a_turn_that_ended_in_another_one_is_a_turn_of_its_own(tmp_path: Path):
    kept = compacted("s", message("user", "kept"))
    begun = [*turn("a", "1"), started("x"), said("user", "u1"), kept, said("user", "u2")]
    inner = [said("user", "u3"), complete("y"), taken_back(1), said("user", "u4"), complete("x")]
    assert spoken(rollout(tmp_path, meta(), *begun, started("y"), *inner)) == ["u:kept", "u:u2", "u:u4"]
    never = spoken(rollout(tmp_path, meta(), *begun, *inner, thread=THREAD))
    assert never == ["u:a", "a:1", "u:u1", "u:u2", "u:u4"]
