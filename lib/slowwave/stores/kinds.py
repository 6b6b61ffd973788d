"""Where each client keeps its sessions; a new client is one new class here and its place in :data:`HOMES`.

Claude Code and Cersei share a folder for each project, Codex sorts by days, pi by working folders, crabtalk by names;
OpenClaw keeps a store for each agent, opencode a database, and the session specification with ULIDs a folder for each
session.
"""

import os
import re
import sys
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from slowwave.errors import UnreadableError
from slowwave.formats.model import REFUSALS, SessionOrigin
from slowwave.places import home_folder
from slowwave.stores.model import StoreProblem
from slowwave.stores.walk import MEMORY, SUFFIX, SUFFIXES, FoundFile, FoundSession, K, Walk, key_in_database

if TYPE_CHECKING:
    from slowwave.formats.opencode.storage import Overview


# The protocol that every kind of store implements: where one client keeps its sessions and how it names them.


class Place(NamedTuple):
    """One folder or database whose sessions are one page of the catalogue.

    Attributes:
        kind: name of the kind that lists it.
        path: the folder, or the database file; its sessions then have their ids as part of their key.
        store: the real path of the root that it belongs to, which links may not lead out of; "" when they may.
    """

    kind: str
    path: str
    store: str = ""


def is_folder(entry: "os.DirEntry[str]", problems: list[StoreProblem]) -> bool:
    """Say whether an entry is a folder; a link that leads in a circle or nowhere one may look is reported."""
    try:
        return entry.is_dir()
    except OSError as error:
        problems.append(StoreProblem("unreadable", entry.path, error.strerror or "cannot be looked at"))
        return False


