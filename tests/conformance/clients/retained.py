"""What retention does around a session, and to it: others go, it goes and comes back, a purge leaves it as it is."""

import os
import shutil
import time
import uuid
from pathlib import Path

from slowwave.records.parts import session_id
from tests.conformance.clients.changes import RefusedError, run

_DAY = 86_400
# a record of Cersei that hides another one; in the sessions of these clients it hides nothing
_TOMBSTONE = b'{"type": "tombstone", "deleted_uuid": "%b", "timestamp": "2026-11-20T11:00:00Z"}\n'


def keep_alone(path: Path) -> Path:
    """Let an older copy of it, under an id of its own, go by the rules; it stays as it is."""
    own, other = session_id(path.name), str(uuid.uuid4())
    neighbour = path.with_name(path.name.replace(own, other))
    neighbour.write_bytes(path.read_bytes().replace(own.encode(), other.encode()))
    _aged(neighbour, 60)
    _aged(path, 5)
    before = path.read_bytes(), path.stat().st_mtime_ns
    _retain(path)
    if neighbour.exists() or (path.read_bytes(), path.stat().st_mtime_ns) != before:
        raise RefusedError("the other session did not go, or this one changed")
    return path


def back_from_trash(path: Path) -> Path:
    """Let it go by the rules, and bring it back from the trash."""
    return _gone_and_back(path, ())


def back_from_archive(path: Path) -> Path:
    """Let it go by the rules, free it from the trash, and bring it back from the archive."""
    return _gone_and_back(path, ("--set", "retention.grace=1s"))


def purge(path: Path) -> Path:
    """Purge the store: nothing in the sessions of these clients is hidden for good, whatever a record says."""
    if ".codex" not in path.parts:
        with path.open("ab") as file:
            file.write(_TOMBSTONE % b"0")
    _aged(path, 5)
    before = path.read_bytes()
    _retain(path)
    if path.read_bytes() != before:
        raise RefusedError("a purge took something out of it")
    return path


def _gone_and_back(path: Path, grace: tuple[str, ...]) -> Path:
    _aged(path, 60)
    # a store without any session is none
    _aged(Path(shutil.copy(path, path.with_name(path.name.replace(session_id(path.name), str(uuid.uuid4()))))), 5)
    before = path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns
    _retain(path)
    if path.exists():
        raise RefusedError("it did not go")
    if grace:
        time.sleep(1.1)
        _retain(path, *grace)
        if run("retain", "trash", "--json"):
            raise RefusedError("it was not freed")
    run("sessions", "restore", session_id(path.name))
    if (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns) != before:
        raise RefusedError("it came back in another form")
    return path


def _retain(path: Path, *more: str) -> None:
    root = next((folder for folder in path.parents if folder.name == ".codex"), path.parent)
    rules = ("--set", "retention.max_age=30d", "--set", "retention.require_extracted=false")
    run("run", "retain", "--direct", "--apply", "--purge", "--store", str(root), *rules, *more)


def _aged(path: Path, days: float) -> None:
    at = time.time() - days * _DAY
    os.utime(path, (at, at))
