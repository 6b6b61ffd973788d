"""What a step costs for each session and for each byte: least squares over the measured shapes, none below nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.benchmarks.scale_night import Cost


def fitted(shapes: Sequence[Mapping[str, Any]], step: str) -> Cost:
    """Return the two costs that come closest to what was measured, each shape weighed by its own time."""
    points = [(one["sessions"] / one["seconds"][step], one["bytes"] / one["seconds"][step]) for one in shapes]
    xx = sum(x * x for x, _ in points)
    yy = sum(y * y for _, y in points)
    xy = sum(x * y for x, y in points)
    x1, y1 = sum(x for x, _ in points), sum(y for _, y in points)
    whole = xx * yy - xy * xy
    session, byte = (x1 * yy - y1 * xy) / whole, (y1 * xx - x1 * xy) / whole
    if session < 0:
        return Cost(0.0, y1 / yy)
    if byte < 0:
        return Cost(x1 / xx, 0.0)
    return Cost(session, byte)


def farthest(shapes: Sequence[Mapping[str, Any]], step: str, cost: Cost) -> float:
    """Return by how much the worst of the shapes differs from what the fit says, as a share of the measured."""
    return max(abs(cost.of(one["sessions"], one["bytes"]) / one["seconds"][step] - 1) for one in shapes)
