"""Secrets and subjects out of bytes, each replaced by as many: nothing behind it moves, and JSON stays what it was."""

from typing import Any, NamedTuple, cast

import orjson

from slowwave.retention.what import What

# what is taken out may bring something else to light, for example the rest of a list
_MOST_PASSES = 4


class Place(NamedTuple):
    """Where something stood that had to go, and the mark that stands for it."""

    offset: int
    length: int
    family: str
    mark: str


class BrokenError(ValueError):
    """The bytes would no longer be the JSON that they were."""


def masked(data: bytes, what: What) -> tuple[bytes, list[Place]]:
    """Return ``data`` with all that must go overwritten, and where it was.

    Raises:
        BrokenError: it could not be done within strings of the JSON that ``data`` is.
    """
    new, places = data, list[Place]()
    for _ in range(_MOST_PASSES):
        found = what.hits(new)
        if not found:
            break
        pieces: list[bytes] = []
        at = 0
        for one in found:
            pieces += [new[at : one.start], one.fill]
            places.append(Place(one.start, one.stop - one.start, one.family, one.mark))
            at = one.stop
        new = b"".join([*pieces, new[at:]])
    if places:
        _check(data, new)
    return new, places


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
