"""A session of opencode as the file that ``opencode import`` takes, with more messages at its end.

Its database is written by opencode alone. Its own import adds the messages of a file that the session does not have yet
and leaves the others (tried with 1.18.33, which then went on from all of them), so a session is continued through it.
"""

import json
import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from slowwave.context import Clock
from slowwave.errors import NotFoundError, UnreadableError
from slowwave.formats.database import opened_read_only, text_of
from slowwave.formats.opencode.records import object_in
from slowwave.formats.salvage import whole

_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM_LETTERS = 14
_TIME_BITS = 48
_COUNTER_BITS = 12
# how far an id's time is counted on where messages of one millisecond follow each other
_STEP_MS = 1
_DIRECT = ("id", "slug", "directory", "path", "title", "version", "agent", "cost")
_RENAMED = {"project_id": "projectID", "parent_id": "parentID", "workspace_id": "workspaceID"}
_JSON = ("model", "permission", "metadata")


class Said(NamedTuple):
    """A message that is added."""

    role: Literal["user", "assistant"]
    text: str


def exported(database: Path, session: str, more: Sequence[Said], clock: Clock) -> dict[str, Any]:
    """Return a session in the form of ``opencode export``, with messages added behind its last one.

    Raises:
        NotFoundError: the database has no such session, or nobody has asked anything in it yet.
        UnreadableError: it cannot be read.
    """
    try:
        with opened_read_only(database) as rows:
            info = _row(rows, "session", "id", session)
            messages = [_message(rows, row) for row in _rows(rows, "message", "session_id", session)]
    except (sqlite3.Error, OSError) as error:
        raise UnreadableError(database, f"no readable opencode database: {error}") from error
    if info is None:
        raise NotFoundError(f"{database} holds no session {session!r}")
    messages.sort(key=lambda message: (message["info"].get("time", {}).get("created", 0), message["info"]["id"]))
    asked = next((m["info"] for m in reversed(messages) if m["info"].get("role") == "user"), None)
    answered = next((m["info"] for m in reversed(messages) if m["info"].get("role") == "assistant"), None)
    if more and asked is None:
        raise NotFoundError(f"session {session}: nobody has asked anything in it yet; begin it in opencode")
    known = [m["info"].get("time", {}).get("created", 0) + _STEP_MS for m in messages]
    at = max(int(clock.now().timestamp() * 1000), *known, 0)
    for number, said in enumerate(more):
        added = _added(said, session, at + number * _STEP_MS, asked or {}, answered or {})
        asked = added["info"] if said.role == "user" else asked
        messages.append(added)
    return {"info": _info(info), "messages": messages}


def _rows(rows: sqlite3.Connection, table: str, column: str, value: str) -> list[dict[str, Any]]:
    cursor = rows.execute(f"SELECT * FROM {table} WHERE {column} = ? ORDER BY id", (value,))  # noqa: S608 - names of ours
    names = [described[0] for described in cursor.description]
    return [{n: text_of(v) if isinstance(v, bytes) else v for n, v in zip(names, row, strict=True)} for row in cursor]


def _row(rows: sqlite3.Connection, table: str, column: str, value: str) -> dict[str, Any] | None:
    found = _rows(rows, table, column, value)
    return found[0] if found else None


def _message(rows: sqlite3.Connection, row: Mapping[str, Any]) -> dict[str, Any]:
    own = {"id": row["id"], "sessionID": row["session_id"]}
    parts = [
        _data(part) | {"id": part["id"], "sessionID": row["session_id"], "messageID": row["id"]}
        for part in _rows(rows, "part", "message_id", row["id"])
    ]
    return {"info": _data(row) | own, "parts": parts}


def _data(row: Mapping[str, Any]) -> dict[str, Any]:
    return whole(str(row["data"]).encode("utf-8", "replace"))


def _info(row: Mapping[str, Any]) -> dict[str, Any]:
    info: dict[str, Any] = {name: row[name] for name in _DIRECT if row.get(name) is not None}
    info |= {new: row[old] for old, new in _RENAMED.items() if row.get(old) is not None}
    info |= {name: json.loads(row[name]) for name in _JSON if row.get(name) is not None}
    if row.get("summary_additions") is not None:
        info["summary"] = {name: row.get(f"summary_{name}") or 0 for name in ("additions", "deletions", "files")}
    times = {name: row.get(f"time_{name}") for name in ("created", "updated", "compacting", "archived")}
    return info | {"time": {name: value for name, value in times.items() if value is not None}}


def _added(said: Said, session: str, at: int, asked: Mapping[str, Any], answered: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message with one part; what it needs besides its words is that of the last message of its role."""
    own = _id("msg", at)
    info: dict[str, Any] = {"role": said.role, "id": own, "sessionID": session}
    if said.role == "user":
        info |= {name: asked[name] for name in ("agent", "model") if name in asked} | {"time": {"created": at}}
    else:
        model = object_in(dict(asked), "model")
        named = {"modelID": model.get("modelID", ""), "providerID": model.get("providerID", "")}
        kept = {name: answered[name] for name in ("mode", "agent", "path") if name in answered}
        nothing = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        info |= {"mode": asked.get("agent", "build"), "path": {"cwd": "/", "root": "/"}} | kept | named
        info |= {"parentID": asked["id"], "cost": 0, "tokens": nothing, "finish": "stop"}
        info |= {"time": {"created": at, "completed": at}}
    part = {"type": "text", "text": said.text, "id": _id("prt", at), "sessionID": session, "messageID": own}
    return {"info": info, "parts": [part]}


def _id(kind: str, at: int) -> str:
    """Return an id that sorts by time, as the client makes them: 48 bits of milliseconds and a count, then chance."""
    stamp = (at << _COUNTER_BITS | 1) & ((1 << _TIME_BITS) - 1)
    return f"{kind}_{stamp:012x}" + "".join(secrets.choice(_LETTERS) for _ in range(_RANDOM_LETTERS))
