"""Changing what lies in a pack, byte for byte: a new pack takes its place in one step, or nothing changes.

All is compressed anew and without a dictionary, which would hold pieces of what was changed.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from slowwave.errors import CorruptStateError
from slowwave.files import replacement, write_all
from slowwave.stores.archive.compressing import compressor
from slowwave.stores.archive.model import CHUNK, MAGIC, VERSION, PackedFile, PackedSession, Table, digest
from slowwave.stores.archive.reading import Pack
from slowwave.stores.archive.tables import ending
from slowwave.stores.client_notes import Note

# the file's path and its bytes to its new bytes
ChangeFile = Callable[[str, bytes], bytes]
ChangeRow = Callable[[dict[str, Any]], dict[str, Any]]


def change_pack(path: Path, change: ChangeFile, change_row: ChangeRow) -> None:
    """Write a pack with changed contents in the place of one; places, modes and times stay.

    Raises:
        CorruptStateError: it is damaged, or what was written is not read back; it is as it was.
        OSError: the new pack cannot be written; the old one is as it was.
    """
    with Pack(path) as old, replacement(path) as new:
        write_all(new, MAGIC)
        at = len(MAGIC)
        sessions: list[PackedSession] = []
        for session in old.table.sessions:
            files: list[PackedFile] = []
            for file in session.files:
                data = b""
                if file.kind == "file":
                    file, data = _packed(file, change(file.path, old.read(file)), at)  # noqa: PLW2901 - as it is now
                    write_all(new, data)
                    at += len(data)
                files.append(file)
            inside = tuple(map(change_row, session.inside))
            notes = tuple(msgspec.convert(change_row(msgspec.to_builtins(note)), Note) for note in session.notes)
            row = change_row(session.row)
            sessions.append(replace(session, files=tuple(files), row=row, inside=inside, notes=notes))
        write_all(new, ending(Table(VERSION, tuple(sessions)), at))
        with Pack(path, os.dup(new)) as pack:
            if len(pack.table.sessions) != len(sessions):
                raise CorruptStateError(path, "was not read back as it was written", "run it again")
            for session in pack.table.sessions:
                pack.check(session)


def _packed(file: PackedFile, plain: bytes, at: int) -> tuple[PackedFile, bytes]:
    packer = compressor()
    pieces = [plain[start : start + CHUNK] for start in range(0, len(plain), CHUNK)]
    frames = [packer.compress(piece) for piece in pieces]
    check = digest()
    check.update(plain)
    chunks = tuple((len(frame), len(piece)) for frame, piece in zip(frames, pieces, strict=True))
    new = replace(file, size=len(plain), hash=check.hexdigest(), start=at, chunks=chunks, shared=False)
    return new, b"".join(frames)
