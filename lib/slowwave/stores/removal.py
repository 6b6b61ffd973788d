"""Remove a session as a whole: what belongs to it, whether it may go, and in which order."""

import os
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from slowwave.clock import Clock
from slowwave.errors import MovedError, RefusedError, UsageError
from slowwave.formats.append import part_name, session_id, session_stem
from slowwave.formats.codex.home import ARCHIVED, SESSIONS, home_of, rollouts_of, sibling, thread_in_name
from slowwave.formats.codex.records import is_of_sub_agent
from slowwave.formats.codex.records import parent_of as codex_parent
from slowwave.formats.crabtalk import meta_line_of, place_of
from slowwave.formats.lines import open_plain
from slowwave.formats.model import SessionFiles
from slowwave.formats.openclaw.keys import parse_key
from slowwave.formats.pi.dialect import parent_of as pi_parent
from slowwave.formats.salvage import whole
from slowwave.locks import locked_file
from slowwave.places import home_folder
from slowwave.stores.activity import claimed_by
from slowwave.stores.client_notes import Note, entry_note, thread_notes
from slowwave.stores.locks import held_lock, writer_lock
from slowwave.stores.model import StoredSession, StoreProblem
from slowwave.stores.openclaw.sessions import artifact_of, transcript_path
from slowwave.stores.openclaw.store import NAME as ENTRIES
from slowwave.stores.openclaw.store import SessionEntry, read_store
from slowwave.stores.roots import read_head
from slowwave.stores.trash import TrashItem, restore, throw_away, written_to
from slowwave.stores.walk import SIDE_FOLDER, SIDE_PREFIX, SUFFIX, SUFFIXES, FoundSession

# Clients whose sessions are rows, or files that refer to each other by name.
_NOT_OURS = ("opencode",)
# Clients that lock what they write; the others only note what they have open.
_LOCKING = ("codex", "pi", "openclaw")


@dataclass(frozen=True, slots=True)
class Removal:
    """The plan of one removal: the session as it was found, what moves, in order, the home, and what is noted of it."""

    session: FoundSession
    dialect: str
    paths: tuple[Path, ...]
    home: Path
    notes: tuple[Note, ...] = ()


def plan_removal(session: FoundSession, environ: Mapping[str, str], clock: Clock) -> Removal:
    """Return what the removal of a session would move.

    What goes together, and in which order, tells :func:`belongings_of`: a removal that was killed leaves a session that
    can be found and removed again, or nothing that its client would take for one.

    Raises:
        RefusedError: a running client has it open, or a fork needs it.
        UsageError: it is no file of its own: its client's database, or files that name each other, would break.
        UnreadableError: the index of its client cannot be read.
    """
    head = read_head(session)
    dialect = "unknown" if isinstance(head, StoreProblem) else head.dialect
    if session.in_database or dialect in _NOT_OURS:
        raise UsageError(f"{session.id}: {session.path} belongs to {dialect} alone; remove the session in its client")
    home = home_folder(environ)
    stored = stored_session(session, dialect)
    _refuse(stored, home, clock)
    paths, notes = belongings_of(stored, home)
    return Removal(session, dialect, paths, home, notes)


def remove(plan: Removal, trash: Path, clock: Clock, *, reason: str = "removed on request") -> TrashItem:
    """Move a session into the trash, under its lock.

    Raises:
        MovedError: it changed since the plan was made; nothing was moved.
        RefusedError: a client has opened or forked it since then.
        LockHeldError: somebody has been writing to it all the time.
    """
    now = clock.now()
    item_id = f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    first = Path(plan.session.folder, plan.session.files[0].name)
    stored = stored_session(plan.session, plan.dialect)
    _refuse(stored, plan.home, clock)
    with _clients_lock(plan.dialect, first, plan.session.id), locked_file(first):
        for file in plan.session.files:
            path = Path(plan.session.folder, file.name)
            at = path.stat()
            if (at.st_size, at.st_mtime_ns, at.st_dev, at.st_ino) != (file.size, file.mtime_ns, file.dev, file.ino):
                raise MovedError(f"{path}: changed since it was looked at, so nothing was removed; try again")
        _refuse_new_part(first, plan.session)
        if plan.dialect not in _LOCKING:
            _refuse(stored, plan.home, clock)  # somebody may have opened it while the lock was waited for
        item = throw_away(
            plan.paths,
            trash,
            item_id=item_id,
            session=plan.session.id,
            dialect=plan.dialect,
            reason=reason,
            at=now,
            notes=plan.notes,
        )
    if path := written_to(item, trash):
        restore(item, trash)
        raise MovedError(f"{path}: somebody wrote to it at that moment, so it was put back; try again")
    return item


