"""The objects at the beginning of a file, as far as they can be told: lines may be cut short, glued or damaged."""

from collections.abc import Iterator
from typing import cast

import msgspec

from slowwave.records.model import REFUSALS

# A dialect shows in its first record; past this many records a file is none that we know.
_MOST_RECORDS = 200
_BOM = b"\xef\xbb\xbf"
_PADDING = b" \t\r\n\0"


def object_over_lines(head: bytes) -> Iterator[dict[str, object]]:
    """Yield the fields of one object over many lines, as exports are; those of a cut value have none."""
    raw = head.removeprefix(_BOM).lstrip(_PADDING)
    if raw[:1] == b"{" and raw[1:64].lstrip(_PADDING)[:1] == b'"':
        # Newlines stand between values only: inside of strings they are escaped.
        yield _top_fields(raw.replace(b"\n", b" ").replace(b"\r", b" "))


def objects_on_lines(head: bytes) -> Iterator[dict[str, object]]:
    """Yield the objects of the first lines; of a line that is cut short or glued, the fields before the damage."""
    for line in head.removeprefix(_BOM).split(b"\n", _MOST_RECORDS)[:_MOST_RECORDS]:
        raw = line.strip(_PADDING)
        if raw[:1] != b"{":
            continue
        try:
            value: object = msgspec.json.decode(raw)
        except REFUSALS:
            value = _top_fields(raw)
        if isinstance(value, dict):
            yield cast("dict[str, object]", value)


def _top_fields(raw: bytes) -> dict[str, object]:
    """Return the top-level fields that stand before the place where ``raw`` stops being one JSON object."""
    fields: dict[str, object] = {}
    at = 1
    while True:
        pair = _next_field(raw, at)
        if pair is None:
            return fields
        key, value, at = pair
        fields[key] = value


def _next_field(raw: bytes, at: int) -> tuple[str, object, int] | None:
    text = raw[at : at + 4096].lstrip(b" ,\t")
    start = at + len(raw[at : at + 4096]) - len(text)
    close = _string_end(raw, start)
    if close is None:
        return None
    colon = raw.find(b":", close)
    if colon < 0:
        return None
    value_at = colon + 1 + (len(raw[colon + 1 : colon + 64]) - len(raw[colon + 1 : colon + 64].lstrip()))
    end = _value_end(raw, value_at)
    try:
        key = msgspec.json.decode(raw[start:close], type=str)
        value: object = msgspec.json.decode(raw[value_at:end]) if end is not None else None
    except REFUSALS:
        return None
    return (key, value, end) if end is not None else (key, value, len(raw))


def _string_end(raw: bytes, start: int) -> int | None:
    """Return the offset behind the string that begins at ``start``, or None when it is not whole."""
    if raw[start : start + 1] != b'"':
        return None
    at = start + 1
    while (close := raw.find(b'"', at)) >= 0:
        slashes = len(raw[:close]) - len(raw[start + 1 : close].rstrip(b"\\")) - start - 1
        if slashes % 2 == 0:
            return close + 1
        at = close + 1
    return None


def _value_end(raw: bytes, start: int) -> int | None:
    """Return the offset behind the value that begins at ``start``, or None when it is cut short."""
    first = raw[start : start + 1]
    if first == b'"':
        return _string_end(raw, start)
    if first not in (b"{", b"["):
        ends = [p for p in (raw.find(b",", start), raw.find(b"}", start)) if p >= 0]
        return min(ends) if ends else None
    depth = 0
    at = start
    while at < len(raw):
        byte = raw[at : at + 1]
        if byte == b'"':
            close = _string_end(raw, at)
            if close is None:
                return None
            at = close
            continue
        depth += (byte in (b"{", b"[")) - (byte in (b"}", b"]"))
        at += 1
        if depth == 0:
            return at
    return None