class Kind(Protocol):
    """How one client lays out its sessions on disk; kinds inherit from it for what they leave out.

    Attributes:
        name: what places of this kind, and rows of the catalogue, call it by.
        is_flat: all transcripts lie directly in the folder of a place, so what changed is told without listing them.
    """

    name: str
    is_flat: bool = False

    def usual(self, environ: Mapping[str, str]) -> list[Path]:
        """Return the roots that the client itself uses: its own variables, then ``HOME``; they may not exist."""
        ...

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:
        """Return the places below ``root``, or None when it is not laid out like a root of this kind.

        Args:
            root: an existing folder.
            names: the names of its entries.
            problems: what is left out, and why.

        Raises:
            OSError: a folder that must be listed cannot be; the caller reports it.
        """
        ...

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the sessions of a place, except those that the walk knows and that have not changed.

        No unchanged transcript may be opened; whatever is left out goes to the problems of the walk.
        """
        ...

    def titles(self, place: Place) -> Mapping[str, str]:
        """Return titles that the client keeps beside the sessions of a place, by session id; most keep none."""
        del place
        return {}


# Claude Code and Cersei: ``~/.claude/projects/<project>/*.jsonl``, and any plain folder of transcripts.
#
# A plain folder, or a folder of such folders, may hold transcripts of every client: their content tells.

PROJECTS = "projects"
# Places of this kind belong to one project each, which is named after the folder.
FOLDER_OF_PROJECT = "claude"


class ClaudeHome(Kind):
    """Claude Code's home, or its ``projects`` folder."""

    name = FOLDER_OF_PROJECT
    is_flat = True

    def usual(self, environ: Mapping[str, str]) -> list[Path]:
        """Return Claude Code's home: ``$CLAUDE_CONFIG_DIR``, else ``~/.claude``."""
        named = environ.get("CLAUDE_CONFIG_DIR")
        return [Path(named).expanduser() if named else home_folder(environ) / ".claude"]

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:
        """Return every project folder; each counts, as one without a transcript may still have sub-agents."""
        if root.name == PROJECTS:
            return _folders(root, problems)
        return _folders(root / PROJECTS, problems) if PROJECTS in names and (root / PROJECTS).is_dir() else None

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the sessions of a project folder."""
        return walk.sessions(place.path)


def _folders(root: Path, problems: list[StoreProblem]) -> list[Place]:
    with os.scandir(root) as found:
        entries = sorted(((entry.name, entry) for entry in found if entry.name[0] != "."), key=lambda item: item[0])
    places: list[Place] = []
    for name, entry in entries:
        if is_folder(entry, problems):
            places.append(Place(FOLDER_OF_PROJECT, entry.path))
        elif name.endswith(SUFFIXES):
            problems.append(StoreProblem("ignored", entry.path, "lies beside the project folders, not in one"))
    return places


# Codex: ``~/.codex/sessions/YYYY/MM/DD/rollout-<local time>-<id>.jsonl`` and, flat, ``archived_sessions/``.
#
# All days are one place: a home has thousands of their folders, and a page of the catalogue for each would cost more
# than their listing. A rollout's header tells its working folder and whether it is a sub-agent's.

CODEX_SESSIONS, ARCHIVED, INDEX = "sessions", "archived_sessions", "session_index.jsonl"
# Years, months and days.
_LEVELS = (re.compile(r"[0-9]{4}"), re.compile(r"[0-9]{2}"), re.compile(r"[0-9]{2}"))


class CodexHome(Kind):
    """Codex's home, or one of the two folders of rollouts in it."""

    name = "codex"

    def usual(self, environ: Mapping[str, str]) -> list[Path]:
        """Return the home: ``$CODEX_HOME``, else ``~/.codex``."""
        named = environ.get("CODEX_HOME")
        return [Path(named).expanduser() if named else home_folder(environ) / ".codex"]

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:  # noqa: ARG002
        """Return the tree of days and the archive."""
        if root.name == ARCHIVED:
            return [self._place(root)]
        if root.name == CODEX_SESSIONS and _has_years(root):
            return [self._place(root)]
        found = [root / CODEX_SESSIONS] if CODEX_SESSIONS in names and _has_years(root / CODEX_SESSIONS) else []
        found += [root / ARCHIVED] if ARCHIVED in names and (root / ARCHIVED).is_dir() else []
        if found:
            return [self._place(folder) for folder in found]
        # A home in which nobody has talked yet, or of which everything was removed.
        return [] if INDEX in names or root.name == ".codex" else None

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the rollouts of all days, or those of the archive."""
        if os.path.basename(place.path) == ARCHIVED:  # noqa: PTH119 - a name as it is on disk, any bytes
            for found in walk.sessions(place.path):
                found.source = "archived"
                yield found
            return
        for day in _below(place.path, 0, walk.problems):
            yield from walk.sessions(day)

    def titles(self, place: Place) -> Mapping[str, str]:
        """Return the names of threads that the index of the home keeps."""
        from slowwave.formats.codex.home import thread_names  # noqa: PLC0415 - only where this client is

        return thread_names(Path(place.path).parent)

    def _place(self, folder: Path) -> Place:
        return Place(self.name, os.fspath(folder))


def _has_years(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    with os.scandir(folder) as entries:
        return any(_LEVELS[0].fullmatch(entry.name) and is_folder(entry, []) for entry in entries)


def _below(folder: str, level: int, problems: list[StoreProblem]) -> Iterator[str]:
    """Yield the folders of all days in order; what lies beside them is reported."""
    try:
        with os.scandir(folder) as entries:
            # the kind of an entry comes with its name: no look at each of thousands of days
            found = sorted((entry.name, is_folder(entry, problems)) for entry in entries)
    except OSError as error:
        problems.append(StoreProblem("unreadable", folder, error.strerror or "cannot be listed"))
        return
    for name, listable in found:
        path = f"{folder}/{name}"
        if listable and _LEVELS[level].fullmatch(name):
            if level + 1 < len(_LEVELS):
                yield from _below(path, level + 1, problems)
            else:
                yield path
        elif name.endswith(SUFFIXES):
            problems.append(StoreProblem("ignored", path, "lies beside the folders of the days, not in one"))


# pi: ``~/.pi/agent/sessions/--<working folder>--/<time>_<id>.jsonl``.

# The working folder without its first slash, every separator as a dash; it cannot be turned back.
_FOLDER = re.compile(r"--.*--\Z", re.DOTALL)
_SESSIONS = "sessions"


class Pi(Kind):
    """pi's agent folder, or the ``sessions`` folder in it."""

    name = "pi"
    is_flat = True

    def usual(self, environ: Mapping[str, str]) -> list[Path]:
        """Return the agent folder: ``$PI_CODING_AGENT_DIR``, else ``~/.pi/agent``."""
        named = environ.get("PI_CODING_AGENT_DIR")
        return [Path(named).expanduser() if named else home_folder(environ) / ".pi" / "agent"]

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:  # noqa: ARG002
        """Return a place for each working folder."""
        for folder in (root / _SESSIONS, root / "agent" / _SESSIONS, root):
            if folder.is_dir() and (found := _pi_folders(folder, problems)):
                return [Place(self.name, path) for path in found]
        return None

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the sessions of a working folder."""
        return walk.sessions(place.path)


def _pi_folders(folder: Path, problems: list[StoreProblem]) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.path for entry in entries if _FOLDER.match(entry.name) and is_folder(entry, problems))


# crabtalk: ``~/.crabtalk/sessions/{agent}_{sender}_{seq}[_{title}].jsonl``, early versions in a folder for each day.
#
# A session is known by agent, sender and number: a title renames its file. Where the agent ends in a name says the
# first line of the file, which is read for new and changed files only.

CRABTALK_HOME = ".crabtalk"
CRABTALK_SESSIONS = "sessions"
# Slugs hold no underscore; the sender's may be empty.
_NAME = re.compile(r"[^.].*?_[^_]*_[0-9]+(_[^_]*)*\.jsonl\Z", re.DOTALL)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
# One damaged file must not hide what the folder is; past this many it is no folder of crabtalk's.
_MOST_LOOKS = 8


class Crabtalk(Kind):
    """crabtalk's home, its ``sessions`` folder, or a folder of such files."""

    name = "crabtalk"

    def usual(self, environ: Mapping[str, str]) -> list[Path]:
        """Return crabtalk's home; it has no variable for it."""
        return [home_folder(environ) / CRABTALK_HOME]

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:
        """Return the folder of sessions, and those of single days in it."""
        for folder in (root / CRABTALK_SESSIONS, root) if CRABTALK_SESSIONS in names else (root,):
            if folder.is_dir() and (found := _crabtalk_folders(folder, problems, is_home=root.name == CRABTALK_HOME)):
                return [Place(self.name, path) for path in found]
        return [] if root.name == CRABTALK_HOME else None

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the sessions of a folder; files that are none of crabtalk's keep their names as their ids."""
        from slowwave.formats.crabtalk import (  # noqa: PLC0415
            id_of,
            meta_line_of,
        )

        try:
            names = sorted(_transcripts(place.path))
        except OSError as error:
            walk.problems.append(StoreProblem("unreadable", place.path, error.strerror or "cannot be listed"))
            return
        for name in names:
            file = walk.look(place.path, name)
            if file is None:
                continue
            path = Path(place.path, name)
            try:
                line = meta_line_of(path)
            except UnreadableError as error:
                walk.problems.append(StoreProblem("unreadable", f"{place.path}/{name}", error.reason))
                continue
            meta = None if line is None else line.meta
            dialect = "" if meta is None else self.name
            yield FoundSession(place.path, id_of(name, meta), [file], side=False, dialect=dialect)


