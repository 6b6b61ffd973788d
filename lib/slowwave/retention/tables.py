"""Values of a database that must change, table by table, each found again by its row."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from slowwave.errors import RefusedError
from slowwave.retention.masking import Place
from slowwave.retention.what import What
from slowwave.retention.zipped import overwritten

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
