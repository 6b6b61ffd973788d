"""Lines as pi writes them, for appending: one JSON object with its newline, nothing decided here.

::

    header_line(session, *, cwd, at, parent_session=None) -> bytes
    message_line(message, *, place) -> bytes
    user_message, assistant_message, result_message -> the messages themselves
    custom_line(kind, *, place) -> bytes
    compaction_line(summary, *, place, first_kept, tokens_before, read_files, modified_files, remarks) -> bytes
    branch_summary_line(summary, *, place, branch_from) -> bytes
    label_line(target, label, *, place) -> bytes
    name_line(name, *, place) -> bytes

Every line but the header has a :class:`Place` in the tree: its own id, the id of the leaf that it follows, the time.
An appended line becomes the leaf, whatever it is, so a wrong parent would change the branch.
Names and order of the fields are those of ``session-manager.ts`` of pi 0.73.1.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

import orjson

from slowwave.formats.model import Text, Thinking, ToolCall
from slowwave.formats.times import millisecond_time

Content = str | Sequence[Mapping[str, object] | Text | Thinking | ToolCall]
VERSION = 3
_TRIES = 100


class Place(NamedTuple):
    """Where a line stands in the tree, and when it was written."""

    id: str
    parent: str | None
    at: datetime


def fresh_id(taken: Container[str], make: Callable[[], UUID]) -> str:
    """Return an id that no entry has: eight hexadecimal digits, a whole UUID when those keep colliding."""
    for _ in range(_TRIES):
        short = str(make())[:8]
        if short not in taken:
            return short
    return str(make())


def header_line(session: str, *, cwd: str, at: datetime, parent_session: str | None = None) -> bytes:
    """Return the first line of a session; a fork names the file that it came from."""
    record: dict[str, object] = {
        "type": "session",
        "version": VERSION,
        "id": session,
        "timestamp": millisecond_time(at),
        "cwd": cwd,
    }
    return _line(record | ({} if parent_session is None else {"parentSession": parent_session}))


def user_message(content: Content, *, at: datetime) -> dict[str, object]:
    """Return what a user says."""
    return {"role": "user", "content": _blocks(content), "timestamp": _milliseconds(at)}


def assistant_message(content: Content, *, at: datetime, api: str, provider: str, model: str) -> dict[str, object]:
    """Return what the assistant says; the last answer of a session names the model that pi goes on with."""
    blocks = _blocks(content)
    counts: dict[str, object] = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), 0)
    cost = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
    return {
        "role": "assistant",
        "content": blocks,
        "api": api,
        "provider": provider,
        "model": model,
        "usage": counts | {"cost": cost},
        "stopReason": "toolUse" if any(block.get("type") == "toolCall" for block in blocks) else "stop",
        "timestamp": _milliseconds(at),
    }


def result_message(content: Content, *, at: datetime, call_id: str, tool: str, is_error: bool) -> dict[str, object]:
    """Return the answer of a tool."""
    answer = {"role": "toolResult", "toolCallId": call_id, "toolName": tool, "content": _blocks(content)}
    return {**answer, "isError": is_error, "timestamp": _milliseconds(at)}


def _blocks(content: Content) -> list[Mapping[str, object]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [_block(item) for item in content]


def _block(item: Mapping[str, object] | Text | Thinking | ToolCall) -> Mapping[str, object]:
    if isinstance(item, Text):
        return {"type": "text", "text": item.text}
    if isinstance(item, Thinking):
        return {"type": "thinking", "thinking": item.text}
    if isinstance(item, ToolCall):
        return {"type": "toolCall", "id": item.id, "name": item.name, "arguments": item.args}
    return item


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def message_line(message: Mapping[str, object], *, place: Place) -> bytes:
    """Return an entry with a message in pi's own form (``role``, ``content``, ``timestamp`` in milliseconds)."""
    return _entry("message", place, {"message": dict(message)})


def compaction_line(
    summary: str,
    *,
    place: Place,
    first_kept: str,
    tokens_before: int,
    read_files: Iterable[str] = (),
    modified_files: Iterable[str] = (),
    remarks: Mapping[str, object] = MappingProxyType({}),
) -> bytes:
    """Return a compaction; ``tokens_before`` counts the whole context, a modified file is not a read one."""
    modified = set(modified_files)
    details: dict[str, object] = {"readFiles": sorted(set(read_files) - modified), "modifiedFiles": sorted(modified)}
    if remarks:
        details["slowwave"] = dict(remarks)
    fields: dict[str, object] = {"summary": summary, "firstKeptEntryId": first_kept, "tokensBefore": tokens_before}
    return _entry("compaction", place, fields | {"details": details, "fromHook": False})


def branch_summary_line(summary: str, *, place: Place, branch_from: str | None) -> bytes:
    """Return the summary of a branch that was left for the entry ``branch_from``, which it follows."""
    return _entry("branch_summary", place, {"fromId": branch_from or "root", "summary": summary})


def label_line(target: str, label: str | None, *, place: Place) -> bytes:
    """Return the label of an entry; None clears it."""
    return _entry("label", place, {"targetId": target} | ({"label": label} if label else {}))


def name_line(name: str, *, place: Place) -> bytes:
    """Return the name of the session; an empty one clears it."""
    return _entry("session_info", place, {"name": name.strip()})


def custom_line(kind: str, *, place: Place) -> bytes:
    """Return an entry of an extension, which is never sent to a model."""
    return _entry("custom", place, {"customType": kind})


def _entry(kind: str, place: Place, fields: Mapping[str, object]) -> bytes:
    head = {"type": kind, "id": place.id, "parentId": place.parent, "timestamp": millisecond_time(place.at)}
    return _line({**head, **fields})


def _line(record: Mapping[str, object]) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
