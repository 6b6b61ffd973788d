"""Values of records, decoded also where a strict decoder refuses them."""

from typing import Any, cast

import msgspec

from slowwave.records.model import REFUSALS


def whole(raw: bytes) -> dict[str, Any]:
    """Return a record as a dictionary; bytes that are not UTF-8 and lone surrogates become U+FFFD."""
    try:
        value: object = msgspec.json.decode(raw)
    except REFUSALS:
        value = lenient(raw)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def decoded(content: msgspec.Raw) -> object:
    """Return the value of an undecoded field, None when it is absent."""
    raw = bytes(content)
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except REFUSALS:
        return lenient(raw)


def lenient(raw: bytes) -> object:
    """Decode JSON that a strict decoder refuses, or return None when nothing can be read."""
    import json  # noqa: PLC0415  # only damaged records need the slow decoder

    from slowwave.records.values import clean  # noqa: PLC0415  # as above

    cleaned = clean(raw)
    try:
        return msgspec.json.decode(cleaned)
    except REFUSALS:
        pass  # what is still odd: control characters in strings
    try:
        return json.loads(cleaned, strict=False)
    except (ValueError, RecursionError):
        return None
