"""Builders of Codex rollouts for tests: lines as the client writes them, and a session read from a folder of a test."""

import json
from pathlib import Path
from typing import Any

import zstandard

from slowwave.formats import SessionFiles
from slowwave.formats.codex.dialect import CODEX, CodexTranscript
from slowwave.formats.messages import normal_form

THREAD = "01a1ffe2-70a4-7cb3-ab90-7e7c940d626d"
STAMP = "2026-11-21T20:53:12.000Z"
ENVIRONMENT = "<environment_context>\n  <cwd>/w</cwd>\n</environment_context>"
AGENTS = "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nbe nice\n</INSTRUCTIONS>"

Line = dict[str, Any]


def line(kind: str, payload: dict[str, Any], **beside: Any) -> Line:
    return {"timestamp": STAMP, "type": kind, "payload": payload, **beside}


def meta(thread: str = THREAD, **fields: Any) -> Line:
    """Return a header; one that refers to another rollout is of a version that reads from the end, as all those are."""
    if "history_base" in fields:
        fields = {"history_mode": "paginated", **fields}
    return line("session_meta", {"id": thread, "timestamp": STAMP, "cwd": "/w", "source": "cli", **fields})


def said(role: str, *texts: str) -> Line:
    kind = "output_text" if role == "assistant" else "input_text"
    return line("response_item", message(role, *texts, kind=kind))


def message(role: str, *texts: str, kind: str = "input_text") -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text} for text in texts]}


def item(kind: str, **fields: Any) -> Line:
    return line("response_item", {"type": kind, **fields})


def call(identity: str = "c1", command: str = "ls") -> Line:
    return item("function_call", name="exec_command", arguments=json.dumps({"cmd": command}), call_id=identity)


def output(identity: str = "c1", text: Any = "a.txt\n") -> Line:
    return item("function_call_output", call_id=identity, output=text)


def event(kind: str, **fields: Any) -> Line:
    return line("event_msg", {"type": kind, **fields})


def compacted(text: str, *kept: dict[str, Any]) -> Line:
    payload: dict[str, Any] = {"message": text}
    return line("compacted", payload | ({"replacement_history": list(kept)} if kept else {}))


def turn(asked: str, answered: str) -> list[Line]:
    return [event("task_started", turn_id=asked), said("user", asked), said("assistant", answered)]


def rollout(folder: Path, *lines: Line | bytes, thread: str = THREAD, name: str = "") -> Path:
    path = folder / (name or f"rollout-2026-11-21T20-53-12-{thread}.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in lines]
    path.write_bytes(b"".join(row + b"\n" for row in rows))
    return path


def compressed(path: Path) -> Path:
    """Write the compressed form of a rollout beside it, as the client does with cold ones."""
    packed = path.with_name(path.name + ".zst")
    packed.write_bytes(zstandard.ZstdCompressor(3).compress(path.read_bytes()))
    return packed


def read(path: Path) -> CodexTranscript:
    return CODEX.read(SessionFiles(path.stem, (path,)))


def context(path: Path) -> list[dict[str, object]]:
    return normal_form(CODEX.context(read(path)))


def spoken(path: Path) -> list[str]:
    """Return the context in one short string a message: its role's first letter and its text."""
    return [f"{m['role'][0]}:{m.get('text', '')}" for m in context(path)]  # pyright: ignore[reportIndexIssue]