def _refuse(session: StoredSession, home: Path, clock: Clock) -> None:
    if reason := claimed_by(session, home, clock.now()):
        raise RefusedError(f"session {session.id} is {reason}; close it there first")
    if reason := reason_to_stay(session):
        raise RefusedError(f"session {session.id} stays: {reason}")


def _refuse_new_part(first: Path, session: FoundSession) -> None:
    """Refuse a session to which its client has begun another part: nobody would find that one alone."""
    _, number = session_stem(session.files[-1].name)
    new = first.with_name(part_name(session_stem(first.name)[0], number + 1))
    if os.path.lexists(new):
        raise MovedError(f"{new}: was begun since the session was looked at, so nothing was removed; try again")


def _clients_lock(dialect: str, first: Path, session: str) -> AbstractContextManager[object]:
    """Hold off the client of a session where it has a lock for that."""
    if dialect == "codex":
        return writer_lock(first, session)
    return held_lock(first) if dialect in _LOCKING else nullcontext()


def stored_session(found: FoundSession, dialect: str) -> StoredSession:
    """Return a session of the walk in the shape that the rules about live sessions take."""
    paths = tuple(Path(found.folder, file.name) for file in found.files)
    folder = found.folder
    at = f"{folder}/".rfind(f"/{SIDE_FOLDER}/")
    if found.side and at >= 0:
        folder = os.path.dirname(folder[:at])  # noqa: PTH120 - PROJECT/SESSION/subagents, names of any bytes
    kind = "subagent" if found.side else "main"
    files = SessionFiles(found.id, paths)
    return StoredSession(dialect, files, kind, Path(folder), found.size, found.mtime_ns, found.source)


# What of a session goes together when it is removed, archived or put back, for every client.
#
# Beside the transcript clients keep more for a session alone: results of tools, checkpoints of files, lists of tasks,
# an entry in an index. What is left behind of a session that went would be found by nobody and told by its client for
# ever.

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


# Why a session may not go although nobody has it open: a fork leads to it, or its number would be given again.
#
# Codex and pi forks name the session that they came from. Codex refuses to open a fork whose source is gone, pi shows a
# tree that ends in nothing (clients.md 5.2). crabtalk takes the next number by looking at names: without the session of
# the highest one it would give that number, and with it the id, to another session.

# A header stands in front; damage, or a note of the client, may stand before it.
_HEADER_WITHIN = 8
_LONGEST_HEADER = 4 << 20
_MOST_KNOWN = 200_000
Header = dict[str, Any]
# Whom a header names, by folder, name and inode: it never changes. One that is not there yet is looked for again.
_named_parent: dict[tuple[str, str, int], str] = {}


def reason_to_stay(session: StoredSession) -> str:
    """Return why a session may not go: what its client would lose, or do wrong, without it; "" for nothing.

    Raises:
        OSError: a folder in which a fork may lie cannot be listed.
    """
    first = session.files.paths[0]
    match session.dialect:
        case "codex":
            fork = next(_codex_forks(session, first), None)
        case "pi" | "openclaw" if not session.in_database and not session.source:
            fork = next(_pi_forks(first, session.dialect), None)
        case "crabtalk":
            return _keeps_number(first)
        case _:
            return ""
    return f"{fork} was forked from it, and needs it; remove that one first" if fork is not None else ""


def _codex_forks(session: StoredSession, first: Path) -> Iterator[Path]:
    home = home_of(first)
    folders = [first.parent] if home is None else [home / ARCHIVED, *_days(home)]
    for path in _naming(session.id, folders, "session_meta", _codex_source):
        if path not in session.files.paths:
            yield path


def _days(home: Path) -> Iterator[Path]:
    """Yield the folders of rollouts, ``sessions/YYYY/MM/DD``."""
    level = [home / SESSIONS]
    for _ in range(3):
        level = [one / name for one in level if one.is_dir() for name, _ in known_folder(os.fspath(one)).entries]
    yield from sorted(level)


def _codex_source(header: Header) -> str:
    meta = header.get("payload")
    meta = cast("Header", meta) if isinstance(meta, dict) else {}
    return "" if is_of_sub_agent(meta) else codex_parent(meta)


def _pi_forks(first: Path, dialect: str) -> Iterator[Path]:
    # forks of pi may work in another folder, each of which has one of its own beside this one
    folders = [first.parent]
    if dialect == "pi" and first.parent.name.startswith("--"):
        around = first.parent.parent
        folders = sorted(around / name for name, _ in known_folder(os.fspath(around)).entries)
    for path in _naming(session_id(first.name), folders, "session", pi_parent):
        if path != first:
            yield path


