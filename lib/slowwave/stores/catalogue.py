"""The catalogue: what is known of every session, so that only new bytes are read. A cache; delete it at any time.

SQLite in WAL mode under ``$XDG_STATE_HOME/slowwave``. A session whose last part has the same size, mtime, device and
inode is trusted; one that has grown, with the same hash of the 4 KiB before the cursor, is read from the cursor on;
everything else is read again. The rows of one place are one page, and as long as its folders look as they did, not one
of them is looked at by itself; the marks from which reading goes on stand apart, one a session.
"""

import os
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from slowwave.errors import UnreadableError
from slowwave.secrets.blocked import Blocked
from slowwave.secrets.key import blocked_by
from slowwave.settings import Settings
from slowwave.stores.catalogue_file import open_database
from slowwave.stores.erased import PROBLEM, is_erased, without_names
from slowwave.stores.head import read_head
from slowwave.stores.kinds.base import Place
from slowwave.stores.model import StoreProblem
from slowwave.stores.page import DamagedPageError, KnownPage, Packed, Page, packed_page
from slowwave.stores.roots import sessions_of
from slowwave.stores.rows import StoredRow, no_session, stored_row
from slowwave.stores.scan import Mark, Scanned, scan
from slowwave.stores.snapshot import Snapshot
from slowwave.stores.walk import FoundSession, Walk

_marks = msgspec.msgpack.Decoder(Mark)


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

    Raises:
        CorruptStateError: the list of what was erased, or the key of its fingerprints, does not parse.
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
