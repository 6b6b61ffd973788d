"""The end of a live context, and the trail of what lies before it."""

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib import import_module
from io import BytesIO
from itertools import accumulate, compress, repeat
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, NamedTuple, TypeVar, cast

import msgspec

from slowwave.compaction.items import Item
from slowwave.compaction.live.trail import About, Earlier, Kind, Records, Trail
from slowwave.errors import UnreadableError
from slowwave.formats.lines import LONG_LINE_BYTES, odd_line, open_regular, read_range
from slowwave.formats.model import REFUSALS, Problem, SessionFiles, Span, is_utf8
from slowwave.formats.registry import client_of
from slowwave.formats.tail import BLOCK_BYTES, find_last

if TYPE_CHECKING:
    from slowwave.formats.salvage import OddLine


# Sessions up to this size are read as a whole; of longer ones no more than a plan needs is decoded.
WINDOW_BYTES = 2 << 20
_PLAIN_ID = re.compile(rb"[\w:|.-]+")
# A session is seldom gone on with for longer without the next one.
_NEAR_BYTES = 16 << 20


class Window(NamedTuple):
    """The end of a context.

    Attributes:
        records: the records of it, decoded but for their content.
        trail: where all records of the context stand.
        start: how many of them lie before these.
        kind: what there is to know of their dialect.
    """

    records: Records
    trail: Trail
    start: int
    kind: Kind

    def items(self, about: About) -> list[Item]:
        """Return the records as the items of a plan."""
        return self.kind.items(self.records, about, True)  # noqa: FBT003 - one of a table

    def may_answer(self, files: SessionFiles, calls: Collection[str]) -> bool:
        """Say whether calls with these ids may stand before these records.

        Raises:
            UnreadableError: a file cannot be read.
        """
        words = [call.encode("ascii", "replace") for call in calls]
        is_plain = all(map(_PLAIN_ID.fullmatch, words))  # others may be written in several ways
        return not is_plain or self.trail.mentions(files.paths, words, self.start)

    def earlier(self, files: SessionFiles, about: About) -> Earlier | None:
        """Return what lies before, None when nothing does."""
        return Earlier(files.paths, self.trail, self.start, self.kind, about) if self.start else None


def has_trail(dialect: str, files: SessionFiles) -> bool:
    """Say whether the trail of a session may be found at all: its files are there, and are not packed.

    Raises:
        OSError: a file cannot be looked at.
    """
    return bool(client_of(dialect).compacting.adapter) and all(
        path.is_file() and path.suffix != ".zst" for path in files.paths
    )