def _naming(own: str, folders: Iterable[Path], kind: str, source: Callable[[Header], str]) -> Iterator[Path]:
    """Yield the sessions in some folders whose header names another one as the one that they came from."""
    for folder in folders:
        if folder.is_dir():
            for name in _forks_in(os.fspath(folder), kind, source).get(own, ()):
                yield folder / name


def _forks_in(folder: str, kind: str, source: Callable[[Header], str]) -> Mapping[str, Sequence[str]]:
    """Return the names of the forks in a folder by what they came from; only new headers are read."""
    known = known_folder(folder)
    if kind in known.derived:
        return known.derived[kind]
    found: dict[str, list[str]] = defaultdict(list)
    is_whole = True
    for name, inode in sorted(known.entries):
        if not name.endswith(SUFFIXES) or name[0] == ".":
            continue
        key = folder, name, inode
        if key not in _named_parent:
            if len(_named_parent) >= _MOST_KNOWN:
                _named_parent.clear()
            header = _header(Path(folder, name), kind)
            if not header:
                is_whole = False
                continue
            _named_parent[key] = source(header)
        if _named_parent[key]:
            found[_named_parent[key]].append(name)
    if is_whole:
        known.derived[kind] = found
    return found


def _header(path: Path, kind: str) -> Header:
    try:
        with open_plain(path) as file:
            for _ in range(_HEADER_WITHIN):
                fields = whole(file.readline(_LONGEST_HEADER))
                if fields.get("type") == kind:
                    return fields
    except FileNotFoundError:
        pass  # removed since the folder was listed
    return {}


def _keeps_number(first: Path) -> str:
    line = meta_line_of(first)
    own = place_of(first.name, line.meta.agent) if line is not None else None
    if line is None or own is None:
        return ""
    highest = _highest(os.fspath(first.parent), line.meta.agent).get(own.sender, ())
    if any(seq >= own.seq for seq, name in highest if name != first.name):
        return ""
    return f"{own.seq} is the last number of its agent and sender, and crabtalk would give it to another session"


def _highest(folder: str, agent: str) -> Mapping[str, Sequence[tuple[int, str]]]:
    """Return the two highest numbers of each sender to an agent, with the names of their files."""
    known = known_folder(folder)
    key = f"numbers of {agent}"
    if key not in known.derived:
        found: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for name, _ in known.entries:
            place = place_of(name, agent)
            if place is not None:
                found[place.sender] = sorted([*found[place.sender], (place.seq, name)])[-2:]
        known.derived[key] = found
    return known.derived[key]


# What a folder holds, read once as long as nothing in it comes or goes: for questions that are asked of each file.
#
# The kernel sets the time at which a folder itself changed with every name that comes or goes. Within one tick of the
# file system's clock a change may leave no trace, so a listing that was made that soon after the last one is made
# again.

# ticks are 1 to 10 ms, or whole seconds
_TICK_NS = 100_000_000
_COARSE_TICK_NS = 2_000_000_000
_SECOND_NS = 1_000_000_000
_MOST_FOLDERS = 10_000


@dataclass(slots=True)
class KnownFolder:
    """A listing.

    Attributes:
        entries: names and inodes.
        derived: what was made of it, by a name of the caller's.
    """

    stamp: tuple[int, int]
    listed_ns: int
    entries: list[tuple[str, int]]
    derived: dict[str, Any] = field(default_factory=dict[str, Any])


_folders: dict[str, KnownFolder] = {}


def known_folder(folder: str) -> KnownFolder:
    """Return what lies in a folder.

    Raises:
        OSError: it cannot be listed.
    """
    now = time.time_ns()
    at = os.stat(folder)  # noqa: PTH116 - asked once a folder and session
    stamp = at.st_ctime_ns, at.st_ino
    tick = _TICK_NS if at.st_ctime_ns % _SECOND_NS else _COARSE_TICK_NS
    known = _folders.get(folder)
    if known is not None and known.stamp == stamp and known.listed_ns - at.st_ctime_ns > tick:
        return known
    with os.scandir(folder) as entries:
        listed = [(entry.name, entry.inode()) for entry in entries]
    if known is None or known.entries != listed:
        known = KnownFolder(stamp, now, listed)
    known.stamp, known.listed_ns = stamp, now
    if len(_folders) >= _MOST_FOLDERS:
        _folders.clear()
    _folders[folder] = known
    return known
