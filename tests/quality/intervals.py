"""Confidence intervals at 95 %: Wilson's for shares of independent trials, else the bootstrap over sessions."""

import math
import random
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

_Z = 1.959964
ROUNDS = 1000
SEED = 20261122


def wilson(right: float, total: int) -> tuple[float, float]:
    """Return Wilson's interval of a share; of no trial at all nothing is known."""
    if total == 0:
        return 0.0, 1.0
    share = right / total
    scale = 1 + _Z**2 / total
    middle = (share + _Z**2 / (2 * total)) / scale
    half = _Z * math.sqrt(share * (1 - share) / total + _Z**2 / (4 * total**2)) / scale
    return max(0.0, middle - half), min(1.0, middle + half)


def bootstrap(
    groups: Sequence[T], statistic: Callable[[Sequence[T]], float], rounds: int = ROUNDS
) -> tuple[float, float]:
    """Return the interval of a statistic when whole groups are drawn anew; draws that have no value do not count."""
    chance = random.Random(SEED)
    values = (statistic(chance.choices(groups, k=len(groups))) for _ in range(rounds if groups else 0))
    drawn = sorted(value for value in values if not math.isnan(value))
    if not drawn:
        return math.nan, math.nan
    return drawn[int(0.025 * len(drawn))], drawn[min(len(drawn) - 1, int(0.975 * len(drawn)))]


def share(right: int, total: int) -> str:
    """Return a share as a cell; nothing of nothing is no figure."""
    return f"{right / total:.3f}" if total else "-"


def interval(low: float, high: float) -> str:
    """Return an interval as a cell."""
    return "-" if math.isnan(low) else f"{low:.2f}..{high:.2f}"


def counted(right: int, total: int) -> tuple[str, str, str]:
    """Return the cells of a share: how many of how many, the share, Wilson's interval."""
    return f"{right}/{total}", share(right, total), interval(*wilson(right, total)) if total else "-"
