"""Mutations that know lines and JSON: damage as it happens to transcripts, and values that no client ever wrote."""

import json
import random
import re
from collections.abc import Callable
from typing import Any, cast

from tests.fuzz.layout import SEPARATOR

_NO_LIST: list[object] = []
_NO_OBJECT: dict[str, object] = {}
ODD: tuple[object, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        2**63,
        2**64,
        1e308,
        -0.0,
        "",
        "x",
        "\u2028",
        "\x00",
        _NO_LIST,
        _NO_OBJECT,
        [_NO_LIST],
        [_NO_OBJECT],
        [None, 1],
    ),
    *({"type": "text"}, {"type": None}, [{"type": "text", "text": 1}], "9" * 30, "2026-11-21T20:53:12.000Z", "user"),
    *("9999-12-31T23:59:59+99:99", "0001-01-01T00:00:00+14:00", 1e20, -1e20, "_part2", "../x", "é" * 9),
)
_RAW = (b"NaN", b"Infinity", b"-Infinity", b"1" * 5000, b'"\\ud800"', b'"\\udc00x"', b"-", b"1e999", b"{}{", b'"\xff"')
_LINK = re.compile(rb'"(?:\w*[iI][dD]|\w*[uU]uid\w*|parent\w*|targetId|fromId|seq|firstKept\w*)"\s*:\s*("[^"]*"|\d+)')
_SCALAR = re.compile(rb':\s*("(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null)')

Mutation = Callable[[list[bytes], random.Random], None]


def mutated(data: bytes, most: int, rng: random.Random, other: bytes = b"") -> bytes:
    """Return ``data`` with one to four mutations; lines of ``other`` may come in."""
    pieces = data.split(SEPARATOR)
    at = rng.randrange(len(pieces))
    lines = pieces[at].split(b"\n")
    for _ in range(rng.randint(1, 4)):
        if other and not rng.randrange(8):
            lines.insert(rng.randint(0, len(lines)), rng.choice(other.split(b"\n")))
        rng.choice(_MUTATIONS)(lines, rng)
    pieces[at] = b"\n".join(lines)
    if len(pieces) > 1 and not rng.randrange(6):
        rng.shuffle(pieces)
    return SEPARATOR.join(pieces)[:most]


def _shuffle(lines: list[bytes], rng: random.Random) -> None:
    a = rng.randint(0, len(lines))
    part = lines[a : a + rng.randint(2, 6)]
    rng.shuffle(part)
    lines[a : a + len(part)] = part


def _twice(lines: list[bytes], rng: random.Random) -> None:
    lines.insert(rng.randint(0, len(lines)), _any(lines, rng))


def _drop(lines: list[bytes], rng: random.Random) -> None:
    if len(lines) > 1:
        del lines[rng.randrange(len(lines))]


def _glue(lines: list[bytes], rng: random.Random) -> None:
    at = rng.randrange(len(lines))
    if at + 1 < len(lines):
        lines[at : at + 2] = [lines[at] + rng.choice((b"", b"", b" ", b"\r", b"\0\0")) + lines[at + 1]]


def _cut(lines: list[bytes], rng: random.Random) -> None:
    at = rng.randrange(len(lines))
    lines[at] = lines[at][: rng.randint(0, len(lines[at]))]


def _break(lines: list[bytes], rng: random.Random) -> None:
    at = rng.randrange(len(lines))
    place = rng.randint(0, len(lines[at]))
    lines[at : at + 1] = [lines[at][:place], lines[at][place:]]


def _junk(lines: list[bytes], rng: random.Random) -> None:
    at = rng.randrange(len(lines))
    place = rng.randint(0, len(lines[at]))
    junk = rng.choice((b"\0" * rng.randint(1, 9), b"\xff", b"\xef\xbb\xbf", b"\\ud800", b"\r", b"{", b"}", b'"', b"\\"))
    lines[at] = lines[at][:place] + junk + lines[at][place:]


