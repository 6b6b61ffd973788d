"""The catalogue: what is known of every session, so that only new bytes are read. A cache; delete it at any time.

SQLite in WAL mode under ``$XDG_STATE_HOME/slowwave``. A session whose last part has the same size, mtime, device and
inode is trusted; one that has grown, with the same hash of the 4 KiB before the cursor, is read from the cursor on;
everything else is read again. The rows of one place are one page, and as long as its folders look as they did, not one
of them is looked at by itself; the marks from which reading goes on stand apart, one a session.
"""

import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from zlib import crc32

import msgspec
from msgspec.structs import replace

from slowwave.errors import UnreadableError
from slowwave.files import private_folder
from slowwave.formats.sessions import FoundSession, Place, Signature, Snapshot, StoreProblem, Walk
from slowwave.secrets import blocked_by
from slowwave.secrets.blocklist import ERASED, Blocked
from slowwave.settings import Settings
from slowwave.stores.projects import newest_folder
from slowwave.stores.roots import read_head, sessions_of
from slowwave.stores.summary import Mark, Scanned, SessionRow, StoredRow, Summary, no_session, scan, stored_row

_marks = msgspec.msgpack.Decoder(Mark)


# The rows of one place as the catalogue keeps them: in three pieces, of which an unchanged place needs only two.
#
# The head says what the folders looked like and what holds for all rows, the rows are what is shown, and the details
# are what it takes to see a change of a single session.


class Packed(NamedTuple):
    """The pieces of a page, encoded."""

    head: bytes
    rows: bytes
    details: bytes


class KnownPage:
    """A page as it was saved.

    Args:
        packed: its pieces.

    Attributes:
        folders: what the folders of the place looked like.
        newest: the newest working folder of its sessions, and when its session changed.

    Raises:
        DamagedPageError: it cannot be read.
    """

    def __init__(self, packed: Packed) -> None:
        try:
            head = _heads.decode(packed.head)
            self._rows = _rows.decode(packed.rows)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise DamagedPageError(str(error)) from error
        if crc32(packed.details) != head.check:
            raise DamagedPageError("its details are others")
        self.folders = head.folders
        self.newest = head.newest
        self._sessions = head.sessions
        self._details = packed.details
        self._stored: list[StoredRow] | None = None

    @property
    def shown(self) -> list[SessionRow]:
        """What is shown of the sessions."""
        return self._rows[: self._sessions]

    @property
    def stored(self) -> list[StoredRow]:
        """Its rows."""
        if self._stored is None:
            pairs = zip(self._rows, _details.decode(self._details), strict=True)
            self._stored = [StoredRow(row, *detail) for row, detail in pairs]
        return self._stored

    @property
    def odd(self) -> list[StoredRow]:
        """The rows of what looks like sessions and is none."""
        return self.stored[self._sessions :] if self._sessions < len(self._rows) else []


class Page:
    """All rows of one place, and what changed since they were saved.

    Attributes:
        place: the place.
        shown: what is shown of the sessions.
        odd: what looks like a session and is none, and why.
        newest: the newest working folder of the sessions, and when its session changed.
        folders: what its folders look like, as far as that tells that nothing has changed in them.
        marks: from where to go on reading those that were read.
        gone: keys of sessions that are no longer there.
        is_changed: it has to be saved.
    """

    def __init__(self, place: Place, rows: Sequence[StoredRow] | KnownPage) -> None:
        """Begin with all of a known page, or with rows."""
        self.place = place
        self.folders: Mapping[str, Snapshot] = {}
        self.marks: dict[str, Mark] = {}
        self.gone: list[str] = []
        self.is_changed = False
        self._rows = rows
        if isinstance(rows, KnownPage):
            self.shown, odd, self.newest = rows.shown, rows.odd, rows.newest
        else:
            sessions = [stored for stored in rows if not stored.problem]
            odd = [stored for stored in rows if stored.problem]
            self.shown, self.newest = [stored.row for stored in sessions], _newest(sessions)
        self.odd: list[StoreProblem] = [stored.as_problem() for stored in odd]

    @property
    def rows(self) -> Sequence[StoredRow]:
        """All rows; those of an unchanged place are decoded when they are asked for."""
        return self._rows.stored if isinstance(self._rows, KnownPage) else self._rows


