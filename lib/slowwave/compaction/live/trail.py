"""The records of a live context, oldest first: where they stand and what they weigh, in seventeen bytes each."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from slowwave.compaction.live.weight import Scales
from slowwave.errors import UnreadableError
from slowwave.formats.lines import open_regular, read_range
from slowwave.formats.model import REFUSALS, Span, is_utf8
from slowwave.formats.salvage import clean

T = TypeVar("T")
Add = Callable[[int], None]

# What a record is to a plan, as bits of its mark.
BEGINS = 1  # the records from here on can be read without those before: no call is open
SPEAKS = 2  # a message begins with it
TURN = 4  # it begins a turn
_PART_BITS = 48
_SEARCH_BYTES = 1 << 20
_OFFSETS = (1 << _PART_BITS) - 1


class Record(NamedTuple):
    """One record of a context.

    Attributes:
        part: index of its file.
        offset: where its object begins there.
        length: bytes of the object, less than 4 GiB.
        weight: of its words (:mod:`weight`).
        mark: what it is to a plan.
    """

    part: int
    offset: int
    length: int
    weight: int
    mark: int


class Trail:
    """Records of a live context, in the order of the conversation.

    Args:
        scales: what turns weights into tokens.
    """

    def __init__(self, scales: Scales) -> None:
        self._scales = scales
        self._places = array("Q")
        self._lengths, self._weights = array("I"), array("I")
        self._marks = bytearray()

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, at: int) -> Record:
        place = self._places[at]
        return Record(place >> _PART_BITS, place & _OFFSETS, self._lengths[at], self._weights[at], self._marks[at])

    def add(
        self, part: int, offsets: Sequence[int], lengths: Sequence[int], weights: Sequence[int], marks: Iterable[int]
    ) -> None:
        """Add records of one file at the end, given as columns of the fields of :class:`Record`."""
        self._places.extend([part << _PART_BITS | offset for offset in offsets] if part else offsets)
        self._lengths.extend(lengths)
        self._weights.extend(weights)
        self._marks.extend(marks)

    @property
    def columns(self) -> tuple[Add, Add, Add, Add]:
        """What adds one record of the first file: its offset, length, weight and mark, each to be called with one."""
        return self._places.append, self._lengths.append, self._weights.append, self._marks.append

    def mark(self, marks: bytearray) -> None:
        """Say of every record what it is to a plan."""
        self._marks = marks

    def has(self, at: int, mark: int) -> bool:
        """Say whether a record has a mark."""
        return self._marks[at] & mark != 0

    def count(self, mark: int, stop: int) -> int:
        """Return how many of the first ``stop`` records have a mark."""
        marks = self._marks[:stop]
        return sum(marks.count(value) for value in set(marks) if value & mark)

    def size(self, stop: int) -> int:
        """Return the bytes of the first ``stop`` records."""
        return sum(self._lengths[:stop])

    def tokens(self, stop: int) -> int:
        """Return about how many tokens the first ``stop`` records take."""
        return self._scales.tokens(sum(self._weights[:stop]))

    def cut(self, stop: int) -> list[Record]:
        """Take away everything from index ``stop`` on, and return it."""
        gone = [self[at] for at in range(stop, len(self))]
        del self._places[stop:], self._lengths[stop:], self._weights[stop:], self._marks[stop:]
        return gone

    def drop(self, gone: Iterable[int]) -> None:
        """Take away the records at some indexes."""
        stays = bytearray(b"\1") * len(self)
        for at in gone:
            stays[at] = 0
        self._places, self._lengths = (
            array("Q", compress(self._places, stays)),
            array("I", compress(self._lengths, stays)),
        )
        self._weights, self._marks = array("I", compress(self._weights, stays)), bytearray(compress(self._marks, stays))

    def reverse(self) -> None:
        """Turn the order around."""
        for column in (self._places, self._lengths, self._weights, self._marks):
            column.reverse()

    def begin_of_end(self, size: int) -> int:
        """Return the last index from which the records weigh ``size`` bytes and can be read by themselves, else 0."""
        total = 0
        for at in range(len(self) - 1, 0, -1):
            total += self._lengths[at]
            if total >= size and self.has(at, BEGINS):
                return at
        return 0

    def turn_size(self, stop: int) -> int:
        """Return the bytes of all records from the last turn on that begins before index ``stop``; 0 without one."""
        at = next((at for at in range(stop - 1, -1, -1) if self.has(at, TURN)), None)
        return 0 if at is None else sum(self._lengths[at:])

    def mentions(self, paths: Sequence[Path], words: Collection[bytes], stop: int) -> bool:
        """Say whether one of some words stands anywhere in the first ``stop`` records, which are in the file's order.

        Raises:
            UnreadableError: a file cannot be read.
        """
        overlap = max(map(len, words)) - 1
        begin = 0
        for part, path in enumerate(paths):
            end = bisect_left(self._places, (part + 1) << _PART_BITS, begin, stop)
            if begin == end:
                continue
            first, last = self[begin], self[end - 1]
            with open_regular(path) as file:
                at, behind = first.offset, last.offset + last.length
                while at < behind and (block := read_range(file.fileno(), at, min(at + _SEARCH_BYTES, behind))):
                    for word in words:
                        found = block.find(word)
                        while found >= 0:
                            if self._holds(part, at + found, end):
                                return True
                            found = block.find(word, found + 1)
                    at += len(block) - (overlap if at + len(block) < behind else 0)
            begin = end
        return False

    def _holds(self, part: int, offset: int, stop: int) -> bool:
        """Say whether a byte belongs to one of the first ``stop`` records."""
        at = bisect_right(self._places, part << _PART_BITS | offset, 0, stop) - 1
        return at >= 0 and offset < self[at].offset + self[at].length

    def records(
        self, paths: Sequence[Path], decoder: msgspec.json.Decoder[T], chosen: Iterable[int]
    ) -> Iterator[tuple[Span, T]]:
        """Read the records at some indexes again, one by one.

        Raises:
            UnreadableError: a file cannot be read, or has changed since.
        """
        part, file = -1, None
        try:
            for at in chosen:
                place = self[at]
                if file is None or place.part != part:
                    if file is not None:
                        file.close()
                    part = place.part
                    file = open_regular(paths[part])
                raw = read_range(file.fileno(), place.offset, place.offset + place.length)
                yield Span(part, 0, place.offset, raw), _decoded(raw, decoder, paths[part])
        except OSError as error:
            raise UnreadableError(paths[part], error.strerror or "cannot be read") from error
        finally:
            if file is not None:
                file.close()


def _decoded(raw: bytes, decoder: msgspec.json.Decoder[T], path: Path) -> T:
    """Decode a record as the first reading did.

    Raises:
        UnreadableError: it is no record any more.
    """
    try:
        return decoder.decode(raw if raw.isascii() or is_utf8(raw) else clean(raw))
    except REFUSALS:
        pass
    try:
        return decoder.decode(clean(raw))
    except REFUSALS as error:
        raise UnreadableError(path, "changed while it was read", "read it again") from error
