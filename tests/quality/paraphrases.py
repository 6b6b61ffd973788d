"""Pairs of statements that say the same: in another spelling, or in other words."""

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import cast

from slowwave.memory import Category
from tests.quality.blocks import blocks, values
from tests.quality.twins import Pair


def _begun_small(text: str) -> str:
    """Return a sentence as it goes on after another word: names and "I" keep their capital."""
    return text if text[:2].isupper() or text[1] in " '" else f"{text[0].lower()}{text[1:]}"


# what a person changes without a thought when they say it again
_SPELLINGS: tuple[Callable[[str], str], ...] = (
    lambda text: _begun_small(text).rstrip("."),
    lambda text: f"Please {_begun_small(text)}",
    lambda text: f"{text.rstrip('.')}!",
    lambda text: text.replace("'", "\u2019").replace(" ", "  ", 1),
)


def paraphrases(name: str = "paraphrases.txt") -> Iterator[Pair]:
    """Yield every pair of statements of a file that mean the same."""
    for (category,), (*wordings, listed) in blocks(name):
        of_category = cast("Category", category)
        for value in values(listed):
            said = [wording.format(value) for wording in wordings]
            for one, other in combinations(said, 2):
                yield Pair("other words", of_category, one, other)
            for spelled in _SPELLINGS:
                if spelled(said[0]) != said[0]:
                    yield Pair("another spelling", of_category, said[0], spelled(said[0]))
