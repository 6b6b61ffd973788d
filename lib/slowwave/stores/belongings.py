"""What of a session goes together when it is removed, archived or put back, for every client.

Beside the transcript clients keep more for a session alone: results of tools, checkpoints of files, lists of tasks, an
entry in an index. What is left behind of a session that went would be found by nobody and told by its client for ever.
"""

import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from slowwave.formats.codex.home import home_of, rollouts_of, sibling, thread_in_name
from slowwave.formats.openclaw.keys import parse_key
from slowwave.formats.salvage import whole
from slowwave.stores.client_index import entry_note, thread_notes
from slowwave.stores.client_notes import Note
from slowwave.stores.model import StoredSession
from slowwave.stores.openclaw.entries import SessionEntry
from slowwave.stores.openclaw.store import NAME as ENTRIES
from slowwave.stores.openclaw.store import read_store
from slowwave.stores.openclaw.transcripts import artifact_of, transcript_path
from slowwave.stores.walk import SIDE_PREFIX, SUFFIX

_PROJECTS = "projects"
# What Claude Code keeps of a session in its home, each a folder of the session's name (clients.md 6)
_FOLDERS_IN_HOME = ("tasks", "session-env", "file-history")
_META = ".meta.json"
_FIRST_LINE = 1 << 20


class Belongings(NamedTuple):
    """All of a session.

    Attributes:
        paths: files and folders in the order of their removal: what the client needs most comes last, so that a killed
            removal leaves a session that loads, or nothing that the client would take for one.
        notes: entries in indexes of the client, which go before the files.
    """

    paths: tuple[Path, ...]
    notes: tuple[Note, ...] = ()


def belongings_of(session: StoredSession, home: Path) -> Belongings:  # noqa: ARG001 - ids of all clients lead to files
    """Return what goes together with a session: every transcript of its own, and what its client keeps beside it.

    What a client has put aside (reset, deleted, a checkpoint) and every topic are sessions of their own, each under
    its own rules; none of them takes another one along.

    Args:
        session: the session; one in a database belongs to its client alone, and has no belongings.
        home: the user's home.

    Raises:
        UnreadableError: the index of its client cannot be read.
        OSError: a folder cannot be listed.
    """
    if session.in_database:
        return Belongings(())
    files = tuple(reversed(session.files.paths))
    match session.dialect:
        case "codex":
            return _of_codex(session)
        case "openclaw":
            return _of_openclaw(session)
        case "ulid" if files[-1].parent.name == session.id:
            return Belongings((files[-1].parent,))
        case _:
            # the place tells: an empty transcript of Claude Code is of no dialect, and has its lists all the same
            return Belongings((*_beside(session), *files))


def _beside(session: StoredSession) -> Iterator[Path]:
    """Yield what Claude Code keeps of a session, where it does: in its home, then sub-agents and results of tools."""
    first = session.files.paths[0]
    if session.kind == "subagent":
        meta = first.with_name(first.name.removesuffix(SUFFIX) + _META)
        yield from (path for path in (meta,) if path.is_file())
        return
    if first.parent.parent.name == _PROJECTS:
        own = _in_home(first.parent.parent.parent, session.id)
        # most sessions have nothing there, and for them no other project need be looked at
        if own and not _elsewhere(first):
            yield from own
    yield from agents_beside(first.parent).get(session.id, ())
    folder = first.with_name(session.id)
    if folder.is_dir() and not folder.is_symlink():
        yield folder


def _in_home(home: Path, session: str) -> list[Path]:
    todos = [home / "todos" / name for name in _named(home / "todos") if _is_todo(name, session)]
    return todos + [path for name in _FOLDERS_IN_HOME if (path := home / name / session).is_dir()]


def sessions_in_home(home: Path) -> set[str]:
    """Return the ids of all sessions of which a home of Claude Code keeps something beside its transcripts."""
    found = {name for folder in _FOLDERS_IN_HOME for name in _named(home / folder)}
    return found | {name.removesuffix(".json").partition("-agent-")[0] for name in _named(home / "todos")}


