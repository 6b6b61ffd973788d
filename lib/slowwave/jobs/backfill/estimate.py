"""What a sample of sessions says about all of them: ratios to bytes, by groups of like size, with an interval."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TypeVar

T = TypeVar("T")

GROUPS = 8
# two standard errors: 19 of 20 such intervals hold the true number
_WIDE = 2.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with the interval that it lies in 19 times of 20, as far as chance goes."""

    value: float
    low: float
    high: float

    def scaled(self, factor: float) -> "Estimate":
        """Return the estimate of something that is proportional to this."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor)

    def plus(self, other: "Estimate") -> "Estimate":
        """Return the estimate of a sum; the errors are taken to come together, which is on the safe side."""
        return Estimate(self.value + other.value, self.low + other.low, self.high + other.high)


def groups_of(things: Sequence[T], size: Callable[[T], int], groups: int = GROUPS) -> list[list[T]]:
    """Return things in groups of like size, small ones first, each of as many things."""
    ordered = sorted(things, key=size)
    number = max(1, min(groups, len(ordered)))
    return [ordered[len(ordered) * at // number : len(ordered) * (at + 1) // number] for at in range(number)]


def sample_order(groups: Sequence[Sequence[T]], most: int) -> list[tuple[int, T]]:
    """Return up to ``most`` things with the number of their group, spread evenly over all groups and within each.

    The order goes round the groups, so that a sample that is stopped early is still spread; it is the same each time.
    """
    share = max(1, most // max(1, len(groups)))
    picks: list[list[tuple[int, T]]] = []
    for number, group in enumerate(groups):
        wanted = min(share, len(group))
        places = [len(group) * (2 * at + 1) // (2 * wanted) for at in _spread(wanted)]
        picks.append([(number, group[place]) for place in places])
    rounds = max((len(of_group) for of_group in picks), default=0)
    return [of_group[at] for at in range(rounds) for of_group in picks if at < len(of_group)]


def _spread(number: int) -> list[int]:
    """Return the numbers below ``number`` so that any beginning of them is spread: the middle, the quarters, ..."""
    bits = max(1, (number - 1).bit_length())
    every = (int(format(at, f"0{bits}b")[::-1], 2) for at in range(1 << bits))
    return [at for at in every if at < number]


def estimated(groups: Sequence[Sequence[int]], sampled: Sequence[Sequence[tuple[int, float]]]) -> Estimate:
    """Return the estimated sum of something over all things.

    Args:
        groups: the sizes of all things, by group.
        sampled: of each group, size and measured value of the things in the sample.
    """
    total = variance = 0.0
    for sizes, sample in zip(groups, sampled, strict=True):
        known = sum(size for size, _ in sample)
        if not known:
            # sessions without bytes: there is no ratio, but a mean
            total += len(sizes) * (sum(value for _, value in sample) / len(sample) if sample else 0.0)
            continue
        ratio = sum(value for _, value in sample) / known
        total += ratio * sum(sizes)
        if len(sample) > 1:
            spread = sum((value - ratio * size) ** 2 for size, value in sample) / (len(sample) - 1)
            variance += len(sizes) ** 2 * (1 - len(sample) / len(sizes)) * spread / len(sample)
    wide = _WIDE * sqrt(variance)
    return Estimate(total, max(0.0, total - wide), total + wide)
