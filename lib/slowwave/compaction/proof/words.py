"""Words of texts, to see whether two tell the same: in the same order, or the same words in other order."""

import re
from collections.abc import Sequence

_WORD = re.compile(r"[^\W_]+")
_FIVE = 5
# fmt: off
_EMPTY = frozenset({
    "a", "an", "the", "this", "that", "it", "its", "is", "are", "be", "was", "were", "to", "of", "for", "in", "on",
    "at", "with", "by", "from", "as", "and", "or", "so", "then", "we", "you", "i", "me", "my", "our", "us", "your",
    "do", "does", "did", "have", "has", "had", "can", "could", "would", "should", "will", "please", "let", "lets",
    "s", "t", "ll", "ve", "re", "d", "m", "now", "also", "just", "ok", "okay", "yes", "no", "not", "but", "if",
    "there", "they", "them", "these", "those", "what", "which", "how", "all", "some", "any",
})
# fmt: on


def words_of(text: str) -> list[str]:
    """Return the words of a text."""
    return _WORD.findall(text.casefold())


def content(words: Sequence[str]) -> frozenset[str]:
    """Return the words that say something."""
    return frozenset(word for word in words if word not in _EMPTY)


def runs(words: Sequence[str]) -> frozenset[tuple[str, ...]]:
    """Return every run of five words; all of them when there are fewer."""
    size = min(_FIVE, len(words))
    return frozenset(tuple(words[at : at + size]) for at in range(len(words) - size + 1)) if size else frozenset()
