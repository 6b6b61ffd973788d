"""Pairs of statements that look alike and say different things: they differ in one number, version, path, name..."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import cast

from slowwave.memory import Category
from tests.quality.blocks import blocks, values


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements.

    Attributes:
        kind: in what they differ, or how one is a paraphrase of the other.
        both_hold: whether both can be true at once, so that neither may take the other's place.
    """

    kind: str
    category: Category
    one: str
    other: str
    both_hold: bool = False


# spellings of one value, which may be merged
_SAME = {"3": "three", "5": "five", "1": "one", "2": "two", "s": "seconds", "ms": "milliseconds", "v20": "20"} | {
    "M": "MB",
    "Mi": "MB",
    "12": "bookworm",
    "11": "bullseye",
    "1000000": "1,000,000",
}


def twins(name: str = "twins.txt") -> Iterator[Pair]:
    """Yield every pair of twins of a file."""
    for (kind, category, *both), lines in blocks(name):
        of_category = cast("Category", category)
        *sentences, listed = lines
        if kind in ("negation", "state"):
            for value in values(listed):
                yes, no = (sentence.format(value) for sentence in sentences)
                yield Pair(kind, of_category, yes, no, bool(both))
                # said a little differently: the one difference must keep them apart
                yield Pair(kind, of_category, f"please {yes[0].lower()}{yes[1:]}", no, bool(both))
            continue
        for one, other in combinations(values(listed), 2):
            if kind == "order":
                yield Pair(kind, of_category, sentences[0].format(one, other), sentences[0].format(other, one))
            elif _SAME.get(one, one) != _SAME.get(other, other):
                yield Pair(kind, of_category, sentences[0].format(one), sentences[0].format(other), bool(both))
