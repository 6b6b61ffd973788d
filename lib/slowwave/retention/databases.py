"""Subjects in a database of our own: rows overwritten, then the file written anew, so that no byte of them stays."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from slowwave.errors import RefusedError
from slowwave.retention.masking import BrokenError, Place, masked
from slowwave.retention.what import What

HEADER = b"SQLite format 3\0"
_WAIT_S = 60.0


def is_database(path: Path) -> bool:
    """Say whether a file is a database of SQLite."""
    with path.open("rb") as file:
        return file.read(len(HEADER)) == HEADER


def found_in_database(path: Path, what: What) -> list[Place]:
    """Return what must go from a database, without changing it.

    Raises:
        RefusedError: it cannot be read.
    """
    try:
        with closing(_open(path)) as database:
            return [place for *_, places in _changes(database, what) for place in places]
    except sqlite3.Error as error:
        raise RefusedError(f"{path}: {error}") from error


def clean_database(path: Path, what: What) -> list[Place]:
    """Overwrite what must go from every table of a database, and write it anew; return what that was.

    Another process may have it open; it waits for its writes.

    Raises:
        RefusedError: somebody keeps it locked, a value must not change, or bytes of what must go are left in it.
    """
    places: list[Place] = []
    try:
        with closing(_open(path)) as database:
            database.execute("PRAGMA secure_delete = ON")
            for table, column, row, new, found in list(_changes(database, what)):
                database.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (new, row))  # noqa: S608 - its own names
                places += found
            database.commit()
            # also when nothing was found now: a killed run may have overwritten rows and not come so far
            database.execute("VACUUM")
            busy, *_ = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error as error:
        raise RefusedError(f"{path}: {error}; stop `slowwave serve`, then run it again") from error
    if busy or any(what.hits(one.read_bytes()) for one in files_of(path)):
        raise RefusedError(f"{path}: is in use, and bytes stay in its log; stop `slowwave serve`, then run it again")
    return places


def files_of(path: Path) -> list[Path]:
    """Return a database and what lies beside it of its last writes."""
    return [one for end in ("", "-wal", "-journal") if (one := path.with_name(path.name + end)).is_file()]


def _open(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(f"file:{path}?mode=rw", uri=True, timeout=_WAIT_S)
    database.text_factory = bytes
    return database


def _changes(database: sqlite3.Connection, what: What) -> Iterator[tuple[str, str, int, bytes | str, list[Place]]]:
    """Yield table, column, row, new value and what was in it, of every value that must change."""
    tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
    for (raw,) in tables.fetchall():
        table = raw.decode()
        if table.startswith("sqlite_"):
            continue
        rows = database.execute(f'SELECT rowid, * FROM "{table}"')  # noqa: S608 - its own name
        names = [column[0] for column in rows.description][1:]
        for row, *values in rows:
            for name, value in zip(names, values, strict=True):
                if not isinstance(value, bytes) or not what.hits(value):
                    continue
                try:
                    new, places = masked(value, what)
                except BrokenError as error:
                    raise RefusedError(f"a value of {table}.{name} cannot be overwritten: {error}") from error
                is_text = database.execute(
                    f'SELECT typeof("{name}") FROM "{table}" WHERE rowid = ?',  # noqa: S608
                    (row,),
                ).fetchone()[0]
                text = is_text in (b"text", "text")
                yield table, name, row, new.decode("utf-8", "surrogateescape") if text else new, places
