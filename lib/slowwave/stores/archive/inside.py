"""Files in packs by a path of their own: that of the pack, and behind it the one that they had in their place.

So evidence names what lies in an archive as it names any other file: ``archive/2026.swpack/home/ann/.claude/...``.
"""

import io
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, cast

from slowwave.errors import UnreadableError
from slowwave.stores.archive.model import SUFFIX, PackedFile
from slowwave.stores.archive.reading import Pack
from slowwave.stores.archive.shelf import Shelf

_MARK = f"{SUFFIX}/"


def is_inside(path: Path) -> bool:
    """Say whether a path names a file in a pack."""
    return _MARK in os.fspath(path)


def place_of(pack: Path, file: PackedFile) -> Path:
    """Return the path of a file in a pack."""
    return Path(f"{pack}{file.path}")


def pack_of(place: Path) -> Path:
    """Return the pack that a file lies in."""
    return Path(os.fspath(place).partition(_MARK)[0] + SUFFIX)


def original_of(place: Path) -> Path:
    """Return where a file in a pack lay."""
    return Path("/" + os.fspath(place).partition(_MARK)[2])


class PackedPlaces:
    """The files in the packs of some folders; a pack that is damaged holds none.

    Args:
        folders: where packs lie; folders without any are passed over, and so are databases in their place.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._shelves = [Shelf(folder) for folder in dict.fromkeys(folders) if not folder.is_file()]
        self._by_name: dict[str, list[Path]] | None = None
        self._files: dict[Path, tuple[Shelf, Path, PackedFile]] = {}

    def __contains__(self, place: object) -> bool:
        """Say whether a path names one of them."""
        self._load()
        return place in self._files

    def named(self, path: Path) -> list[Path]:
        """Return the files that have the name of a path, those first that had all of it; newest archive first."""
        found = self._load().get(path.name, [])
        return sorted(found, key=lambda place: original_of(place) != path)

    def every(self) -> Iterator[Path]:
        """Yield all of them."""
        self._load()
        yield from self._files

    def open(self, place: Path) -> BinaryIO:
        """Open one for reading; only the frames that are read are decompressed.

        Raises:
            UnreadableError: there is no such file, or its pack is damaged.
        """
        self._load()
        if place not in self._files:
            raise UnreadableError(place, "is no file in a pack")
        shelf, pack, file = self._files[place]
        return cast("BinaryIO", io.BufferedReader(_Stream(shelf.open(pack), file), _Stream.AHEAD))

    def _load(self) -> dict[str, list[Path]]:
        if self._by_name is None:
            self._by_name = {}
            for shelf in self._shelves:
                for one in sorted(shelf.sessions(), key=lambda one: one.session.at, reverse=True):
                    for file in one.session.files:
                        if file.kind == "file":
                            place = place_of(one.pack, file)
                            self._files[place] = shelf, one.pack, file
                            self._by_name.setdefault(place.name, []).append(place)
        return self._by_name


class _Stream(io.RawIOBase):
    """The plain bytes of one file in a pack; the frame that was read last is kept."""

    AHEAD = 1 << 16

    def __init__(self, pack: Pack, file: PackedFile) -> None:
        self._pack = pack
        self._file = file
        # where each frame ends in the plain bytes, and begins in the pack
        self._ends = list(accumulate(plain for _, plain in file.chunks))
        self._at = 0
        self._frame: tuple[int, bytes] = (-1, b"")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._file.size}[whence]
        self._at = max(base + offset, 0)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: "memoryview[int]") -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self._at >= self._file.size:
            return 0
        number = bisect_right(self._ends, self._at)
        begin = self._ends[number - 1] if number else 0
        if self._frame[0] != number:
            self._frame = number, next(self._pack.blocks(self._file, begin))
        data = self._frame[1][self._at - begin :][: len(buffer)]
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._pack.close()
        super().close()
