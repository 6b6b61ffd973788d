"""What is packed in the bytes of a file: gzip, zlib, bzip2, xz, zip and zstd, as far as their first bytes tell.

Read to be searched only; what is rewritten is told in :mod:`slowwave.retention.zipped`.
"""

import bz2
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from slowwave.errors import RefusedError
from slowwave.formats.lines import SUFFIX
from slowwave.retention.unpacking import MOST_BYTES, TOO_LARGE, ZSTD, unpacked

GZIP = b"\x1f\x8b"
_ZLIB = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_BZIP2, _XZ, _ZIP = b"BZh", b"\xfd7zXZ\0", b"PK\x03\x04"
# an archive in an archive, and what is in that
DEPTH = 3
_DAMAGED = "what is packed in it is damaged, so nobody can look into it"


def is_packed(path: Path) -> bool:
    """Say whether a file may be packed, by its first bytes; of a packed transcript they do not count.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return not path.name.endswith(SUFFIX) and file.read(len(_XZ)).startswith(
            (ZSTD, GZIP, _BZIP2, _XZ, _ZIP, *_ZLIB)
        )


def layers(data: bytes, depth: int = DEPTH) -> Iterator[bytes]:
    """Yield what is packed in ``data``, and what is packed in that; nothing when it is not packed.

    Raises:
        RefusedError: it is damaged, or stands for more than a gigabyte.
    """
    if not depth:
        return
    for one in _layer(data):
        yield one
        yield from layers(one, depth - 1)


def _layer(data: bytes) -> Iterator[bytes]:
    if data.startswith(ZSTD):
        yield unpacked(data)
    elif data.startswith(GZIP):
        yield _stream(data, lambda: zlib.decompressobj(zlib.MAX_WBITS | 16))
    elif data.startswith(_BZIP2):
        yield _stream(data, bz2.BZ2Decompressor)
    elif data.startswith(_XZ):
        yield _stream(data, lzma.LZMADecompressor)
    elif data.startswith(_ZIP):
        yield from _entries(data)
    elif data.startswith(_ZLIB):
        try:
            yield _stream(data, zlib.decompressobj)
        except RefusedError:
            return  # two bytes are no sure sign: "x\x9c" may begin anything


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def _stream(data: bytes, new: Callable[[], _Unpacker]) -> bytes:
    """Return what all streams hold that stand one behind the other."""
    plain = bytearray()
    rest = data
    while rest.strip(b"\0"):
        one = new()
        try:
            plain += one.decompress(rest, MOST_BYTES - len(plain) + 1)
        except (zlib.error, OSError, lzma.LZMAError, EOFError) as error:
            raise RefusedError(f"{_DAMAGED}: {error}") from error
        if len(plain) > MOST_BYTES:
            raise RefusedError(TOO_LARGE)
        if not one.eof:
            raise RefusedError(f"{_DAMAGED}: it is cut short")
        rest = one.unused_data
    return bytes(plain)


def _entries(data: bytes) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            if sum(info.file_size for info in packed.infolist()) > MOST_BYTES:
                raise RefusedError(TOO_LARGE)
            for info in packed.infolist():
                yield info.filename.encode("utf-8", "surrogateescape")
                yield packed.read(info)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError) as error:
        raise RefusedError(f"{_DAMAGED}: {error}") from error
