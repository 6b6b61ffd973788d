"""Builds small sessions of pi entry by entry, so that a test shows exactly the entries it is about."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slowwave.formats import SessionFiles
from slowwave.formats.messages import normal_form
from slowwave.formats.pi.dialect import PI, PiTranscript

HEADER = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-03-15T10:00:00.000Z", "cwd": "/work"}
MODEL = {"provider": "fake", "model": "fake-1", "api": "openai-completions"}


@dataclass
class Session:
    """A file in the making; each method adds one entry under ``parent`` (the last one by default)."""

    header: dict[str, Any] | None = field(default_factory=lambda: dict(HEADER))
    lines: list[bytes] = field(default_factory=list[bytes])
    last: str | None = None

    def add(self, kind: str, *, parent: str | None = "", **fields: Any) -> str:
        number = len(self.lines) + 1
        entry = {
            "type": kind,
            "id": f"e{number}",
            "parentId": self.last if parent == "" else parent,
            "timestamp": f"2026-03-15T10:{number // 60:02d}:{number % 60:02d}.000Z",
        } | fields
        self.lines.append(json.dumps(entry, ensure_ascii=False).encode())
        self.last = entry["id"]
        return str(self.last)

    def user(self, content: object, **fields: Any) -> str:
        return self.add("message", message={"role": "user", "content": content, "timestamp": 1}, **fields)

    def model(self, *parts: object, parent: str | None = "", **message: Any) -> str:
        content = [{"type": "text", "text": p} if isinstance(p, str) else p for p in parts]
        body = {"role": "assistant", "content": content, "stopReason": "stop", "timestamp": 2} | MODEL | message
        return self.add("message", parent=parent, message=body)

    def result(self, call_id: str, *parts: object, **fields: Any) -> str:
        content = [{"type": "text", "text": p} if isinstance(p, str) else p for p in parts]
        message = {"role": "toolResult", "toolCallId": call_id, "content": content, "isError": False}
        return self.add("message", message=message, **fields)

    def compact(self, first: str | None, summary: str = "so far", **fields: Any) -> str:
        return self.add("compaction", summary=summary, firstKeptEntryId=first, tokensBefore=9, **fields)

    def data(self) -> bytes:
        head = [] if self.header is None else [json.dumps(self.header).encode()]
        return b"".join(line + b"\n" for line in head + self.lines)

    def read(self, folder: Path) -> PiTranscript:
        return read(folder, self.data())

    def context(self, folder: Path) -> list[dict[str, Any]]:
        return normal_form(PI.context(self.read(folder)))

    def shape(self, folder: Path) -> list[str]:
        """Return each message of the context as ``user: text``; results as ``tool: text``, calls by name."""
        return [f"{m['role']}: {told(m)}" for m in self.context(folder)]


def told(message: dict[str, Any]) -> str:
    """Return what a message of the normal form says; a summary as ``[summary]``."""
    said = [message["text"]] if "text" in message else []
    said += [f"{c['name']}({c['id']})" for c in message.get("calls", [])]
    said += [f"{r['id']}={r['text']}" for r in message.get("results", [])]
    text = " | ".join(said)
    start, mark, rest = text.partition("<summary>\n")
    return f"[{rest.removesuffix('</summary>').strip()}]" if mark and start else text


def call(call_id: str, name: str = "read", **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def image() -> dict[str, str]:
    return {"type": "image", "data": "AA==", "mimeType": "image/png"}


def read(folder: Path, data: bytes) -> PiTranscript:
    path = folder / "session.jsonl"
    path.write_bytes(data)
    return PI.read(SessionFiles("s1", (path,)))
