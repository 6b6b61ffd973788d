"""The records of a live context, oldest first: where they stand and what they weigh, in seventeen bytes each."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import compress, count
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from slowwave.compaction.items import Item
from slowwave.compaction.tokens import Rule
from slowwave.errors import UnreadableError
from slowwave.formats.lines import open_regular, read_range
from slowwave.formats.model import REFUSALS, Message, SessionFiles, Span, is_utf8
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
        weight: of its words (:class:`Scales`).
        mark: what it is to a plan.
    """

    part: int
    offset: int
    length: int
    weight: int
    mark: int


class Scales:
    """What turns the sizes of contents into weights and tokens.

    Args:
        rule: the client's.
        around: bytes of a content that are no words: names of fields, ids, brackets.
    """

    def __init__(self, rule: Rule, around: int) -> None:
        self._rule = rule
        self._around = around
        self._share = (1 - _ESCAPED) / rule.per_token

    def tokens(self, weight: int) -> int:
        """Return about how many tokens a weight is."""
        return int(weight * self._share)

    def weight(self, size: int) -> int:
        """Return the weight of a content of so many bytes, no more than :data:`LARGE_BYTES`."""
        return size - self._around if size > self._around else 0

    def weights(self, sizes: Sequence[int], of_large: Callable[[int], int]) -> list[int]:
        """Return the weights of contents of so many bytes.

        Args:
            sizes: of the contents.
            of_large: returns the weight of the one at an index, which is larger than :data:`LARGE_BYTES`.
        """
        around = self._around
        found = [size - around if size > around else 0 for size in sizes]
        if sizes and max(sizes) > LARGE_BYTES:
            for at in compress(count(), map(LARGE_BYTES.__lt__, sizes)):
                found[at] = of_large(at)
        return found

    def of_large(self, content: msgspec.Raw | bytes, message: Callable[[], Message]) -> int:
        """Return the weight of a larger one; it is looked at where its size would mislead.

        Args:
            content: the JSON of its content.
            message: decodes it.
        """
        written = bytes(content)
        return self.exact(message()) if any(mark in written for mark in _OPAQUE) else self.weight(len(written))

    def exact(self, message: Message) -> int:
        """Return the weight that makes the tokens of a message what the rule says."""
        return self.of_tokens(self._rule.of_message(message))

    def of_tokens(self, tokens: int) -> int:
        """Return the weight of so many tokens."""
        return round(tokens / self._share)

    def unsigned(self, content: bytes) -> int:
        """Return the weight of a content that begins with reasoning, without what signs that."""
        begin = content.find(_SIGNATURE)
        signed = content.find(b'"', begin + len(_SIGNATURE)) - begin if begin >= 0 else 0
        return self.weight(len(content) - signed)


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


# About how much a record says, told by the size of its content without a look at its words.
#
# Weights are bytes of JSON that hold words; a whole context of them is turned into tokens at once.

# Of the bytes of a content about one in twenty-five marks another as escaped (measured over code and prose).
_ESCAPED = 0.04
# An image of this size takes no more tokens than a small one: what is as large is looked at.
LARGE_BYTES = 64 << 10
# Blocks whose bytes tell nothing of their tokens: images, and what hides the reasoning of a model.
_OPAQUE = (b'"base64"', b'_image"', b'"image"', b'"encrypted_content"')
_SIGNATURE = b'"signature":"'

# what is decoded at once while the words are read again
CHUNK_BYTES = 1 << 20


# What there is to know of a dialect whose long sessions are not read as a whole.


class About(NamedTuple):
    """What the whole of a session says about each of its records.

    Attributes:
        cwd: the working folder of the session.
        version: of the client (Claude Code).
    """

    cwd: str = ""
    version: tuple[int, int] = (2, 1)


Records = Sequence[tuple[Span, Any]]


class Kind(NamedTuple):
    """Where the records of a dialect stand, how they are decoded, and how they become items by their client's rules.

    Attributes:
        trail: finds the records of a context, None where the session has to be read as a whole.
        decoder: of one record.
        items: makes items of records that stand by themselves; the flag says that nothing follows them.
    """

    trail: Callable[[SessionFiles], Trail | None]
    decoder: msgspec.json.Decoder[Any]
    items: Callable[[Records, About, bool], list[Item]]


# What lies before the end of a context that a plan weighs: its sizes are known, its words are read again on demand.


class Earlier:
    """Records of a context that are not held.

    Args:
        paths: the files of the session.
        trail: the records of its context.
        stop: how many of them lie before its end.
        kind: how they become items.
        about: what the session says about them.
        chunk_bytes: about how much of them is decoded at once.

    Attributes:
        tokens: about how many they take.
        size: their bytes.
        messages: about how many messages they are.
    """

    def __init__(
        self, paths: tuple[Path, ...], trail: Trail, stop: int, kind: Kind, about: About, chunk_bytes: int = CHUNK_BYTES
    ) -> None:
        self._paths, self._trail, self._stop = paths, trail, stop
        self._kind, self._about, self._chunk_bytes = kind, about, chunk_bytes
        self.tokens = trail.tokens(stop)
        self.size = trail.size(stop)
        self.messages = trail.count(SPEAKS, stop)

    @property
    def has_turn(self) -> bool:
        """Whether a turn begins in it."""
        return self._trail.count(TURN, self._stop) > 0

    def items(self) -> Iterator[Item]:
        """Read it again and yield its items in order; no more than a stretch of them is held.

        Raises:
            UnreadableError: the session cannot be read, or has changed since.
        """
        for start, stop in self._chunks():
            records: Records = list(self._trail.records(self._paths, self._kind.decoder, range(start, stop)))
            yield from self._kind.items(records, self._about, False)  # noqa: FBT003 - one of a table

    def ranges(self) -> Iterator[tuple[int, int, int]]:
        """Yield part, offset and length of each record."""
        return (self._trail[at][:3] for at in range(self._stop))

    def _chunks(self) -> Iterator[tuple[int, int]]:
        """Yield stretches that can be read by themselves."""
        start = size = 0
        for at in range(self._stop):
            if size >= self._chunk_bytes and self._trail.has(at, BEGINS):
                yield start, at
                start, size = at, 0
            size += self._trail[at].length
        if start < self._stop:
            yield start, self._stop


def joined_ranges(ranges: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return ranges (part, offset and length) in order, those joined that no more than a line end lies between."""
    found: list[tuple[int, int, int]] = []
    for part, offset, length in sorted(ranges):
        if found and found[-1][0] == part and offset <= found[-1][1] + found[-1][2] + 2:
            _, start, known = found[-1]
            found[-1] = (part, start, max(start + known, offset + length) - start)
        else:
            found.append((part, offset, length))
    return found
