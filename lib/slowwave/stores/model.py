"""What a store holds: sessions and the projects they worked in."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import orjson

from slowwave.formats.sessions import StoredSession, StoreProblem


class Project(msgspec.Struct, frozen=True):
    """A repository or folder that agents worked in, with all its sessions.

    Attributes:
        key: what people call it by on the command line, the name of its folder.
        root: the working folder that its records name (the git root when there is one), or "" when they name none.
        folders: the folders and databases of the stores that its sessions lie in.
        memory: its memory folder (it may not exist yet).
        sessions: all sessions, oldest modification first.
    """

    key: str
    root: str
    folders: tuple[Path, ...]
    memory: Path
    sessions: tuple[StoredSession, ...]


class Discovery(msgspec.Struct):
    """Everything found under the roots.

    Attributes:
        projects: by key, each with its sessions.
        problems: everything that was left out, and why.
    """

    projects: list[Project] = msgspec.field(default_factory=list[Project])
    problems: list[StoreProblem] = msgspec.field(default_factory=list[StoreProblem])


# Which version of a client wrote its latest sessions, by what they say themselves.

# so many of the sessions that changed last, and so much of each end
_SESSIONS = 5
_BYTES = 64 << 10
_VERSION = re.compile(r"(\d+(?:\.\d+)*)(?:[-+].*)?$")


def newest_version(sessions: Iterable[StoredSession], dialect: str) -> str:
    """Return the newest version that a client's latest sessions name, "" where they name none."""
    own = [s for s in sessions if s.dialect == dialect and not s.in_database]
    latest = sorted(own, key=lambda s: s.mtime_ns, reverse=True)[:_SESSIONS]
    versions = [version for session in latest for version in _versions(session)]
    return max(versions, key=version_order, default="")


def latest_version(sessions: Iterable[StoredSession], dialect: str) -> str:
    """Return the version that the session names which changed last of those that name one; "" where none does."""
    own = [s for s in sessions if s.dialect == dialect and not s.in_database]
    latest = sorted(own, key=lambda s: s.mtime_ns, reverse=True)[:_SESSIONS]
    named = (max(_versions(session), key=version_order, default="") for session in latest)
    return next(filter(None, named), "")


def version_order(version: str) -> tuple[int, ...]:
    """Return a version as numbers; one of another form has none."""
    found = _VERSION.match(version)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def _versions(session: StoredSession) -> Iterator[str]:
    for path in session.files.paths[-1:]:
        for line in _ends(path):
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue  # a piece of a line, or damage that other commands report
            if isinstance(record, dict) and (version := _version_of(cast("dict[str, Any]", record))):
                yield version


def _version_of(record: dict[str, Any]) -> str:
    """Return the version in a record: its own, or that in the header of Codex."""
    payload = record.get("payload")
    inner = cast("dict[str, Any]", payload).get("cli_version") if isinstance(payload, dict) else None
    found = inner or record.get("version")
    return str(found) if version_order(str(found)) else ""


def _ends(path: Path) -> list[bytes]:
    """Return the lines at both ends of a file; one that cannot be read has none, which the permissions tell."""
    try:
        with path.open("rb") as file:
            head = file.read(_BYTES)
            file.seek(max(len(head), file.seek(0, 2) - _BYTES))
            return [*head.splitlines(), *file.read().splitlines()]
    except OSError:
        return []
