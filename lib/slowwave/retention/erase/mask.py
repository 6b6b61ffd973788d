"""Secrets and subjects out of bytes, also packed ones: each replaced by as many, so that nothing behind it moves."""

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import orjson
import zstandard

from slowwave.errors import RefusedError
from slowwave.formats.lines import PACKED, STEP_BYTES
from slowwave.retention.erase.subjects import Hit, What

# what is taken out may bring something else to light, for example the rest of a list
_MOST_PASSES = 4
STUCK = "cannot be overwritten: a number, a key or the form of the JSON around it would change"


class Place(NamedTuple):
    """Where something stood that had to go, the mark that stands for it, and whether it was part of a path."""

    offset: int
    length: int
    family: str
    mark: str
    in_path: bool = False


class Masked(NamedTuple):
    """Bytes in which everything is overwritten that may be."""

    data: bytes  # as many bytes as before
    places: list[Place]  # what was overwritten
    stuck: list[Place]  # what still stands there: the JSON that holds it would be another, or none


def masked(data: bytes, what: What) -> Masked:
    """Return ``data`` with all that must go overwritten, as far as the JSON in it allows."""
    new, places, stuck = data, list[Place](), set[tuple[int, int]]()
    found = what.hits(new)
    for _ in range(_MOST_PASSES):
        free = [hit for hit in found if (hit.start, hit.stop) not in stuck]
        if not free:
            break
        form = _Form(new)
        together = _filled(new, free)
        if form.is_kept(together, free):
            new = together
            places += map(_place, free)
        else:
            for hit in free:
                alone = _filled(new, [hit])
                if form.is_kept(alone, [hit]):
                    new = alone
                    places.append(_place(hit))
                else:
                    stuck.add((hit.start, hit.stop))
        found = what.hits(new)
    return Masked(new, places, [_place(hit) for hit in found])


def marked(data: bytes, what: What) -> Masked:
    """Return ``data`` with a mark in the place of all that must go; unchanged when its JSON would not stand it."""
    found = what.hits(data)
    out: list[bytes] = []
    at = 0
    for hit in found:
        out += [data[at : hit.start], hit.mark.encode()]
        at = hit.stop
    new, places = b"".join([*out, data[at:]]), [_place(hit) for hit in found]
    return Masked(new, places, []) if not found or _has_form_of(data, new) else Masked(data, [], places)


def _place(hit: Hit) -> Place:
    return Place(hit.start, hit.stop - hit.start, hit.family, hit.mark, hit.in_path)


def _filled(data: bytes, hits: Sequence[Hit]) -> bytes:
    new = bytearray(data)
    for hit in hits:
        new[hit.start : hit.stop] = hit.fill
    return bytes(new)