def _crabtalk_folders(folder: Path, problems: list[StoreProblem], *, is_home: bool) -> list[str]:
    with os.scandir(folder) as entries:
        days = [entry.path for entry in entries if _DAY.match(entry.name) and is_folder(entry, problems)]
    return [path for path in (os.fspath(folder), *sorted(days)) if _is_one(path, is_home=is_home)]


def _is_one(folder: str, *, is_home: bool) -> bool:
    """Say whether crabtalk keeps sessions in a folder: all names are of its form, and some file begins as its do.

    In its own home every folder with transcripts counts, so that damaged ones are reported, not passed over.
    """
    names = _transcripts(folder)
    if is_home:
        return bool(names)
    if not all(_NAME.match(name) for name in names):
        return False
    return any(_is_session(Path(folder, name)) for name in names[:_MOST_LOOKS])


def _is_session(path: Path) -> bool:
    from slowwave.formats.crabtalk import meta_line_of  # noqa: PLC0415 - only where this client is

    try:
        return meta_line_of(path) is not None
    except UnreadableError:
        return False  # reported when the folder is read, if another file shows what it is


def _transcripts(folder: str) -> list[str]:
    return [name for name in os.listdir(folder) if name.endswith(SUFFIX) and name[0] != "."]  # noqa: PTH208 - names only


