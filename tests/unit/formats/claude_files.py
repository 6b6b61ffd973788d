"""Builds small Claude Code files line by line, so that a test shows exactly the records it is about."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from slowwave.formats import SessionFiles
from slowwave.formats.claude.dialect import CLAUDE, ClaudeTranscript
from slowwave.formats.messages import normal_form

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@dataclass
class Session:
    """A file in the making; each method adds one record under ``parent`` (the last one by default)."""

    version: str = "2.1.330"
    lines: list[str] = field(default_factory=list[str])
    last: str | None = None
    sidechain: bool = False

    def add(self, kind: str, parent: str | None = "", **fields: Any) -> str:
        number = len(self.lines) + 1
        record = {
            "parentUuid": self.last if parent == "" else parent,
            "isSidechain": self.sidechain,
            "cwd": "/work",
            "sessionId": "s1",
            "version": self.version,
            "gitBranch": "main",
            "type": kind,
            "uuid": f"u{number}",
            "timestamp": (START + timedelta(seconds=60 * number)).isoformat().replace("+00:00", ".000Z"),
        }
        self.lines.append(json.dumps(record | fields, ensure_ascii=False))
        self.last = str((record | fields)["uuid"])
        return self.last

    def bare(self, kind: str, **fields: Any) -> None:
        """Add a record that is no part of the tree."""
        self.lines.append(json.dumps({"type": kind, "sessionId": "s1"} | fields))

    def user(self, content: Any, parent: str | None = "", **fields: Any) -> str:
        return self.add("user", parent, message={"role": "user", "content": content}, **fields)

    def says(self, message_id: str, *blocks: dict[str, Any] | str, parent: str | None = "", **fields: Any) -> str:
        content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
        return self.add(
            "assistant", parent, message={"id": message_id, "role": "assistant", "content": content}, **fields
        )

    def result(self, call: str, text: Any, parent: str | None = "", *, error: bool = False, **fields: Any) -> str:
        block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": error}
        return self.user([block], parent, **fields)

    def boundary(self, parent: str | None = None, **metadata: Any) -> str:
        return self.add(
            "system", parent, subtype="compact_boundary", logicalParentUuid=self.last, compactMetadata=metadata
        )

    def summary(self, text: str) -> str:
        return self.user(text, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def read(self, folder: Path, name: str = "s1.jsonl") -> ClaudeTranscript:
        path = folder / name
        path.write_text("\n".join(self.lines) + "\n", encoding="utf-8")
        return CLAUDE.read(SessionFiles("s1", (path,)))

    def context(self, folder: Path) -> list[dict[str, object]]:
        return normal_form(CLAUDE.context(self.read(folder)))


def call(call_id: str, name: str = "Bash") -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"command": call_id}}


def shape(context: list[dict[str, object]]) -> list[str]:
    """Say each message in a few characters: role, calls, results, text."""
    found: list[str] = []
    for m in context:
        calls: Any = m.get("calls", [])
        results: Any = m.get("results", [])
        parts = [str(m["role"])[0].upper(), *(f"+{c['id']}" for c in calls), *(f"={r['id']}" for r in results)]
        found.append("".join(parts) + (f" {m['text']}" if "text" in m else ""))
    return found
