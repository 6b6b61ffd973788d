"""Lines as crabtalk writes them (RFC 0064), for appending: one JSON object with its newline, nothing decided here.

::

    meta_line(agent, sender, *, at, title="", uptime=0) -> bytes
    message_line(role, content="", *, reasoning="", call_id="", calls=(), agent="") -> bytes
    line_of(message) -> bytes | None
    compact_line(summary, *, title=None, archived_at=None) -> bytes

Empty fields of a message are left out; who sent it and whether it was injected are never written. The fields of RFC
0135 (``agent`` of a message, ``title`` and ``archived_at`` of a marker) are there only when they are given.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

import orjson

from slowwave.dialects.model import Message, Thinking, ToolCall, ToolResult
from slowwave.dialects.times import offset_time


def time_of_creation(at: datetime) -> str:
    """Return a time as metadata have it."""
    return offset_time(at)


def meta_line(agent: str, sender: str, *, at: datetime, title: str = "", uptime: int = 0) -> bytes:
    """Return the first line; rewriting it later keeps the time of creation."""
    record = {"agent": agent, "created_by": sender, "created_at": time_of_creation(at)}
    return _line({**record, "title": title, "uptime_secs": uptime})


def message_line(
    role: str,
    content: str = "",
    *,
    reasoning: str = "",
    call_id: str = "",
    calls: Iterable[ToolCall] = (),
    agent: str = "",
) -> bytes:
    """Return a message; the arguments of calls become JSON in a string."""
    fields: dict[str, object] = {
        "content": content,
        "reasoning_content": reasoning,
        "tool_call_id": call_id,
        "tool_calls": [_call(call) for call in calls],
        "agent": agent,
    }
    return _line({"role": role} | {key: value for key, value in fields.items() if value})


def line_of(message: Message) -> bytes | None:
    """Return a message of any dialect as crabtalk would keep it (results one a line), or None where it would not.

    What a harness injected is put in anew before every run (``auto_injected``), a system's message is kept.
    """
    if message.origin == "injected" and message.role != "system":
        return None
    blocks = message.blocks
    lines = [message_line("tool", block.text, call_id=block.id) for block in blocks if isinstance(block, ToolResult)]
    reasoning = "\n".join(block.text for block in blocks if isinstance(block, Thinking))
    if message.text or reasoning or message.calls or not lines:
        role = "user" if message.role == "tool" else message.role
        lines.append(message_line(role, message.text, reasoning=reasoning, calls=message.calls))
    return b"".join(lines)


def compact_line(summary: str, *, title: str | None = None, archived_at: datetime | None = None) -> bytes:
    """Return the marker that hides everything before it."""
    record: dict[str, object] = {"compact": summary}
    if title is not None:
        record["title"] = title
    if archived_at is not None:
        record["archived_at"] = offset_time(archived_at)
    return _line(record)


def _call(call: ToolCall) -> dict[str, object]:
    arguments = call.args if isinstance(call.args, str) else orjson.dumps(call.args).decode()
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _line(record: Mapping[str, object]) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
