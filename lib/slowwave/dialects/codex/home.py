"""Finding rollouts and names in a Codex home: the parents of forks by reference, and the index of thread names.

A home holds ``sessions/YYYY/MM/DD/rollout-<local time>-<thread id>.jsonl``, ``archived_sessions/`` (flat) and
``session_index.jsonl``. A rollout is known by its id alone; dates in names are local time and never parsed.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from slowwave.dialects.claude.records import whole

_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,127}")
_NAMED = re.compile(r"rollout-.*?([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\.jsonl(?:\.zst)?")
_BLOCK = 8192


def thread_in_name(path: Path) -> str:
    """Return the thread id that a rollout's file name ends with, or ""."""
    match = _NAMED.fullmatch(path.name)
    return match[1] if match else ""


def home_of(path: Path) -> Path | None:
    """Return the Codex home that a rollout lies in, or None for a file that lies elsewhere."""
    for parent in path.absolute().parents:
        if parent.name in ("sessions", "archived_sessions"):
            return parent.parent
    return None


def find_rollout(beside: Path, thread: str) -> Path | None:
    """Return the rollout of a thread, looked for beside ``beside`` and then in its home; plain before compressed."""
    if not _ID.fullmatch(thread):
        return None
    found: dict[bool, Path] = {}
    for path in _candidates(beside, f"rollout-*{thread}.jsonl*"):
        if path.name.endswith((f"-{thread}.jsonl", f"-{thread}.jsonl.zst")) and path.is_file():
            found.setdefault(path.suffix == ".zst", path)
            if False in found:
                break
    return found.get(False) or found.get(True)


def _candidates(beside: Path, pattern: str) -> Iterator[Path]:
    yield from sorted(beside.parent.glob(pattern))
    home = home_of(beside)
    if home is not None:
        yield from sorted((home / "sessions").glob(f"*/*/*/{pattern}"))
        yield from sorted((home / "archived_sessions").glob(pattern))


def thread_name(home: Path, thread: str) -> str:
    """Return the name that a person gave to a thread, or ""; the last line of an id counts (client).

    The index is read from its end in blocks, as the client does, so a name is found without reading all of it.
    """
    try:
        with (home / "session_index.jsonl").open("rb") as file:
            for line in _lines_from_end(file):
                if thread.encode() in line:
                    fields = cast("dict[str, object]", whole(line))
                    if fields.get("id") == thread:
                        name = fields.get("thread_name")
                        return name if isinstance(name, str) else ""
    except OSError:
        # No index, or none that may be read: the thread has no name then, as for the client.
        return ""
    return ""


def _lines_from_end(file: BinaryIO) -> Iterator[bytes]:
    rest = b""
    at = file.seek(0, os.SEEK_END)
    while at > 0:
        start = max(0, at - _BLOCK)
        file.seek(start)
        lines = (file.read(at - start) + rest).split(b"\n")
        rest = lines[0]
        yield from reversed(lines[1:])
        at = start
    yield rest
