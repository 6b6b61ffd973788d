"""A builder of Claude Code sessions: what is said and done, one record after the other, written as the client does."""

import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from slowwave.context import FixedClock
from slowwave.formats import SessionFiles, SessionKind
from slowwave.formats.sessions import StoredSession
from slowwave.settings import ExtractionSettings, Settings
from slowwave.stores.projects import Project

START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
NOW = datetime(2026, 11, 3, 3, 30, tzinfo=UTC)
CWD = "/home/ada/code/shop"
# rules in words so clear that extraction takes each as a candidate that a dream accepts, wherever it is typed
RULES = (
    "our backend is a monolith in Rust and talks to the staging database only",
    "we use snake_case for the names of all tables and columns",
    "we keep feature flags in a table of their own, never in a file",
)
REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, "
    "the new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
)


@dataclass
class Talk:
    """A session in the making."""

    id: str = "5d0c6a1e-0000-4000-8000-000000000001"
    records: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def _add(self, kind: str, message: dict[str, Any], **more: Any) -> None:
        number = len(self.records)
        self.records.append(
            {
                "type": kind,
                "uuid": f"{self.id[:8]}-{number:04d}",
                "parentUuid": self.records[-1]["uuid"] if self.records else None,
                "sessionId": self.id,
                "timestamp": (START + timedelta(minutes=number)).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
                "cwd": CWD,
                "gitBranch": "main",
                "isSidechain": False,
                "userType": "external",
                "version": "2.1.0",
                "message": message,
                **more,
            }
        )

    def person(self, text: str, **more: Any) -> "Talk":
        self._add("user", {"role": "user", "content": text}, **more)
        return self

    def assistant(self, text: str) -> "Talk":
        block = {"type": "text", "text": text}
        self._add("assistant", {"role": "assistant", "id": f"msg_{len(self.records)}", "content": [block]})
        return self

    def tool(self, name: str, args: dict[str, Any], result: Any, *, error: bool = False, **more: Any) -> "Talk":
        call = {"type": "tool_use", "id": f"toolu_{len(self.records)}", "name": name, "input": args}
        self._add("assistant", {"role": "assistant", "id": f"msg_{len(self.records)}", "content": [call]})
        answer = {"type": "tool_result", "tool_use_id": call["id"], "content": result, "is_error": error}
        outcome: dict[str, Any] = {"toolUseResult": f"Error: {result}" if error else {"type": "text"}}
        self._add("user", {"role": "user", "content": [answer]}, **(outcome | more))
        return self

    def bash(self, command: str, output: str = "ok", code: int = 0) -> "Talk":
        text = f"Exit code {code}\n{output}" if code else output
        return self.tool("Bash", {"command": command}, text, error=bool(code))

    def refused(self, reason: str) -> "Talk":
        return self.tool("Edit", {"file_path": f"{CWD}/a.py"}, REFUSED + reason, error=True)

    def chatter(self, messages: int = 20) -> "Talk":
        """Add talk that holds nothing, so that the gate on length opens."""
        for number in range(messages // 2):
            self.person(f"have a look at part {number}").assistant(f"I looked at part {number}.")
        return self

    def data(self) -> bytes:
        return b"".join(json.dumps(record).encode() + b"\n" for record in self.records)

    def write(self, folder: Path, *, kind: SessionKind = "main", at: datetime = START) -> StoredSession:
        """Write the session into a project folder; it came to rest at ``at``."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.id}.jsonl"
        path.write_bytes(self.data())
        return stored(path, kind=kind, at=at)


def stored(path: Path, *, dialect: str = "claude", kind: SessionKind = "main", at: datetime = START) -> StoredSession:
    """Return the session of a file, at rest since ``at``."""
    os.utime(path, (at.timestamp(), at.timestamp()))
    status = path.stat()
    files = SessionFiles(path.stem, (path,))
    return StoredSession(dialect, files, kind, path.parent, status.st_size, status.st_mtime_ns)


def project(folder: Path, *sessions: StoredSession) -> Project:
    """Return the project of a folder."""
    return Project("shop", CWD, (folder,), folder / "memory", sessions)


def open_gates() -> Settings:
    """Return settings under which the shortest session is read."""
    return Settings(extraction=ExtractionSettings(min_messages=1, min_tool_calls=0))


def clock() -> FixedClock:
    """Return a clock at the night after the sessions."""
    return FixedClock(NOW)
