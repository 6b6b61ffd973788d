"""Open the catalogue's database, and rebuild it when it is damaged or of another version: it is only a cache."""

import sqlite3
from pathlib import Path

from slowwave.files import private_folder

VERSION = 12
_WAIT_S = 10.0
# Only these say that the file itself is no good; a lock or a full disk passes.
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_ERROR)
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS pages (
    folder BLOB PRIMARY KEY, head BLOB NOT NULL, rows BLOB NOT NULL, details BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS marks (folder BLOB NOT NULL, path TEXT NOT NULL, mark BLOB, PRIMARY KEY (folder, path));
PRAGMA user_version = {VERSION};
"""


def open_database(path: Path, warnings: list[str]) -> sqlite3.Connection:
    """Return the open catalogue at ``path``; where none can be had, an empty one in memory, with a warning."""
    try:
        private_folder(path.parent)
        path.touch(mode=0o600)
        try:
            return _opened(path)
        except sqlite3.DatabaseError as error:
            if (error.sqlite_errorcode & 0xFF) not in _DAMAGE:
                raise
            warnings.append(f"{path}: the catalogue is damaged or of another version ({error}) and is built anew")
            for suffix in ("", "-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            path.touch(mode=0o600)
            return _opened(path)
    except (OSError, sqlite3.Error) as error:
        warnings.append(f"{path}: no catalogue can be kept ({error}), so every listing reads everything")
        return _prepared(sqlite3.connect(":memory:"))


class _NewerError(sqlite3.OperationalError):
    """A newer slowwave wrote the file: it is left to that one, and not built anew again and again by both."""

    sqlite_errorcode = sqlite3.SQLITE_CANTOPEN


class _WrongVersionError(sqlite3.DatabaseError):
    """The file is a catalogue, but not one of this version."""

    sqlite_errorcode = sqlite3.SQLITE_SCHEMA


def _opened(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_WAIT_S)
    try:
        # holds for a new file only; the pages of the catalogue are long, and each of SQLite's costs a call
        database.execute("PRAGMA page_size = 16384")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        version = int(database.execute("PRAGMA user_version").fetchone()[0])
        return database if version == VERSION else _prepared(_checked(database, version))
    except BaseException:
        database.close()
        raise


def _checked(database: sqlite3.Connection, version: int) -> sqlite3.Connection:
    """Refuse a file of another version; an empty one has none."""
    if version > VERSION:
        raise _NewerError(
            f"a newer slowwave wrote it, in form {version}, and this one knows {VERSION}: update slowwave"
        )
    if version:
        raise _WrongVersionError(f"version {version}, this is {VERSION}")
    return database


def _prepared(database: sqlite3.Connection) -> sqlite3.Connection:
    database.executescript(_SCHEMA)
    return database
