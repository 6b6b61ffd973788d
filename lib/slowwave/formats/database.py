"""Databases that a client keeps its sessions in: opened without changing a byte of them or of what lies beside them.

SQLite's plain ``mode=ro`` is not enough: it writes reader's marks into the index of the log (``-shm``) and makes that
index where it is missing. Here the index is opened for reading only (``readonly_shm``): a client that has the database
open shares it, and an index that nobody has open is rebuilt in memory.
"""

import errno
import stat
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.errors import UnreadableError

if TYPE_CHECKING:
    import sqlite3


HEADER = b"SQLite format 3\0"


@contextmanager
def opened_read_only(path: Path) -> "Generator[sqlite3.Connection]":
    """Open a database that its client may hold open, in one transaction, without changing anything in its folder.

    With a log (``-wal``) and its index both are read in place. A log without an index, or a journal that was not rolled
    back, is copied away together with the database, since SQLite would have to write. Without either there is nothing
    to coordinate with, and the file is opened as unchangeable: no lock is taken, and a client that begins to write
    meanwhile ends the reading.

    Texts come as bytes, since rows may hold some that are not UTF-8.

    Raises:
        sqlite3.Error: it is no database, or a client wrote to it while it was read.
        OSError: it cannot be opened or copied.
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

    Raises:
        UnreadableError: it cannot be read now; what it is stays unknown.
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


def text_of(value: object) -> str:
    """Return a column that should be text as text; numbers and missing values are ""."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""
