"""The records of a file from the first to the last and from the last to the first, with their places alone.

This is :func:`slowwave.records.lines.read_records` without a span a record, as a walk over a hundred thousand needs no
more of most; an odd line takes the same slow path.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from slowwave.errors import UnreadableError
from slowwave.records.lines import LONG_LINE_BYTES, odd_line, open_regular
from slowwave.records.model import REFUSALS, Problem, Span
from slowwave.records.salvage import OddLine, salvage
from slowwave.records.tail import lines_backward
from slowwave.records.utf8 import is_utf8

T = TypeVar("T")
Loses = Callable[[Sequence[Problem], Sequence[Span]], bool]

_BLANK = b" \t\r\n"
_OPEN, _CLOSE = b"{}"


def keeps_all(_problems: Sequence[Problem], _spans: Sequence[Span]) -> bool:
    """Say that a client reads every whole record of a damaged line."""
    return False


def loses_lines(kinds: Collection[str]) -> Loses:
    """Return the rule of a client that gives up a whole line for these kinds of damage."""
    return lambda problems, _spans: any(problem.kind in kinds for problem in problems)


def forward(path: Path, decoder: msgspec.json.Decoder[T], loses: Loses = keeps_all) -> Iterator[tuple[int, bytes, T]]:
    """Yield offset, bytes and value of every record.

    Args:
        path: the file; what is appended while it is read may be missing.
        decoder: decodes one record.
        loses: says from a damaged line's problems and records that its client skips all of it.

    Raises:
        UnreadableError: the file cannot be opened or read.
    """
    decode = decoder.decode
    with open_regular(path) as file:
        try:
            begin = 0
            for number, line in enumerate(iter(partial(file.readline, LONG_LINE_BYTES), b""), 1):
                if line[0] == _OPEN and line.endswith(b"}\n") and (line.isascii() or is_utf8(line)):
                    raw = line[:-1]
                    try:
                        value = decode(raw)
                    except REFUSALS:
                        pass
                    else:
                        yield begin, raw, value
                        begin += len(line)
                        continue
                problems: list[Problem] = []
                odd, begin = odd_line(file, path, 0, number, begin, line, problems)
                if odd.raw:
                    yield from _salvaged(odd, decoder, problems, loses)
                if odd.torn:
                    return
        except OSError as error:
            raise UnreadableError(path, error.strerror or "cannot be read") from error


def backward(path: Path, decoder: msgspec.json.Decoder[T], loses: Loses = keeps_all) -> Iterator[tuple[int, bytes, T]]:
    """Yield offset, bytes and value of every record, the last one first; the arguments are those of :func:`forward`.

    Raises:
        UnreadableError: the file cannot be opened or read.
    """
    decode = decoder.decode
    is_last = True
    for begin, line in lines_backward(path):
        if line[0] == _OPEN and line[-1] == _CLOSE and (line.isascii() or is_utf8(line)):
            try:
                value = decode(line)
            except REFUSALS:
                pass
            else:
                yield begin, line, value
                is_last = False
                continue
        offset = begin + len(line) - len(line.lstrip(_BLANK))
        odd = OddLine(path, 0, 0, offset, line.strip(_BLANK), is_last)
        yield from reversed(_salvaged(odd, decoder, [], loses))
        is_last = False


def _salvaged(
    line: OddLine, decoder: msgspec.json.Decoder[T], problems: list[Problem], loses: Loses
) -> list[tuple[int, bytes, T]]:
    found = list(salvage(line, decoder, problems))
    if loses(problems, [span for span, _ in found]):
        return []
    return [(span.offset, span.raw, value) for span, value in found]
