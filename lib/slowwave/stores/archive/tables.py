"""What stands behind the frames of a pack: its table, and a trailer that says where the table lies."""

import os
from pathlib import Path

import zstandard

from slowwave.errors import CorruptStateError, UnreadableError
from slowwave.stores.archive.compressing import compressor
from slowwave.stores.archive.model import MAGIC, TRAILER, NewerError, Table, decoded, digest, encoded

REMEDY = "the sessions in it cannot be read; put the file back from a copy"


def ending(table: Table, offset: int) -> bytes:
    """Return what stands behind the frames of a pack, from ``offset`` on: its table and its trailer."""
    packed = compressor().compress(encoded(table))
    check = digest()
    check.update(packed)
    return packed + TRAILER.pack(offset, len(packed), check.digest(), MAGIC)


def table_bytes(path: Path, fd: int) -> bytes:
    """Return the table of a pack as it was encoded.

    Args:
        path: names the pack where it is damaged.
        fd: a descriptor of it.

    Raises:
        CorruptStateError: it was cut short or changed, or it is no pack.
    """
    size = os.fstat(fd).st_size
    tail = os.pread(fd, TRAILER.size, max(size - TRAILER.size, 0))
    if len(tail) != TRAILER.size or os.pread(fd, len(MAGIC), 0) != MAGIC:
        raise CorruptStateError(path, "is no pack", REMEDY)
    offset, length, expected, magic = TRAILER.unpack(tail)
    packed = os.pread(fd, length, offset) if magic == MAGIC and offset + length < size else b""
    found = digest()
    found.update(packed)
    if found.digest() != expected:
        raise CorruptStateError(path, "was cut short or changed: its table is damaged", REMEDY)
    return zstandard.ZstdDecompressor().decompress(packed)


def table_of(path: Path, data: bytes) -> Table:
    """Return a table of which these are the bytes.

    Raises:
        UnreadableError: a newer version of slowwave wrote the pack.
    """
    try:
        return decoded(data)
    except NewerError as error:
        raise UnreadableError(path, str(error), "use that version") from error
