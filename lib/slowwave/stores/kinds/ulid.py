"""The session specification with ULIDs: ``~/.agent/sessions/{ULID}/session.jsonl`` beside ``metadata.json``."""

import os
from collections.abc import Container, Iterator, Mapping
from pathlib import Path

import msgspec

from slowwave.formats.model import REFUSALS, SessionOrigin
from slowwave.formats.ulid.metadata import is_ulid
from slowwave.places import home_folder
from slowwave.stores.kinds.base import Kind, Place
from slowwave.stores.model import StoreProblem
from slowwave.stores.walk import FoundSession, K, Walk

HOME = ".agent"
SESSIONS = "sessions"
LOG = "session.jsonl"
METADATA = "metadata.json"
# Larger metadata have long instructions in them; much larger ones no client wrote.
_USUAL_BYTES = 1 << 13
_MOST_BYTES = 1 << 20


class Ulid(Kind):
    """The agent's home, or the ``sessions`` folder in it."""

    name = "ulid"

    def usual(self, environ: Mapping[str, str]) -> list[Path]:
        """Return the agent's home; the specification has no variable for it."""
        return [home_folder(environ) / HOME]

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:  # noqa: ARG002
        """Return the folder of sessions when one of its folders is named by a ULID and holds a log."""
        for folder in (root / SESSIONS, root) if SESSIONS in names else (root,):
            if folder.is_dir() and _holds_sessions(folder):
                return [Place(self.name, os.fspath(folder))]
        return [] if root.name == HOME else None

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the sessions of the folder; a log in a folder of another name is reported, and never opened (S7.8)."""
        try:
            names = sorted(os.listdir(place.path))  # noqa: PTH208 - names only
        except OSError as error:
            walk.problems.append(StoreProblem("unreadable", place.path, error.strerror or "cannot be listed"))
            return
        for name in names:
            folder = f"{place.path}/{name}"
            if is_ulid(name):
                file = walk.look(folder, LOG)
                if file is not None:
                    origin = _origin(f"{folder}/{METADATA}")
                    yield FoundSession(folder, name, [file], side=False, dialect=self.name, origin=origin)
            elif name[0] != "." and os.path.lexists(f"{folder}/{LOG}"):
                walk.problems.append(StoreProblem("ignored", folder, "holds a log, but its name is no ULID"))

    def titles(self, place: Place) -> Mapping[str, str]:
        """Return the names of sessions that have one; damaged metadata are reported when the session is read."""
        names = ((name, _name(f"{place.path}/{name}/{METADATA}")) for name in _listed(place.path) if is_ulid(name))
        return {session: name for session, name in names if name}


class _Shown(msgspec.Struct, gc=False):
    name: object = None
    source: object = None


_decoder = msgspec.json.Decoder(_Shown)


_ORIGINS: dict[object, SessionOrigin] = {"interactive": "interactive", "cron": "cron"}


def _name(path: str) -> str:
    name = _shown(path, b'"name"').name
    return name if isinstance(name, str) else ""


def _origin(path: str) -> SessionOrigin:
    """Return who began a session (S7.7); "" when its metadata do not tell, or tell something new."""
    source = _shown(path, b'"source"').source
    return _ORIGINS.get(source, "") if isinstance(source, str) else ""


def _shown(path: str, key: bytes) -> _Shown:
    """Return what metadata show, nothing when they lack a key or are damaged."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            content = os.read(fd, _USUAL_BYTES)
            if len(content) == _USUAL_BYTES:
                content += os.read(fd, _MOST_BYTES)
        finally:
            os.close(fd)
        return _decoder.decode(content) if key in content else _Shown()
    except (OSError, *REFUSALS):
        return _Shown()


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names only
    except OSError:
        return []  # the walk says so


def _holds_sessions(folder: Path) -> bool:
    with os.scandir(folder) as entries:
        return any(is_ulid(entry.name) and os.path.lexists(f"{entry.path}/{LOG}") for entry in entries)
