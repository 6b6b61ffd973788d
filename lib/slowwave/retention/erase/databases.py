"""What must go from a database of SQLite: rows overwritten, then the file written anew, so that no byte of them stays.

A value keeps its length. Tables of a full-text search are changed through it and built anew. All is one transaction.
"""

import os
import sqlite3
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from slowwave.errors import RefusedError
from slowwave.files import at_fault_point
from slowwave.formats.database import HEADER, opened_read_only
from slowwave.retention.erase.mask import STUCK, Place, overwritten
from slowwave.retention.erase.subjects import What

_WAIT_S = 60.0
# a client that has it open keeps it open
_WAIT_FOR_CLIENT_S = 2.0
_CHUNK = 32 << 20
_OVERLAP = 64 << 10


@dataclass(slots=True)
class Found:
    """What was found in a database.

    Attributes:
        places: what is or was overwritten.
        refused: what stays, each with the reason.
    """

    places: list[Place] = field(default_factory=list[Place])
    refused: list[str] = field(default_factory=list[str])


def is_database(path: Path) -> bool:
    """Say whether a file is a database of SQLite."""
    with path.open("rb") as file:
        return file.read(len(HEADER)) == HEADER


def found_in_database(path: Path, what: What) -> Found:
    """Return what must go from a database, without changing it or what lies beside it.

    Raises:
        RefusedError: it cannot be read.
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

    Args:
        path: the database.
        what: what must go.
        alone: nobody else may have it open; without it another process may, and is waited for.
        before: is told of the changed rows right before they count.

    Raises:
        RefusedError: somebody has it open or locked, the disk is full, or it is damaged; it is as it was.
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
    return any(_holds(one, what) for one in files_of(path))


def files_of(path: Path) -> list[Path]:
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
    """One value.

    Attributes:
        table: where it stands, as is ``column``.
        column: its column.
        keys: columns that name its row, and their values there.
        new: what it becomes.
        places: what is taken out of it.
        stuck: what stays in it.
        refused: why nobody can look into it, or "".
    """

    table: str
    column: str
    keys: dict[str, object]
    new: bytes
    places: list[Place] = field(default_factory=list[Place])
    stuck: list[Place] = field(default_factory=list[Place])
    refused: str = ""

    @property
    def where(self) -> str:
        """What a report calls its place."""
        return f"{self.table}.{self.column}"

    def write(self, database: sqlite3.Connection) -> None:
        """Put the new value into its row.

        Raises:
            sqlite3.Error: the table does not take it.
            RefusedError: its row is not found again, for its name changed.
        """
        value = "CAST(? AS TEXT)" if isinstance(self.new, Text) else "?"
        rows = " AND ".join(f"{_quoted(key)} = ?" for key in self.keys)
        query = f"UPDATE {_quoted(self.table)} SET {_quoted(self.column)} = {value} WHERE {rows}"  # noqa: S608 - its own names
        done = database.execute(query, (bytes(self.new), *map(_given, self.keys.values())))
        if done.rowcount != 1:
            raise RefusedError(f"{self.where}: the name of its row holds what must go")


def changed_values(database: sqlite3.Connection, what: What) -> Iterator[Value]:
    """Yield every value that must change, or cannot.

    Raises:
        sqlite3.Error: the database is damaged.
    """
    for table in _tables(database):
        # all of a table before the first of it changes: a row that moved would come again
        yield from list(_of_table(database, table, what))


def rebuild_searches(database: sqlite3.Connection) -> None:
    """Build the indexes of full-text searches anew: they keep the words of what was changed.

    Raises:
        sqlite3.Error: one cannot be built.
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