class _Form:
    """What of some bytes is JSON: all of them, or lines of them. Whatever else they are has no form to lose."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._whole = _parsed(data)

    def is_kept(self, new: bytes, hits: Sequence[Hit]) -> bool:
        """Say whether other bytes, different where the hits are, have the same form."""
        if self._whole is not None:
            return _alike(self._whole, _parsed(new))
        return all(_has_form_of(self._data[a:b], new[a:b]) for a, b in self._lines(hits))

    def _lines(self, hits: Sequence[Hit]) -> Iterator[tuple[int, int]]:
        """Yield every line that a hit touches; there may be several of one hit."""
        end = -1
        for hit in hits:
            start = max(self._data.rfind(b"\n", 0, hit.start) + 1, end)
            while start < hit.stop:
                end = self._data.find(b"\n", start) + 1 or len(self._data)
                yield start, end
                start = end


def _has_form_of(old: bytes, new: bytes) -> bool:
    before = _parsed(old)
    return before is None or _alike(before, _parsed(new))


def _parsed(data: bytes) -> Any:
    """Return JSON, or None for what is none: a bare number is a text as well as any other."""
    try:
        value: Any = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None  # damaged already, or a line of text
    return cast("Any", value) if isinstance(value, dict | list | str) else None


def _alike(before: Any, after: Any) -> bool:
    """Say whether two values differ in their texts alone."""
    if type(before) is not type(after):
        return False
    if isinstance(before, dict):
        old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
        return len(old) == len(new) and all(_alike(a, b) for a, b in zip(old.values(), new.values(), strict=True))
    if isinstance(before, list):
        some, others = cast("list[Any]", before), cast("list[Any]", after)
        return len(some) == len(others) and all(_alike(a, b) for a, b in zip(some, others, strict=True))
    return isinstance(before, str) or before == after


# Bytes of a whole file overwritten in place; what is packed by zstd or gzip is packed again.

ONLY_READ = "what is packed in it holds what must go, in a form that is not packed again; remove it, or unpack it"


def overwritten(data: bytes, what: What, *, packed: bool | None = None) -> Masked:
    """Return data with all that must go overwritten, also what stands on several lines, and where it was.

    ``data``: the content of a file; ``packed``: it is packed by zstd; by default its first bytes tell. Raises
    RefusedError: what is packed is damaged, so that nobody can look into it; or it holds what must go and is packed by
    something else than zstd or gzip, or packed twice.
    """
    if packed if packed is not None else data.startswith(ZSTD):
        found = masked(_plain(unpacked(data), what), what)
        packer = zstandard.ZstdCompressor(level=3, write_checksum=True).compress
    elif packed is None and data.startswith(GZIP):
        plain, *inside = layers(data)
        _refuse_inside(inside, what)
        found = masked(plain, what)
        packer = _gzipped
    else:
        return masked(_plain(data, what) if packed is None else data, what)
    return found._replace(data=packer(found.data) if found.places else data)


def _plain(data: bytes, what: What) -> bytes:
    """Return data again, unless something is packed in it that must go and cannot."""
    _refuse_inside(layers(data), what)
    return data


def _refuse_inside(inside: Iterable[bytes], what: What) -> None:
    if any(what.hits(one) for one in inside):
        raise RefusedError(ONLY_READ)


def _gzipped(plain: bytes) -> bytes:
    return gzip.compress(plain, mtime=0)


# What is packed in the bytes of a file: gzip, zlib, bzip2, xz, zip and zstd, as far as their first bytes tell.
#
# Read to be searched only; what is rewritten is told by :func:`overwritten`.

GZIP = b"\x1f\x8b"
_ZLIB = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_BZIP2, _XZ, _ZIP = b"BZh", b"\xfd7zXZ\0", b"PK\x03\x04"
# an archive in an archive, and what is in that
DEPTH = 3
_DAMAGED = "what is packed in it is damaged, so it cannot be searched"


def is_packed(path: Path) -> bool:
    """Say whether a file may be packed, by its first bytes; of a packed transcript they do not count.

    Raises OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return not path.name.endswith(PACKED) and file.read(len(_XZ)).startswith(
            (ZSTD, GZIP, _BZIP2, _XZ, _ZIP, *_ZLIB)
        )


def layers(data: bytes, depth: int = DEPTH) -> Iterator[bytes]:
    """Yield what is packed in ``data``, and what is packed in that; nothing when it is not packed.

    Raises RefusedError: it is damaged, or stands for more than a gigabyte.
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


# What all frames of zstd in some bytes hold.

ZSTD = b"\x28\xb5\x2f\xfd"
MOST_BYTES = 1 << 30
TOO_LARGE = "it unpacks to more than a gigabyte, which is not searched"


def unpacked(data: bytes) -> bytes:
    """Return what all frames of packed data hold.

    Raises RefusedError: it is damaged, cut short, or stands for more than a gigabyte.
    """
    plain = bytearray()
    rest = memoryview(data)
    while rest:
        frame = zstandard.ZstdDecompressor().decompressobj()
        while rest and not frame.eof:
            step = rest[:STEP_BYTES]
            try:
                plain += frame.decompress(step)
            except zstandard.ZstdError as error:
                raise RefusedError(f"what is packed in it is damaged, so it cannot be searched: {error}") from error
            if len(plain) > MOST_BYTES:
                raise RefusedError(TOO_LARGE)
            rest = rest[len(step) - len(frame.unused_data) :]
        if not frame.eof:
            raise RefusedError("what is packed in it is cut short, so its end cannot be searched")
    return bytes(plain)
