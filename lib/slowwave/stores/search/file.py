"""The search index as a file beside the catalogue; damaged or of another version, it is built anew: a cache as well.

``words`` has no content of its own: FTS5 keeps only which word stands where, ``segments`` keeps what was said. A
segment is a stretch of one session, so that a session that grows has its last stretch indexed anew and not all of it.
"""

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from slowwave.errors import UnreadableError
from slowwave.files import private_folder
from slowwave.places import state_folder
from slowwave.stores.search.said import WEIGHTS

VERSION = 2
_WAIT_S = 10.0
# Only these say that the file itself is no good; a lock or a full disk passes.
DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_ERROR)
_SCHEMA = f"""
BEGIN;
CREATE TABLE sessions (number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, stamp BLOB NOT NULL, title TEXT NOT NULL,
  mark BLOB NOT NULL);
CREATE TABLE segments (number INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE VIRTUAL TABLE words USING fts5({", ".join(WEIGHTS)}, content='', tokenize='unicode61 remove_diacritics 2');
PRAGMA user_version = {VERSION};
COMMIT;
"""


def index_path(environ: Mapping[str, str]) -> Path:
    """Return where the search index of this user lies."""
    return state_folder(environ) / "search.sqlite"


def open_index(path: Path, warnings: list[str]) -> sqlite3.Connection:
    """Return the open index at ``path``; the folder is the user's alone, and so is the file.

    Raises:
        UnreadableError: no index can be kept there.
    """
    try:
        private_folder(path.parent)
        path.touch(mode=0o600)
        try:
            return _opened(path)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            warnings.append(f"{path}: the search index is damaged or of another version ({error}) and is built anew")
            remove_index(path)
            path.touch(mode=0o600)
            return _opened(path)
    except (OSError, sqlite3.Error) as error:
        raise UnreadableError(path, f"no search index can be kept ({error})", "see to its folder") from error


class DamagedIndexError(UnreadableError):
    """The index is no good any more; it has to be built anew."""


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Say whether an error means that the file itself is no good."""
    return (error.sqlite_errorcode & 0xFF) in DAMAGE


def remove_index(path: Path) -> None:
    """Remove the index, which is only a cache."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


class _WrongVersionError(sqlite3.DatabaseError):
    """The file is an index, but not one of this version."""

    sqlite_errorcode = sqlite3.SQLITE_SCHEMA


def _opened(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        # what was said and is deleted must not stay readable in free pages
        database.execute("PRAGMA secure_delete = ON")
        version = int(database.execute("PRAGMA user_version").fetchone()[0])
        if not version:
            _prepare(database)
        _check(version or VERSION)
        database.execute("SELECT number FROM segments LIMIT 1")
        database.execute("SELECT rowid FROM words LIMIT 1")
    except BaseException:
        database.close()
        raise
    return database


class _NewerError(sqlite3.OperationalError):
    """A newer slowwave wrote the file: it is left to that one, and not built anew again and again by both."""

    sqlite_errorcode = sqlite3.SQLITE_CANTOPEN


def _check(version: int) -> None:
    if version > VERSION:
        raise _NewerError(
            f"a newer slowwave wrote it, in form {version}, and this one knows {VERSION}: update slowwave"
        )
    if version != VERSION:
        raise _WrongVersionError(f"version {version}, this is {VERSION}")


def _prepare(database: sqlite3.Connection) -> None:
    try:
        database.executescript(_SCHEMA)
    except sqlite3.OperationalError:
        if database.in_transaction:
            database.execute("ROLLBACK")
        # another search made it in the same moment
        if int(database.execute("PRAGMA user_version").fetchone()[0]) != VERSION:
            raise
