"""Where the kept range of a compaction begins.

Source: ``findCutPoint`` of pi 0.58.3 and §7.5.3 of the ULID specification, with what they promise and miss mended: a
call is never parted from its result, also where other messages stand between them; a result at the end that is larger
than the whole kept range still gives a cut; a setting in front of a person's message does not make it look like the
middle of the turn before.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from slowwave.compaction.calls import answers
from slowwave.compaction.items import Item


class Cut(NamedTuple):
    """Where to cut a sequence of items.

    Attributes:
        first_kept: index of the first item that stays; settings right before the first message stay with it.
        turn_start: index of the item that began the turn which the cut splits, or None when it splits none.
    """

    first_kept: int
    turn_start: int | None = None


def find_cut(items: Sequence[Item], keep_recent_tokens: int) -> Cut:
    """Return the cut that keeps about ``keep_recent_tokens``: the first boundary at or after the item that fills them.

    Where no boundary follows, it is the last one before. When everything fits, the first boundary is returned, which
    leaves nothing to summarise.
    """
    points = cut_points(items)
    if not points:
        return Cut(0)
    filled = _filled_at(items, keep_recent_tokens)
    return _cut_at(items, points[0] if filled is None else next((p for p in points if p >= filled), points[-1]))


def find_cut_before(items: Sequence[Item], keep_messages: int) -> Cut:
    """Return the cut that keeps so many messages: the last boundary that leaves no fewer (Cersei)."""
    spoken = [at for at, item in enumerate(items) if item.speaks]
    most = spoken[-keep_messages] if len(spoken) >= keep_messages else 0
    return _cut_at(items, next((p for p in reversed(cut_points(items)) if p <= most), 0))


def _cut_at(items: Sequence[Item], at: int) -> Cut:
    start = _turn_start(items, at)
    first = at
    while first > 0 and items[first - 1].kind == "setting":
        first -= 1
    return Cut(first, start if start is not None and start < first else None)


class Reach(NamedTuple):
    """What the end of a context says about its cut, whatever stands before that end.

    Attributes:
        loose: ids of results behind the cut whose calls are not among the items; if one of these calls stands before
            them, the cut parts it from its result.
        has_turn: the beginning of the turn around the cut is among the items.
    """

    loose: frozenset[str]
    has_turn: bool


def reach(items: Sequence[Item], keep_recent_tokens: int, *, least: int = 0) -> Reach | None:
    """Return what the end of a context says about :func:`find_cut`, None where it does not even reach to the cut.

    Args:
        items: the end of a context.
        keep_recent_tokens: as for :func:`find_cut`.
        least: so many items are to stand behind the cut; 0 for the cut itself, else for a place at or before it.
    """
    filled = _filled_at(items, keep_recent_tokens)
    if filled is None:
        return None
    points = cut_points(items)
    if least:
        at = next((p for p in reversed(points) if p <= min(filled, len(items) - least)), 0)
    else:
        at = next((p for p in points if p >= filled), points[-1] if points else 0)
    if not any(item.speaks for item in items[:at]):
        return None
    links = answers((item.calls, item.results) for item in items)
    loose = {
        call
        for item, own in zip(items[at:], links[at:], strict=True)
        for call, answer in zip(item.results, own, strict=True)
        if answer is None or answer.is_double
    }
    return Reach(frozenset(loose), _turn_start(items, at) is not None)


def cut_points(items: Sequence[Item]) -> list[int]:
    """Return the indexes at which a kept range may begin."""
    parting = parted(items)
    return [i for i, item in enumerate(items) if item.kind in ("user", "assistant", "note") and not parting[i]]


def parted(items: Sequence[Item]) -> list[bool]:
    """Say for every index whether a cut before it would part a call from its result."""
    changes = [0] * (len(items) + 1)
    for at, found in enumerate(answers((item.calls, item.results) for item in items)):
        for answer in found:
            if answer is not None:
                changes[answer.at + 1] += 1
                changes[at + 1] -= 1
    return [depth > 0 for depth in accumulate(changes[:-1])]


def _filled_at(items: Sequence[Item], keep_recent_tokens: int) -> int | None:
    """Return the index of the item with which the newest ones fill the budget, or None when all of them fit."""
    total = 0
    for at in range(len(items) - 1, -1, -1):
        total += items[at].tokens
        if items[at].speaks and total >= keep_recent_tokens:
            return at
    return None


def _turn_start(items: Sequence[Item], at: int) -> int | None:
    """Return the index of the item that began the turn of the one at ``at``."""
    return next((i for i in range(at, -1, -1) if items[i].kind == "user"), None)
