"""Two ways to learn a probability from outcomes, exact and small.

A logistic model with a prior on every weight (maximum a posteriori, by Newton's method), and isotonic regression with
steps of a least size (pool adjacent violators).
"""

import math
from collections.abc import Mapping, Sequence

Row = tuple[Mapping[str, float], bool]
_ROUNDS = 60
_SMALL = 1e-9


def fitted(
    rows: Sequence[Row], names: Sequence[str], centre: Mapping[str, float], spread: Mapping[str, float]
) -> dict[str, float]:
    """Return the most probable weights of ``names``.

    Args:
        rows: features and outcome of each case; names that a row does not have are 0.
        names: the features that get a weight; ``bias`` stands for a constant.
        centre: the weight that is expected without any data.
        spread: how far from it a weight may well lie (a standard deviation).
    """
    cases = [([1.0 if name == "bias" else row.get(name, 0.0) for name in names], right) for row, right in rows]
    weights = [centre.get(name, 0.0) for name in names]
    for _ in range(_ROUNDS):
        step = _step(cases, weights, names, centre, spread)
        weights = [weight - change for weight, change in zip(weights, step, strict=True)]
        if max(map(abs, step)) < _SMALL:
            break
    return dict(zip(names, weights, strict=True))


def _step(
    cases: Sequence[tuple[list[float], bool]],
    weights: Sequence[float],
    names: Sequence[str],
    centre: Mapping[str, float],
    spread: Mapping[str, float],
) -> list[float]:
    """Return the Newton step: the gradient of the loss, solved against its curvature."""
    gradient = [
        (weight - centre.get(name, 0.0)) / spread[name] ** 2 for weight, name in zip(weights, names, strict=True)
    ]
    curvature = [[0.0] * len(names) for _ in names]
    for at, name in enumerate(names):
        curvature[at][at] = 1 / spread[name] ** 2
    for values, right in cases:
        present = [(at, value) for at, value in enumerate(values) if value]
        p = 1 / (1 + math.exp(-sum(value * weights[at] for at, value in present)))
        for at, value in present:
            gradient[at] += (p - right) * value
            for other, second in present:
                curvature[at][other] += p * (1 - p) * value * second
    return _solved(curvature, gradient)


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solve a system with a positive definite matrix by Gauss's elimination."""
    size = len(right)
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for at in range(size):
        for below in range(at + 1, size):
            factor = rows[below][at] / rows[at][at]
            if factor:
                rows[below] = [b - factor * a for a, b in zip(rows[at], rows[below], strict=True)]
    values = [0.0] * size
    for at in reversed(range(size)):
        known = sum(rows[at][other] * values[other] for other in range(at + 1, size))
        values[at] = (rows[at][size] - known) / rows[at][at]
    return values


def steps_of(scored: Sequence[tuple[float, bool]], least: int) -> list[tuple[float, float]]:
    """Return steps that never fall: up to which score, and the share of outcomes there, drawn to a half by one case.

    Args:
        scored: score and outcome of each case.
        least: the fewest cases of a step.
    """
    steps: list[list[float]] = []  # upper score, outcomes, cases
    for value, right in sorted(scored):
        steps.append([value, float(right), 1.0])
        while len(steps) > 1 and (_share(steps[-2]) >= _share(steps[-1]) or steps[-2][2] < least):
            _join(steps)
    if len(steps) > 1 and steps[-1][2] < least:
        _join(steps)
    return [(upper, (right + 1) / (number + 2)) for upper, right, number in steps]


def _share(step: Sequence[float]) -> float:
    return step[1] / step[2]


def _join(steps: list[list[float]]) -> None:
    upper, right, number = steps.pop()
    steps[-1] = [upper, steps[-1][1] + right, steps[-1][2] + number]
