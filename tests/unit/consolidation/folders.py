"""Memory folders as clients leave them, with transcripts that prove who wrote what."""

import json
import os
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.unit.consolidation.dreams import House

WROTE = "2026-11-17T09:00:00.000Z"


@dataclass
class Folder(House):
    """A house in whose memory folder agents and people write."""

    written: int = 0

    def page(self, name: str, text: str) -> None:
        """Let anybody write a file; no transcript tells who."""
        self.memory.mkdir(parents=True, exist_ok=True)
        (self.memory / name).write_text(text)

    def client_page(self, name: str, kind: str, *lines: str, title: str = "") -> None:
        """Write a page in the form of Claude Code's own memory."""
        body = "".join(f"{line}\n" for line in lines)
        front = f"---\nname: {title or name}\ndescription: about {name}\ntype: {kind}\n---\n\n"
        self.page(name, front + body)

    def agent_writes(self, name: str, text: str, *, at: str = WROTE, edit: bool = False, error: bool = False) -> None:
        """Let an agent write a file, or add to it, and keep the transcript that proves it."""
        path = self.memory / name
        before = path.read_text() if path.exists() else ""
        args = {"old_string": "", "new_string": text} if edit else {"content": text}
        if not error:
            self.page(name, before + text if edit else text)
        self.call("Edit" if edit else "Write", {"file_path": str(path), **args}, "ok", at=at, error=error)

    def agent_reads(self, name: str, *, at: str) -> None:
        """Let an agent read a file as it is now."""
        shown = "\n".join(f"{n:6}\u2192{line}" for n, line in enumerate(self.read(name).split("\n"), 1))
        self.call("Read", {"file_path": str(self.memory / name)}, shown, at=at)

    def call(self, tool: str, args: dict[str, Any], result: str, *, at: str, error: bool = False) -> Path:
        """Keep a session with one call and its result."""
        self.written += 1
        name = f"{self.written:08x}-0000-4000-8000-00000000000a"
        place = {"sessionId": name, "timestamp": at, "cwd": "/p", "version": "2.1.0", "isSidechain": False}
        use = {"type": "tool_use", "id": "t1", "name": tool, "input": args}
        done = {"type": "tool_result", "tool_use_id": "t1", "content": result, "is_error": error}
        records: list[dict[str, Any]] = [
            {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": "go on"}},
            {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "message": {"role": "assistant", "content": [use]}},
            {"type": "user", "uuid": "u3", "parentUuid": "u2", "message": {"role": "user", "content": [done]}},
        ]
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(record | place) + "\n" for record in records))
        rested = (self.clock.now() - timedelta(hours=1)).timestamp()
        os.utime(path, (rested, rested))
        self.sessions.append(path)
        return path

    def everything(self) -> dict[str, bytes]:
        """Return the pages."""
        return {path.name: path.read_bytes() for path in sorted(self.memory.glob("*.md"))}
