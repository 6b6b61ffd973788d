"""The sessions that the index holds: their files, and a stamp that changes when they do."""

import os
from pathlib import Path
from zlib import crc32

import msgspec

from slowwave.errors import NotFoundError, UnreadableError
from slowwave.formats.model import SessionFiles
from slowwave.stores.ids import session_of_file
from slowwave.stores.rows import SessionRow
from slowwave.stores.walk import SUFFIX

# Databases hold many sessions; no transcript has such a name.
_DATABASES = (".db", ".sqlite", ".sqlite3")


def key_of(row: SessionRow) -> bytes:
    """Return what the index knows a session by: its path, which need not be UTF-8, and its id in there."""
    return f"{row.path}\0{row.id}".encode("utf-8", "surrogateescape")


def folder_of(key: bytes) -> bytes:
    """Return the folder of a session's first file."""
    return key.partition(b"\0")[0].rpartition(b"/")[0]


def is_there(key: bytes) -> bool:
    """Say whether the file of a session still exists; a database is there for all of its sessions."""
    return os.path.lexists(key.partition(b"\0")[0])


def stamp_of(row: SessionRow) -> bytes:
    """Return a value that is another one after every change that the catalogue sees.

    Raises:
        UnreadableError: its file is gone.
    """
    try:
        at = os.stat(row.path)  # noqa: PTH116 - ten thousand of them
    except OSError as error:
        raise UnreadableError(row.path, error.strerror or "cannot be read") from error
    return stamp(row, (at.st_size, at.st_mtime_ns, at.st_dev, at.st_ino))


def stamp(row: SessionRow, at: tuple[int, int, int, int]) -> bytes:
    """Return the stamp of a session whose first file has this size, time, device and inode."""
    # a database changes all the time, and its file says nothing about one session in it
    file = () if row.path.endswith(_DATABASES) else at
    numbers = (row.bytes, row.parts, row.records, row.messages, row.bad_lines, row.kind == "subagent")
    # of a title as it was typed no more than a checksum is kept
    title = crc32(row.title.encode("utf-8", "surrogatepass"))
    texts = (row.dialect, row.last_activity)
    return msgspec.msgpack.encode((*numbers, *file, title, *(t.encode("utf-8", "surrogateescape") for t in texts)))


def files_of(row: SessionRow) -> SessionFiles:
    """Return the files of a session in reading order.

    Raises:
        UnreadableError: its file is gone.
    """
    if row.parts < 2 or not row.path.endswith(SUFFIX):  # noqa: PLR2004 - one file
        return SessionFiles(row.id, (Path(row.path),))
    try:
        found = session_of_file(Path(row.path))
    except NotFoundError as error:
        raise UnreadableError(row.path, "is gone") from error
    return SessionFiles(found.id, tuple(Path(found.folder, file.name) for file in found.files))