# The session specification with ULIDs: ``~/.agent/sessions/{ULID}/session.jsonl`` beside ``metadata.json``.

ULID_HOME = ".agent"
ULID_SESSIONS = "sessions"
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
        return [home_folder(environ) / ULID_HOME]

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:  # noqa: ARG002
        """Return the folder of sessions when one of its folders is named by a ULID and holds a log."""
        for folder in (root / ULID_SESSIONS, root) if ULID_SESSIONS in names else (root,):
            if folder.is_dir() and _holds_logs(folder):
                return [Place(self.name, os.fspath(folder))]
        return [] if root.name == ULID_HOME else None

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the sessions of the folder; a log in a folder of another name is reported, and never opened (S7.8)."""
        from slowwave.formats.ulid.metadata import is_ulid  # noqa: PLC0415 - only where this client is

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
        from slowwave.formats.ulid.metadata import is_ulid  # noqa: PLC0415 - only where this client is

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


def _holds_logs(folder: Path) -> bool:
    from slowwave.formats.ulid.metadata import is_ulid  # noqa: PLC0415 - only where this client is

    with os.scandir(folder) as entries:
        return any(is_ulid(entry.name) and os.path.lexists(f"{entry.path}/{LOG}") for entry in entries)


# Clawdbot and OpenClaw: ``agents/<agent>/sessions/`` with ``sessions.json``, and the database of each agent.

_HOMES = (".openclaw", ".clawdbot", ".moltbot")
_OVERRIDES = ("OPENCLAW_STATE_DIR", "MOLTBOT_STATE_DIR", "CLAWDBOT_STATE_DIR")
_AGENTS = "agents"
_STORE = "sessions.json"
_DATABASE = "agent/openclaw-agent.sqlite"


class OpenclawHome(Kind):
    """The client's state folder, one agent's folder in it, or a folder with a store in it."""

    name = "openclaw"

    def usual(self, environ: Mapping[str, str]) -> list[Path]:
        """Return the state folder that a variable names, else ``~/.openclaw`` and what it was called before."""
        named = next((value for name in _OVERRIDES if (value := environ.get(name, "").strip())), "")
        if named:
            return [Path(named).expanduser()]
        home = Path(environ.get("OPENCLAW_HOME", "").strip() or home_folder(environ)).expanduser()
        profile = environ.get("OPENCLAW_PROFILE", "").strip()
        own = f".openclaw-{profile}" if profile and profile.lower() != "default" and "/" not in profile else _HOMES[0]
        folders = [home / name for name in (own, *_HOMES[1:])]
        # the client leaves a link under the old name when it moves its folder
        return list({folder.resolve(): folder for folder in reversed(folders)}.values())[::-1]

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:
        """Return a place for each agent's folder of sessions and each database."""
        if _AGENTS in names and (root / _AGENTS).is_dir():
            found = [
                place
                for agent in _openclaw_folders(root / _AGENTS, problems)
                for place in self._of_agent(agent, problems)
            ]
            if found or root.name in _HOMES:
                return found
        if _STORE in names:
            return [Place(self.name, os.fspath(root))]
        return self._of_agent(root, problems) or ([] if root.name in _HOMES else None)

    def _of_agent(self, agent: Path, problems: list[StoreProblem]) -> list[Place]:
        found: list[Place] = []
        sessions = agent / "sessions"
        if sessions.is_dir() and _holds_transcripts(sessions):
            found.append(Place(self.name, os.fspath(sessions)))
        if (agent / _DATABASE).is_file():
            found.append(Place(self.name, os.fspath(agent / _DATABASE)))
        elif os.path.lexists(agent / _DATABASE):
            problems.append(StoreProblem("unreadable", os.fspath(agent / _DATABASE), "is not a file"))
        return found

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the sessions of a place, of a folder also those that were reset, deleted or kept as a backup."""
        if place.path.endswith(f"/{_DATABASE}"):
            return self._of_database(place, walk)
        return self._of_folder(place, walk)

    def _of_folder(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        from slowwave.stores.openclaw.sessions import (  # noqa: PLC0415
            artifact_of,
            facts_beside,
        )

        try:
            names = sorted(os.listdir(place.path))  # noqa: PTH208 - names only
        except OSError as error:
            walk.problems.append(StoreProblem("unreadable", place.path, error.strerror or "cannot be listed"))
            return
        facts = facts_beside(place.path)
        walk.problems.extend(facts.problems)
        kinds = Counter[str]()
        for name in names:
            found = artifact_of(name)
            kinds[found.kind] += 1
            if found.kind != "transcript":
                continue
            stem = f"{found.session}-topic-{found.topic}" if found.topic else found.session
            about = facts.by_stem.get(stem)
            told = about.told if about is not None else ""
            file = walk.look(place.path, name, told)
            if file is not None:
                side = about is not None and about.is_side
                own = name.removesuffix(".zst").replace(".jsonl", "", 1)
                session = FoundSession(place.path, own, [file], side=side, dialect=self.name, source=found.source)
                session.told = told
                session.kind = "subagent" if side else ""
                if about is not None:
                    session.parent, session.origin = about.parent, about.origin
                yield session
        if kinds["trajectory"]:
            detail = f"{kinds['trajectory']} trajectories, which record the runs of sessions once more"
            walk.problems.append(StoreProblem("ignored", place.path, detail))

    def _of_database(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        import sqlite3  # noqa: PLC0415 - few stores are databases

        from slowwave.formats.database import opened_read_only  # noqa: PLC0415 - as above
        from slowwave.stores.openclaw.sessions import AgentSessions  # noqa: PLC0415 - as above

        folder, _, name = place.path.rpartition("/")
        changed: list[FoundSession] = []
        try:
            at = os.stat(place.path)  # noqa: PTH116 - once a database
            with opened_read_only(Path(place.path)) as rows:
                sessions = AgentSessions(rows)
                for listed in sessions.listed():
                    old = walk.known.get(key_in_database(place.path, listed.id))
                    if old is not None and (old.mtime_ns, old.dev, old.ino) == (listed.mtime_ns, at.st_dev, at.st_ino):
                        walk.kept.append(old)
                        continue
                    file = FoundFile(name, sessions.size(listed.id), listed.mtime_ns, at.st_dev, at.st_ino)
                    kind = "subagent" if listed.is_side else "fork" if listed.is_fork else "main"
                    found = FoundSession(folder, listed.id, [file], listed.is_side, dialect=self.name, kind=kind)
                    found.cwd, found.in_database, found.origin = sessions.cwd(listed.id), True, listed.origin
                    changed.append(found)
        except (sqlite3.Error, OSError) as error:
            walk.problems.append(StoreProblem("unreadable", place.path, f"no readable OpenClaw database: {error}"))
            return
        yield from changed

    def titles(self, place: Place) -> Mapping[str, str]:
        """Return what people and the client call the sessions of a place."""
        if not place.path.endswith(f"/{_DATABASE}"):
            from slowwave.stores.openclaw.sessions import facts_beside  # noqa: PLC0415 - as above

            by_stem = facts_beside(place.path).by_stem
            return {stem: about.title for stem, about in by_stem.items() if about.title}
        import sqlite3  # noqa: PLC0415 - few stores are databases

        from slowwave.stores.openclaw.sessions import titles_in  # noqa: PLC0415 - as above

        try:
            return titles_in(Path(place.path))
        except (sqlite3.Error, OSError):
            return {}  # reported where its sessions are listed


def _openclaw_folders(parent: Path, problems: list[StoreProblem]) -> list[Path]:
    with os.scandir(parent) as entries:
        return sorted(Path(entry.path) for entry in entries if entry.name[0] != "." and is_folder(entry, problems))


def _holds_transcripts(folder: Path) -> bool:
    from slowwave.stores.openclaw.sessions import artifact_of  # noqa: PLC0415 - only where this client is

    with os.scandir(folder) as entries:
        return any(entry.name == _STORE or artifact_of(entry.name).kind == "transcript" for entry in entries)


# opencode: ``~/.local/share/opencode/opencode.db``, and the JSON storage trees of earlier versions beside it.
#
# The client copied its trees into the database when it got one and left them where they were; a session that is in both
# counts once, as the database has it.

OPENCODE_FOLDER = "opencode"
# Other channels of the client than the released one have databases of their own.
_OPENCODE_DATABASE = re.compile(r"opencode(?:-[\w.-]+)?\.db")
_STORAGE, _PROJECTS, _SESSION, _INFO = "storage", "project", "session", "info"
_MESSAGE = "message"
_NS = 1_000_000


class Opencode(Kind):
    """opencode's data folder; each database and each storage tree in it is a place."""

    name = "opencode"

    def usual(self, environ: Mapping[str, str]) -> list[Path]:
        """Return the data folder: ``$XDG_DATA_HOME/opencode``, else ``~/.local/share/opencode``."""
        base = environ.get("XDG_DATA_HOME") or home_folder(environ) / ".local" / "share"
        return [Path(base).expanduser() / OPENCODE_FOLDER]

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:  # noqa: ARG002
        """Return its databases, its storage tree, and those of the projects of its first versions."""
        trees = [root, root / _STORAGE, *sorted((root / _PROJECTS).glob(f"*/{_STORAGE}"))]
        found = sorted(entry for entry in os.listdir(root) if _OPENCODE_DATABASE.fullmatch(entry))  # noqa: PTH208 - names only
        places = [Place(self.name, f"{root}/{name}") for name in found]
        places += [Place(self.name, os.fspath(tree)) for tree in trees if _is_tree(tree)]
        # A data folder in which nobody has talked yet.
        return places or ([] if root.name == OPENCODE_FOLDER and _STORAGE in names else None)

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the sessions of a database or a tree, except those that are known and have not changed."""
        if _OPENCODE_DATABASE.fullmatch(os.path.basename(place.path)):  # noqa: PTH119 - a name as it is on disk
            yield from _of_database(place.path, walk)
        else:
            yield from _of_tree(place.path, walk)


def _is_tree(folder: Path) -> bool:
    """Say whether messages lie beside the sessions, or in the first versions infos among them."""
    sessions = folder / _SESSION
    return sessions.is_dir() and ((folder / _MESSAGE).is_dir() or (sessions / _INFO).is_dir())


def _of_database(path: str, walk: Walk[K]) -> list[FoundSession]:
    """Return what is new in a database: all is looked at in one transaction, so that it is of one moment."""
    from slowwave.formats.opencode.storage import opened_rows  # noqa: PLC0415 - few stores are opencode's

    folder, _, name = path.rpartition("/")
    try:
        at = os.stat(path)  # noqa: PTH116 - once a place
        with opened_rows(Path(path)) as rows:
            found: list[FoundSession] = []
            for session, updated, number in rows.changes():
                # A message that came or went without a new time shows below the millisecond.
                changed = updated * _NS + number % _NS
                old = walk.known.get(key_in_database(path, session))
                if old is not None and (old.mtime_ns, old.dev, old.ino) == (changed, at.st_dev, at.st_ino):
                    walk.kept.append(old)
                    continue
                file = FoundFile(name, rows.size(session), changed, at.st_dev, at.st_ino)
                found.append(_session(folder, session, file, rows.overview(session), in_database=True))
            return found
    except UnreadableError as error:
        walk.problems.append(StoreProblem("unreadable", path, error.reason))
    except OSError as error:
        walk.problems.append(StoreProblem("unreadable", path, error.strerror or "no stat"))
    return []


def _of_tree(storage: str, walk: Walk[K]) -> Iterator[FoundSession]:
    twice = 0
    moved = _ids_in_databases(storage, walk.problems)
    for folder in _folders_of_sessions(storage, walk.problems):
        for name in _names(folder, walk.problems):
            if not name.endswith(".json") or name[0] == ".":
                continue
            if name[: -len(".json")] in moved:
                twice += 1
            elif (found := _in_tree(storage, folder, name, walk)) is not None:
                yield found
    if twice:
        detail = f"{twice} sessions are in the database beside it, too, and are read from there"
        walk.problems.append(StoreProblem("duplicate", storage, detail))


def _ids_in_databases(storage: str, problems: list[StoreProblem]) -> set[str]:
    """Return the ids of the sessions in the databases of the data folder that a tree belongs to."""
    from slowwave.formats.opencode.storage import opened_rows  # noqa: PLC0415 - few stores are opencode's

    root = Path(storage).parent
    if root.parent.name == _PROJECTS:
        root = root.parents[1]
    found: set[str] = set()
    for name in _names(os.fspath(root), problems):
        if _OPENCODE_DATABASE.fullmatch(name):
            try:
                with opened_rows(root / name) as rows:
                    found |= rows.ids()
            except UnreadableError as error:
                detail = f"{error.reason}; sessions that it has a copy of may be counted twice"
                problems.append(StoreProblem("unreadable", f"{root}/{name}", detail))
    return found


def _folders_of_sessions(storage: str, problems: list[StoreProblem]) -> list[str]:
    """Return ``session/info`` of the first versions, or the folder of each project of the later ones."""
    base = f"{storage}/{_SESSION}"
    names = _names(base, problems)
    folders = [f"{base}/{_INFO}"] if _INFO in names else [f"{base}/{name}" for name in names]
    return [folder for folder in folders if os.path.isdir(folder)]  # noqa: PTH112 - no pathlib in the walk


def _in_tree(storage: str, folder: str, name: str, walk: Walk[K]) -> FoundSession | None:
    """Return a session of a tree, or None when it is known and has no new message."""
    from slowwave.formats.opencode.storage import directory_in, overview_in_file  # noqa: PLC0415 - as above

    path = f"{folder}/{name}"
    if walk.leads_out(path):
        return None
    identity = name[: -len(".json")]
    messages = f"{storage}/{_SESSION}/message/{identity}" if folder.endswith(_INFO) else f"{storage}/message/{identity}"
    try:
        at = os.stat(path)  # noqa: PTH116 - no pathlib in the walk
        # A new message changes its folder, also with versions that do not note it in the session's own file.
        changed = max(at.st_mtime_ns, _mtime(messages))
        old = walk.known.get(path)
        if old is not None and (old.mtime_ns, old.dev, old.ino) == (changed, at.st_dev, at.st_ino):
            walk.kept.append(old)
            return None
        seen = overview_in_file(Path(path))
    except OSError as error:
        walk.problems.append(StoreProblem("unreadable", path, error.strerror or "no stat"))
        return None
    except UnreadableError as error:
        walk.problems.append(StoreProblem("unreadable", path, error.reason))
        return None
    size = at.st_size + _bytes_below(storage, folder, messages)
    found = _session(folder, identity, FoundFile(name, size, changed, at.st_dev, at.st_ino), seen)
    found.cwd = found.cwd or directory_in(Path(messages))
    return found


def _bytes_below(storage: str, folder: str, messages: str) -> int:
    """Return the size of all files of a session's messages and parts."""
    parts = f"{storage}/{_SESSION}/part/{os.path.basename(messages)}" if folder.endswith(_INFO) else f"{storage}/part"  # noqa: PTH119
    size = 0
    for name, at in _files(messages):
        size += at + sum(part for _, part in _files(f"{parts}/{name.removesuffix('.json')}"))
    return size


