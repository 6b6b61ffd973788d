"""Every public Claude Code session beside the checkout is read whole: nothing lost, nothing invented."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from slowwave.formats import SessionFiles, ToolCall, ToolResult
from slowwave.formats.claude.dialect import CLAUDE, ClaudeTranscript
from slowwave.formats.registry import detect

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus" / "claude-code"
FILES = sorted(CORPUS.rglob("*.jsonl"))

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not FILES, reason="the public sessions are not beside the checkout"),
]


def objects(path: Path) -> Iterator[dict[str, Any]]:
    """Read with nothing but the standard library; two objects may stand on one line."""
    decoder = json.JSONDecoder()
    for line in path.read_text(encoding="utf-8").split("\n"):
        text = line.strip()
        while text:
            value, end = decoder.raw_decode(text)
            yield value
            text = text[end:].strip()


def blocks(record: dict[str, Any]) -> list[dict[str, Any]]:
    content: Any = record["message"].get("content")
    return [b for b in content if not isinstance(b, str)] if isinstance(content, list) else []  # pyright: ignore[reportUnknownVariableType]


def read(path: Path) -> ClaudeTranscript:
    assert detect(path) is CLAUDE
    return CLAUDE.read(SessionFiles(path.stem, (path,)))


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}-{p.stem}"[-60:])
def test_counts_equal_an_independent_count(path: Path) -> None:
    records = list(objects(path))
    spoken = [r for r in records if r.get("type") in ("user", "assistant")]
    called = Counter(b.get("id", "") for r in spoken for b in blocks(r) if b.get("type") == "tool_use")
    answered = Counter(b.get("tool_use_id", "") for r in spoken for b in blocks(r) if b.get("type") == "tool_result")
    transcript = read(path)
    assert transcript.records == len(records)
    assert transcript.unknown_types == {}
    assert {p.kind for p in transcript.problems} <= {"glued"}
    found = [b for m in transcript.messages for b in m.blocks]
    assert Counter(b.id for b in found if isinstance(b, ToolCall)) == called
    assert Counter(b.id for b in found if isinstance(b, ToolResult)) == answered


@pytest.mark.parametrize("path", FILES[::10], ids=lambda p: f"{p.parent.name}-{p.stem}"[-60:])
def test_every_span_is_in_its_file(path: Path) -> None:
    data = path.read_bytes()
    for message in read(path).messages:
        for span in message.sources:
            assert data[span.offset : span.offset + len(span.raw)] == span.raw


@pytest.mark.parametrize("path", FILES[::10], ids=lambda p: f"{p.parent.name}-{p.stem}"[-60:])
def test_contexts_end_and_pair_calls_with_results(path: Path) -> None:
    messages = list(CLAUDE.context(read(path)))
    for message, after in pairwise(messages):
        if message.role == "assistant" and message.calls and after.role == "user":
            assert {c.id for c in message.calls} == {r.id for r in after.results}
