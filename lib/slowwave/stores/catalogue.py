"""The catalogue: what is known of every session, so that only new bytes are read. A cache; delete it at any time.

SQLite in WAL mode under ``$XDG_STATE_HOME/slowwave``. A session whose last part has the same size, mtime, device and
inode is trusted; one that has grown, with the same hash of the 4 KiB before the cursor, is read from the cursor on;
everything else is read again.
"""

import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from slowwave.errors import UnreadableError
from slowwave.stores.catalogue_file import open_database
from slowwave.stores.head import read_head
from slowwave.stores.model import Project, StoreProblem
from slowwave.stores.scan import Mark, Scanned, bulk_reading, scan
from slowwave.stores.summary import Summary
from slowwave.stores.walk import FoundFile, FoundSession, signatures

_COLUMNS = (
    "name, size, mtime_ns, dev, ino, parts, dialect, problem, side, title, first_prompt, records, messages, bad_lines, "
    "tool_calls, created, last_activity, cwd, first_uuid, last_uuid, is_fork, leaves"
)
_PLACES = ", ".join("?" * (_COLUMNS.count(",") + 2))
_Values = tuple[Any, ...]
# A first scan is saved in pieces, so that an interrupted one does not begin again from nothing.
_SAVE_EVERY = 500


class Entry(msgspec.Struct, gc=False):
    """What the catalogue knows of one session; ``problem`` is set when it is none."""

    found: FoundSession
    dialect: str
    problem: str
    side: bool
    title: str
    first_prompt: str
    records: int
    messages: int
    bad_lines: int
    tool_calls: int
    created: str
    last_activity: str
    cwd: str
    first_uuid: str
    last_uuid: str
    is_fork: bool
    leaves: bytes


class Catalogue:
    """What is known of every session on this machine.

    Args:
        path: the database; its folder is made when it is missing.
        warnings: what went wrong with the cache itself is appended here; it never stops a listing.
    """

    def __init__(self, path: Path, warnings: list[str] | None = None) -> None:
        self.warnings: list[str] = [] if warnings is None else warnings
        self._database = open_database(path, self.warnings)
        self.reads = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def refresh_folder(self, folder: str, sessions: Iterable[FoundSession]) -> list[Entry]:
        """Return an entry for each session of one project folder, reading only what is new in it."""
        known = self._known(folder)
        begin = len(folder) + 1
        entries: list[Entry] = []
        changed: list[tuple[Entry, Scanned | None]] = []
        with bulk_reading():
            for found in sessions:
                name = found.path[begin:]
                row = known.pop(name, None)
                if row is not None and _is_unchanged(found, row):
                    entries.append(Entry(found, *row[6:]))
                    continue
                item = self._read(folder, name, found, row)
                entries.append(item[0])
                changed.append(item)
                if len(changed) >= _SAVE_EVERY:
                    self._save(folder, changed, ())
                    changed = []
        if changed or known:
            self._save(folder, changed, known)
        return entries

    def refresh(self, projects: Iterable[Project]) -> list[Entry]:
        """Return an entry for each session of these projects, reading only what is new in them."""
        entries: list[Entry] = []
        for project in projects:
            for folder in project.folders:
                at = os.fspath(folder)
                sessions = [_as_found(s.id, s.files.paths) for s in project.sessions if s.folder == folder]
                entries += self.refresh_folder(at, sessions)
        return entries

    def _known(self, folder: str) -> dict[str, _Values]:
        query = f"SELECT {_COLUMNS} FROM sessions WHERE folder = ?"  # noqa: S608 - the names are constants
        try:
            rows = self._database.execute(query, (os.fsencode(folder),)).fetchall()
        except sqlite3.Error as error:
            self.warnings.append(f"the catalogue cannot be read ({error}): everything in {folder} is read again")
            return {}
        return {os.fsdecode(row[0]): row for row in rows}

    def _read(self, folder: str, name: str, found: FoundSession, row: _Values | None) -> tuple[Entry, Scanned | None]:
        self.reads += 1
        try:
            mark = self._mark(folder, name) if row and row[6] else None
            if mark is not None:
                scanned = scan(found, mark.state.dialect, mark)
            else:
                head = read_head(found)
                if isinstance(head, StoreProblem):
                    return _no_session(found, f"{head.kind}: {head.detail}"), None
                scanned = scan(found, head.dialect)
        except UnreadableError as error:
            return _no_session(found, f"unreadable: {error.reason}"), None
        except FileNotFoundError:
            return _no_session(found, "unreadable: vanished while it was read"), None
        return _entry(found, scanned.summary), scanned

    def _mark(self, folder: str, name: str) -> Mark | None:
        query = "SELECT mark FROM marks WHERE folder = ? AND name = ?"
        try:
            row: tuple[bytes] | None = self._database.execute(
                query, (os.fsencode(folder), os.fsencode(name))
            ).fetchone()
            return msgspec.msgpack.decode(row[0], type=Mark) if row else None
        except (sqlite3.Error, msgspec.MsgspecError, UnicodeDecodeError) as error:
            self.warnings.append(f"the catalogue's mark of {name} cannot be read ({error}): it is read from its start")
            return None

    def _save(self, folder: str, changed: Sequence[tuple[Entry, Scanned | None]], gone: Iterable[str]) -> None:
        at = os.fsencode(folder)
        begin = len(folder) + 1
        rows: list[_Values] = []
        marks: list[_Values] = []
        forget = [(at, os.fsencode(name)) for name in gone]
        for entry, scanned in changed:
            name = os.fsencode(entry.found.path[begin:])
            rows.append((at, name, *_stored_values(entry)))
            if scanned is None:
                forget.append((at, name))
            else:
                marks.append((at, name, _encoded(scanned.mark)))
        database = self._database
        try:
            with database:
                database.executemany("DELETE FROM sessions WHERE folder = ? AND name = ?", forget)
                database.executemany("DELETE FROM marks WHERE folder = ? AND name = ?", forget)
                database.executemany(
                    f"INSERT OR REPLACE INTO sessions (folder, {_COLUMNS}) VALUES ({_PLACES})",  # noqa: S608
                    rows,
                )
                database.executemany("INSERT OR REPLACE INTO marks (folder, name, mark) VALUES (?, ?, ?)", marks)
        except sqlite3.Error as error:
            self.warnings.append(f"the catalogue cannot be written ({error}): the next listing reads again")