def _files(folder: str) -> list[tuple[str, int]]:
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.stat().st_size) for entry in entries if entry.name.endswith(".json")]
    except OSError:
        return []  # a session without messages, a message without parts; the reader reports what it cannot read


def _mtime(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 - no pathlib in the walk
    except OSError:
        return 0


def _names(folder: str, problems: list[StoreProblem]) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names only
    except OSError as error:
        problems.append(StoreProblem("unreadable", folder, error.strerror or "cannot be listed"))
        return []


def _session(folder: str, name: str, file: FoundFile, seen: "Overview", *, in_database: bool = False) -> FoundSession:
    return FoundSession(
        folder,
        name,
        [file],
        side=seen.is_child,
        dialect="opencode",
        cwd=seen.directory,
        kind="subagent" if seen.is_child else "fork" if seen.is_fork else "main",
        source="archived" if seen.is_archived else "",
        in_database=in_database,
    )


# Each is a client's home; the first that recognises a folder takes it.
HOMES: tuple[Kind, ...] = (ClaudeHome(), Pi(), CodexHome(), Opencode(), Crabtalk(), Ulid(), OpenclawHome())


class Transcripts(ClaudeHome):
    """A folder of transcripts, or a folder of such folders: the last kind that is tried."""

    def usual(self, environ: Mapping[str, str]) -> list[Path]:  # noqa: ARG002
        """Return no root: no client keeps its sessions so."""
        return []

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:  # noqa: ARG002
        """Return the folder itself when a transcript lies in it, else its sub-folders with transcripts or memories."""
        with os.scandir(root) as entries:
            if any(entry.name.endswith(SUFFIXES) and entry.name[0] != "." for entry in entries):
                return [Place(self.name, os.fspath(root))]
        found = _folders(root, problems)
        return [place for place in found if _holds_sessions(place.path, problems)] or None


def _holds_sessions(folder: str, problems: list[StoreProblem]) -> bool:
    try:
        # the first transcript decides, so the rest of a large folder is listed only once, by the walk
        with os.scandir(folder) as inside:
            return any(entry.name.endswith(SUFFIXES) or entry.name == MEMORY for entry in inside)
    except OSError as error:
        problems.append(StoreProblem("unreadable", folder, error.strerror or "cannot be listed"))
        return False


# All kinds of stores, in the order in which a folder is asked what it is.

# What is no client's home: transcripts that somebody put together.
PLAIN: Kind = Transcripts()
BY_NAME: dict[str, Kind] = {kind.name: kind for kind in (*HOMES, PLAIN)}


# Where Claude Code keeps its settings, in the order in which it lays one file over another (read in 2.1.330).
#
# An administrator's policy lies in one folder of the machine and goes over everything that a person sets.

# a folder of the machine, not of a home; the client takes no other one
CLAUDE_POLICY = Path("/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code")


def persons_files(home: Path, cwd: Path | None) -> list[Path]:
    """Return the files that people write, the strongest last; they may not exist.

    Args:
        home: the client's home, usually ``~/.claude``.
        cwd: the folder that a session works in.
    """
    own = [cwd / ".claude" / name for name in ("settings.json", "settings.local.json")] if cwd is not None else []
    return [home / "settings.json", *own]


def policy_files() -> list[Path]:
    """Return the files of the machine's policy, the strongest last; the first may not exist.

    Raises:
        OSError: there is a folder with more of them, which cannot be listed.
    """
    folder = CLAUDE_POLICY / "managed-settings.d"
    try:
        more = sorted(path for path in folder.iterdir() if path.suffix == ".json" and path.name[0] != ".")
    except (FileNotFoundError, NotADirectoryError):
        more = []
    return [CLAUDE_POLICY / "managed-settings.json", *more]
