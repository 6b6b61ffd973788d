"""Lines as Claude Code writes them, for appending: one JSON object with its newline, nothing decided here.

::

    user_line(content, *, uuid, parent, session, cwd, at, branch="", version=VERSION) -> bytes
    assistant_line(content, *, uuid, parent, session, cwd, at, message_id, model=MODEL, branch="", version=VERSION)
        -> bytes
    title_line(title, *, session) -> bytes

``content`` is text or a list of blocks of the Anthropic API; ``parent`` is the uuid of the record before, or None for
the first. Names and order of the fields are those of real files of version 2.0 and later, without what only the
client itself can know.
"""

from collections.abc import Sequence
from datetime import datetime

import orjson

from slowwave.dialects.times import millisecond_time

VERSION = "2.1.330"
# The client's own name for messages that no model made.
MODEL = "<synthetic>"


def user_line(
    content: str | Sequence[dict[str, object]],
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
    body = content if isinstance(content, str) else list(content)
    record: dict[str, object] = {
        **_envelope(parent, session, cwd, branch, version),
        "type": "user",
        "message": {"role": "user", "content": body},
        "uuid": uuid,
        "timestamp": millisecond_time(at),
    }
    return _line(record)


def assistant_line(
    content: str | Sequence[dict[str, object]],
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
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
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
