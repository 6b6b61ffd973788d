"""Databases that a client keeps its sessions in: opened without changing a byte of them or of what lies beside them.

SQLite's plain ``mode=ro`` is not enough: it writes reader's marks into the index of the log (``-shm``) and makes that
index where it is missing. Here the index is opened for reading only (``readonly_shm``): a client that has the database
open shares it, and an index that nobody has open is rebuilt in memory.
"""

import errno
import stat
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from slowwave.errors import UnreadableError
from slowwave.formats.lines import open_regular

if TYPE_CHECKING:
    import sqlite3
    from types import TracebackType

HEADER = b"SQLite format 3\0"


def is_database(path: Path) -> bool:
    """Say whether a file begins as a database does."""
    with open_regular(path) as file:
        return file.read(len(HEADER)) == HEADER


@contextmanager
def opened_read_only(path: Path) -> "Generator[sqlite3.Connection]":
    """Open a database that its client may hold open, in one transaction, without changing anything in its folder.

    With a log (``-wal``) and its index both are read in place. A log without an index, or a journal that was not rolled
    back, is copied away together with the database, since SQLite would have to write. Without either there is nothing
    to coordinate with, and the file is opened as unchangeable: no lock is taken, and a client that begins to write
    meanwhile ends the reading.

    Texts come as bytes, since rows may hold some that are not UTF-8. Raises sqlite3.Error: it is no database, or a
    client wrote to it while it was read; OSError: it cannot be opened or copied.
    """
    if not stat.S_ISREG(path.stat().st_mode):  # SQLite would wait for a pipe without end
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if _has_bytes(f"{path}-journal") or (_has_bytes(f"{path}-wal") and not Path(f"{path}-shm").exists()):
        opening = _copied(path)
    elif _has_bytes(f"{path}-wal"):
        opening = _connection(path, "mode=ro&readonly_shm=1")
    else:
        opening = _unchangeable(path)
    with opening as rows:
        yield rows


def _has_bytes(path: str) -> bool:
    try:
        return Path(path).stat().st_size > 0
    except FileNotFoundError:
        return False


@contextmanager
def _copied(path: Path) -> "Generator[sqlite3.Connection]":
    """Open a copy, in which SQLite may finish what a client that died left in its log or journal."""
    import shutil  # noqa: PLC0415 - few databases were left so
    import tempfile  # noqa: PLC0415 - as above

    with tempfile.TemporaryDirectory(prefix="slowwave-") as folder:
        copy = Path(folder, "copy.db")
        shutil.copyfile(path, copy)
        for suffix in ("-wal", "-journal"):
            if _has_bytes(f"{path}{suffix}"):
                shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
        with _connection(copy, "mode=rw") as rows:
            yield rows


@contextmanager
def _unchangeable(path: Path) -> "Generator[sqlite3.Connection]":
    import sqlite3  # noqa: PLC0415 - few sessions lie in databases

    before = _state(path)
    try:
        with _connection(path, "mode=ro&immutable=1") as rows:
            yield rows
    except sqlite3.Error:
        if _state(path) == before:
            raise
        raise sqlite3.OperationalError("its client wrote to it while it was read; read it again") from None
    if _state(path) != before:
        raise sqlite3.OperationalError("its client wrote to it while it was read; read it again")


def _state(path: Path) -> tuple[int, int, int]:
    at = path.stat()
    return at.st_size, at.st_mtime_ns, at.st_ino


@contextmanager
def _connection(path: Path, mode: str) -> "Generator[sqlite3.Connection]":
    import sqlite3  # noqa: PLC0415 - as above
    from urllib.parse import quote  # noqa: PLC0415 - few sessions lie in databases

    with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?{mode}", uri=True)) as rows:
        rows.text_factory = bytes
        try:
            rows.execute("BEGIN")
            yield rows
        except UnicodeDecodeError as error:  # of what SQLite says itself: it names what is damaged
            raise sqlite3.DatabaseError("damaged, and the names in it are not text") from error


def tables_of(path: Path) -> frozenset[str]:
    """Return the names of a database's tables; none when it is damaged so that there are none.

    Raises UnreadableError: it cannot be read now; what it is stays unknown.
    """
    import sqlite3  # noqa: PLC0415 - as above

    try:
        with opened_read_only(path) as rows:
            named = rows.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    except (sqlite3.OperationalError, OSError) as error:
        raise UnreadableError(path, f"no readable database: {error}", "try again when its client is idle") from error
    except sqlite3.Error:
        return frozenset()
    return frozenset(text_of(name) for (name,) in named)


