"""The objects at the beginning of a file, as far as they can be told: lines may be cut short, glued or damaged."""

import re
from collections.abc import Iterator
from typing import cast

import msgspec

from slowwave.records.model import REFUSALS
from slowwave.records.syntax import scan_value

# A dialect shows in its first record; past this many records a file is none that we know.
_MOST_RECORDS = 200
_BOM = b"\xef\xbb\xbf"
_PADDING = b" \t\r\n\0"
_COLON = re.compile(rb"[ \t\r\n]*+:")
_COMMA = re.compile(rb"[ \t\r\n]*+,")


def object_over_lines(head: bytes) -> Iterator[dict[str, object]]:
    """Yield the fields of one object over many lines, as exports are; those of a cut value have none."""
    raw = head.removeprefix(_BOM).lstrip(_PADDING)
    if raw[:1] == b"{" and raw[1:64].lstrip(_PADDING)[:1] == b'"':
        yield _top_fields(raw)


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
    """Return the top-level fields that stand before the place where ``raw`` stops being one JSON object.

    Of a last one that is cut short the name is known: its value is None.
    """
    fields: dict[str, object] = {}
    at = 1
    while (name := scan_value(raw, at)).status == "whole" and (colon := _COLON.match(raw, name.at)):
        value = scan_value(raw, colon.end())
        if value.status == "broken":
            break
        try:
            key = msgspec.json.decode(raw[at : name.at], type=str)
            fields[key] = msgspec.json.decode(raw[colon.end() : value.at]) if value.status == "whole" else None
        except REFUSALS:
            break
        comma = _COMMA.match(raw, value.at)
        if comma is None:
            break
        at = comma.end()
    return fields
