"""Calibration figures: expected calibration error with bins of equal mass or width, Brier score, a plot in text."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.quality.intervals import SEED, interval, wilson

BINS = 10
_ROUNDS = 300
_HEIGHT = 11


@dataclass(frozen=True, slots=True)
class Claim:
    """A confidence, how far it was right (a judge may call it half right), and the group that it belongs to."""

    confidence: float
    right: float
    group: str = ""


def equal_mass(claims: Sequence[Claim], bins: int = BINS) -> list[list[Claim]]:
    """Return claims in bins of as many each, by confidence; equal confidences stay together."""
    ordered = sorted(claims, key=lambda c: c.confidence)
    found: list[list[Claim]] = []
    size = max(1, round(len(ordered) / bins))
    for claim in ordered:
        if found and (len(found[-1]) < size or found[-1][-1].confidence == claim.confidence):
            found[-1].append(claim)
        else:
            found.append([claim])
    return found


def equal_width(claims: Sequence[Claim], bins: int = BINS) -> list[list[Claim]]:
    """Return claims in bins of the same width; empty ones are left out."""
    found: list[list[Claim]] = [[] for _ in range(bins)]
    for claim in claims:
        found[min(bins - 1, int(claim.confidence * bins))].append(claim)
    return [part for part in found if part]


def ece(parts: Sequence[Sequence[Claim]]) -> float:
    """Return the mean distance of confidence and outcome over bins, each weighed by its claims."""
    total = sum(map(len, parts))
    return sum(abs(_mean(p) - _right(p)) * len(p) for p in parts) / total if total else 0.0


def brier(claims: Sequence[Claim]) -> float:
    """Return the mean squared distance of confidence and outcome."""
    return sum((c.confidence - c.right) ** 2 for c in claims) / len(claims) if claims else 0.0


def floor(claims: Sequence[Claim], rounds: int = _ROUNDS) -> float:
    """Return the error (equal mass) that chance alone gives to confidences which are exactly right."""
    chance = random.Random(SEED)
    total = 0.0
    for _ in range(rounds):
        total += ece(equal_mass([Claim(c.confidence, chance.random() < c.confidence) for c in claims]))
    return total / rounds


def rows(parts: Sequence[Sequence[Claim]]) -> list[tuple[str, ...]]:
    """Return a line of cells for each bin."""
    return [
        (
            f"{min(c.confidence for c in p):.2f}..{max(c.confidence for c in p):.2f}", str(len(p)), f"{_mean(p):.3f}",
            f"{_right(p):.3f}", interval(*wilson(sum(c.right for c in p), len(p))),
        )
        for p in parts
    ]  # fmt: skip


def plot(parts: Sequence[Sequence[Claim]]) -> str:
    """Return a reliability plot: confidence to the right, outcome upwards; dots are where they would be equal."""
    width = 2 * _HEIGHT
    field = [[" "] * (width + 1) for _ in range(_HEIGHT)]
    for at in range(_HEIGHT):
        field[at][round(at * width / (_HEIGHT - 1))] = "."
    for p in parts:
        field[round(_right(p) * (_HEIGHT - 1))][round(_mean(p) * width)] = "o"
    lines = [f"  {row / (_HEIGHT - 1):.1f} |{''.join(cells)}" for row, cells in reversed(list(enumerate(field)))]
    return "\n".join([*lines, f"      +{'-' * (width + 1)}", "       0.0" + " " * (width - 5) + "1.0"])


def _mean(part: Sequence[Claim]) -> float:
    return sum(c.confidence for c in part) / len(part)


def _right(part: Sequence[Claim]) -> float:
    return sum(c.right for c in part) / len(part)