class Catalogue:
    """What is known of every session on this machine.

    Args:
        path: the database; its folder is made when it is missing.
        warnings: what went wrong with the cache itself is appended here; it never stops a listing.
        blocked: what was erased, and is neither looked into nor kept when it is there again.

    Attributes:
        reads: how many sessions were looked into, at least in part.
    """

    def __init__(self, path: Path, warnings: list[str] | None = None, blocked: Blocked | None = None) -> None:
        self.warnings: list[str] = [] if warnings is None else warnings
        self._database = open_database(path, self.warnings)
        self.blocked = blocked
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

    def read_place(self, place: Place, walk: Walk[StoredRow]) -> Page:
        """Return the rows of one place, reading only what is new in it; :meth:`save` keeps them."""
        before = self._known(place.path)
        then = before.folders if before else {}
        walk.enter(then, lambda: {stored.key: stored for stored in before.stored} if before else {})
        fresh: list[StoredRow] = []
        marks: dict[str, Mark] = {}
        reads = self.reads
        for found in sessions_of(place, walk):
            old = walk.known.get(found.key)
            if old is not None and old.is_still(found):
                fresh.append(old)
                continue
            stored, scanned = self._read(place.path, found, old)
            fresh.append(stored)
            if scanned is not None:
                marks[found.key] = scanned.mark
        if before and not fresh and not walk.kept and then and len(walk.same) == len(then):
            return Page(place, before)
        page = Page(place, [*_inside(walk.known.values(), walk.same), *walk.kept, *fresh])
        page.marks = marks
        page.folders = _trusted(page, {**{name: then[name] for name in walk.same}, **walk.seen})
        page.is_changed = self.reads > reads or len(page.rows) != len(walk.known) or _is_other(page.folders, then)
        if page.is_changed:
            page.gone = list(walk.known.keys() - {stored.key for stored in page.rows})
        return page

    def save(self, page: Page) -> None:
        """Keep a page and the marks of what was read for it."""
        at = os.fsencode(page.place.path)
        packed = packed_page([stored for stored in page.rows if _is_utf8(stored.row.path)], page.folders)
        marks = [(at, path, msgspec.msgpack.encode(mark)) for path, mark in page.marks.items() if _is_utf8(path)]
        try:
            with self._database as database:
                database.executemany(
                    "DELETE FROM marks WHERE folder = ? AND path = ?", [(at, path) for path in page.gone]
                )
                database.executemany("INSERT OR REPLACE INTO marks (folder, path, mark) VALUES (?, ?, ?)", marks)
                database.execute(
                    "INSERT OR REPLACE INTO pages (folder, head, rows, details) VALUES (?, ?, ?, ?)", (at, *packed)
                )
        except sqlite3.Error as error:
            self.warnings.append(f"the catalogue cannot be written ({error}): the next listing reads again")

    def _known(self, folder: str) -> KnownPage | None:
        pieces = self._fetch("SELECT head, rows, details FROM pages WHERE folder = ?", (os.fsencode(folder),))
        try:
            return KnownPage(Packed(*pieces)) if pieces else None
        except DamagedPageError as error:
            self.warnings.append(f"the catalogue's page of {folder} cannot be read ({error}): all of it is read again")
            return None

    def _mark(self, folder: str, path: str) -> Mark | None:
        row = self._fetch("SELECT mark FROM marks WHERE folder = ? AND path = ?", (os.fsencode(folder), path))
        try:
            return _marks.decode(row[0]) if row else None
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            self.warnings.append(f"the catalogue's mark of {path} cannot be read ({error}): it is read from its start")
            return None

    def _fetch(self, query: str, values: tuple[Any, ...]) -> tuple[bytes, ...] | None:
        try:
            return self._database.execute(query, values).fetchone()
        except sqlite3.Error as error:
            self.warnings.append(f"the catalogue cannot be read ({error}): what it knew is read again")
            return None

    def _read(self, folder: str, found: FoundSession, old: StoredRow | None) -> tuple[StoredRow, Scanned | None]:
        self.reads += 1
        if is_erased(found, self.blocked):
            return no_session(found, PROBLEM), None
        try:
            mark = self._mark(folder, found.key) if old is not None and not old.problem else None
            if mark is not None:
                scanned = scan(found, mark.state.dialect, mark)
            else:
                head = read_head(found)
                if isinstance(head, StoreProblem):
                    return no_session(found, f"{head.kind}: {head.detail}"), None
                scanned = scan(found, head.dialect)
        except UnreadableError as error:
            return no_session(found, f"unreadable: {error.reason}"), None
        except FileNotFoundError:
            return no_session(found, "unreadable: vanished while it was read"), None
        scanned = without_names(scanned, self.blocked)
        return stored_row(found, scanned.summary), scanned


