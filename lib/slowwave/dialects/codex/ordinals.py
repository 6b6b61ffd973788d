"""Ordinals of paginated rollouts, as they should be: counting up by one, whatever a crash or an old version left.

The client resumes after a torn line with an ordinal that it has used already, and after a line without one it refuses
the rollout (formats.md §8.3; clients.md §5.3 variants 22 to 24). In memory every line gets a number of its own; the
bytes stay as they are.
"""

from collections.abc import Sequence

from slowwave.dialects.codex.records import Line


def renumber(lines: Sequence[Line]) -> int:
    """Number the lines of one rollout and return how many had no number, or one that was used before.

    A number that is greater than the one before stays, so gaps remain gaps. A rollout in which no line has a number is
    of an older version and gets none.
    """
    first = next((index for index, line in enumerate(lines) if line.ordinal is not None), None)
    if first is None:
        return 0
    mended = 0
    last = max(-1, (lines[first].ordinal or 0) - first - 1)
    for line in lines:
        if line.ordinal is None or line.ordinal <= last:
            line.ordinal = last + 1
            mended += 1
        last = line.ordinal
    return mended
