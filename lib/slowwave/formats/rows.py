"""Rows of the databases that clients keep sessions in, by the name that a span of theirs gives them.

The name tells the table and the keys, ``part/<id>``; so a row is found again by one look into an index, whatever else
the database holds.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import sqlite3
    from types import TracebackType


_QUERIES = {
    "part": "SELECT data, NULL, NULL FROM part WHERE id = ?",
    "message": "SELECT data, NULL, NULL FROM message WHERE id = ?",
    "transcript_events": (
        "SELECT event_json, {packed} FROM transcript_events WHERE session_id = ? AND seq = CAST(? AS INTEGER)"
    ),
}


def names_row(record: str) -> bool:
    """Say whether the name of a record is that of a row."""
    table, slash, key = record.partition("/")
    return bool(slash and key) and table in _QUERIES


class StaleRowsError(OSError):
    """A client wrote to a database while rows of it were read: what was read may be neither old nor new."""


class RowReader:
    """Reads rows of any number of databases; each is opened once, when the first row of it is asked for.

    Leaving its context raises :class:`StaleRowsError` when nothing of what was read may be trusted.
    """

    def __init__(self) -> None:
        self._opened: dict[Path, sqlite3.Connection] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: "type[BaseException] | None", error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        import sqlite3  # noqa: PLC0415 - few records are rows

        try:
            self._stack.close()
        except sqlite3.Error as problem:
            if error is None:
                raise StaleRowsError(str(problem)) from problem

    def read(self, path: Path, record: str) -> bytes | None:
        """Return the decoded bytes of a row, or None when there is no such row.

        Raises:
            OSError: the database cannot be opened, or nothing can be read from it.
        """
        import sqlite3  # noqa: PLC0415 - few records are rows

        from slowwave.formats.database import opened_read_only  # noqa: PLC0415 - as above

        try:
            rows = self._opened.get(path)
            if rows is None:
                rows = self._opened[path] = self._stack.enter_context(opened_read_only(path))
            return row_in(rows, record)
        except sqlite3.Error as error:
            raise OSError(f"{path}: {error}") from error


def row_in(rows: "sqlite3.Connection", record: str) -> bytes | None:
    """Return the decoded bytes of a row of an open database whose texts come as bytes, or None without such a row.

    Raises:
        sqlite3.Error: the database is damaged, or has no such table.
    """
    table, _, key = record.partition("/")
    query, keys = _QUERIES[table], [key]
    if table == "transcript_events":
        keys = list(key.rpartition("/")[::2])
        known = {name for (name,) in rows.execute("SELECT name FROM pragma_table_info(?)", (table,))}
        query = query.format(packed="event_zstd, event_utf8_bytes" if b"event_zstd" in known else "NULL, NULL")
    found = rows.execute(query, keys).fetchone()
    if found is None:
        return None
    plain, frame, size = found
    if plain is not None:
        return plain if isinstance(plain, bytes) else str(plain).encode()
    from slowwave.formats.openclaw.database import unpacked  # noqa: PLC0415 - few rows are packed

    try:
        return unpacked(frame, size)
    except ValueError:
        return b""  # the row is there, what it said is not
