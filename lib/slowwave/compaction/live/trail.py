"""The records of a live context, oldest first: where they stand and what they weigh, twenty bytes each."""

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from slowwave.errors import UnreadableError
from slowwave.records.lines import open_regular
from slowwave.records.model import REFUSALS, Span
from slowwave.records.utf8 import is_utf8
from slowwave.records.values import clean

T = TypeVar("T")

# What a record is to a plan, as bits of its mark.
BEGINS = 1  # the records from here on can be read without those before: no call is open
SPEAKS = 2  # a message begins with it
TURN = 4  # it begins a turn
MARK_BITS, PART_BITS = 8, 48
_MARKS, _OFFSETS = (1 << MARK_BITS) - 1, (1 << PART_BITS) - 1


class Record(NamedTuple):
    """One record of a context.

    Attributes:
        part: index of its file.
        offset: where its object begins there.
        length: bytes of the object.
        tokens: about how many it takes.
        mark: what it is to a plan.
    """

    part: int
    offset: int
    length: int
    tokens: int
    mark: int


class Trail:
    """Records of a live context, in the order of the conversation.

    Attributes:
        places: offset of each, and its part above that.
        sizes: length of each above its mark.
        tokens: about how many each takes.
    """

    def __init__(self) -> None:
        self.places = array("Q")
        self.sizes = array("Q")
        self.tokens = array("I")

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, at: int) -> Record:
        place, size = self.places[at], self.sizes[at]
        return Record(place >> PART_BITS, place & _OFFSETS, size >> MARK_BITS, self.tokens[at], size & _MARKS)

    def add(self, part: int, offset: int, length: int, tokens: int, mark: int) -> None:
        """Add one record at the end, given as the fields of :class:`Record`."""
        self.places.append(part << PART_BITS | offset)
        self.sizes.append(length << MARK_BITS | mark)
        self.tokens.append(tokens)

    def mark(self, at: int, mark: int) -> None:
        """Say what a record that has no mark yet is to a plan."""
        self.sizes[at] |= mark

    def has(self, at: int, mark: int) -> bool:
        """Say whether a record has a mark."""
        return self.sizes[at] & mark != 0

    def cut(self, stop: int) -> list[Record]:
        """Take away everything from index ``stop`` on, and return it."""
        gone = [self[at] for at in range(stop, len(self))]
        del self.places[stop:], self.sizes[stop:], self.tokens[stop:]
        return gone

    def drop(self, at: int) -> None:
        """Take away one record."""
        del self.places[at], self.sizes[at], self.tokens[at]

    def reverse(self) -> None:
        """Turn the order around."""
        self.places.reverse()
        self.sizes.reverse()
        self.tokens.reverse()

    def begin_of_end(self, size: int) -> int:
        """Return the last index from which the records weigh ``size`` bytes and can be read by themselves, else 0."""
        total = 0
        for at in range(len(self) - 1, 0, -1):
            total += self.sizes[at] >> MARK_BITS
            if total >= size and self.has(at, BEGINS):
                return at
        return 0

    def records(
        self, paths: Sequence[Path], decoder: msgspec.json.Decoder[T], start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[Span, T]]:
        """Read records again, one by one.

        Raises:
            UnreadableError: a file cannot be read, or has changed since.
        """
        part, file = -1, None
        try:
            for at in range(start, len(self) if stop is None else stop):
                place = self[at]
                if file is None or place.part != part:
                    if file is not None:
                        file.close()
                    part = place.part
                    file = open_regular(paths[part])
                file.seek(place.offset)
                raw = file.read(place.length)
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
