"""The objects of a git store, to be searched; opencode's snapshots of working folders are such stores.

After gitformat-pack(5): a pack is a row of objects, each a size and a zlib stream; a delta copies pieces of a base,
which lies before it in the pack, or anywhere under its name.
"""

import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from struct import unpack_from

from slowwave.errors import RefusedError

OBJECTS, HEAD = "objects", "HEAD"
_SIGNATURE, _INDEX = b"PACK", b"\xfftOc"
_VERSIONS = (2, 3)
_HEADER = 12
_SHA1 = 20
_BY_OFFSET, _BY_NAME = 6, 7
_MOST_BYTES = 1 << 28
_KEPT = 64
_STEP = 16 << 10
_WRONG = "is a git store that nobody can look into"


def is_git_store(folders: list[str], names: list[str]) -> bool:
    """Say whether a folder with these folders and files is a git store."""
    return OBJECTS in folders and HEAD in names


def objects_in(store: Path) -> Iterator[bytes]:
    """Yield the content of every object of a git store.

    Raises:
        RefusedError: one of them is damaged, of an unknown form, or larger than 256 MB.
        OSError: one of them cannot be read.
    """
    objects = store / OBJECTS
    for folder in sorted(path for path in objects.iterdir() if len(path.name) == 2 and path.is_dir()):  # noqa: PLR2004
        for path in sorted(folder.iterdir()):
            if path.is_file():
                yield _inflated(path.read_bytes(), 0)[0]
    packs = objects / "pack"
    for path in sorted(packs.glob("*.pack")) if packs.is_dir() else ():
        yield from _Pack(path, objects).objects()


class _Pack:
    def __init__(self, path: Path, objects: Path) -> None:
        self._objects = objects
        self._data = path.read_bytes()
        if self._data[:4] != _SIGNATURE or unpack_from(">I", self._data, 4)[0] not in _VERSIONS:
            raise RefusedError(f"{_WRONG}: {path.name} is no pack of git that is known")
        self._number: int = unpack_from(">I", self._data, 8)[0]
        self._offsets = _offsets(path.with_suffix(".idx"))
        self._content = lru_cache(maxsize=_KEPT)(self._content_at)

    def objects(self) -> Iterator[bytes]:
        at = _HEADER
        for _ in range(self._number):
            yield self._content(at)
            at = self._stop(at)

    def _stop(self, at: int) -> int:
        _, start = self._head(at)
        return _inflated(self._data, start)[1]

    def _head(self, at: int) -> tuple[tuple[int, bytes | int], int]:
        """Return the kind of an object with its base, and where its stream begins."""
        byte = self._data[at]
        kind = byte >> 4 & 7
        at += 1
        while byte & 0x80:
            byte = self._data[at]
            at += 1
        if kind == _BY_NAME:
            return (kind, self._data[at : at + _SHA1]), at + _SHA1
        back = 0
        if kind == _BY_OFFSET:
            byte = self._data[at]
            back = byte & 0x7F
            at += 1
            while byte & 0x80:
                byte = self._data[at]
                back = (back + 1) << 7 | byte & 0x7F
                at += 1
        return (kind, back), at

    def _content_at(self, at: int) -> bytes:
        deltas: list[bytes] = []
        while True:
            (kind, base), start = self._head(at)
            plain, _ = _inflated(self._data, start)
            if kind == _BY_OFFSET and isinstance(base, int):
                deltas.append(plain)
                at -= base
            elif kind == _BY_NAME and isinstance(base, bytes):
                deltas.append(plain)
                if base not in self._offsets:
                    plain = self._loose(base)
                    break
                at = self._offsets[base]
            else:
                break
        for delta in reversed(deltas):
            plain = _patched(plain, delta)
        return plain

    def _loose(self, name: bytes) -> bytes:
        path = self._objects / name.hex()[:2] / name.hex()[2:]
        if not path.is_file():
            raise RefusedError(f"{_WRONG}: an object rests on one that is not there")
        return _inflated(path.read_bytes(), 0)[0].partition(b"\0")[2]


def _inflated(data: bytes, start: int) -> tuple[bytes, int]:
    """Return a stream of zlib, and where it ends."""
    stream = zlib.decompressobj()
    plain, at = bytearray(), start
    while not stream.eof and at < len(data) and len(plain) <= _MOST_BYTES:
        try:
            # in steps: what is behind the stream is copied
            plain += stream.decompress(data[at : at + _STEP])
        except zlib.error as error:
            raise RefusedError(f"{_WRONG}: {error}") from error
        at += _STEP
    if not stream.eof:
        raise RefusedError(f"{_WRONG}: an object is cut short, or larger than 256 MB")
    return bytes(plain), min(at, len(data)) - len(stream.unused_data)


def _offsets(path: Path) -> dict[bytes, int]:
    """Return where the objects of a pack lie, by their names; nothing for an index that is not known."""
    data = path.read_bytes() if path.is_file() else b""
    if not data.startswith(_INDEX + b"\0\0\0\2"):
        return {}
    number: int = unpack_from(">I", data, 8 + 255 * 4)[0]
    names = 8 + 256 * 4
    places = names + number * (_SHA1 + 4)
    far = places + number * 4
    found: dict[bytes, int] = {}
    for one in range(number):
        (place,) = unpack_from(">I", data, places + one * 4)
        if place & 0x80000000:
            (place,) = unpack_from(">Q", data, far + (place & 0x7FFFFFFF) * 8)
        found[data[names + one * _SHA1 : names + (one + 1) * _SHA1]] = place
    return found


def _patched(base: bytes, delta: bytes) -> bytes:
    """Return what a delta makes of its base."""
    at = 0
    for _ in range(2):  # the sizes before and after
        while delta[at] & 0x80:
            at += 1
        at += 1
    out = bytearray()
    while at < len(delta):
        code = delta[at]
        at += 1
        if not code & 0x80:
            out += delta[at : at + code]
            at += code
            continue
        numbers = [0, 0]
        for bit in range(7):
            if code & 1 << bit:
                numbers[bit >= 4] |= delta[at] << 8 * (bit % 4)  # noqa: PLR2004 - four bytes of the offset, three of the size
                at += 1
        start, size = numbers[0], numbers[1] or 0x10000
        out += base[start : start + size]
    return bytes(out)
