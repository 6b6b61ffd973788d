"""What retention does around a session, and to it: others go, it goes and comes back, a purge leaves it as it is."""

import json
import os
import re
import shutil
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from slowwave.formats.sessions import session_id
from tests.conformance.clients.changes import RefusedError, run

_DAY = 86_400
# Claude Code's picker leaves out what was run without a screen, as the corpus was.
_TYPED = {'"entrypoint":"sdk-cli"': '"entrypoint":"cli"'}
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
    return _gone_and_back(path, ("--set", "retention.grace=0s"))


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


def listed_all_along(path: Path, listing: Callable[[Path], str]) -> Path:
    """Let one of three go by the rules and bring it back; their client lists what is there, each time.

    Args:
        path: the session that stays as it is.
        listing: what the client lists of the folder of a session.

    Raises:
        RefusedError: it lists another one, or not all.
    """
    young = _copy(path, "conformance-young", 5)
    held = _copy(path, "conformance-held", 60)
    old = _copy(path, "conformance-old", 60)
    everything = {"young", "held", "old"}
    run("retain", "hold", "--session", session_id(held.name), "--reason", "it is wanted", *_store(path))
    path.unlink()
    _expect(everything, listing(young), "before")
    _retain(young)
    _expect(everything - {"old"}, listing(young), "after retention")
    run("sessions", "restore", session_id(old.name))
    _expect(everything, listing(young), "after the restore")
    return old


def _copy(path: Path, prompt: str, days: float) -> Path:
    """Copy a session under an id of its own, as one in which a person typed this prompt alone."""
    form = json.loads(run("sessions", "show", str(path), "--json"))
    typed = {m["text"]: prompt for m in form["messages"] if m["origin"] == "typed"}
    own, other = session_id(path.name), str(uuid.uuid4())
    made = path.with_name(path.name.replace(own, other))
    data = path.read_bytes()
    # Claude Code lists sessions that end with the same record once
    ids = {name: str(uuid.uuid4()) for name in re.findall(r'"uuid": ?"([^"]+)"', data.decode())}
    changes = {own: other, **ids, **typed, **_TYPED}
    for before, after in changes.items():
        data = data.replace(before.encode(), after.encode())
    made.write_bytes(data)
    _aged(made, days)
    return made


def _expect(wanted: set[str], shown: str, when: str) -> None:
    seen = {name for name in ("young", "held", "old") if f"conformance-{name}" in shown}
    if seen != wanted:
        raise RefusedError(f"{when} the client listed {sorted(seen)}: {shown[-300:]}")


def _gone_and_back(path: Path, grace: tuple[str, ...]) -> Path:
    _aged(path, 60)
    # a store without any session is none
    _aged(Path(shutil.copy(path, path.with_name(path.name.replace(session_id(path.name), str(uuid.uuid4()))))), 5)
    before = path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns
    _retain(path)
    if path.exists():
        raise RefusedError("it did not go")
    if grace:
        _retain(path, *grace)
        if run("retain", "trash", "--json"):
            raise RefusedError("it was not freed")
    run("sessions", "restore", session_id(path.name))
    if (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns) != before:
        raise RefusedError("it came back in another form")
    return path


def _retain(path: Path, *more: str) -> None:
    rules = ("--set", "retention.max_age=30d", "--set", "retention.require_extracted=false", "--confirm", "99")
    run("run", "retain", "--direct", "--apply", "--purge", *_store(path), *rules, *more)


def _store(path: Path) -> tuple[str, str]:
    return "--store", str(next((folder for folder in path.parents if folder.name == ".codex"), path.parent))


def _aged(path: Path, days: float) -> None:
    at = time.time() - days * _DAY
    os.utime(path, (at, at))