def catalogue_path(environ: Mapping[str, str]) -> Path:
    """Return where the catalogue of this user lies."""
    home = environ.get("HOME") or "~"
    base = environ.get("XDG_STATE_HOME") or f"{home}/.local/state"
    return Path(base).expanduser() / "slowwave" / "catalogue.sqlite"


def _is_unchanged(found: FoundSession, row: _Values) -> bool:
    last = found.files[-1]
    if row[1] != last.size or row[2] != last.mtime_ns or row[4] != last.ino or row[3] != last.dev:
        return False
    parts = row[5]
    return (parts is None) if len(found.files) == 1 else parts == _encoded(signatures(found.files))


def _stored_values(entry: Entry) -> _Values:
    found = entry.found
    last = found.files[-1]
    parts = None if len(found.files) == 1 else _encoded(signatures(found.files))
    told = tuple(getattr(entry, name) for name in Entry.__struct_fields__[1:])
    return (last.size, last.mtime_ns, last.dev, last.ino, parts, *told)


def _entry(found: FoundSession, seen: Summary) -> Entry:
    side = found.side or seen.is_side
    messages = seen.messages + (seen.side_messages if side else 0)
    leaves = _encoded(seen.leaves) if seen.leaves else b""
    return Entry(
        found, seen.dialect, "", side, seen.title, seen.first_prompt, seen.records, messages, seen.bad_lines,
        seen.tool_calls, seen.created, seen.last_activity, seen.cwd, seen.first_uuid, seen.last_uuid, seen.is_fork,
        leaves,
    )  # fmt: skip


def _no_session(found: FoundSession, problem: str) -> Entry:
    return Entry(found, "", problem, found.side, "", "", 0, 0, 0, 0, "", "", "", "", "", is_fork=False, leaves=b"")


def _as_found(session_id: str, paths: Sequence[Path]) -> FoundSession:
    """Return a session of a project as the walk would see it now."""
    files: list[FoundFile] = []
    for path in paths:
        at = path.stat()
        files.append(FoundFile(path.name, at.st_size, at.st_mtime_ns, at.st_dev, at.st_ino))
    return FoundSession(os.fspath(paths[0].parent), session_id, files, side=False)


def _encoded(value: object) -> bytes:
    return msgspec.msgpack.encode(value)
