"""Public sessions of pi and OpenClaw: no record lost, no text changed, no line unexplained."""

import json
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

from slowwave.formats import SessionFiles, ToolResult
from slowwave.formats.pi.dialect import PI

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
FILES = sorted([*CORPUS.glob("pi/*/*.jsonl"), *CORPUS.glob("openclaw/*/*.jsonl")])
SPEAKING = ("compaction", "branch_summary", "custom_message")
# Lines of these files that are no record, seen by eye: one file of tests holds a line of nonsense on purpose.
BAD_LINES = {"internal__parser__testdata__pi__session.jsonl": 1}
GLUED_LINES = {"session.jsonl": 1}


def objects(path: Path) -> list[dict[str, Any]]:
    """Parse a file without slowwave: every object of every line, also where two stand on one."""
    found: list[dict[str, Any]] = []
    decoder = json.JSONDecoder()
    for line in path.read_text(encoding="utf-8").split("\n"):
        at = 0
        while at < len(line.rstrip()) and line[at] == "{":
            value, at = decoder.raw_decode(line, at)
            found.append(value)
    return found


def words(content: object) -> str:
    if isinstance(content, list):
        parts = cast("list[dict[str, Any]]", content)
        return "\n".join(p["text"] for p in parts if p.get("type") == "text")
    return content if isinstance(content, str) else ""


def expected_text(record: dict[str, Any]) -> str | None:
    """Return what a record says, or None for summaries and commands, which slowwave puts into pi's words."""
    if record["type"] == "custom_message":
        return words(record["content"])
    message = record.get("message", {})
    return words(message["content"]) if "content" in message else None


@pytest.mark.real
@pytest.mark.skipif(not FILES, reason="the public transcripts are not beside the checkout")
@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}-{p.stem[-60:]}")
def test_every_record_of_a_public_session_is_read(path: Path) -> None:
    independent = objects(path)
    transcript = PI.read(SessionFiles(path.stem, (path,)))
    kinds = Counter(p.kind for p in transcript.problems)
    assert kinds.pop("glued", 0) == GLUED_LINES.get(path.name, 0)
    assert kinds.total() == BAD_LINES.get(path.name, 0)
    assert transcript.records == len(independent)
    speaking = [r for r in independent if r["type"] in SPEAKING or r["type"] == "message"]
    assert len(transcript.messages) == len(speaking)
    for message, record in zip(transcript.messages, speaking, strict=True):
        text = expected_text(record)
        if text is not None:
            own = [b.text for b in message.blocks if isinstance(b, ToolResult)] or [message.text]
            assert own[0].replace("\n[image]", "").replace("[image]", "") == text
    assert PI.context(transcript) is not None