def own_catalogue(settings: Settings, environ: Mapping[str, str], warnings: list[str] | None = None) -> Catalogue:
    """Return the catalogue of this user, which keeps nothing of what was erased.

    Raises CorruptStateError: the list of what was erased, or the key of its fingerprints, does not parse;
    UnreadableError: that key cannot be read, or others may read it.
    """
    return Catalogue(catalogue_path(environ), warnings, blocked_by(settings, environ))


def catalogue_path(environ: Mapping[str, str]) -> Path:
    """Return where the catalogue of this user lies."""
    home = environ.get("HOME") or "~"
    base = environ.get("XDG_STATE_HOME") or f"{home}/.local/state"
    return Path(base).expanduser() / "slowwave" / "catalogue.sqlite"


def _inside(rows: Iterable[StoredRow], folders: Iterable[str]) -> list[StoredRow]:
    """Return the rows of what lies directly in one of some folders."""
    wanted = set(folders)
    return [stored for stored in rows if stored.row.path.rpartition("/")[0] in wanted] if wanted else []


def _trusted(page: Page, folders: dict[str, Snapshot]) -> dict[str, Snapshot]:
    """Leave out folders in which something must be looked at again whatever its size and time are."""
    again = {stored.row.path.rpartition("/")[0] for stored in page.rows if stored.size < 0}
    return {name: snapshot for name, snapshot in folders.items() if name not in again and _is_utf8(name)}


def _is_other(folders: Mapping[str, Snapshot], then: Mapping[str, Snapshot]) -> bool:
    """Say whether other folders or names than before have to be kept; the order of names may differ each time."""
    return folders.keys() != then.keys() or not all(folders[name].has_names_of(then[name]) for name in folders)


def _is_utf8(path: str) -> bool:
    """Say whether the cache can hold a path; a session whose path is no UTF-8 is read each time."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


# A cache in SQLite, built anew when it is damaged or of another version.

_WAIT_S = 10.0
# Only these say that the file itself is no good; a lock or a full disk passes.
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_ERROR)


class Cache(NamedTuple):
    """One kind of cache."""

    name: str  # what warnings call it
    version: int  # of its tables
    tables: str  # statements that make them
    settings: str = ""  # of the connection
    look: str = ""  # reads from its tables, so that damage shows when it is opened

    def open(self, path: Path, warnings: list[str]) -> sqlite3.Connection:
        """Return the open cache at ``path``; the folder is the user's alone, and so is the file.

        Raises OSError, sqlite3.Error: none can be kept there.
        """
        private_folder(path.parent)
        path.touch(mode=0o600)
        try:
            return self._opened(path)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            warnings.append(f"{path}: {self.name} is damaged or of another version ({error}) and is built anew")
            remove_cache(path)
            path.touch(mode=0o600)
            return self._opened(path)

    def prepare(self, database: sqlite3.Connection) -> sqlite3.Connection:
        """Make the tables, unless another process made them in the same moment."""
        database.executescript(f"BEGIN IMMEDIATE; {self.tables} PRAGMA user_version = {self.version}; COMMIT;")
        return database

    def _opened(self, path: Path) -> sqlite3.Connection:
        database = sqlite3.connect(path, timeout=_WAIT_S)
        try:
            database.executescript(f"{self.settings} PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")
            if self._version_in(database) != self.version:
                self.prepare(database)
            for query in filter(None, self.look.split(";")):
                database.execute(query)
        except BaseException:
            database.close()
            raise
        return database

    def _version_in(self, database: sqlite3.Connection) -> int:
        """Return the version of the tables that are there, 0 without any; another one than this is refused."""
        version = int(database.execute("PRAGMA user_version").fetchone()[0])
        if version > self.version:
            known = f"in form {version}, and this one knows {self.version}"
            raise _NewerError(f"a newer slowwave wrote it, {known}: update slowwave")
        if version not in (0, self.version):
            raise _WrongVersionError(f"version {version}, this is {self.version}")
        return version


class _NewerError(sqlite3.OperationalError):
    """A newer slowwave wrote the file: it is left to that one, and not built anew again and again by both."""

    sqlite_errorcode = sqlite3.SQLITE_CANTOPEN


class _WrongVersionError(sqlite3.DatabaseError):
    """The file is such a cache, but not one of this version."""

    sqlite_errorcode = sqlite3.SQLITE_SCHEMA


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Say whether an error means that the file itself is no good."""
    return (error.sqlite_errorcode & 0xFF) in _DAMAGE


