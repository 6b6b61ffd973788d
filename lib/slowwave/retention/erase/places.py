"""Every place that an erasure looks into: what slowwave writes, homes of clients, git stores, and what is left out.

In a database of SQLite rows are overwritten with what is as long, tables of a full-text search changed through it and
built anew, all in one transaction; then the file is written anew, so that no byte of them stays.
"""

import os
import re
import sqlite3
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, cast

from slowwave.errors import RefusedError, SlowwaveError
from slowwave.files import (
    archive_folder,
    at_fault_point,
    config_folder,
    data_folder,
    file_bytes,
    scheduler_folder,
    state_folder,
)
from slowwave.formats.database import HEADER, opened_read_only
from slowwave.formats.registry import CLIENTS
from slowwave.locks import remove_leftovers
from slowwave.memory.folder import OWN_FOLDER, global_folder
from slowwave.quantities import counted
from slowwave.report import NOT_SEARCHED, Item
from slowwave.retention.erase import Eraser, Names
from slowwave.retention.erase.mask import STUCK, Place, is_packed, layers, overwritten
from slowwave.retention.erase.subjects import What
from slowwave.retention.erase.transcripts import FilePlan, Line, drop_lines, lines_of, plain_bytes, plan_file
from slowwave.retention.holds import home_files
from slowwave.settings import Settings
from slowwave.stores.archive.pack import SUFFIX as PACK
from slowwave.stores.projects import Project
from slowwave.stores.roots import is_persons_home
from slowwave.stores.trash import trash_folder

_WAIT_S = 60.0
# a client that has it open keeps it open
_WAIT_FOR_CLIENT_S = 2.0
_CHUNK = 32 << 20
_OVERLAP = 64 << 10


@dataclass(slots=True)
class Found:
    """What was found in a database."""

    places: list[Place] = field(default_factory=list[Place])  # what is or was overwritten
    refused: list[str] = field(default_factory=list[str])  # what stays, each with the reason


def is_database(path: Path) -> bool:
    """Say whether a file is a database of SQLite."""
    with path.open("rb") as file:
        return file.read(len(HEADER)) == HEADER


def found_in_database(path: Path, what: What) -> Found:
    """Return what must go from a database, without changing it or what lies beside it.

    Raises RefusedError: it cannot be read.
    """
    found = Found()
    try:
        with opened_read_only(path) as database:
            _walk(database, what, found, apply=False)
    except (sqlite3.Error, OSError) as error:
        raise RefusedError(f"cannot be searched: {error}") from error
    return found


def clean_database(
    path: Path, what: What, *, alone: bool = False, before: Callable[[sqlite3.Connection], None] | None = None
) -> Found:
    """Overwrite what must go from every table of a database, and write it anew; return what that was.

    ``alone``: nobody else may have it open; without it another process may, and is waited for; ``before``: is told of
    the changed rows right before they count. Raises RefusedError: somebody has it open or locked, the disk is full, or
    it is damaged; it is as it was.
    """
    found = Found()
    try:
        with _opened(path, alone=alone) as database:
            database.execute("BEGIN EXCLUSIVE" if alone else "BEGIN IMMEDIATE")
            _walk(database, what, found, apply=True)
            if found.places and before is not None:
                before(database)
            at_fault_point("write", path)
            database.execute("COMMIT")
            at_fault_point("write", path)
            # also when nothing was found now: a killed run may have overwritten rows and not come so far
            database.execute("VACUUM")
            busy, *_ = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error as error:
        who = "end the client that has it open" if alone else "stop `slowwave serve`"
        raise RefusedError(f"{error}; {who}, then run it again") from error
    if busy:
        found.refused.append("is in use, and bytes stay in its log; stop `slowwave serve`, then run it again")
    elif bytes_hold(path, what):
        found.refused.append("bytes of what must go are left in it, outside of what its tables show")
    return found


def bytes_hold(path: Path, what: What) -> bool:
    """Say whether what must go stands in any byte of a database, or of what lies beside it of its last writes."""
    return any(_holds(one, what) for one in database_files(path))


def database_files(path: Path) -> list[Path]:
    """Return a database and what lies beside it of its last writes."""
    return [one for end in ("", "-wal", "-journal") if (one := path.with_name(path.name + end)).is_file()]