def _is_todo(name: str, session: str) -> bool:
    return name == f"{session}.json" or name.startswith(f"{session}-agent-")


def _elsewhere(transcript: Path) -> bool:
    """Say whether another project has a transcript of the same session, which then needs what is in the home."""
    projects = transcript.parent.parent
    with os.scandir(projects) as entries:
        others = [entry.path for entry in entries if entry.is_dir() and entry.name != transcript.parent.name]
    return any(os.path.lexists(f"{other}/{transcript.name}") for other in others)


def agents_beside(folder: Path) -> Mapping[str, tuple[Path, ...]]:
    """Return the transcripts of sub-agents that lie beside those of sessions (client 2.0), by the session's id."""
    at = folder.stat()
    return _agents_beside(folder, at.st_mtime_ns, at.st_ino)


@lru_cache(maxsize=256)
def _agents_beside(folder: Path, mtime_ns: int, ino: int) -> Mapping[str, tuple[Path, ...]]:  # noqa: ARG001 - the key
    found: dict[str, list[Path]] = {}
    for name in _named(folder):
        if name.startswith(SIDE_PREFIX) and name.endswith(SUFFIX):
            with (folder / name).open("rb") as file:
                owner = whole(file.readline(_FIRST_LINE)).get("sessionId")
            if isinstance(owner, str):
                found.setdefault(owner, []).append(folder / name)
    return {owner: tuple(paths) for owner, paths in found.items()}


def _named(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names only
    except (FileNotFoundError, NotADirectoryError):
        return []


def _of_codex(session: StoredSession) -> Belongings:
    """Return a rollout in both of its forms, and its name unless another rollout of the thread stays."""
    paths: list[Path] = []
    for path in reversed(session.files.paths):
        paths += [one for one in (sibling(path), path) if one.is_file()]
    first = session.files.paths[0]
    home, thread = home_of(first), thread_in_name(first)
    if home is None or not thread or any(path not in paths for path in rollouts_of(first, thread)):
        return Belongings(tuple(paths))
    return Belongings(tuple(paths), thread_notes(home, thread))


def _of_openclaw(session: StoredSession) -> Belongings:
    """Return a transcript, other records of its runs, and the entries that lead to it."""
    files = tuple(reversed(session.files.paths))
    first = files[-1]
    own = artifact_of(first.name)
    if own.source:
        return Belongings(files)  # it was put aside: the entry leads elsewhere, and so do the runs
    store = first.with_name(ENTRIES)
    notes: tuple[Note, ...] = ()
    if store.is_file():
        at = store.stat()
        notes = _notes_of(store, at.st_size, at.st_mtime_ns, at.st_ino).get(first, ())
    others = [(name, artifact_of(name)) for name in _named(first.parent) if name.startswith(own.session)]
    shared = any(o.kind == "transcript" and o.session == own.session and n != first.name for n, o in others)
    runs = [first.with_name(n) for n, o in others if o.kind == "trajectory" and o.session == own.session]
    return Belongings((*(() if shared else runs), *files), notes)


@lru_cache(maxsize=16)
def _notes_of(store: Path, size: int, mtime_ns: int, ino: int) -> Mapping[Path, tuple[Note, ...]]:  # noqa: ARG001 - as above
    """Return the entries that lead to each transcript beside a store; it is read once as long as it stays the same."""
    found: dict[Path, list[Note]] = {}
    for key, entry in read_store(store).items():
        path = transcript_of(store.parent, key, entry)
        if path is not None:
            found.setdefault(path, []).append(entry_note(store, key, entry))
    return {path: tuple(notes) for path, notes in found.items()}


def transcript_of(folder: Path, key: str, entry: SessionEntry) -> Path | None:
    """Return the transcript that an entry leads to; one of a topic has a name of its own where it is there."""
    plain = transcript_path(folder, entry, [])
    topic = parse_key(key).topic
    if topic and plain is not None and not plain.exists():
        own = transcript_path(folder, entry, [], topic)
        return own if own is not None and own.exists() else plain
    return plain
