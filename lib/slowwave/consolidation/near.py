"""Finding the texts that may be the same fact, without comparing everything with everything.

Two texts can only be the same when their marks are equal and one has all bare words of the other. So each text is found
by all of its words, and by its longest one: the longest word of the shorter text is in the longer one.
"""

from typing import Generic, TypeVar

from slowwave.consolidation.likeness import words_of

T = TypeVar("T")
_Place = tuple[frozenset[str], str]


class Near(Generic[T]):
    """Items with a text each, found by texts that may say the same."""

    def __init__(self) -> None:
        self._items: list[T] = []
        self._by_word: dict[_Place, list[int]] = {}
        self._by_longest: dict[_Place, list[int]] = {}

    def add(self, text: str, item: T) -> None:
        """Add an item."""
        marks, words, longest = _keys(text)
        for word in words:
            self._by_word.setdefault((marks, word), []).append(len(self._items))
        self._by_longest.setdefault((marks, longest), []).append(len(self._items))
        self._items.append(item)

    def find(self, text: str) -> list[T]:
        """Return the items that may say the same as ``text``, in the order in which they were added."""
        marks, words, longest = _keys(text)
        found = set(self._by_word.get((marks, longest), ()))
        for word in words:
            found.update(self._by_longest.get((marks, word), ()))
        return [self._items[number] for number in sorted(found)]


def _keys(text: str) -> tuple[frozenset[str], frozenset[str], str]:
    words = words_of(text)
    # a text of nothing but filler is only ever the same as itself
    stems = frozenset(words.stems) or frozenset({" ".join(text.split())})
    return words.marks, stems, max(stems, key=lambda stem: (len(stem), stem))