def _holds(path: Path, what: What) -> bool:
    with path.open("rb") as file:
        data = b""
        while chunk := file.read(_CHUNK):
            data = data[-_OVERLAP:] + chunk
            if what.hits(data):
                return True
    return False


@contextmanager
def _opened(path: Path, *, alone: bool) -> Generator[sqlite3.Connection]:
    with _time_kept(path) if alone else nullcontext():
        wait = _WAIT_FOR_CLIENT_S if alone else _WAIT_S
        address = f"{path.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(address, uri=True, timeout=wait, isolation_level=None)) as database:
            database.text_factory = Text
            if alone:
                # before the first look: so SQLite takes the whole file, also where others share its log
                database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("PRAGMA secure_delete = ON")
            yield database


@contextmanager
def _time_kept(path: Path) -> Generator[None]:
    """Let a file be as old afterwards as it was before."""
    before = path.stat()
    yield
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _walk(database: sqlite3.Connection, what: What, found: Found, *, apply: bool) -> None:
    for value in changed_values(database, what):
        found.places += value.places
        found.refused += [f"{value.where}: {place.mark} {STUCK}" for place in value.stuck]
        if value.refused:
            found.refused.append(f"{value.where}: {value.refused}")
        elif apply and value.places:
            value.write(database)
    if apply and found.places:
        rebuild_searches(database)


# Values of a database that must change, table by table, each found again by its row.

_SEARCHES = ("fts3", "fts4", "fts5")


class Text(bytes):
    """A text of a database as its bytes, which may be no UTF-8; what is no text comes as plain bytes."""

    __slots__ = ()


@dataclass(slots=True)
class Value:
    """One value."""

    table: str  # where it stands, as is ``column``
    column: str  # its column
    keys: dict[str, object]  # columns that name its row, and their values there
    new: bytes  # what it becomes
    places: list[Place] = field(default_factory=list[Place])  # what is taken out of it
    stuck: list[Place] = field(default_factory=list[Place])  # what stays in it
    refused: str = ""  # why nobody can look into it, or ""

    @property
    def where(self) -> str:
        """What a report calls its place."""
        return f"{self.table}.{self.column}"

    def write(self, database: sqlite3.Connection) -> None:
        """Put the new value into its row.

        Raises sqlite3.Error: the table does not take it; RefusedError: its row is not found again, for its name
        changed.
        """
        value = "CAST(? AS TEXT)" if isinstance(self.new, Text) else "?"
        rows = " AND ".join(f"{_quoted(key)} = ?" for key in self.keys)
        query = f"UPDATE {_quoted(self.table)} SET {_quoted(self.column)} = {value} WHERE {rows}"  # noqa: S608 - its own names
        done = database.execute(query, (bytes(self.new), *map(_given, self.keys.values())))
        if done.rowcount != 1:
            raise RefusedError(f"{self.where}: the name of its row holds what must go")


def changed_values(database: sqlite3.Connection, what: What) -> Iterator[Value]:
    """Yield every value that must change, or cannot. Raises sqlite3.Error: the database is damaged."""
    for table in _tables(database):
        # all of a table before the first of it changes: a row that moved would come again
        yield from list(_of_table(database, table, what))


def rebuild_searches(database: sqlite3.Connection) -> None:
    """Build the indexes of full-text searches anew: they keep the words of what was changed.

    Raises sqlite3.Error: one cannot be built.
    """
    for name, sql in _virtual(database):
        if _module(sql) in _SEARCHES and not _has_no_content(sql):
            database.execute(f"INSERT INTO {_quoted(name)}({_quoted(name)}) VALUES ('rebuild')")  # noqa: S608 - its own name