@contextmanager
def opened_of(path: Path, client: str) -> "Generator[sqlite3.Connection]":
    """Open a database of a client as :func:`opened_read_only` does.

    Raises UnreadableError: it cannot be opened, is damaged, or its client wrote to it meanwhile.
    """
    import sqlite3  # noqa: PLC0415 - as above

    try:
        with opened_read_only(path) as rows:
            yield rows
    except (sqlite3.Error, OSError) as error:
        raise UnreadableError(path, f"no readable {client} database: {error}") from error


def columns_of(rows: "sqlite3.Connection", table: str) -> frozenset[str]:
    """Return the names of a table's columns; none when there is no such table."""
    return frozenset(text_of(name) for (name,) in rows.execute("SELECT name FROM pragma_table_info(?)", (table,)))


def by_column(cursor: "sqlite3.Cursor") -> "Iterator[dict[str, Any]]":
    """Yield the rows of a query by the names of their columns, with texts as text."""
    names = [column[0] for column in cursor.description]
    for row in cursor:
        yield {name: readable(value) for name, value in zip(names, row, strict=True)}


def readable(value: Any) -> Any:
    """Return a column of text as text; another value as it is."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def text_of(value: object) -> str:
    """Return a column that should be text as text; numbers and missing values are ""."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


# Rows of the databases that clients keep sessions in, by the name that a span of theirs gives them.
#
# The name tells the table and the keys, ``part/<id>``; so a row is found again by one look into an index, whatever else
# the database holds.

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

        Raises OSError: the database cannot be opened, or nothing can be read from it.
        """
        import sqlite3  # noqa: PLC0415 - few records are rows

        try:
            rows = self._opened.get(path)
            if rows is None:
                rows = self._opened[path] = self._stack.enter_context(opened_read_only(path))
            return row_in(rows, record)
        except sqlite3.Error as error:
            raise OSError(f"{path}: {error}") from error


def row_in(rows: "sqlite3.Connection", record: str) -> bytes | None:
    """Return the decoded bytes of a row of an open database whose texts come as bytes, or None without such a row.

    Raises sqlite3.Error: the database is damaged, or has no such table.
    """
    table, _, key = record.partition("/")
    query, keys = _QUERIES[table], [key]
    if table == "transcript_events":
        keys = list(key.rpartition("/")[::2])
        query = query.format(packed=packed_columns(rows))
    found = rows.execute(query, keys).fetchone()
    if found is None:
        return None
    plain, frame, size = found
    if plain is not None:
        return plain if isinstance(plain, bytes) else str(plain).encode()
    try:
        return unpacked(frame, size)
    except ValueError:
        return b""  # the row is there, what it said is not


def packed_columns(rows: "sqlite3.Connection") -> str:
    """Return the columns in which events of OpenClaw are compressed, for a query; earlier versions have none."""
    return "event_zstd, event_utf8_bytes" if "event_zstd" in columns_of(rows, "transcript_events") else "NULL, NULL"


# OpenClaw compresses nothing larger than 4 MiB; whatever claims more is damage, not worth the memory.
MOST_PLAIN_BYTES = 64 << 20


def unpacked(frame: bytes | None, size: int | None) -> bytes:
    """Return the JSON in a compressed event of OpenClaw.

    Raises ValueError: there is none, the frame is damaged, or it does not hold what its row says.
    """
    import zstandard  # noqa: PLC0415 - few sessions are packed

    if frame is None:
        raise ValueError("has neither JSON nor a compressed event")
    try:
        told = zstandard.frame_content_size(frame)
        expected = size if size is not None else told
        if not 0 < expected <= MOST_PLAIN_BYTES or told > MOST_PLAIN_BYTES:
            raise ValueError(f"says that it unpacks to {max(expected, told)} bytes")
        raw = zstandard.ZstdDecompressor().decompress(frame, max_output_size=expected, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise ValueError(f"cannot be unpacked: {error}") from error
    if len(raw) != expected:
        raise ValueError(f"unpacks to {len(raw)} bytes where its row says {expected}")
    return raw
