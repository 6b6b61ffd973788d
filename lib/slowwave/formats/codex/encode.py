"""Lines as Codex writes them, for appending: one JSON object with its newline, nothing decided here.

::

    item_line(item, *, form, ordinal, at) -> bytes
    turn_lines(turn, *, ordinals, at) -> tuple[bytes, bytes]
    compacted_line(summary, history, *, window, ordinal, at) -> bytes
    message_items(role, content, *, uuid) -> items; output_item(call_id, text, *, uuid) -> item
    name_line(thread, name, *, at) -> bytes

``form`` is that of the rollout: ``bare`` items stand alone, all later ones in an envelope, which has an ``ordinal`` in
paginated rollouts (a line without one stops the client from resuming, clients.md 5.3).
Source: rollouts of clients 0.2x to 0.169.0.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

import orjson

from slowwave.formats.codex.messages import SUMMARY_PREFIX
from slowwave.formats.model import Text, Thinking, ToolCall
from slowwave.formats.times import millisecond_time

Content = str | Sequence[Mapping[str, object] | Text | Thinking | ToolCall]
Form = Literal["bare", "wrapped", "paginated"]


def message_items(role: str, content: Content, *, uuid: str) -> list[Mapping[str, object]]:
    """Return what somebody says as items: texts that follow each other as one message, calls and thoughts each alone.

    Mappings are items of the Responses API and stay as they are.
    """
    found: list[Mapping[str, object]] = []
    texts: list[str] = []
    for block in [*([Text(content)] if isinstance(content, str) else content), None]:
        if isinstance(block, Text):
            texts.append(block.text)
            continue
        if texts:
            found.append(_message(role, texts, _own(uuid, len(found))))
            texts = []
        if block is not None:
            found.append(_item(block, _own(uuid, len(found))))
    return found


def _own(uuid: str, number: int) -> str:
    return f"{uuid}-{number}" if number else uuid


def _item(block: Mapping[str, object] | Thinking | ToolCall, uuid: str) -> Mapping[str, object]:
    if isinstance(block, Thinking):
        parts = [{"type": "summary_text", "text": block.text}]
        return {"type": "reasoning", "id": f"rs_{uuid}", "summary": parts, "content": None}
    return _call(block, uuid) if isinstance(block, ToolCall) else block


def output_item(call_id: str, text: str, *, uuid: str) -> Mapping[str, object]:
    """Return the output of a call."""
    return {"type": "function_call_output", "id": f"fco_{uuid}", "call_id": call_id, "output": text}


def summary_item(summary: str, *, uuid: str) -> Mapping[str, object]:
    """Return the summary of a compaction as the user message by which the client knows it."""
    return _message("user", [summary_text(summary)], uuid)


def summary_text(summary: str) -> str:
    """Return a summary behind the introduction that the client gives it."""
    return f"{SUMMARY_PREFIX}\n{summary}"


def item_line(item: Mapping[str, object], *, form: Form, ordinal: int | None, at: datetime) -> bytes:
    """Return the line of one item."""
    return _line(item) if form == "bare" else _wrapped("response_item", item, ordinal, at)


def compacted_line(
    summary: str | None,
    history: Sequence[Mapping[str, object]],
    *,
    window: Mapping[str, object],
    ordinal: int | None,
    at: datetime,
) -> bytes:
    """Return a compaction whose ``history`` replaces everything before it; ``window`` numbers the context windows.

    Without a summary nothing is summarised: its message is empty, as in compactions that the server makes.
    """
    told = "" if summary is None else summary_text(summary)
    payload = {"message": told, "replacement_history": list(history), **window}
    return _wrapped("compacted", payload, ordinal, at)


def turn_lines(turn: str, *, ordinals: tuple[int | None, int | None], at: datetime) -> tuple[bytes, bytes]:
    """Return the marks of where a turn starts and where it is complete; a rollback counts turns by them."""
    start = {"type": "task_started", "turn_id": turn, "model_context_window": None}
    end = {"type": "task_complete", "turn_id": turn, "last_agent_message": None}
    return _wrapped("event_msg", start, ordinals[0], at), _wrapped("event_msg", end, ordinals[1], at)


def header_line(meta: Mapping[str, object], *, ordinal: int, at: datetime) -> bytes:
    """Return the header of a rollout."""
    return _wrapped("session_meta", meta, ordinal, at)


def name_line(thread: str, name: str, *, at: datetime) -> bytes:
    """Return the line of the index that gives a thread its name; the last one counts."""
    return _line({"id": thread, "thread_name": name, "updated_at": millisecond_time(at)})


def _message(role: str, texts: Sequence[str], uuid: str) -> Mapping[str, object]:
    kind = "output_text" if role == "assistant" else "input_text"
    parts = [{"type": kind, "text": text} for text in texts]
    return {"type": "message", "id": f"msg_{uuid}", "role": role, "content": parts}


def _call(call: ToolCall, uuid: str) -> Mapping[str, object]:
    arguments = call.args if isinstance(call.args, str) else orjson.dumps(call.args).decode()
    head = {"type": "function_call", "id": f"fc_{uuid}", "name": call.name}
    return {**head, "arguments": arguments, "call_id": call.id}


def _wrapped(kind: str, payload: Mapping[str, object], ordinal: int | None, at: datetime) -> bytes:
    head: dict[str, object] = {"timestamp": millisecond_time(at)}
    if ordinal is not None:
        head["ordinal"] = ordinal
    return _line({**head, "type": kind, "payload": payload})


def _line(record: Mapping[str, object]) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
