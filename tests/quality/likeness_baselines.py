"""What else could tell duplicates: measures of likeness with a threshold, each at its best."""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from tests.quality.twins import Pair

Likeness = Callable[[str, str], float]
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class AtThreshold:
    """How a measure does when everything at least so alike is merged."""

    threshold: float
    wrong: int
    left: int


def token_set(one: str, other: str) -> float:
    """Return rapidfuzz's token set ratio, 0 to 1."""
    return fuzz.token_set_ratio(one.casefold(), other.casefold()) / 100


def jaccard(one: str, other: str) -> float:
    """Return the share of words that two texts have in common."""
    a, b = (set(_WORD.findall(text.casefold())) for text in (one, other))
    return len(a & b) / len(a | b) if a | b else 0.0


def tf_idf(texts: Sequence[str]) -> Likeness:
    """Return the cosine of texts whose words weigh the more, the rarer they are among all texts."""
    seen = Counter(word for text in texts for word in set(_WORD.findall(text.casefold())))
    rarity = {word: math.log(len(texts) / number) + 1 for word, number in seen.items()}

    def vector(text: str) -> dict[str, float]:
        counts = Counter(_WORD.findall(text.casefold()))
        weights = {word: number * rarity[word] for word, number in counts.items()}
        length = math.sqrt(sum(w * w for w in weights.values())) or 1.0
        return {word: w / length for word, w in weights.items()}

    def cosine(one: str, other: str) -> float:
        a, b = vector(one), vector(other)
        return sum(weight * b.get(word, 0.0) for word, weight in a.items())

    return cosine


def best(likeness: Likeness, twins: Sequence[Pair], same: Sequence[Pair]) -> AtThreshold:
    """Return how a measure does at the threshold that parts the two kinds best (Youden's index)."""
    return min(_every(likeness, twins, same), key=lambda at: at.wrong / len(twins) + at.left / len(same))


def without_wrong(likeness: Likeness, twins: Sequence[Pair], same: Sequence[Pair]) -> AtThreshold:
    """Return how a measure does at the lowest threshold that merges no twins."""
    return min((at for at in _every(likeness, twins, same) if not at.wrong), key=lambda at: at.threshold)


def _every(likeness: Likeness, twins: Sequence[Pair], same: Sequence[Pair]) -> list[AtThreshold]:
    apart = [likeness(pair.one, pair.other) for pair in twins]
    alike = [likeness(pair.one, pair.other) for pair in same]
    thresholds = sorted({*apart, *alike, 2.0})
    return [AtThreshold(t, sum(x >= t for x in apart), sum(x < t for x in alike)) for t in thresholds]
