"""The session specification with ULIDs: ``~/.agent/sessions/{ULID}/session.jsonl`` beside ``metadata.json``."""

import os
import re
from collections.abc import Container, Iterator, Mapping
from pathlib import Path

import msgspec

from slowwave.formats import REFUSALS, SessionOrigin, text_or_empty
from slowwave.formats.client import Belongings, Client, CompactionRules, Home
from slowwave.formats.sessions import FoundSession, K, Place, StoredSession, StoreProblem, Walk, listed

ULID_HOME = ".agent"
ULID_SESSIONS = "sessions"
LOG = "session.jsonl"
METADATA = "metadata.json"
# Larger metadata have long instructions in them; much larger ones no client wrote.
_USUAL_BYTES = 1 << 13
_MOST_BYTES = 1 << 20


# As the specification has it (7.1), which also lets pass what is larger than 128 bits.
_ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}\Z")


def is_ulid(text: str) -> bool:
    """Say whether a text can name a session, before any path is made of it (S7.8)."""
    return _ULID.match(text) is not None


class Ulid(Client):
    """An agent of the specification, whose home, or the ``sessions`` folder in it, is a root."""

    name = "ulid"
    shows = "the ULID specification (recordType)"
    home = Home(ULID_HOME)  # the specification has no variable for it
    reader = "ulid.dialect:ULID"
    writer = "ulid.write:UlidWriter"
    may_be_empty = True  # a new session has an empty log (S7.1)
    is_unnamed = True
    compacting = CompactionRules(
        is_written=True,
        introduced=107,
        as_ulid=True,
        sections=("reserve_tokens", "keep_recent_tokens"),
        record=b'"compaction"',
        no_clearing="the specification knows messages and compactions only",
    )

    def marks(self, record: dict[str, object]) -> bool:
        """Say whether a record is one of the ULID specification."""
        return isinstance(record.get("recordType"), str)

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:  # noqa: ARG002
        """Return the folder of sessions when one of its folders is named by a ULID and holds a log."""
        for folder in (root / ULID_SESSIONS, root) if ULID_SESSIONS in names else (root,):
            if folder.is_dir() and _holds_logs(folder):
                return [Place(self.name, os.fspath(folder))]
        return [] if root.name == ULID_HOME else None

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the sessions of the folder; a log in a folder of another name is reported, and never opened (S7.8)."""
        for name in listed(place.path, walk.problems):
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
        names = ((name, _name(f"{place.path}/{name}/{METADATA}")) for name in listed(place.path, []) if is_ulid(name))
        return {session: name for session, name in names if name}

    def named(self, path: Path) -> str:
        """Return the id in the name of a session's folder: every log is called alike."""
        return path.parent.name if path.name == LOG and is_ulid(path.parent.name) else ""

    def store_of(self, path: Path) -> Path:
        """Return the folder with the folders of sessions."""
        return path.parent.parent

    def new_folder(self, home: Path, cwd: Path) -> Path:  # noqa: ARG002
        """Return the folder with the folders of sessions."""
        return home if home.name == ULID_SESSIONS else home / ULID_SESSIONS

    def settings_files(self, transcript: Path, cwd: Path | None) -> list[Path]:  # noqa: ARG002
        """Return the settings of the home (7.5.1)."""
        sessions = transcript.parent.parent
        return [sessions.parent / "config.yaml"] if sessions.name == ULID_SESSIONS else []

    def belongings(self, session: StoredSession) -> Belongings:
        """Return the folder of a session, where it is called as the session is."""
        folder = session.files.paths[0].parent
        return Belongings((folder,)) if folder.name == session.id else super().belongings(session)

    def beside(self, session: StoredSession, path: Path) -> Iterator[Path]:  # noqa: ARG002
        """Yield the metadata."""
        if path.with_name(METADATA).is_file():
            yield path.with_name(METADATA)


class _Shown(msgspec.Struct, gc=False):
    name: object = None
    source: object = None


_decoder = msgspec.json.Decoder(_Shown)
_ORIGINS: dict[str, SessionOrigin] = {"interactive": "interactive", "cron": "cron"}


def _name(path: str) -> str:
    return text_or_empty(_shown(path, b'"name"').name)


def _origin(path: str) -> SessionOrigin:
    """Return who began a session (S7.7); "" when its metadata do not tell, or tell something new."""
    return _ORIGINS.get(text_or_empty(_shown(path, b'"source"').source), "")


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


def _holds_logs(folder: Path) -> bool:
    with os.scandir(folder) as entries:
        return any(is_ulid(entry.name) and os.path.lexists(f"{entry.path}/{LOG}") for entry in entries)


CLIENT = Ulid()