def seems_compacted(dialect: str, files: SessionFiles) -> bool:
    """Say whether a compaction may stand near the end: then its end is looked for before its trail.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    mark = client_of(dialect).compacting.record
    if not mark:
        return False
    path = files.paths[-1]
    with open_regular(path) as file:
        try:
            at = max(0, os.fstat(file.fileno()).st_size - _NEAR_BYTES)
            while len(block := os.pread(file.fileno(), BLOCK_BYTES, at)) >= len(mark):
                if mark in block:
                    return True
                at += len(block) - len(mark) + 1
        except OSError as error:
            raise UnreadableError(path, error.strerror or "cannot be read") from error
    return False


def trail_of(dialect: str, files: SessionFiles) -> Trail | None:
    """Return where the records of a context stand, None where the session has to be read as a whole.

    Raises:
        UnreadableError: a file cannot be opened.
    """
    return _kind_of(dialect).trail(files) if client_of(dialect).compacting.adapter else None


def window_of(dialect: str, files: SessionFiles, trail: Trail, size: int) -> Window:
    """Return about the last ``size`` bytes of a context.

    Raises:
        UnreadableError: a file cannot be read, or has changed since.
    """
    start = trail.begin_of_end(size)
    kind = _kind_of(dialect)
    records: list[tuple[Any, Any]] = list(trail.records(files.paths, kind.decoder, range(start, len(trail))))
    return Window(records, trail, start, kind)


def reading_by(dialect: str, name: str) -> Any:
    """Return a function of the adapter of a client that makes a reading, None where it leaves that to others."""
    rules = client_of(dialect).compacting
    return getattr(_module(rules.adapter), name) if rules.has_readings else None


def _kind_of(dialect: str) -> Kind:
    adapter = client_of(dialect).compacting.adapter
    return cast("Kind", getattr(_module(adapter), adapter.partition(":")[2]))


def _module(adapter: str) -> ModuleType:
    return import_module(f"slowwave.compaction.live.{adapter.partition(':')[0]}")


# The records of a file from the first to the last and from the last to the first, a block of lines at a time.
#
# This is :func:`slowwave.formats.lines.read_records` without a span a record, as a walk over a hundred thousand needs
# no more of most. A block of plain lines is decoded in one go; a block with an odd line in it is read line by line, and
# that line takes the same slow path.

T = TypeVar("T")
Record = tuple[int, bytes, T]
Loses = Callable[[Sequence[Problem], Sequence[Span]], bool]
# The lines of larger blocks no longer stay in the cache, and their memory is given back and taken anew.
FORWARD_BYTES = 128 << 10
_BLANK = b" \t\r\n"
_START, _END = b"{", b"}\n"
_OPEN, _CLOSE = b"{}"


class Block(NamedTuple, Generic[T]):
    """Neighbouring records, as columns.

    Attributes:
        offsets: where each begins.
        lengths: bytes of each.
        raws: its bytes; a newline may stand behind them.
        values: what each was decoded to.
    """

    offsets: list[int]
    lengths: list[int]
    raws: list[bytes]
    values: list[T]

    def rows(self) -> Iterator[tuple[int, int, bytes, T]]:
        """Return an iterator over its records."""
        return zip(self.offsets, self.lengths, self.raws, self.values, strict=True)

    def only(self, chosen: Sequence[bool]) -> "Block[T]":
        """Return the chosen ones of its records."""
        offsets, lengths = compress(self.offsets, chosen), compress(self.lengths, chosen)
        raws, values = compress(self.raws, chosen), compress(self.values, chosen)
        return Block(list(offsets), list(lengths), list(raws), list(values))


def keeps_all(_problems: Sequence[Problem], _spans: Sequence[Span]) -> bool:
    """Say that a client reads every whole record of a damaged line."""
    return False


def loses_lines(kinds: Collection[str]) -> Loses:
    """Return the rule of a client that gives up a whole line for these kinds of damage."""
    return lambda problems, _spans: any(problem.kind in kinds for problem in problems)


def forward(path: Path, decoder: msgspec.json.Decoder[T], loses: Loses = keeps_all) -> Iterator[Block[T]]:
    """Yield the records of a file.

    Args:
        path: the file; what is appended while it is read may be missing.
        decoder: decodes one record.
        loses: says from a damaged line's problems and records that its client skips all of it.

    Raises:
        UnreadableError: the file cannot be opened or read.
    """
    with open_regular(path) as file:
        try:
            at = 0
            while chunk := os.pread(file.fileno(), FORWARD_BYTES, at):
                lines = BytesIO(chunk).readlines()
                if not lines[-1].endswith(b"\n"):
                    lines.pop()  # its end lies behind the block
                block = _plain(lines, at, decoder)
                if block is not None:
                    at += sum(map(len, lines))
                    yield block
                    continue
                records, at, is_torn = _line_by_line(file, path, at, max(1, len(lines)), decoder, loses)
                yield _block(records)
                if is_torn:
                    return
        except OSError as error:
            raise UnreadableError(path, error.strerror or "cannot be read") from error


def backward(path: Path, decoder: msgspec.json.Decoder[T], loses: Loses = keeps_all) -> Iterator[Block[T]]:
    """Yield the records of a file, the last one first; the arguments are those of :func:`forward`.

    Raises:
        UnreadableError: the file cannot be opened or read.
    """
    with open_regular(path) as file:
        try:
            stop, is_last = os.fstat(file.fileno()).st_size, True
            while stop > 0:
                stop, lines = _lines_before(file, path, stop)
                block = _plain(lines, stop, decoder)
                if block is None:
                    records, is_last = _each(path, stop, lines, decoder, loses, is_last=is_last)
                    block = _block(records)
                else:
                    is_last = False
                for column in block:
                    column.reverse()
                yield block
        except OSError as error:
            raise UnreadableError(path, error.strerror or "cannot be read") from error


def _lines_before(file: BinaryIO, path: Path, stop: int) -> tuple[int, list[bytes]]:
    """Return the lines that end with byte ``stop`` and take about a block, and where they begin.

    Raises:
        UnreadableError: the file has become shorter.
    """
    begin = max(0, stop - FORWARD_BYTES)
    chunk = _read(file, path, begin, stop)
    first = chunk.find(b"\n", 0, -1) + 1 if begin else 0
    if begin and not first:
        newline = find_last(path, b"\n", end=begin)
        begin = 0 if newline is None else newline + 1
        return begin, [_read(file, path, begin, stop)]
    buffer = BytesIO(chunk)
    buffer.seek(first)
    return begin + first, buffer.readlines()


def _read(file: BinaryIO, path: Path, start: int, stop: int) -> bytes:
    raw = read_range(file.fileno(), start, stop)
    if len(raw) < stop - start:
        raise UnreadableError(path, "became shorter while it was read", "read it again")
    return raw


def _plain(lines: list[bytes], begin: int, decoder: msgspec.json.Decoder[T]) -> Block[T] | None:
    """Return lines as records, where each of them surely is one."""
    is_plain = (
        bool(lines)
        and all(map(bytes.startswith, lines, repeat(_START)))
        and all(map(bytes.endswith, lines, repeat(_END)))
        # decoders skip the strings that nobody asked for without looking at their bytes
        and (all(map(bytes.isascii, lines)) or all(map(is_utf8, lines)))
    )
    if not is_plain:
        return None
    try:
        values = list(map(decoder.decode, lines))
    except REFUSALS:
        return None
    offsets = list(accumulate(map(len, lines[:-1]), initial=begin))
    return Block(offsets, [len(line) - 1 for line in lines], lines, values)


def _block(records: list[Record[T]]) -> Block[T]:
    raws = [raw for _, raw, _ in records]
    return Block([at for at, _, _ in records], list(map(len, raws)), raws, [value for _, _, value in records])


def _value(raw: bytes, decoder: msgspec.json.Decoder[T]) -> T | None:
    """Return what a line without its newline is decoded to, None where it is not plainly one record."""
    if raw and raw[0] == _OPEN and raw[-1] == _CLOSE and (raw.isascii() or is_utf8(raw)):
        try:
            return decoder.decode(raw)
        except REFUSALS:
            pass
    return None


def _line_by_line(
    file: BinaryIO, path: Path, at: int, count: int, decoder: msgspec.json.Decoder[T], loses: Loses
) -> tuple[list[Record[T]], int, bool]:
    """Return the records on so many lines from byte ``at`` on, where the next line begins, and that there is none."""
    found: list[Record[T]] = []
    file.seek(at)
    for _ in range(count):
        line = file.readline(LONG_LINE_BYTES)
        if line.endswith(b"\n") and (value := _value(line[:-1], decoder)) is not None:
            found.append((at, line[:-1], value))
            at += len(line)
            continue
        problems: list[Problem] = []
        odd, at = odd_line(file, path, 0, 0, at, line, problems)
        if odd.raw:
            found += _salvaged(odd, decoder, problems, loses)
        if odd.torn:
            return found, at, True
    return found, at, False


def _each(
    path: Path, at: int, lines: list[bytes], decoder: msgspec.json.Decoder[T], loses: Loses, *, is_last: bool
) -> tuple[list[Record[T]], bool]:
    """Return the records on lines from byte ``at`` on, and whether the last line of the file still is to come."""
    from slowwave.formats.salvage import OddLine  # noqa: PLC0415 - most files have no odd line

    found: list[Record[T]] = []
    last = max((index for index, line in enumerate(lines) if line.strip()), default=-1)
    for index, line in enumerate(lines):
        raw = line.removesuffix(b"\n")
        if (value := _value(raw, decoder)) is not None:
            found.append((at, raw, value))
        elif raw.strip():
            lead = len(raw) - len(raw.lstrip(_BLANK))
            odd = OddLine(path, 0, 0, at + lead, raw.strip(_BLANK), is_last and index == last)
            found += _salvaged(odd, decoder, [], loses)
        at += len(line)
    return found, is_last and last < 0


def _salvaged(
    line: "OddLine", decoder: msgspec.json.Decoder[T], problems: list[Problem], loses: Loses
) -> list[Record[T]]:
    from slowwave.formats.salvage import salvage  # noqa: PLC0415 - most files have no odd line

    found = list(salvage(line, decoder, problems))
    if loses(problems, [span for span, _ in found]):
        return []
    return [(span.offset, span.raw, value) for span, value in found]
