"""The bytes that a compaction stands for, with what proves later that they still are what was summarised."""

import hashlib
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from slowwave.errors import UnreadableError
from slowwave.formats.lines import open_plain

_BLOCK_BYTES = 1 << 20

# Its bytes are what was summarised; they are not, or are gone; nobody noted what they were.
Condition = Literal["intact", "changed", "unknown"]


class Dropped(NamedTuple):
    """A range of bytes in one part of a session; ``sha256`` is "" where only the place was noted."""

    part: int
    offset: int
    length: int
    sha256: str = ""


def digested(paths: Sequence[Path], ranges: Iterable[tuple[int, int, int]]) -> list[Dropped]:
    """Return ranges (part, offset and length), in order, with the digests of what stands there now.

    Raises:
        UnreadableError: a file cannot be opened.
    """
    found: list[Dropped] = []
    for part, places in groupby(sorted(ranges), key=lambda place: place[0]):
        with open_plain(paths[part]) as file:
            found += [Dropped(*place, _digest(file, *place[1:])) for place in places]
    return found


def around(ranges: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return one range a part, from the first to the last byte: few enough to travel with the transcript."""
    stops: dict[int, tuple[int, int]] = {}
    for part, offset, length in ranges:
        start, stop = stops.get(part, (offset, 0))
        stops[part] = min(start, offset), max(stop, offset + length)
    return [(part, start, stop - start) for part, (start, stop) in sorted(stops.items())]


def conditions(paths: Sequence[Path], ranges: Sequence[Dropped]) -> list[Condition]:
    """Say of each range whether what was summarised can be read back there."""
    files: dict[int, BinaryIO | None] = {}
    try:
        return [_condition(_opened(paths, one.part, files), one) for one in ranges]
    finally:
        for file in files.values():
            if file is not None:
                file.close()


def _condition(file: BinaryIO | None, one: Dropped) -> Condition:
    if not one.sha256:
        return "unknown"
    return "intact" if file is not None and _digest(file, one.offset, one.length) == one.sha256 else "changed"


def _opened(paths: Sequence[Path], part: int, files: dict[int, BinaryIO | None]) -> BinaryIO | None:
    if part not in files:
        try:
            files[part] = open_plain(paths[part])
        except (IndexError, UnreadableError):
            files[part] = None
    return files[part]


def _digest(file: BinaryIO, offset: int, length: int) -> str:
    file.seek(offset)
    digest = hashlib.sha256()
    while length and (block := file.read(min(length, _BLOCK_BYTES))):
        digest.update(block)
        length -= len(block)
    return digest.hexdigest()