def _tables(database: sqlite3.Connection) -> list[str]:
    """Return the tables that hold values of their own: no index of a search, but the search with its texts."""
    virtual = dict(_virtual(database))
    plain = [_name(name) for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    tables = [
        name
        for name in plain
        if name not in virtual
        and not name.startswith("sqlite_")
        and not any(name.startswith(f"{search}_") for search in virtual)
    ]
    # one that only points to the texts of another table follows it
    tables += [n for n, sql in virtual.items() if _module(sql) in _SEARCHES and f"{n}_content" in plain]
    return tables


def _virtual(database: sqlite3.Connection) -> list[tuple[str, str]]:
    rows = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%'")
    return [(_name(name), _name(sql)) for name, sql in rows]


def _module(sql: str) -> str:
    return sql.lower().partition(" using ")[2].partition("(")[0].strip()


def _has_no_content(sql: str) -> bool:
    return "content=''" in "".join(sql.split()) or 'content=""' in "".join(sql.split())


def _of_table(database: sqlite3.Connection, table: str, what: What) -> Iterator[Value]:
    columns = database.execute("SELECT name, pk, hidden FROM pragma_table_xinfo(?)", (table,)).fetchall()
    # what is computed follows what it is computed from
    names = [_name(name) for name, _, hidden in columns if not hidden]
    keys = _keys(database, table, [_name(name) for name, pk, _ in sorted(columns, key=lambda one: one[1]) if pk])
    query = f"SELECT {', '.join(map(_quoted, (*keys, *names)))} FROM {_quoted(table)}"  # noqa: S608 - its own names
    for row in database.execute(query):
        own = dict(zip(keys, row, strict=False))
        for name, value in zip(names, row[len(keys) :], strict=True):
            if not isinstance(value, bytes):
                continue
            try:
                found = overwritten(value, what)
            except RefusedError as error:
                yield Value(table, name, own, value, refused=str(error))
                continue
            if found.places or found.stuck:
                yield Value(table, name, own, type(value)(found.data), found.places, found.stuck)


def _keys(database: sqlite3.Connection, table: str, primary: Sequence[str]) -> Sequence[str]:
    """Return the columns that name a row: its number, or the primary key of a table without numbers."""
    try:
        database.execute(f"SELECT rowid FROM {_quoted(table)} LIMIT 0")  # noqa: S608 - its own name
    except sqlite3.OperationalError:
        return primary
    return ("rowid",)


def _given(key: object) -> object:
    """Return a key as it is looked for: text is another value than the same bytes."""
    return key.decode("utf-8", "surrogateescape") if isinstance(key, Text) else key


def _name(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def _quoted(name: str) -> str:
    # SQLite takes a text in double quotes that names no column for a text
    return "rowid" if name == "rowid" else '"' + name.replace('"', '""') + '"'


# what an erasure does with each setting that names a place; a test holds that none is missing
SETTINGS = {
    "store.roots": "searched as the homes of clients are",
    "store.moved": "names only folders; searched with the other settings",
    "memory.folder": "found with its project",
    "memory.elsewhere": "found by its template",
    "memory.global_folder": "found by its template",
    "memory.global_import": "gets one line, the path of the global memory",
    "memory.shared": "files of shared memories that hold it are removed; git's history keeps what was committed",
    "secrets.key_file": "holds only a random key",
    "telemetry.log_file": "overwritten as a file in the home of a client is",
}
_SENT = "batches/sent"


def roots_of(environ: Mapping[str, str]) -> list[Path]:
    """Return the folders below which all lies that slowwave writes, unless settings say otherwise."""
    return [
        folder for folder in (data_folder(environ), state_folder(environ), config_folder(environ)) if folder.is_dir()
    ]


def names_in(settings: Settings, environ: Mapping[str, str]) -> Names:
    """Return what counts the names of files below all that an erasure of everything deals with."""
    return Names(lambda: (*homes(settings.store.roots, environ), *roots_of(environ)))


def memories_in(settings: Settings, environ: Mapping[str, str]) -> set[Path]:
    """Return the memory folders that lie where the settings put those of projects without a folder of their own.

    They are found whether or not a session of their project is left. Raises SettingsError: a template is malformed.
    """
    data = data_folder(environ)
    found = {path.parent.parent for path in data.rglob(f"{OWN_FOLDER}/*.jsonl")} if data.is_dir() else set[Path]()
    pattern = Path(settings.memory.elsewhere.format(data=os.fspath(data), key="*")).expanduser().absolute()
    places = [*Path(pattern.anchor).glob(os.fspath(pattern.relative_to(pattern.anchor)))]
    return found | {path for path in (*places, global_folder(settings, environ)) if (path / OWN_FOLDER).is_dir()}


def erase_from_logs(eraser: Eraser) -> None:
    """Overwrite what must go from the log that the settings name, and from those that it was before a rotation."""
    name = eraser.settings.telemetry.log_file
    if not name or name == "-":
        return
    place = Path(name).expanduser()
    for path in sorted(place.parent.glob(f"{place.name}*")) if place.parent.is_dir() else ():
        if path.is_file():
            erase_from_home_file(path, eraser, whole=True)


def look_into_rest(eraser: Eraser, memories: Collection[Path]) -> None:
    """Look into what no step knows, and into what people wrote: holds, settings. It is named, and theirs to change."""
    for path in _rest(eraser.environ, memories):
        try:
            data = file_bytes(path)
            is_found = bool(eraser.what.hits(data)) or any(map(eraser.what.hits, layers(data)))
        except FileNotFoundError:
            continue  # a running job clears its own files away
        except (SlowwaveError, OSError) as error:
            eraser.refuse("", str(path), str(error))
            continue
        if is_found:
            eraser.refuse("", str(path), "settings, holds or a file of slowwave name a subject; change it yourself")


def _rest(environ: Mapping[str, str], memories: Collection[Path]) -> Iterator[Path]:
    """Yield the files below the folders for data and settings that no other step overwrites."""
    known = {trash_folder(environ), *memories}
    for root in (data_folder(environ), config_folder(environ)):
        for folder, inner, names in os.walk(root):
            inner[:] = sorted(name for name in inner if Path(folder, name) not in known)
            for path in (Path(folder, name) for name in sorted(names)):
                is_pack = path.suffix == PACK and path.parent == archive_folder(environ)
                if path.is_file() and not path.is_symlink() and not is_pack:
                    yield path
    # never replaced by another file, since processes hold them
    yield from sorted(path for path in state_folder(environ).rglob("*") if path.suffix in (".lock", ".key"))


def refuse_on_their_way(eraser: Eraser) -> None:
    """Name questions to a model that were handed over: their answers are still to come, and may name a subject."""
    sent = state_folder(eraser.environ) / _SENT
    if number := sum(1 for _ in sent.glob("*.json")):
        sent_on = f"{counted(number, 'batch', 'batches')} of questions"
        reason = f"at the server of a model, with what they quote: {sent_on}; run this again"
        eraser.refuse("", str(sent), f"{reason} once their answers were read, and delete them there")


# What clients keep in their homes over all sessions, and whatever else lies there, in an erasure.


def erase_from_homes(projects: Sequence[Project], eraser: Eraser, memories: Collection[Path]) -> list[Path]:
    """Deal with prompts, names and indexes, then with every other file; return the databases that were met.

    Raises OSError: a folder cannot be read.
    """
    known = home_files(session for project in projects for session in project.sessions)
    for path in known:
        _drop_sessions(path, eraser)
        erase_from_home_file(path, eraser)
        if not eraser.dry_run:
            remove_leftovers(path.parent)
    return _others(known, eraser, memories) if eraser.what.keeps_length else []


def _drop_sessions(path: Path, eraser: Eraser) -> None:
    sessions = eraser.across.sessions
    if sessions and (number := lines_of(path, sessions)) and not eraser.linked("", path):
        eraser.found("", str(path), [Place(0, 0, "session", "lines of erased sessions")] * number)
        if not eraser.dry_run:
            with eraser.rewriting(path):
                drop_lines(path, sessions)


def _others(known: Collection[Path], eraser: Eraser, memories: Collection[Path]) -> list[Path]:
    databases: list[Path] = []
    folders = homes(eraser.settings.store.roots, eraser.environ)
    for folder in () if eraser.dry_run else folders:
        remove_leftovers(folder, below=True)
    for path, sort in other_files(folders, eraser.across.seen | set(known), memories):
        if sort is Sort.LINK:
            eraser.report.count("not_searched")
            eraser.report.items.append(Item(os.fspath(path), NOT_SEARCHED, sort.value))
            continue
        eraser.report.count("searched_files")
        if sort is Sort.DATABASE:
            databases.append(path)
        elif sort is Sort.GIT:
            _look_into_git(path, eraser)
        elif is_packed(path) and _is_refused_packed(path, eraser):
            continue
        elif sort is Sort.KNOWN:
            if path.name in INDEXES:
                _drop_sessions(path, eraser)  # the last session of this home has gone, now or in a run that was killed
            erase_from_home_file(path, eraser, whole=".jsonl" not in path.name)
        elif eraser.what.hits(path.read_bytes()):
            eraser.refuse("", str(path), sort.value)
    return databases


def look_into_names(folders: Collection[Path], eraser: Eraser) -> None:
    """Name every file and folder whose own name holds a subject: other programs find it by that."""
    for home in folders:
        for folder, inner, names, links in walk_home(home):
            for name in sorted((*inner, *names, *links)):
                if eraser.what.hits(os.fsencode(name)):
                    eraser.refuse("", os.path.join(folder, name), "its name holds a subject; rename it")  # noqa: PTH118 - as it is on disk


def _look_into_git(folder: Path, eraser: Eraser) -> None:
    try:
        number = sum(bool(eraser.what.hits(one)) for one in objects_in(folder))
    except (SlowwaveError, OSError) as error:
        eraser.refuse("", str(folder), str(error))
        return
    if number:
        reason = f"a git store with {number} objects that hold a subject; they are named by their hashes, so it goes as"
        eraser.refuse("", str(folder), f"{reason} a whole: end its client, then remove the folder")


def _is_refused_packed(path: Path, eraser: Eraser) -> bool:
    """Refuse a file when what is packed in it holds a subject, or nobody can look into it."""
    try:
        is_found = any(eraser.what.hits(one) for one in layers(path.read_bytes()))
    except (SlowwaveError, OSError) as error:
        eraser.refuse("", str(path), str(error))
        return True
    if is_found:
        eraser.refuse("", str(path), "what is packed in it holds a subject; remove it, or unpack it and run this again")
    return is_found


def _leave_held(plan: FilePlan, eraser: Eraser) -> None:
    """Take the lines out of a plan that something holds, and name them."""
    if not plan.lines or not eraser.holds:
        return
    data = plain_bytes(plan.path)
    free: list[Line] = []
    for line in plan.lines:
        if held := eraser.held_text(data[line.offset : line.offset + len(line.new)], plan.path):
            eraser.refuse("", f"{plan.path}:{line.number}", held)
        else:
            free.append(line)
    plan.lines = free


def erase_from_home_file(path: Path, eraser: Eraser, *, whole: bool = False) -> None:
    """Deal with a file in the home of a client, which no session's lock protects: only while nobody writes to it."""
    idle = eraser.settings.extraction.idle
    try:
        plan = plan_file(path, eraser.what, whole=whole)
        age = timedelta(seconds=eraser.now.timestamp() - plan.state.mtime_ns / 1e9)
        if plan.lines and age < idle:
            eraser.refuse("", str(path), f"live: its client changed it a moment ago, and it must rest for {idle}")
            return
        _leave_held(plan, eraser)
        if plan.lines and eraser.linked("", path):
            return
        if plan.lines and not eraser.dry_run:
            eraser.write(plan)
    except SlowwaveError as error:
        eraser.refuse("", str(path), str(error))
        return
    for wrong in plan.refused:
        eraser.refuse("", str(path), wrong)
    eraser.tell("", plan)


# All other files in the homes of clients: those that clients write of what was said, and those that nobody knows.

# what clients keep beside transcripts: Claude Code, Codex, pi, OpenClaw, opencode (clients.md 6, formats.md); not
# "agents", where Claude Code has what a person wrote for their sub-agents, and OpenClaw has "sessions" below it
_FOLDERS = frozenset(
    {
        *("projects", "sessions", "archived_sessions", "todos", "tasks", "file-history", "paste-cache"),
        *("shell-snapshots", "shell_snapshots", "session-env", "plans", "debug", "log", "logs", "cron"),
        *("storage", "tool-output"),
    }
)
# what clients note of all sessions, a line each
INDEXES = frozenset({"history.jsonl", "session_index.jsonl"})
_FILES = INDEXES | {"sessions.json"}


class Sort(Enum):
    """What a file is to an erasure."""

    KNOWN = "written by a client of what was said"
    UNKNOWN = "not known: look at it yourself"
    DATABASE = "a database"
    GIT = "a git store"
    LINK = "a link to something that is not a client's, so it was not followed"


def homes(roots: Collection[Path], environ: Mapping[str, str]) -> list[Path]:
    """Return the homes of clients: those that they use, and those that lie in roots that somebody named."""
    found: list[Path] = []
    for root in roots or [Path()]:
        if not roots:
            found += [home for kind in CLIENTS.values() for home in kind.homes(environ)]
        elif is_persons_home(root):
            found += [home for kind in CLIENTS.values() for home in kind.homes({"HOME": os.fspath(root)})]
        else:
            found.append(root)
    return [home for home in dict.fromkeys(found) if home.is_dir()]


def other_files(
    folders: Collection[Path], seen: Collection[Path], memories: Collection[Path]
) -> Iterator[tuple[Path, Sort]]:
    """Yield every file below the folders that was not seen yet and is in no memory folder, with what it is.

    Of a git store (opencode's snapshots of working folders) its folder stands for all of its objects.
    """
    for home in folders:
        for folder, inner, names, links in walk_home(home):
            yield from ((Path(folder, name), Sort.LINK) for name in links)
            inner[:] = sorted(name for name in inner if Path(folder, name) not in memories)
            if is_git_store(inner, names):
                inner.remove(OBJECTS)
                yield Path(folder), Sort.GIT
            for name in sorted(names):
                path = Path(folder, name)
                if path in seen or not path.is_file() or _is_of_database(path):
                    continue
                if path.is_symlink():
                    if not path.resolve().is_relative_to(home.resolve()):
                        yield path, Sort.LINK
                    continue
                yield path, _sort(home, path)


def walk_home(home: Path) -> Iterator[tuple[str, list[str], list[str], list[str]]]:
    """Walk through a home as :func:`os.walk` does, and yield the links to folders that are not followed, too.

    A client's own folder, or that of a project in it, may lie elsewhere behind a link; it is followed once. Whatever
    else a link leads to is somebody's own.
    """
    followed: set[Path] = set()
    for folder, inner, names in os.walk(home, followlinks=True):
        here = Path(folder)
        links: list[str] = []
        for name in [name for name in inner if (here / name).is_symlink()]:
            target = (here / name).resolve()
            is_theirs = name in _FOLDERS or here.name in _FOLDERS
            if is_theirs and target not in followed and not here.resolve().is_relative_to(target):
                followed.add(target)
            else:
                inner.remove(name)
                links.append(name)
        yield folder, inner, names, sorted(links)


def _sort(home: Path, path: Path) -> Sort:
    with path.open("rb") as file:
        if file.read(len(HEADER)) == HEADER:
            return Sort.DATABASE
    inside = path.relative_to(home).parts
    is_known = path.name in _FILES or not _FOLDERS.isdisjoint(inside[:-1]) or not _FOLDERS.isdisjoint(home.parts)
    return Sort.KNOWN if is_known else Sort.UNKNOWN


def _is_of_database(path: Path) -> bool:
    """Say whether a file holds the last writes of a database beside it, which is looked into together with it."""
    name, dash, end = path.name.rpartition("-")
    return bool(dash) and end in ("wal", "shm", "journal") and path.with_name(name).is_file()


# The objects of a git store, to be searched; opencode's snapshots of working folders are such stores.
#
# Git reads them, through a store of our own that leads to them: the settings of theirs do not count, which may name
# commands, nor do the stores that it borrows objects from.

OBJECTS, HEAD = "objects", "HEAD"
_MOST_BYTES = 1 << 28
_WRONG = "is a git store that cannot be searched"
_LOOSE = re.compile(r"[0-9a-f]{38}")
_ALL_OBJECTS = ("cat-file", "--batch", "--batch-all-objects", "--unordered", "--buffer")
_ALONE = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}


def is_git_store(folders: list[str], names: list[str]) -> bool:
    """Say whether a folder with these folders and files is a git store."""
    return OBJECTS in folders and HEAD in names


def objects_in(store: Path) -> Iterator[bytes]:
    """Yield the content of every object of a git store.

    Raises RefusedError: one of them is damaged, unfinished or larger than 256 MB, or git is not there; OSError: a
    folder cannot be read.
    """
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _ALONE
    with TemporaryDirectory(prefix="slowwave-") as folder, TemporaryFile() as wrong:
        _lead_to(store / OBJECTS, Path(folder))
        command = ["git", f"--git-dir={folder}", *_ALL_OBJECTS]
        try:
            process = Popen(command, stdin=DEVNULL, stdout=PIPE, stderr=wrong, env=environ)  # noqa: S603 - no shell
        except OSError as error:
            raise RefusedError(f"{_WRONG}: git cannot be started ({error.strerror})") from error
        with process:
            yield from _contents(cast("IO[bytes]", process.stdout))
        wrong.seek(0)
        if (said := wrong.read().decode("utf-8", "replace").strip()) or process.returncode:
            raise RefusedError(f"{_WRONG}: {said.splitlines()[0] if said else f'git ended with {process.returncode}'}")


def _lead_to(objects: Path, own: Path) -> None:
    """Make a store whose objects are those of another one, but for what that borrows."""
    for name in (OBJECTS, "refs"):
        (own / name).mkdir()
    (own / HEAD).write_text("ref: refs/heads/none\n")
    for folder in sorted(path for path in objects.iterdir() if path.is_dir() and path.name != "info"):
        names = sorted(os.listdir(folder))  # noqa: PTH208 - names only
        unread = [name for name in names if len(folder.name) == 2 and not _LOOSE.fullmatch(name)]  # noqa: PLR2004 - loose
        unread += [name for name in names if name.endswith(".pack") and f"{name.removesuffix('pack')}idx" not in names]
        if unread:
            raise RefusedError(f"{_WRONG}: git does not read {folder.name}/{unread[0]}")
        (own / OBJECTS / folder.name).symlink_to(folder.resolve())


def _contents(out: IO[bytes]) -> Iterator[bytes]:
    while head := out.readline():
        name, *about = head.split()
        size = int(about[-1]) if len(about) == 2 else -1  # noqa: PLR2004 - kind and size; else it is damaged
        if not 0 <= size <= _MOST_BYTES:
            raise RefusedError(f"{_WRONG}: object {name.decode()} is damaged, or larger than 256 MB")
        yield out.read(size)
        out.read(1)  # the end of its line


# What an erasure within some projects leaves out, place by place: the certificate says so.

_TOGETHER = "it belongs to all projects together"
# said on every certificate
NEVER = (
    "working folders of projects, backups, and what was sent to a model, are searched by no erasure, nor is what is"
    " packed within base64; text in UTF-16 is searched for names and phrases as they were written, not for patterns"
)


def note_left_out(chosen: Sequence[Project], eraser: Eraser) -> None:
    """Note what is not searched when only some projects are.

    Databases with sessions of theirs are searched, and refused when they hold a subject.
    """
    theirs = sorted({(s.files.paths[0], p.key) for p in chosen for s in p.sessions if s.in_database})
    for path, project in theirs:
        try:
            found = found_in_database(path, eraser.what)
            is_held = bool(found.places or found.refused or bytes_hold(path, eraser.what))
        except (SlowwaveError, OSError) as error:
            eraser.refuse(project, str(path), str(error))
            continue
        if is_held:
            reason = "holds a subject beside sessions of the project, and is written as a whole or not at all"
            eraser.refuse(project, str(path), f"{reason}: run this without --project")
    for place, what in _places(eraser):
        eraser.report.count("not_searched")
        eraser.report.items.append(Item(place, NOT_SEARCHED, f"{what}: {_TOGETHER}; run this without --project"))


def _places(eraser: Eraser) -> Iterator[tuple[str, str]]:
    """Yield the places that are there, each with what it holds."""
    environ = eraser.environ
    yield "all other projects", "their sessions and memories"
    for home in homes(eraser.settings.store.roots, environ):
        yield os.fspath(home), "what its client keeps beside sessions: prompts, tasks, copies, databases, snapshots"
    for folder, what in (
        (trash_folder(environ), "sessions that were removed"),
        (archive_folder(environ), "sessions that were archived"),
        (data_folder(environ), "memories of other projects, holds, certificates"),
        (state_folder(environ), "reports, logs, notes of compactions, questions to models"),
        (scheduler_folder(environ), "the scheduler's database"),
        (config_folder(environ), "settings"),
    ):
        if folder.is_dir():
            yield os.fspath(folder), what
    if (log := eraser.settings.telemetry.log_file) not in ("", "-"):
        yield log, "the log"
