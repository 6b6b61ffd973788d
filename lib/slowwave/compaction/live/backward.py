"""The records of a file from the last to the first."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from slowwave.records.model import REFUSALS
from slowwave.records.salvage import OddLine, salvage
from slowwave.records.tail import lines_backward
from slowwave.records.utf8 import is_utf8

T = TypeVar("T")
_BLANK = b" \t\r\n"
_OPEN, _CLOSE = b"{}"


class DamagedError(Exception):
    """A line is not one clean object, and its client may make something else of it than is read from it here."""


def backward(path: Path, decoder: msgspec.json.Decoder[T], *, salvages: bool = False) -> Iterator[tuple[int, bytes, T]]:
    """Yield offset, bytes and value of every record, the last one first; a torn end is passed over.

    Args:
        path: the file.
        decoder: decodes one record.
        salvages: take every whole record out of a damaged line, as a reading of the whole file does.

    Raises:
        DamagedError: a line is not one clean object, and nothing is salvaged.
        UnreadableError: the file cannot be opened or read.
    """
    decode = decoder.decode
    is_last = True
    for begin, line in lines_backward(path):
        raw, offset = line, begin
        if raw[0] != _OPEN or raw[-1] != _CLOSE:
            raw = line.strip(_BLANK)
            offset += len(line) - len(line.lstrip(_BLANK))
        try:
            if not (raw.isascii() or is_utf8(raw)):
                raise UnicodeDecodeError("utf-8", raw, 0, 1, "not UTF-8")
            value = decode(raw)
        except REFUSALS as error:
            if salvages:
                yield from _salvaged(OddLine(path, 0, 0, offset, raw, is_last), decoder)
            elif not is_last:
                raise DamagedError from error
        else:
            yield offset, raw, value
        is_last = False


def _salvaged(line: OddLine, decoder: msgspec.json.Decoder[T]) -> list[tuple[int, bytes, T]]:
    found = [(span.offset, span.raw, value) for span, value in salvage(line, decoder, [])]
    return found[::-1]
