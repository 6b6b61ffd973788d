"""Bytes to records: one pass over a file, nothing lost, everything odd reported with file, line and offset.

The fast path is one C-level decode a line. Only a line that fails it takes the slow path of :mod:`salvage`, which
knows every kind of damage that real files have (reference: two objects on one line in 7 of 290 real sessions,
torn tails, NUL runs after a crash, a BOM, lone surrogates, bytes that are not UTF-8).
"""

import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

import msgspec

from slowwave.errors import UnreadableError
from slowwave.records.model import REFUSALS, Problem, Span
from slowwave.records.utf8 import is_utf8

if TYPE_CHECKING:
    from slowwave.records.salvage import OddLine

T = TypeVar("T")

# Default buffering (8 KiB) makes line iteration 2.6 to 3.9 times slower.
BUFFER_BYTES = 1 << 20
# Longer lines are measured first and read in one piece: readline would hold them twice.
LONG_LINE_BYTES = 4 << 20
_BLANK = b" \t\r\n"
_OPEN = b"{"[0]


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading.

    Raises:
        UnreadableError: missing, no permission, or not a regular file (reading a pipe would wait for ever).
    """
    try:
        file = open(path, "rb", buffering=BUFFER_BYTES, opener=_open_without_waiting)  # noqa: SIM115
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be opened") from error
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise UnreadableError(path, "not a regular file")
    return file


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def read_records(
    path: Path,
    decoder: msgspec.json.Decoder[T],
    problems: list[Problem],
    *,
    part: int = 0,
    start: int = 0,
    first_number: int = 1,
) -> Iterator[tuple[Span, T]]:
    """Yield every JSON object in ``path`` from byte ``start`` on, with its exact place.

    The memory needed is that of the longest line, however large the file is; a line longer than 4 MiB is held once.
    The value is decoded from bytes in which everything that strict decoders refuse (bytes that are not UTF-8, lone
    surrogates, NaN) is replaced; ``Span.raw`` always equals the bytes in the file.

    Args:
        path: the file to read; it may grow while it is read: a last line without newline ends the reading.
        decoder: decodes one object; it must ignore unknown fields.
        problems: everything that was not one clean object a line is appended here.
        part: index of the file in its session, copied into each span.
        start: byte offset of the start of a line.
        first_number: the 1-based number of the line at ``start``.

    Raises:
        UnreadableError: the file cannot be opened or read (missing, a folder, no permission).
    """
    decode = decoder.decode
    offset = start
    with _open(path, problems) as file:
        try:
            file.seek(start)
            for number, line in enumerate(iter(partial(file.readline, LONG_LINE_BYTES), b""), first_number):
                begin = offset
                offset += len(line)
                # decoders skip the strings that nobody asked for without looking at their bytes
                if line[0] == _OPEN and line.endswith(b"}\n") and (line.isascii() or is_utf8(line)):
                    raw = line[:-1]
                    try:
                        value = decode(raw)
                    except REFUSALS:
                        pass
                    else:
                        yield Span(part, number, begin, raw), value
                        continue
                odd, offset = odd_line(file, path, part, number, begin, line, problems)
                if odd.raw:
                    yield from _salvage(odd, decoder, problems)
                if odd.torn:
                    return
        except OSError as error:
            raise UnreadableError(path, error.strerror or "cannot be read") from error


def _open(path: Path, problems: list[Problem]) -> BinaryIO:
    """Open a file, also one that its client keeps compressed: offsets are then those of its plain bytes."""
    if not path.name.endswith(".zst"):
        return open_regular(path)
    from slowwave.records.sources.compressed import open_plain  # noqa: PLC0415 - few files are compressed

    return open_plain(path, problems)


def _salvage(odd: "OddLine", decoder: msgspec.json.Decoder[T], problems: list[Problem]) -> Iterator[tuple[Span, T]]:
    """Take the slow path, whose expressions are compiled only when a file needs them."""
    from slowwave.records.salvage import salvage  # noqa: PLC0415

    return salvage(odd, decoder, problems)


def odd_line(
    file: BinaryIO, path: Path, part: int, number: int, begin: int, line: bytes, problems: list[Problem]
) -> tuple["OddLine", int]:
    """Return a line that is not plainly one object, trimmed, and the offset of the next line.

    Args:
        file: opened for reading, and read up to the end of ``line``; left where the next line begins.
        path: its name.
        part: its index in the session.
        number: of the line.
        begin: where it begins.
        line: its first :data:`LONG_LINE_BYTES`, with its newline.
        problems: NUL bytes around a long line are noted here.
    """
    from slowwave.records.longline import read_long_line  # noqa: PLC0415
    from slowwave.records.salvage import OddLine  # noqa: PLC0415

    ended = line.endswith(b"\n")
    if ended or len(line) < LONG_LINE_BYTES:
        raw = line.strip(_BLANK)
        lead = len(line) - len(line.lstrip(_BLANK))
        return OddLine(path, part, number, begin + lead, raw, not ended), begin + len(line)
    long = read_long_line(file.fileno(), begin)
    file.seek(long.stop)
    if long.has_nul:
        size = long.stop - begin - len(long.raw)
        problems.append(Problem("nul", path, number, begin, size, "NUL bytes around a record skipped"))
    return OddLine(path, part, number, long.offset, long.raw, not long.ended), long.stop
