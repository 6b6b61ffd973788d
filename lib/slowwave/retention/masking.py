"""Secrets and subjects out of bytes, each replaced by as many: nothing behind it moves, and JSON stays what it was."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import orjson

from slowwave.retention.what import Hit, What

# what is taken out may bring something else to light, for example the rest of a list
_MOST_PASSES = 4
STUCK = "cannot be overwritten: a number, a key or the form of the JSON around it would change"


class Place(NamedTuple):
    """Where something stood that had to go, the mark that stands for it, and whether it was part of a path."""

    offset: int
    length: int
    family: str
    mark: str
    in_path: bool = False


class Masked(NamedTuple):
    """Bytes in which everything is overwritten that may be.

    Attributes:
        data: as many bytes as before.
        places: what was overwritten.
        stuck: what still stands there: the JSON that holds it would be another, or none.
    """

    data: bytes
    places: list[Place]
    stuck: list[Place]


def masked(data: bytes, what: What) -> Masked:
    """Return ``data`` with all that must go overwritten, as far as the JSON in it allows."""
    new, places, stuck = data, list[Place](), set[tuple[int, int]]()
    found = what.hits(new)
    for _ in range(_MOST_PASSES):
        free = [hit for hit in found if (hit.start, hit.stop) not in stuck]
        if not free:
            break
        form = _Form(new)
        together = _filled(new, free)
        if form.is_kept(together, free):
            new = together
            places += map(_place, free)
        else:
            for hit in free:
                alone = _filled(new, [hit])
                if form.is_kept(alone, [hit]):
                    new = alone
                    places.append(_place(hit))
                else:
                    stuck.add((hit.start, hit.stop))
        found = what.hits(new)
    return Masked(new, places, [_place(hit) for hit in found])


def marked(data: bytes, what: What) -> Masked:
    """Return ``data`` with a mark in the place of all that must go; unchanged when its JSON would not stand it."""
    found = what.hits(data)
    out: list[bytes] = []
    at = 0
    for hit in found:
        out += [data[at : hit.start], hit.mark.encode()]
        at = hit.stop
    new, places = b"".join([*out, data[at:]]), [_place(hit) for hit in found]
    return Masked(new, places, []) if not found or _has_form_of(data, new) else Masked(data, [], places)


def _place(hit: Hit) -> Place:
    return Place(hit.start, hit.stop - hit.start, hit.family, hit.mark, hit.in_path)


def _filled(data: bytes, hits: Sequence[Hit]) -> bytes:
    new = bytearray(data)
    for hit in hits:
        new[hit.start : hit.stop] = hit.fill
    return bytes(new)


class _Form:
    """What of some bytes is JSON: all of them, or lines of them. Whatever else they are has no form to lose."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._whole = _parsed(data)

    def is_kept(self, new: bytes, hits: Sequence[Hit]) -> bool:
        """Say whether other bytes, different where the hits are, have the same form."""
        if self._whole is not None:
            return _alike(self._whole, _parsed(new))
        return all(_has_form_of(self._data[a:b], new[a:b]) for a, b in self._lines(hits))

    def _lines(self, hits: Sequence[Hit]) -> Iterator[tuple[int, int]]:
        """Yield every line that a hit touches; there may be several of one hit."""
        end = -1
        for hit in hits:
            start = max(self._data.rfind(b"\n", 0, hit.start) + 1, end)
            while start < hit.stop:
                end = self._data.find(b"\n", start) + 1 or len(self._data)
                yield start, end
                start = end


def _has_form_of(old: bytes, new: bytes) -> bool:
    before = _parsed(old)
    return before is None or _alike(before, _parsed(new))


def _parsed(data: bytes) -> Any:
    """Return JSON, or None for what is none: a bare number is a text as well as any other."""
    try:
        value: Any = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None  # damaged already, or a line of text
    return cast("Any", value) if isinstance(value, dict | list | str) else None


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
