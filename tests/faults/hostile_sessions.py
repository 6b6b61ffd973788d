"""Sessions of every dialect whose records link as the test says: by id, by parent, one prompt a record."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from slowwave.formats import Message, SessionFiles, Transcript
from slowwave.formats.registry import by_name
from slowwave.formats.sessions import part_name

Fields = dict[str, Any]
STAMP = "2026-11-20T10:00:00.000Z"
OPENCODE_TIME = 1795294733095


class Link(NamedTuple):
    """One record: its id, the id of its parent, and what it says."""

    id: str
    parent: str | None
    text: str


def claude(link: Link) -> Fields:
    message = {"role": "user", "content": link.text}
    beside = {"sessionId": "s", "cwd": "/w", "version": "2.1.330", "isSidechain": False, "timestamp": STAMP}
    return {"type": "user", "uuid": link.id, "parentUuid": link.parent, "message": message, **beside}


def cersei(link: Link) -> Fields:
    message = {"role": "user", "content": link.text}
    beside = {"session_id": "s", "cwd": "/w", "is_sidechain": False, "timestamp": STAMP}
    return {"type": "user", "uuid": link.id, "parent_uuid": link.parent, "message": message, **beside}


def bare(link: Link) -> Fields:
    return {"role": "user", "content": link.text, "id": link.id}


def pi(link: Link) -> Fields:
    message = {"role": "user", "content": link.text}
    return {"type": "message", "id": link.id, "parentId": link.parent, "timestamp": STAMP, "message": message}


def codex(link: Link) -> Fields:
    item = {"type": "message", "role": "user", "id": link.id, "content": [{"type": "input_text", "text": link.text}]}
    return {"timestamp": STAMP, "type": "response_item", "payload": item}


def crabtalk(link: Link) -> Fields:
    return {"role": "user", "content": link.text}


def ulid(link: Link) -> Fields:
    head = {"recordType": "message", "schemaVersion": 1, "seq": link.id, "timestamp": STAMP}
    return head | {"role": "user", "content": [{"type": "text", "text": link.text}]}


def opencode(link: Link) -> Fields:
    info = {"id": link.id, "role": "user", "parentID": link.parent, "time": {"created": OPENCODE_TIME}}
    return {"info": info, "parts": [{"id": f"p{link.id}", "type": "text", "text": link.text}]}


LINES: dict[str, Callable[[Link], Fields]] = {
    "claude": claude,
    "cersei": cersei,
    "cersei-bare": bare,
    "pi": pi,
    "openclaw": pi,
    "codex": codex,
    "crabtalk": crabtalk,
    "ulid": ulid,
    "opencode": opencode,
}
HEADERS: dict[str, Fields] = {
    "pi": {"type": "session", "version": 3, "id": "s", "timestamp": STAMP, "cwd": "/w"},
    "openclaw": {"type": "session", "version": 4, "id": "s", "timestamp": STAMP, "cwd": "/w"},
    "codex": {"timestamp": STAMP, "type": "session_meta", "payload": {"id": "s", "timestamp": STAMP, "cwd": "/w"}},
    "crabtalk": {"agent": "crab", "created_by": "user", "created_at": STAMP, "title": "", "uptime_secs": 0},
}
# Whose messages hang under each other by the parents that records name.
TREES = ("claude", "pi", "openclaw")
EXPORT = b'{"info":{"id":"ses_s","projectID":"p","time":{"created":1}},"messages":[\n%b\n]}\n'


def session(dialect: str, links: Iterable[Link], *, headers: int = 1) -> bytes:
    """Return the bytes of a session with these records behind its header, if its client writes one."""
    rows = [json.dumps(LINES[dialect](link)).encode() for link in links]
    if dialect == "opencode":
        return EXPORT % b",\n".join(rows)
    head = [json.dumps(HEADERS[dialect]).encode()] * headers if dialect in HEADERS else []
    return b"".join(row + b"\n" for row in (*head, *rows))


def write(dialect: str, folder: Path, data: bytes) -> Path:
    """Write a session under a name that its client would give it."""
    names = {"opencode": "export.json", "codex": "rollout-2026-11-20T10-00-00-s.jsonl"}
    path = folder / names.get(dialect, part_name("s", 1))
    path.write_bytes(data)
    return path


def read(dialect: str, path: Path) -> tuple[Transcript, list[Message]]:
    """Read a session and rebuild its context."""
    rules = by_name(dialect)
    transcript = rules.read(SessionFiles(path.stem, (path,)))
    return transcript, list(rules.context(transcript))
