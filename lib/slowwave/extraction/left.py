"""Branches that were left when a session was read, and may be taken up again: which of its records nobody mined yet.

Their bytes count as read, since the range that holds them was. So the range says where they lie, always for the whole
file up to its end: the newest range alone tells, and a run that takes a branch up writes the next one without it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from slowwave.memory.model import ExtractedRange

Runs = tuple[tuple[int, int], ...]


def left_until(ranges: Sequence[ExtractedRange], known: int) -> Runs:
    """Return what was left of the first ``known`` bytes, as the newest range that ends there says.

    Args:
        ranges: what was recorded for the file, oldest first.
        known: how many of its bytes are still those that were read.
    """
    newest = next((r for r in reversed(ranges) if r.stop == known), None)
    return tuple(sorted(newest.abandoned)) if newest is not None else ()


def is_in(runs: Runs, position: int) -> bool:
    """Say whether a record that begins at a position lies in one of the runs, which are in order."""
    at = bisect_right(runs, position, key=lambda run: run[0]) - 1
    return at >= 0 and position < runs[at][1]


def runs_of(records: Iterable[tuple[int, int, bool]]) -> Runs:
    """Return the runs of records that are left, of all records of messages: begin, end, and whether it is left.

    What lies between two of them and is no message's belongs to the run.
    """
    found: list[tuple[int, int]] = []
    joined = False
    for begin, end, is_left in sorted(set(records)):
        if is_left and joined:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif is_left:
            found.append((begin, end))
        joined = is_left
    return tuple(found)
