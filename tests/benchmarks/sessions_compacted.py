"""Made sessions of which most was compacted: a summary about a megabyte before the end, as in sessions that go on."""

from collections.abc import Iterator
from typing import Any

import orjson
from sessions_data import Maker, cersei_lines, claude_lines, pi_lines

TAIL_BYTES = 1_200_000
SUMMARY = "## Goal\nMend the parser.\n" + "- a step that was taken, with its outcome and the files it touched\n" * 80


def compacted_claude(make: Maker, size: int) -> Iterator[bytes]:
    """Yield a Claude Code session of about ``size`` bytes with a boundary near its end, two messages preserved."""
    recent: list[dict[str, Any]] = []
    seen = 0
    parent, is_compacted = None, False
    for line in claude_lines(make, size):
        record = orjson.loads(line)
        if not is_compacted and seen > size - TAIL_BYTES and record["type"] == "user" and len(recent) > 1:
            boundary, summary = _boundary(make, record, recent[-2:])
            yield from (orjson.dumps(boundary) + b"\n", orjson.dumps(summary) + b"\n")
            parent, is_compacted = summary["uuid"], True
        if parent is not None:
            record["parentUuid"], parent = parent, None
        recent = [*recent[-3:], record]
        seen += len(line)
        yield orjson.dumps(record) + b"\n"


def _boundary(make: Maker, before: dict[str, Any], kept: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    envelope = {key: before[key] for key in ("isSidechain", "cwd", "sessionId", "version", "gitBranch")}
    boundary, summary = make.id(), make.id()
    uuids = [record["uuid"] for record in kept]
    metadata = {"trigger": "auto", "preservedMessages": {"anchorUuid": summary, "uuids": uuids, "allUuids": uuids}}
    first = {
        "parentUuid": None, "logicalParentUuid": uuids[-1], **envelope, "type": "system", "subtype": "compact_boundary",
        "content": "Conversation compacted", "compactMetadata": metadata, "uuid": boundary, "timestamp": make.time(),
    }  # fmt: skip
    second = {
        "parentUuid": boundary, **envelope, "type": "user", "isCompactSummary": True, "uuid": summary,
        "message": {"role": "user", "content": SUMMARY}, "timestamp": make.time(),
    }  # fmt: skip
    return first, second


def compacted_pi(make: Maker, size: int) -> Iterator[bytes]:
    """Yield a pi session of about ``size`` bytes with a compaction near its end that keeps some entries before it."""
    recent: list[str] = []
    seen = 0
    parent: str | None = None
    is_compacted = False
    for line in pi_lines(make, size):
        record = orjson.loads(line)
        if not is_compacted and seen > size - TAIL_BYTES and record.get("message", {}).get("role") == "user":
            entry: dict[str, Any] = {
                "type": "compaction", "id": f"c{make.chance.getrandbits(28):07x}", "parentId": recent[-1],
                "timestamp": make.time(), "summary": SUMMARY, "firstKeptEntryId": recent[0], "tokensBefore": 180_000,
                "details": {"readFiles": ["src/a.py"], "modifiedFiles": ["src/b.py"]},
            }  # fmt: skip
            yield orjson.dumps(entry) + b"\n"
            parent, is_compacted = entry["id"], True
        if parent is not None:
            record["parentId"], parent = parent, None
        recent = [*recent[-40:], record["id"]]
        seen += len(line)
        yield orjson.dumps(record) + b"\n"


def compacted_cersei(make: Maker, size: int) -> Iterator[bytes]:
    """Yield a Cersei session of about ``size`` bytes with tombstones; a summary near its end hides the rest."""
    seen = messages = 0
    is_compacted = False
    for line in cersei_lines(make, size, 241):
        is_tombstone = line.startswith(b'{"type":"tombstone"')
        if not is_compacted and seen > size - TAIL_BYTES and not is_tombstone:
            fields = {"uuid": make.id(), "timestamp": make.time(), "summary": SUMMARY, "messages_compacted": messages}
            yield orjson.dumps({"type": "summary", **fields}) + b"\n"
            is_compacted = True
        messages += not is_tombstone
        seen += len(line)
        yield line


def compacted_codex(make: Maker, size: int) -> Iterator[bytes]:
    """Yield a Codex rollout of about ``size`` bytes with a compaction near its end that holds the whole history."""
    meta = {"id": make.id(), "timestamp": make.time(), "cwd": "/home/dev/project", "cli_version": "0.169.0"}
    yield _wrapped(make, "session_meta", meta)
    seen, is_compacted = 0, False
    while seen < size:
        if not is_compacted and seen > size - TAIL_BYTES:
            history = [_codex_text("user", make.slice(50, 400)), _codex_text("user", SUMMARY)]
            yield _wrapped(make, "compacted", {"message": SUMMARY, "replacement_history": history})
            is_compacted = True
        lines = [_wrapped(make, "event_msg", {"type": "task_started"})]
        for role, blocks in make.turn():
            lines += [_wrapped(make, "response_item", item) for item in _codex_items(role, blocks)]
        seen += sum(map(len, lines))
        yield from lines


def codex_lines(make: Maker, size: int) -> Iterator[bytes]:
    """Yield a Codex rollout of about ``size`` bytes that was never compacted."""
    meta = {"id": make.id(), "timestamp": make.time(), "cwd": "/home/dev/project", "cli_version": "0.169.0"}
    yield _wrapped(make, "session_meta", meta)
    seen = 0
    while seen < size:
        lines = [_wrapped(make, "event_msg", {"type": "task_started"})]
        for role, blocks in make.turn():
            lines += [_wrapped(make, "response_item", item) for item in _codex_items(role, blocks)]
        seen += sum(map(len, lines))
        yield from lines


def _wrapped(make: Maker, kind: str, payload: dict[str, Any]) -> bytes:
    return orjson.dumps({"timestamp": make.time(), "type": kind, "payload": payload}) + b"\n"


def _codex_text(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _codex_items(role: str, blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        match block["type"]:
            case "text":
                yield _codex_text(role, block["text"])
            case "tool_use":
                arguments = orjson.dumps(block["input"]).decode()
                yield {"type": "function_call", "name": "shell", "arguments": arguments, "call_id": block["id"]}
            case "tool_result":
                output = block["content"]
                yield {"type": "function_call_output", "call_id": block["tool_use_id"], "output": output}
            case _:
                pass
