"""The fast pass over the words of sessions finds what an independent full parse finds, also in lines of odd shapes."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.formats import Problem
from slowwave.formats.messages import SPEAKERS, TEXT_TYPES, words_in

SHARED = Path(__file__).parents[3].parent / "shared"
REAL = sorted(p for root in ("corpus", "clients/corpus") for p in (SHARED / root).rglob("*.jsonl"))
SAMPLES = sorted((Path(__file__).parents[2] / "samples").rglob("*.jsonl"))


def independent(path: Path) -> list[tuple[str, str]]:
    """Parse every object of every line without slowwave."""
    found: list[tuple[str, str]] = []
    decoder = json.JSONDecoder()
    for line in path.read_text(encoding="utf-8").split("\n"):
        at = 0
        while at < len(line.rstrip()) and line[at] == "{":
            try:
                record, at = decoder.raw_decode(line, at)
            except ValueError:
                break
            found += words_of(record)
    return found


def words_of(record: dict[str, Any]) -> list[tuple[str, str]]:
    inner = [record[key] for key in ("message", "payload") if isinstance(record.get(key), dict)]
    one = inner[0] if inner else record
    content: Any = one.get("content")
    texts: list[Any] = [content]
    if isinstance(content, list):
        blocks: list[Any] = [b for b in content if isinstance(b, dict)]  # pyright: ignore[reportUnknownVariableType]
        texts = [b.get("text") for b in blocks if b.get("type") in TEXT_TYPES]
    text = "\n".join(t for t in texts if isinstance(t, str) and t)
    return [(one["role"], text)] if text and one.get("role") in SPEAKERS else []


def in_file(tmp_path: Path, *lines: bytes) -> list[str]:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join(lines))
    return [words.text for words in words_in(path, [])]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_samples_say_what_a_full_parse_says(path: Path) -> None:
    assert [tuple(words) for words in words_in(path, [])] == independent(path)


@pytest.mark.real
@pytest.mark.skipif(not REAL, reason="the public transcripts are not beside the checkout")
def test_real_sessions_say_what_a_full_parse_says() -> None:
    said = 0
    for path in REAL:
        words = [tuple(one) for one in words_in(path, [])]
        assert words == independent(path), path
        said += len(words)
    assert said > 4000


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'{"content":"later first","role":"user"}', "later first"),
        (b'{ "message" : { "content" : [ { "text" : "spaced" , "type" : "text" } ] , "role" : "user" } }', "spaced"),
        (b'{"message":{"role":"user","content":[{"type":"tool_result","content":[{"text":"no"}]}]}}', None),
        (b'{"message":{"role":"assistant","content":[{"type":"tool_use","input":{"type":"text","text":"no"}}]}}', None),
        (b'{"role":"user","content":"{\\"type\\":\\"text\\",\\"text\\":\\"yes\\"}"}', '{"type":"text","text":"yes"}'),
        (b'{"toolUseResult":{"role":"user","content":"no"},"message":{"role":"user","content":"yes"}}', "yes"),
        (b'{"message":{"role":"user","content":[{"type":"text","text":7},{"type":"text","text":"yes"}]}}', "yes"),
        (b'{"message":{"role":"user","content":["loose",{"type":"text","text":"yes"}]}}', "yes"),
        (b'{"message":{"role":"user","content":"bad \xff byte"}}', "bad \ufffd byte"),
        (b'{"message":{"role":"user","content":"half \\ud83d of it"}}', "half \ufffd of it"),
        (b'\xef\xbb\xbf{"message":{"role":"user","content":"marked"}}', "marked"),
        (b'{"message":{"role":"toolResult","content":"no"}}', None),
        (b'{"type":"system","content":"a notice of the client"}', None),
    ],
)  # fmt: skip
def test_hard_lines_give_exactly_their_words(tmp_path: Path, line: bytes, text: str | None) -> None:
    assert in_file(tmp_path, line) == ([] if text is None else [text])


def test_glued_and_torn_lines_lose_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    one, two = b'{"role":"user","content":"one"}', b'{"role":"user","content":"two"}'
    path.write_bytes(one + two + b"\nnonsense\n" + one + b'\n{"role":"user","con')
    problems: list[Problem] = []
    assert [words.text for words in words_in(path, problems)] == ["one", "two", "one"]
    assert [p.kind for p in problems] == ["glued", "garbage", "torn"]
