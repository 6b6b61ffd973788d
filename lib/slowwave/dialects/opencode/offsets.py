"""Places of values in a JSON text, also in one that is cut short: a file that holds one object over many lines.

The bytes are looked at as Latin-1, in which every byte is one character: JSON's own marks are ASCII, so positions in
the text are byte offsets in the file.
"""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from slowwave.records.syntax import scan_value

_DECODER = json.JSONDecoder(strict=False)
_WINDOW = 1 << 16
_SPACE = re.compile(r"[ \t\r\n]*")


class Member(NamedTuple):
    """A member of an object: its key, where its value begins, and where it ends (None when it is cut short)."""

    key: str
    start: int
    end: int | None


def text_of(data: bytes) -> str:
    """Return the text in which positions are byte offsets."""
    return data.decode("latin-1")


def value_start(text: str, at: int = 0) -> int:
    """Return where the next value begins, behind white space and a byte order mark."""
    if at == 0 and text.startswith("\xef\xbb\xbf"):
        at = 3
    match = _SPACE.match(text, at)
    return match.end() if match else at


def members(text: str, at: int) -> Iterator[Member]:
    """Yield the members of the object at ``at``; ends where the text ends or is no JSON."""
    if text[at : at + 1] != "{":
        return
    at = value_start(text, at + 1)
    while text[at : at + 1] == '"':
        key_end = _end(text, at)
        if key_end is None:
            return
        key: object = json.loads(text[at:key_end], strict=False)
        colon = value_start(text, key_end)
        if text[colon : colon + 1] != ":":
            return
        start = value_start(text, colon + 1)
        end = _end(text, start)
        yield Member(str(key), start, end)
        comma = -1 if end is None else value_start(text, end)
        if comma < 0 or text[comma : comma + 1] != ",":
            return
        at = value_start(text, comma + 1)


def elements(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of each whole element of the array at ``at``, and last of one that is cut short (end -1)."""
    if text[at : at + 1] != "[":
        return
    at = value_start(text, at + 1)
    while at < len(text) and text[at] != "]":
        end = _end(text, at)
        if end is None:
            yield at, -1
            return
        yield at, end
        comma = value_start(text, end)
        if text[comma : comma + 1] != ",":
            return
        at = value_start(text, comma + 1)


def _end(text: str, at: int) -> int | None:
    try:
        return _DECODER.raw_decode(text, at)[1]
    except json.JSONDecodeError:
        return None
    except (ValueError, RecursionError):  # a number with too many digits, or nested too deeply, for Python
        return _scanned_end(text, at)


def _scanned_end(text: str, at: int) -> int | None:
    """Return the end of a value that no decoder takes, looking no further than twice its length."""
    window = _WINDOW
    while True:
        scan = scan_value(text[at : at + window].encode("latin-1"))
        if scan.status == "whole" and (scan.at < window or at + window >= len(text)):
            return at + scan.at
        if scan.status == "broken" or at + window >= len(text):
            return None
        window *= 2
