"""Finding what a new record refers to, from the end of a file: the last record, or the one with an id."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from slowwave.errors import NotFoundError
from slowwave.formats.lines import open_regular
from slowwave.formats.model import REFUSALS
from slowwave.formats.tail import find_last, line_around, lines_backward

_PADDING = b" \t\r\n\0"
_FIRST_LINES = 20
_BOM = b"\xef\xbb\xbf"


def first_record(path: Path) -> dict[str, Any]:
    """Return the first object of a file, damaged lines before it passed over; empty when its first lines hold none.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    with open_regular(path) as file:
        for line in islice(file, _FIRST_LINES):
            found = _object(line.removeprefix(_BOM).strip(_PADDING))
            if found:
                return found
    return {}


def records_backward(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file from the last to the first; damaged lines are passed over.

    Raises:
        UnreadableError: the file cannot be opened or read.
    """
    for _, raw in lines_backward(path):
        found = _object(raw.strip(_PADDING))
        if found:
            yield found


class Found(NamedTuple):
    """A record and the offset at which its line begins."""

    record: dict[str, Any]
    offset: int


def record_with(paths: Sequence[Path], value: str, is_it: Callable[[dict[str, Any]], bool]) -> Found | None:
    """Return the last record that holds the string ``value`` and that ``is_it``, or None.

    Bytes are searched from the end; only lines that hold the value are decoded.

    Raises:
        UnreadableError: a file cannot be opened or read.
    """
    needle = msgspec.json.encode(value)
    for path in reversed(paths):
        end: int | None = None
        while (at := find_last(path, needle, end=end)) is not None:
            start, raw = line_around(path, at)
            found = _object(raw.strip(_PADDING))
            if found and is_it(found):
                return Found(found, start)
            end = start
    return None


def unknown(message_id: str, session_id: str) -> NotFoundError:
    """Return the error for a message that is not there."""
    return NotFoundError(f"session {session_id} shows no message {message_id!r}; `slowwave sessions show` names them")


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value: object = msgspec.json.decode(raw)
    except REFUSALS:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
