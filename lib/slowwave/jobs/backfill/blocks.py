"""Bytes that a landing adds to the end of files, written down before: a kill in between is completed, not repeated.

A block stands in the run's folder until the file holds it. What of it is there is told by comparing bytes, so nothing
is added twice; where somebody else wrote behind a part of it, it is cut there and the rest is planned anew.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from slowwave.files import at_fault_point, file_bytes, fsync_folder, open_file, write_all


class Block(msgspec.Struct, frozen=True):
    """Bytes at the end of a file.

    Attributes:
        file: name of the file below the memory folder's own.
        offset: where they begin; 0 in a file that was not there.
        size: how many.
        sha256: of them.
        existed: whether the file was there before.
        first: SHA-256 of its first line that is not empty, by which it is found again where the file has become
            shorter before it; "" in what older versions noted.
    """

    file: str
    offset: int
    size: int
    sha256: str
    existed: bool
    first: str = ""

    def holding(self, data: bytes) -> "Block":
        """Return the block at the same place that holds these bytes."""
        line = data.lstrip(b"\n").partition(b"\n")[0]
        return msgspec.structs.replace(self, size=len(data), sha256=_hash_of(data), first=_hash_of(line))


def block_of(path: Path, lines: list[bytes]) -> tuple[Block, bytes]:
    """Return the block that adds lines to a file as it is now, after ending a line that a kill left torn."""
    data = b"\n".join(lines) + b"\n"
    size = 0
    if existed := path.exists():
        with os.fdopen(open_file(path), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            if size and file.read(1) != b"\n":
                data = b"\n" + data
    return Block(path.name, size, 0, "", existed).holding(data), data


def written(path: Path, block: Block, data: bytes) -> tuple[int, bool]:
    """Return how many bytes of a block a file holds, and whether the file ends there.

    A file that is shorter than it was before holds none, and does not end where it should.
    """
    if not path.exists():
        return 0, block.offset == 0
    with os.fdopen(open_file(path), "rb") as file:
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
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    try:
        at_fault_point("write", path)
        write_all(fd, memoryview(data)[there:])
        at_fault_point("fsync", path)
        os.fsync(fd)
    finally:
        os.close(fd)
    if is_new:
        fsync_folder(path.parent)


def place_of(path: Path, block: Block) -> int | None:
    """Return where a file holds a block, whatever follows it; None where it does not, or not as it was written.

    It stands where it was written, or somewhere else when what stood before it was taken back.
    """
    if not path.exists():
        return None
    with os.fdopen(open_file(path), "rb") as file:
        file.seek(block.offset)
        if _is(block, file.read(block.size)):
            return block.offset
    data = file_bytes(path)
    return next((at for at in _starts(data, block.first) if _is(block, data[at : at + block.size])), None)


def without(path: Path, block: Block, at: int) -> bytes:
    """Return the content of a file without the block that it holds at ``at``."""
    data = file_bytes(path)
    return data[:at] + data[at + block.size :]


def _starts(data: bytes, first: str) -> Iterator[int]:
    """Yield where a block may begin whose first line has this hash: at that line, or at the line end before it."""
    at = 0
    for line in data.split(b"\n"):
        if first and line and _hash_of(line) == first:
            yield at
            if at:
                yield at - 1
        at += len(line) + 1


def _is(block: Block, data: bytes) -> bool:
    return len(data) == block.size and _hash_of(data) == block.sha256


def _hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
