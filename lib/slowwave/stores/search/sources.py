"""The sessions that the index holds: their files, and a stamp that changes when they do."""

import os
from pathlib import Path

import msgspec

from slowwave.dialects.model import SessionFiles
from slowwave.errors import NotFoundError, UnreadableError
from slowwave.stores.ids import session_of_file
from slowwave.stores.rows import SessionRow


def key_of(row: SessionRow) -> bytes:
    """Return what the index knows a session by; paths need not be UTF-8."""
    return row.path.encode("utf-8", "surrogateescape")


def stamp_of(row: SessionRow) -> bytes:
    """Return a value that is another one after every change that the catalogue sees.

    Raises:
        UnreadableError: its file is gone.
    """
    path, _ = _place(row)
    try:
        at = os.stat(path)  # noqa: PTH116 - ten thousand of them
    except OSError as error:
        raise UnreadableError(row.path, error.strerror or "cannot be read") from error
    shown = (row.bytes, row.parts, row.records, row.messages, row.bad_lines, row.last_activity, row.title)
    # a database changes all the time, and its file says nothing about one session in it
    file = () if path != row.path else (at.st_size, at.st_mtime_ns, at.st_dev, at.st_ino)
    return msgspec.msgpack.encode((row.dialect, row.kind == "subagent", *map(_plain, shown), *file))


def files_of(row: SessionRow) -> SessionFiles:
    """Return the files of a session in reading order.

    Raises:
        UnreadableError: its file is gone.
    """
    path, session = _place(row)
    if row.parts < 2:  # noqa: PLR2004 - one file
        return SessionFiles(session, (Path(path),))
    try:
        found = session_of_file(Path(path))
    except NotFoundError as error:
        raise UnreadableError(row.path, "is gone") from error
    return SessionFiles(found.id, tuple(Path(found.folder, file.name) for file in found.files))


def is_there(key: bytes) -> bool:
    """Say whether the file of a session still exists; a database is there for all of its sessions."""
    path = os.fsdecode(key)
    return os.path.lexists(path) or ("#" in path and os.path.lexists(path.rpartition("#")[0]))


def _place(row: SessionRow) -> tuple[str, str]:
    """Return the file of a session, and its id in there; in a database the id is part of the path."""
    path = row.path.removesuffix(f"#{row.id}")
    return (path, row.id) if path != row.path and not os.path.lexists(row.path) else (row.path, row.id)


def _plain(value: object) -> object:
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
