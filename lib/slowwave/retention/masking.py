"""Secrets out of bytes, each replaced by as many bytes: nothing behind it moves, and JSON stays what it was."""

from typing import Any, NamedTuple, cast

import orjson

from slowwave.secrets.finder import find_secrets
from slowwave.secrets.model import Finding
from slowwave.secrets.redactor import Redactor

# what is taken out may bring something else to light, for example the rest of a list
_MOST_PASSES = 4
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_")
_HEX = frozenset("0123456789abcdefABCDEF")
_STARS_IN_BASE64 = "Kioq"
_STARS_IN_HEX = "2a"


class Place(NamedTuple):
    """Where a secret stood, and the mark that stands for it."""

    offset: int
    length: int
    family: str
    mark: str


class BrokenError(ValueError):
    """The bytes would no longer be the JSON that they were."""


def masked(data: bytes, redact: Redactor) -> tuple[bytes, list[Place]]:
    """Return ``data`` with every secret overwritten, and where they were.

    Raises:
        BrokenError: it could not be done within strings of the JSON that ``data`` is.
    """
    new, places = data, list[Place]()
    for _ in range(_MOST_PASSES):
        # one character a byte: whatever is found has its offset in bytes
        text = new.decode("latin-1")
        found = find_secrets(text)
        if not found:
            break
        pieces: list[str] = []
        at = 0
        for one in found:
            start, stop = _whole_characters(new, one.start, one.stop)
            mark = redact.mark(one.family, plain_of(one))
            pieces += [text[at:start], _filler(text[start:stop], one, mark)]
            places.append(Place(start, stop - start, one.family, mark))
            at = stop
        new = "".join([*pieces, text[at:]]).encode("latin-1")
    if places:
        _check(data, new)
    return new, places


def plain_of(found: Finding) -> str:
    """Return a secret that was found in bytes as text, so that it has the fingerprint that it has elsewhere."""
    try:
        return found.secret.encode("latin-1").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return found.secret  # an escape stood for a character beyond one byte


def _whole_characters(data: bytes, start: int, stop: int) -> tuple[int, int]:
    """Return the range without half characters at its ends."""
    while start > 0 and _continues(data[start]):
        start -= 1
    while stop < len(data) and _continues(data[stop]):
        stop += 1
    return start, stop


def _continues(byte: int) -> bool:
    return byte & 0xC0 == 0x80  # noqa: PLR2004 - UTF-8


def _filler(text: str, found: Finding, mark: str) -> str:
    """Return what stands in the place of a secret: its mark, or stars in the encoding that it was in."""
    size = len(text)
    if found.depth and found.secret not in text and _BASE64.issuperset(text):
        if size % 2 == 0 and _HEX.issuperset(text):
            return _STARS_IN_HEX * (size // 2)
        return (_STARS_IN_BASE64 * (size // 4 + 1))[:size]
    return mark + "*" * (size - len(mark)) if size >= len(mark) else "*" * size


def _check(old: bytes, new: bytes) -> None:
    try:
        before: Any = orjson.loads(old)
    except orjson.JSONDecodeError:
        return  # damaged already, or a line of text
    try:
        after: Any = orjson.loads(new)
    except orjson.JSONDecodeError as error:
        raise BrokenError(str(error)) from error
    if not _alike(before, after):
        raise BrokenError("a value that is no text would change")


def _alike(before: Any, after: Any) -> bool:
    """Say whether two values differ in their texts alone."""
    if type(before) is not type(after):
        return False
    if isinstance(before, dict):
        old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
        return len(old) == len(new) and all(_alike(a, b) for a, b in zip(old.values(), new.values(), strict=True))
    if isinstance(before, list):
        some, others = cast("list[Any]", before), cast("list[Any]", after)
        return len(some) == len(others) and all(_alike(a, b) for a, b in zip(some, others, strict=True))
    return isinstance(before, str) or before == after
