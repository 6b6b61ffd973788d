"""Every public Codex rollout beside the checkout is read whole: nothing lost, nothing invented."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import zstandard

from slowwave.formats import Injected, SessionFiles, Text, ToolCall, ToolResult
from slowwave.formats.codex.dialect import CODEX, CodexTranscript
from slowwave.formats.codex.records import KNOWN_ITEMS, CodexMessage
from slowwave.formats.registry import detect

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus" / "codex"
FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file())
# Types that no version of the client writes stand in fixtures that others made.
MADE_UP = {"request_item", "response_item/tool_call", "response_item/tool_result"}
CALLS = ("function_call", "custom_tool_call", "local_shell_call", "tool_search_call")

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not FILES, reason="the public rollouts are not beside the checkout"),
    pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem[-60:]),
]


def objects(path: Path) -> list[dict[str, Any]]:
    """Read with nothing but the standard library."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def items(path: Path) -> list[dict[str, Any]]:
    return [r["payload"] for r in objects(path) if r["type"] == "response_item"]


def read(path: Path) -> CodexTranscript:
    assert detect(path) is CODEX
    return CODEX.read(SessionFiles(path.stem, (path,)))


def test_counts_equal_an_independent_count(path: Path) -> None:
    transcript = read(path)
    found = items(path)
    assert transcript.records == len(objects(path))
    assert transcript.problems == []
    assert set(transcript.unknown_types) <= MADE_UP
    known = [i for i in found if i.get("type", "message") in KNOWN_ITEMS]
    compactions = sum(r["type"] == "compacted" for r in objects(path))
    assert len(transcript.messages) == len(known) + compactions
    blocks = [b for m in transcript.messages for b in m.blocks]
    called = Counter(i.get("call_id") or i.get("id", "") for i in known if i.get("type") in CALLS)
    answered = Counter(i["call_id"] for i in known if i.get("type", "").endswith("_output"))
    assert Counter(b.id for b in blocks if isinstance(b, ToolCall)) == called
    assert Counter(b.id for b in blocks if isinstance(b, ToolResult)) == answered


def test_texts_equal_an_independent_parse(path: Path) -> None:
    said = [
        part["text"]
        for i in items(path)
        if i.get("type", "message") in ("message", "agent_message") and isinstance(i.get("content"), list)
        for part in i["content"]
        if isinstance(part.get("text"), str)
    ]
    shown = [m for m in read(path).messages if m.origin != "summary"]
    assert [b.text for m in shown for b in m.blocks if isinstance(b, Text | Injected)] == said


def outputs(item: dict[str, Any]) -> str:
    """Return an output as an independent reader would: a text, a list of parts, or an object with one text."""
    value: Any = item["output"]
    if isinstance(value, dict):
        value = item["output"].get("content", item["output"].get("text"))
    if isinstance(value, str):
        return value
    parts: list[dict[str, Any]] = value
    return "\n".join(part.get("text", f"[{part['type']}]") for part in parts)


def test_calls_and_outputs_equal_an_independent_parse(path: Path) -> None:
    known = [i for i in items(path) if i.get("type", "message") in KNOWN_ITEMS]
    given = [i.get("arguments", i.get("input")) for i in known if i.get("type") == "function_call"]
    said = [outputs(i) for i in known if i.get("type") in ("function_call_output", "custom_tool_call_output")]
    shown = [m for m in read(path).messages if isinstance(m, CodexMessage)]
    found = [c.args for m in shown if m.item.kind == "function_call" for c in m.calls]
    assert found == [value if isinstance(value := as_json(text), dict) else text for text in given]
    results = [r.text for m in shown if m.item.kind != "tool_search_output" for r in m.results]
    assert results == said


def as_json(text: Any) -> object:
    try:
        return json.loads(text)
    except (ValueError, TypeError):
        return text


def test_a_packed_file_says_the_same(path: Path, tmp_path: Path) -> None:
    packed = tmp_path / f"{path.name}.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(path.read_bytes()))
    plain, other = read(path), read(packed)
    assert (other.records, other.problems, other.unknown_types) == (plain.records, [], plain.unknown_types)
    assert other.messages == plain.messages


def test_what_a_person_typed_is_what_the_client_calls_so(path: Path) -> None:
    events = [r["payload"] for r in objects(path) if r["type"] == "event_msg"]
    typed = {e["message"].strip() for e in events if e["type"] == "user_message" and isinstance(e.get("message"), str)}
    found = [m for m in read(path).messages if m.origin == "typed"]
    if len(typed) > 1:
        assert {m.text.strip() for m in found} <= typed


def test_every_span_is_in_its_file(path: Path) -> None:
    data = path.read_bytes()
    for message in read(path).messages:
        for span in message.sources:
            assert data[span.offset : span.offset + len(span.raw)] == span.raw


def test_contexts_end_and_pair_calls_with_results(path: Path) -> None:
    messages = list(CODEX.context(read(path)))
    called = {c.id for m in messages for c in m.calls}
    # calls of the old shell and searches for tools are sent in forms of their own
    items = [m.item for m in messages if isinstance(m, CodexMessage)]
    other = [item.call_id for item in items if item.kind in ("local_shell_call", "tool_search_call")]
    called |= {own for own in other if own is not None}
    assert called == {r.id for m in messages for r in m.results}
