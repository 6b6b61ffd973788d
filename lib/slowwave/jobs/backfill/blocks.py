"""Bytes that a landing adds to the end of files, written down before: a kill in between is completed, not repeated.

A block stands in the run's folder until the file holds it. What of it is there is told by comparing bytes, so nothing
is added twice; where somebody else wrote behind a part of it, it is cut there and the rest is planned anew.
"""

import hashlib
import os
from pathlib import Path

import msgspec

from slowwave.files import at_fault_point, fsync_folder, write_all


class Block(msgspec.Struct, frozen=True):
    """Bytes at the end of a file.

    Attributes:
        file: name of the file below the memory folder's own.
        offset: where they begin; 0 in a file that was not there.
        size: how many.
        sha256: of them.
        existed: whether the file was there before.
    """

    file: str
    offset: int
    size: int
    sha256: str
    existed: bool


def block_of(path: Path, lines: list[bytes]) -> tuple[Block, bytes]:
    """Return the block that adds lines to a file as it is now, after ending a line that a kill left torn."""
    data = b"\n".join(lines) + b"\n"
    size = 0
    if existed := path.exists():
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            if size and file.read(1) != b"\n":
                data = b"\n" + data
    return Block(path.name, size, len(data), hashlib.sha256(data).hexdigest(), existed), data


def written(path: Path, block: Block, data: bytes) -> tuple[int, bool]:
    """Return how many bytes of a block a file holds, and whether the file ends there.

    A file that is shorter than it was before holds none, and does not end where it should.
    """
    if not path.exists():
        return 0, block.offset == 0
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size < block.offset:
            return 0, False
        file.seek(block.offset)
        there = file.read(block.size + 1)
    if there == data[: len(there)]:
        return len(there), block.offset + len(there) == size
    same = next(at for at, (one, other) in enumerate(zip(there, data + b"\0", strict=False)) if one != other)
    return same, False


def append_rest(path: Path, data: bytes, there: int) -> None:
    """Add what is missing of a block; the caller holds the guard.

    Raises:
        OSError: the disk is full or the file is not writable.
    """
    if there == len(data):
        return
    is_new = not path.exists()
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        at_fault_point("write", path)
        write_all(fd, memoryview(data)[there:])
        at_fault_point("fsync", path)
        os.fsync(fd)
    finally:
        os.close(fd)
    if is_new:
        fsync_folder(path.parent)


def is_in_place(path: Path, block: Block) -> bool:
    """Say whether a file still holds a block where it was written, whatever follows it."""
    if not path.exists():
        return False
    with path.open("rb") as file:
        file.seek(block.offset)
        data = file.read(block.size)
    return len(data) == block.size and hashlib.sha256(data).hexdigest() == block.sha256


def without(path: Path, block: Block) -> bytes:
    """Return the content of a file without a block."""
    data = path.read_bytes()
    return data[: block.offset] + data[block.offset + block.size :]
