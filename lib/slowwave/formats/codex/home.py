"""Finding rollouts and names in a Codex home: the parents of forks by reference, and the index of thread names.

A home holds ``sessions/YYYY/MM/DD/rollout-<local time>-<thread id>.jsonl``, ``archived_sessions/`` (flat) and
``session_index.jsonl``. A rollout is known by its id alone; dates in names are local time and never parsed. Cold
rollouts are compressed (``.jsonl.zst``); where a plain one lies beside, it is the one that counts (client).
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

from slowwave.errors import UnreadableError
from slowwave.formats.lines import SUFFIX, is_compressed
from slowwave.formats.salvage import whole
from slowwave.formats.tail import lines_backward

SESSIONS, ARCHIVED, INDEX = "sessions", "archived_sessions", "session_index.jsonl"
_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,127}")
_NAMED = re.compile(
    r"rollout-.*?([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})(?:_[-0-9a-fA-F]{36})?\.jsonl(?:\.zst)?"
)
_ORDERED = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-7")


def thread_in_name(path: Path) -> str:
    """Return the thread id in a rollout's file name, or ""; after a revert, the id of the new part stands behind it."""
    match = _NAMED.fullmatch(path.name)
    return match[1] if match else ""


def home_of(path: Path) -> Path | None:
    """Return the Codex home that a rollout lies in, or None for a file that lies elsewhere."""
    for parent in path.absolute().parents:
        if parent.name in (SESSIONS, ARCHIVED):
            return parent.parent
    return None


def sibling(path: Path) -> Path:
    """Return the name of a rollout's other form: the compressed one of a plain one, and the other way round."""
    return path.with_name(path.name.removesuffix(SUFFIX) if is_compressed(path) else path.name + SUFFIX)


def present(path: Path) -> Path:
    """Return the file, or its other form when only that is there: the client may change it at any time."""
    return path if path.exists() or not sibling(path).exists() else sibling(path)


def find_rollout(beside: Path, thread: str) -> Path | None:
    """Return the rollout of a thread, looked for beside ``beside`` and then in its home; plain before compressed."""
    if not _ID.fullmatch(thread):
        return None
    packed: Path | None = None
    for folder in _folders(beside, thread):
        for path in sorted(folder.glob(f"rollout-*{thread}.jsonl*")):
            if path.name.endswith(f"-{thread}.jsonl") and path.is_file():
                return path
            if path.name.endswith(f"-{thread}.jsonl{SUFFIX}") and path.is_file():
                packed = packed or path
    return packed


def rollouts_of(beside: Path, thread: str) -> list[Path]:
    """Return every file of a thread: both forms, archived, and later parts; by an id that tells its day, near that."""
    home = home_of(beside)
    days = _days(thread) if home is not None else []
    folders = [beside.parent, *(home / SESSIONS / day for day in days), home / ARCHIVED] if home and days else None
    found = (path for folder in folders or _folders(beside, thread) for path in folder.glob("rollout-*.jsonl*"))
    return sorted({path for path in found if thread_in_name(path) == thread})


def _folders(beside: Path, thread: str) -> Iterator[Path]:
    """Yield the folders that a rollout may lie in, the likely ones first: a home may have thousands of days."""
    yield beside.parent
    home = home_of(beside)
    if home is not None:
        likely = [home / SESSIONS / day for day in _days(thread)] + [home / ARCHIVED]
        yield from likely
        yield from sorted(set((home / SESSIONS).glob("*/*/*")) - set(likely))


def _days(thread: str) -> list[str]:
    """Return the folders of the days around a thread's beginning, which its id tells (a UUID of version 7)."""
    if not _ORDERED.match(thread):
        return []
    try:
        begun = datetime.fromtimestamp(int(thread.replace("-", "")[:12], 16) / 1000, UTC)
        return [f"{begun + timedelta(days):%Y/%m/%d}" for days in (0, -1, 1)]
    except (ValueError, OverflowError, OSError):
        return []


def thread_name(home: Path, thread: str) -> str:
    """Return the name that a person gave to a thread, or ""; the last line of an id counts (client)."""
    return thread_names(home).get(thread, "")


def rollout_named(home: Path, name: str) -> Path | None:
    """Return the rollout of the thread that was given a name last; threads without a rollout do not count (client)."""
    for thread, given in thread_names(home).items():
        if given == name and (path := find_rollout(home / SESSIONS / INDEX, thread)) is not None:
            return path
    return None


def thread_names(home: Path) -> dict[str, str]:
    """Return the names of all threads by their ids, newest first."""
    path = home / INDEX
    try:
        at = path.stat()
        return _read_names(path, at.st_size, at.st_mtime_ns, at.st_ino)
    except (OSError, UnreadableError):
        # No index, or none that may be read: no thread has a name then, as for the client.
        return {}


@lru_cache(maxsize=4)
def _read_names(path: Path, size: int, mtime_ns: int, ino: int) -> dict[str, str]:  # noqa: ARG001 - parts of the key
    names: dict[str, str] = {}
    for _, line in lines_backward(path, end=size):
        fields = whole(line)
        thread, name = fields.get("id"), fields.get("thread_name")
        if isinstance(thread, str):
            names.setdefault(thread, name if isinstance(name, str) else "")
    return names
