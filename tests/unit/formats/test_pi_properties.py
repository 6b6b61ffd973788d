"""Whatever was written and wherever it was cut: pi, crabtalk and ULID sessions are read, and nothing whole is lost."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.errors import UnreadableError
from slowwave.formats import Message, SessionFiles, Transcript
from slowwave.formats.client import Dialect
from slowwave.formats.crabtalk.dialect import CRABTALK
from slowwave.formats.pi.dialect import PI
from slowwave.formats.ulid.dialect import ULID

TEXTS = st.text(max_size=8) | st.sampled_from(["{", "}", '"', "\u2028", "é日", "<summary>"])
IDS = st.sampled_from(["a", "b", "c", "d", "e", "missing"])
ODD = st.none() | st.booleans() | st.integers() | TEXTS | st.lists(TEXTS, max_size=2)
PARTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "thinking", "toolCall", "image", "odd"])},
    optional={"text": TEXTS | ODD, "thinking": TEXTS, "id": IDS | ODD, "name": TEXTS, "arguments": ODD},
)
CONTENTS = TEXTS | st.lists(PARTS | ODD, max_size=3) | ODD


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return objects that have any of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


ROLES = st.sampled_from(["user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage", "odd", "tool"])
MESSAGES = some(
    role=ROLES | ODD,
    content=CONTENTS,
    toolCallId=IDS | ODD,
    stopReason=st.sampled_from(["stop", "error", "aborted"]),
    provider=st.sampled_from(["anthropic", "fake"]) | ODD,
    api=st.sampled_from(["anthropic-messages", "openai-completions"]) | ODD,
    output=ODD,
    exitCode=ODD,
    summary=ODD,
    timestamp=ODD | st.floats(allow_nan=False),
)
PI_TYPES = st.sampled_from(
    ["message"] * 5 + ["compaction", "branch_summary", "custom_message", "label", "session_info", "model_change", "odd"]
)
PI_LINES = some(
    type=PI_TYPES | ODD,
    id=IDS | ODD,
    parentId=IDS | ODD,
    timestamp=ODD,
    message=MESSAGES | ODD,
    summary=ODD,
    firstKeptEntryId=IDS | ODD,
    firstKeptEntryIndex=ODD,
    content=CONTENTS,
    name=ODD,
    label=ODD,
    targetId=ODD,
    provider=ODD,
    modelId=ODD,
    thinkingLevel=ODD,
)
CRABTALK_LINES = some(
    role=st.sampled_from(["user", "assistant", "tool", "system"]) | ODD,
    content=ODD,
    compact=ODD,
    event=ODD,
    tool_calls=ODD | st.just([{"id": "c", "function": {"name": "x", "arguments": "{}"}}]),
    tool_call_id=ODD,
    archived_at=ODD,
)
ULID_LINES = some(
    recordType=st.sampled_from(["message", "compaction"]) | ODD,
    schemaVersion=ODD,
    seq=ODD,
    role=st.sampled_from(["user", "assistant", "toolResult"]) | ODD,
    content=CONTENTS,
    firstKeptSeq=ODD,
    summary=ODD,
    timestamp=ODD,
)
VERSIONS = st.sampled_from([None, 1, 2, 3, 4, "3", "x", [], True])
PI_HEADS = VERSIONS.map(lambda v: {"type": "session", "id": "s", "version": v, "cwd": "/w"})
META = st.just({"agent": "crab", "created_by": "user", "created_at": "2026-02-25T10:00:00Z"})
FORMATS: list[tuple[Dialect, st.SearchStrategy[dict[str, Any]], st.SearchStrategy[dict[str, Any]]]] = [
    (PI, PI_HEADS, PI_LINES),
    (CRABTALK, META, CRABTALK_LINES),
    (ULID, ULID_LINES, ULID_LINES),
]


def read(dialect: Dialect, data: bytes) -> tuple[Transcript, list[Message]]:
    """Read a file and rebuild its context, and look at everything in both."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.jsonl")
        path.write_bytes(data)
        transcript = dialect.read(SessionFiles("s", (path,)))
        try:
            context = list(dialect.context(transcript))
        except UnreadableError:
            context = []
    for message in (*transcript.messages, *context):
        assert len(message.blocks) == len(message.sources)
        assert all(data[s.offset :].startswith(s.raw) for s in message.sources)
        assert (message.role, message.origin, message.timestamp, message.id, message.active) is not None
    return transcript, context


@pytest.mark.parametrize(("dialect", "head", "line"), FORMATS, ids=[d.name for d, _, _ in FORMATS])
@given(data=st.data())
@settings(max_examples=60)
def test_any_prefix_is_read_and_loses_only_the_torn_record(
    dialect: Dialect,
    head: st.SearchStrategy[dict[str, Any]],
    line: st.SearchStrategy[dict[str, Any]],
    data: st.DataObject,
) -> None:
    records = [data.draw(head), *data.draw(st.lists(line, max_size=8))]
    rows = [json.dumps(r, ensure_ascii=False).encode("utf-8", "replace") for r in records]
    whole = b"".join(row + b"\n" for row in rows)
    assert read(dialect, whole)[0].records == len(rows)
    cut = data.draw(st.integers(0, len(whole)))
    left = whole[:cut]
    ends = [len(b"\n".join(rows[: i + 1])) for i in range(len(rows))]
    transcript, _ = read(dialect, left)
    assert transcript.records == sum(end <= cut for end in ends)
    assert [p.kind for p in transcript.problems] in ([], ["torn"])


@given(parents=st.lists(IDS | st.none(), max_size=7), kept=IDS)
def test_any_tree_of_parents_ends(parents: list[str | None], kept: str) -> None:
    lines: list[dict[str, Any]] = [{"type": "session", "id": "s", "version": 3}]
    for own, parent in zip("abcdefg", parents, strict=False):
        entry = {"type": "message", "id": own, "parentId": parent, "message": {"role": "user", "content": own}}
        lines.append(entry)
    lines.append({"type": "compaction", "id": "z", "parentId": kept, "firstKeptEntryId": kept, "summary": "s"})
    transcript, context = read(PI, b"".join(json.dumps(e).encode() + b"\n" for e in lines))
    assert len(transcript.messages) == len(lines) - 1
    assert len({s.offset for m in context for s in m.sources}) == len(context)