def _relink(lines: list[bytes], rng: random.Random) -> None:
    """Give one record the id or the parent of another, or of itself."""
    known = [match[1] for line in lines for match in _LINK.finditer(line)]
    at = rng.randrange(len(lines))
    found = list(_LINK.finditer(lines[at]))
    if known and found:
        match = rng.choice(found)
        lines[at] = lines[at][: match.start(1)] + rng.choice(known) + lines[at][match.end(1) :]


def _retype(lines: list[bytes], rng: random.Random) -> None:
    """Put a value of another type, or something that is no JSON, in the place of a scalar."""
    at = rng.randrange(len(lines))
    found = list(_SCALAR.finditer(lines[at]))
    if found:
        match = rng.choice(found)
        new = rng.choice(_RAW) if not rng.randrange(4) else json.dumps(rng.choice(ODD)).encode()
        lines[at] = lines[at][: match.start(1)] + new + lines[at][match.end(1) :]


def _nest(lines: list[bytes], rng: random.Random) -> None:
    at = rng.randrange(len(lines))
    found = list(_SCALAR.finditer(lines[at]))
    if found:
        match = rng.choice(found)
        # past 1,000 levels decoders give up; so deep costs hundreds of times what any other input does
        depth = rng.choice((350, 900, 1100)) if not rng.randrange(20) else rng.choice((2, 5, 20, 60))
        opening, closing = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'[{"type":', b"}]")))
        inner = opening * depth + b"1" + closing * depth
        lines[at] = lines[at][: match.start(1)] + inner + lines[at][match.end(1) :]


def _reshape(lines: list[bytes], rng: random.Random) -> None:
    """Change one value anywhere in a decoded record, or its place in it."""
    at = rng.randrange(len(lines))
    try:
        record: object = json.loads(lines[at])
    except (ValueError, RecursionError):
        return
    places = _places(record)
    if not places:
        return
    owner, key = rng.choice(places)
    match rng.randrange(4):
        case 0:
            del owner[key]
        case 1:
            _put(owner, key, rng.choice(ODD))
        case 2:
            other, its = rng.choice(places)
            if owner is other:  # anything else could become a circle
                owner[key], other[its] = other[its], owner[key]
        case _:
            _put(owner, key, [owner[key]] if rng.randrange(2) else {"type": "text", "text": owner[key]})
    text = json.dumps(record, ensure_ascii=bool(rng.randrange(2)), separators=(",", ":"))
    lines[at] = text.encode("utf-8", "replace")


def _put(owner: Any, key: Any, value: object) -> None:
    owner[key] = value


def _places(value: object) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    queue = [value]
    while queue and len(found) < 2000:
        node = queue.pop()
        if isinstance(node, dict):
            items = cast("dict[str, object]", node)
            found += [(items, key) for key in items]
            queue += items.values()
        elif isinstance(node, list):
            elements = cast("list[object]", node)
            found += [(elements, index) for index in range(len(elements))]
            queue += elements
    return found


def _second_key(lines: list[bytes], rng: random.Random) -> None:
    """Name one key twice, with another value."""
    at = rng.randrange(len(lines))
    keys = re.findall(rb'"\w{1,30}"\s*:', lines[at])
    if keys:
        place = lines[at].rfind(b"}")
        value = json.dumps(rng.choice(ODD)).encode()
        lines[at] = lines[at][:place] + b"," + rng.choice(keys) + value + lines[at][place:]


def _any(lines: list[bytes], rng: random.Random) -> bytes:
    return lines[rng.randrange(len(lines))]


_MUTATIONS: tuple[Mutation, ...] = (
    *(_shuffle, _twice, _drop, _glue, _cut, _break, _junk, _second_key, _nest),
    *(_relink, _relink, _retype, _retype, _retype, _reshape, _reshape, _reshape, _reshape),
)
