"""Builders of small stores: lines as Claude Code and Cersei write them, and files of such lines."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from slowwave.settings import Settings, StoreSettings

Line = dict[str, Any] | bytes


def claude(role: str, text: str, number: int = 0, **fields: Any) -> dict[str, Any]:
    """Return one message line of Claude Code."""
    message: dict[str, Any] = {"role": role, "content": text}
    if role == "assistant":
        message = {"id": f"msg_{number}", "role": role, "content": [{"type": "text", "text": text}]}
    line = {
        "parentUuid": f"u{number - 1}" if number else None,
        "isSidechain": False,
        "cwd": "/home/ann/shop",
        "sessionId": "s",
        "version": "2.1.330",
        "gitBranch": "",
        "type": role,
        "message": message,
        "uuid": f"u{number}",
        "timestamp": f"2026-11-20T10:00:{number:02d}.000Z",
    }
    return line | fields


def cersei(role: str, text: str, number: int = 0, **fields: Any) -> dict[str, Any]:
    """Return one message entry of Cersei."""
    line = {
        "type": role,
        "uuid": f"u{number}",
        "timestamp": f"2026-11-20T10:00:{number:02d}.000000000+00:00",
        "session_id": "s",
        "cwd": "/home/ann/shop",
        "message": {"role": role, "content": text},
        "is_sidechain": False,
    }
    return line | fields


def tombstone(uuid: str) -> dict[str, Any]:
    """Return an entry of Cersei that hides another one."""
    return {"type": "tombstone", "deleted_uuid": uuid, "timestamp": "2026-11-20T11:00:00Z"}


def as_bytes(lines: Iterable[Line]) -> bytes:
    """Return lines as they stand in a file."""
    return b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)


def write(path: Path, *lines: Line) -> Path:
    """Write a transcript and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(as_bytes(lines))
    return path


def add(path: Path, *lines: Line) -> None:
    """Append lines as a client would."""
    with path.open("ab") as file:
        file.write(as_bytes(lines))


def settings_for(*roots: Path, **store: Any) -> Settings:
    """Return settings whose stores are ``roots``."""
    return Settings(store=StoreSettings(roots=roots, **store))