def remove_cache(path: Path) -> None:
    """Remove a cache with what lies beside it of its last writes."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


VERSION = 12
_CACHE = Cache(
    "the catalogue",
    VERSION,
    """
    CREATE TABLE IF NOT EXISTS pages (
        folder BLOB PRIMARY KEY, head BLOB NOT NULL, rows BLOB NOT NULL, details BLOB NOT NULL
    );
    CREATE TABLE IF NOT EXISTS marks (folder BLOB NOT NULL, path TEXT NOT NULL, mark BLOB, PRIMARY KEY (folder, path));
    """,
    # holds for a new file only; the pages of the catalogue are long, and each of SQLite's costs a call
    settings="PRAGMA page_size = 16384;",
)


def open_database(path: Path, warnings: list[str]) -> sqlite3.Connection:
    """Return the open catalogue at ``path``; where none can be had, an empty one in memory, with a warning."""
    try:
        return _CACHE.open(path, warnings)
    except (OSError, sqlite3.Error) as error:
        warnings.append(f"{path}: no catalogue can be kept ({error}), so every listing reads everything")
        return _CACHE.prepare(sqlite3.connect(":memory:"))


class DamagedPageError(ValueError):
    """The pieces of a page do not belong together, or are none."""


class _Head(msgspec.Struct, array_like=True):
    """What holds for a place: its folders, how many of its rows are sessions, and its newest working folder."""

    folders: dict[str, Snapshot]
    sessions: int
    newest: tuple[str, int]
    check: int  # of the details, which are decoded only when something has changed


class _Detail(NamedTuple):
    """A stored row without what is shown of it."""

    size: int
    mtime_ns: int
    dev: int
    ino: int
    parts: list[Signature] | None
    problem: str
    hints: bytes
    in_database: bool
    told: str


_encode = msgspec.msgpack.encode
_heads = msgspec.msgpack.Decoder(_Head)
_rows = msgspec.msgpack.Decoder(list[SessionRow])
_details = msgspec.msgpack.Decoder(list[_Detail])


def packed_page(rows: Iterable[StoredRow], folders: Mapping[str, Snapshot]) -> Packed:
    """Return the pieces of a page of some rows."""
    # newest first, as they are shown: the pages of a listing are then merged rather than sorted
    rows = sorted(rows, key=lambda stored: (not stored.problem, stored.row.last_activity), reverse=True)
    sessions = [stored for stored in rows if not stored.problem]
    details = _encode(
        [_Detail(s.size, s.mtime_ns, s.dev, s.ino, s.parts, s.problem, s.hints, s.in_database, s.told) for s in rows]
    )
    head = _Head(dict(folders), len(sessions), _newest(sessions), crc32(details))
    return Packed(_encode(head), _encode([stored.row for stored in rows]), details)


def _newest(sessions: Iterable[StoredRow]) -> tuple[str, int]:
    return newest_folder((stored.row.cwd, stored.mtime_ns) for stored in sessions)


# What was erased and lies in a store again, as from a backup: neither listed nor searched, but counted and shown.
#
# A session that was erased as a whole is one that nobody looks into. Of any other, a title or a prompt that names what
# was erased shows that alone.

PROBLEM = "blocked: it was erased on request and is here again; slowwave run erase --session removes it"


def is_erased(found: FoundSession, blocked: Blocked | None) -> bool:
    """Say whether a session was erased as a whole, or is a sub-agent of one that was."""
    if blocked is None:
        return False
    return blocked.has_session(found.id) or bool(found.side and found.parent and blocked.has_session(found.parent))


def without_names(scanned: Scanned, blocked: Blocked | None) -> Scanned:
    """Return what was read of a session as it may be kept, also for reading on from there."""
    if blocked is None or not blocked.has_phrases:
        return scanned
    mark = replace(scanned.mark, state=_without(scanned.mark.state, blocked))
    return Scanned(mark, _without(scanned.summary, blocked))


def _without(seen: Summary, blocked: Blocked) -> Summary:
    return replace(
        seen,
        titles={kind: shown_of(title, blocked) for kind, title in seen.titles.items()},
        leaves={leaf: shown_of(title, blocked) for leaf, title in seen.leaves.items()},
        first_prompt=shown_of(seen.first_prompt, blocked),
        side_prompt=shown_of(seen.side_prompt, blocked),
    )


def shown_of(text: str, blocked: Blocked | None) -> str:
    """Return a title or a prompt as it may be shown."""
    return ERASED if blocked is not None and blocked.masked(text)[1] else text
