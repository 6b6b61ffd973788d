"""Lines as Claude Code writes them, for appending: one JSON object with its newline, nothing decided here.

::

    user_line(content, *, uuid, parent, session, cwd, at, branch="", version=VERSION) -> bytes
    assistant_line(content, *, uuid, parent, session, cwd, at, message_id, model=MODEL, branch="", version=VERSION)
        -> bytes
    title_line(title, *, session) -> bytes
    prompt_line(prompt, *, leaf, session) -> bytes
    compaction_lines(summary, *, boundary, uuid, logical_parent, session, cwd, at, trigger, tokens, kept, branch="",
        version=VERSION, remarks={}) -> tuple[bytes, bytes]
    blocks_of(content) -> list of blocks; result_block(call_id, content, is_error) -> block

``content`` is text or a list of blocks, those of the Anthropic API or dialect-free ones; ``parent`` is the uuid of the
record before, or None for the first. Names and order of the fields are those of real files of version 2.0 and later,
without what only the client itself can know.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType

import orjson

from slowwave.formats.model import Text, Thinking, ToolCall
from slowwave.formats.times import millisecond_time

VERSION = "2.1.330"
# The client's own name for messages that no model made.
MODEL = "<synthetic>"
# Times are written in milliseconds: records that are to be told apart are at least so far from each other.
TICK = timedelta(milliseconds=1)
_CONTINUED = (
    "This session is being continued from a previous conversation that ran out of context."
    " The summary below covers the earlier portion of the conversation.\n\nSummary:\n"
)
Content = str | Sequence[Mapping[str, object] | Text | Thinking | ToolCall]


def blocks_of(content: Content) -> list[Mapping[str, object]]:
    """Return content as blocks of the API; text becomes one text block, mappings stay as they are."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [_block(item) for item in content]


def _block(item: Mapping[str, object] | Text | Thinking | ToolCall) -> Mapping[str, object]:
    if isinstance(item, Text):
        return {"type": "text", "text": item.text}
    if isinstance(item, Thinking):
        return {"type": "thinking", "thinking": item.text, "signature": ""}
    if isinstance(item, ToolCall):
        return {"type": "tool_use", "id": item.id, "name": item.name, "input": item.args}
    return item


def result_block(call_id: str, content: Content, *, is_error: bool) -> Mapping[str, object]:
    """Return the block in which a user record answers a call."""
    body = content if isinstance(content, str) else blocks_of(content)
    return {"type": "tool_result", "tool_use_id": call_id, "content": body, "is_error": is_error}


def user_line(
    content: Content,
    *,
    uuid: str,
    parent: str | None,
    session: str,
    cwd: str,
    at: datetime,
    branch: str = "",
    version: str = VERSION,
) -> bytes:
    """Return a user record."""
    body = content if isinstance(content, str) else blocks_of(content)
    record: dict[str, object] = {
        **_envelope(parent, session, cwd, branch, version),
        "type": "user",
        "message": {"role": "user", "content": body},
        "uuid": uuid,
        "timestamp": millisecond_time(at),
    }
    return _line(record)


def assistant_line(
    content: Content,
    *,
    uuid: str,
    parent: str | None,
    session: str,
    cwd: str,
    at: datetime,
    message_id: str,
    model: str = MODEL,
    branch: str = "",
    version: str = VERSION,
) -> bytes:
    """Return an assistant record; text becomes one text block, since the client wants a list here."""
    blocks = blocks_of(content)
    calls = any(block.get("type") == "tool_use" for block in blocks)
    message: dict[str, object] = {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
    record: dict[str, object] = {
        **_envelope(parent, session, cwd, branch, version),
        "message": message,
        "type": "assistant",
        "uuid": uuid,
        "timestamp": millisecond_time(at),
    }
    return _line(record)


def title_line(title: str, *, session: str) -> bytes:
    """Return the record by which the client remembers a title that a person gave."""
    return _line({"type": "custom-title", "customTitle": title, "sessionId": session})


def prompt_line(prompt: str, *, leaf: str, session: str) -> bytes:
    """Return the record by which client 2.1 remembers which record it goes on from."""
    return _line({"type": "last-prompt", "lastPrompt": prompt, "leafUuid": leaf, "sessionId": session})


def compaction_lines(
    summary: str,
    *,
    boundary: str,
    uuid: str,
    logical_parent: str | None,
    session: str,
    cwd: str,
    at: datetime,
    trigger: str,
    tokens: int,
    kept: Sequence[str] = (),
    branch: str = "",
    version: str = VERSION,
    remarks: Mapping[str, object] = MappingProxyType({}),
) -> tuple[bytes, bytes]:
    """Return the boundary and the summary of a full compaction, in this order.

    ``kept`` are the uuids of all records, oldest first, that stay: they lie before the boundary, and the client moves
    them behind the summary. A summary without a boundary is ignored (client 2.1.330, clients.md 5.3).
    """
    metadata: dict[str, object] = {"trigger": trigger, "preTokens": tokens}
    if kept:
        metadata["preservedSegment"] = {"headUuid": kept[0], "anchorUuid": uuid, "tailUuid": kept[-1]}
        metadata["preservedMessages"] = {"anchorUuid": uuid, "uuids": list(kept), "allUuids": list(kept)}
    if remarks:
        metadata["slowwave"] = dict(remarks)
    first: dict[str, object] = {
        **_envelope(None, session, cwd, branch, version),
        "logicalParentUuid": logical_parent,
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "isMeta": False,
        "level": "info",
        "compactMetadata": metadata,
        "uuid": boundary,
        "timestamp": millisecond_time(at),
    }
    second: dict[str, object] = {
        **_envelope(boundary, session, cwd, branch, version),
        "type": "user",
        "message": {"role": "user", "content": _CONTINUED + summary},
        "isVisibleInTranscriptOnly": True,
        "isCompactSummary": True,
        "uuid": uuid,
        "timestamp": millisecond_time(at + TICK),
    }
    return _line(first), _line(second)


def _envelope(parent: str | None, session: str, cwd: str, branch: str, version: str) -> dict[str, object]:
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": cwd,
        "sessionId": session,
        "version": version,
        "gitBranch": branch,
    }


def _line(record: dict[str, object]) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
