"""What must go from a database of SQLite: rows overwritten, then the file written anew, so that no byte of them stays.

A value keeps its length. Tables of a full-text search are changed through it and built anew. All is one transaction.
"""

import os
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from slowwave.errors import RefusedError
from slowwave.files import at_fault_point
from slowwave.formats.database import HEADER, opened_read_only
from slowwave.retention.masking import STUCK, Place
from slowwave.retention.tables import Text, changed_values, rebuild_searches
from slowwave.retention.what import What

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
        raise RefusedError(f"cannot be looked into: {error}") from error
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
