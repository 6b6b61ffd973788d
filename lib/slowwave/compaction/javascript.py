"""Lengths and JSON as JavaScript has them: pi and OpenClaw count and cut in UTF-16 units of ``JSON.stringify``."""

import json
import math
import re
from typing import cast

_LONE = re.compile("[\ud800-\udfff]")
# integers from here on are not exact in JavaScript, and from 10**21 on it writes an exponent
_SAFE = 1 << 53
_INDEX_DIGITS = 10
_EXPONENT_FROM = 1e21
_EXPONENT_BELOW = 1e-6


def units(text: str) -> int:
    """Return the length of a string as JavaScript counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut(text: str, most: int) -> str:
    """Return at most ``most`` units of a string's beginning; a character of two units is never halved."""
    if text.isascii():
        return text[:most]
    kept = text.encode("utf-16-le", "surrogatepass")[: most * 2].decode("utf-16-le", "surrogatepass")
    return kept[:-1] if "\ud800" <= kept[-1:] <= "\udbff" and text[len(kept) - 1] != kept[-1] else kept


def order(text: str) -> bytes:
    """Return the key that sorts strings as JavaScript's ``sort`` does: by UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")


def stringify(value: object) -> str:
    """Return a decoded JSON value as ``JSON.stringify`` writes it: no spaces, nothing escaped that need not be.

    Values may be nested as deep as they like.
    """
    written: list[str] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            fields = entries(cast("dict[str, object]", item))
            parts = [part for k, v in fields for part in (_Mark(f"{_string(k)}:"), v, _Mark(","))]
            waiting += [_Mark("}"), *parts[-2::-1], _Mark("{")]
        elif isinstance(item, list | tuple):
            parts = [part for v in cast("list[object]", item) for part in (v, _Mark(","))]
            waiting += [_Mark("]"), *parts[-2::-1], _Mark("[")]
        else:
            written.append(item if isinstance(item, _Mark) else _scalar(item))
    return "".join(written)


def fields_of(value: object) -> dict[str, object]:
    """Return the fields of an object, none for anything else."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def entries(value: dict[str, object]) -> list[tuple[str, object]]:
    """Return the fields of an object in JavaScript's order: array indexes first, by number, then as written."""
    indexes = sorted((k for k in value if _is_index(k)), key=int)
    return [(k, value[k]) for k in [*indexes, *(k for k in value if not _is_index(k))]]


def _is_index(key: str) -> bool:
    if not key.isascii() or not key.isdigit() or len(key) > _INDEX_DIGITS:
        return False
    return (key == "0" or key[0] != "0") and int(key) < (1 << 32) - 1


def _number(value: float) -> str:
    if isinstance(value, int) and abs(value) <= _SAFE:
        return str(value)
    try:
        number = float(value)
    except OverflowError:
        return "null"
    if not math.isfinite(number):
        return "null"
    if number.is_integer() and abs(number) < _EXPONENT_FROM:
        return _whole(number)
    return _fraction(number)


def _whole(number: float) -> str:
    """Return the shortest digits that read back as ``number``, filled up with zeros."""
    digits, _, exponent = repr(number).partition("e+")
    if not exponent:
        return str(int(number))
    whole, _, rest = digits.partition(".")
    return whole + rest.ljust(int(exponent), "0")


def _fraction(number: float) -> str:
    mantissa, mark, exponent = repr(number).partition("e")
    if mark and _EXPONENT_BELOW <= abs(number) < 1:
        sign, digits = ("-" if number < 0 else ""), mantissa.lstrip("-").replace(".", "")
        return f"{sign}0.{'0' * (-int(exponent) - 1)}{digits}"
    if not mark:
        return mantissa
    return f"{mantissa.removesuffix('.0')}e{'+' if exponent[0] != '-' else '-'}{exponent.lstrip('+-').lstrip('0')}"


class _Mark(str):
    """A part of the output that waits for its turn among values."""

    __slots__ = ()


def _scalar(value: object) -> str:
    match value:
        case bool() | None:
            return json.dumps(value)
        case int() | float():
            return _number(value)
        case _:
            return _string(str(value))


def _string(text: str) -> str:
    return _LONE.sub(lambda m: f"\\u{ord(m[0]):04x}", json.dumps(text, ensure_ascii=False))
