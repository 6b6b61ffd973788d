"""A session's new passages in portions that fit a question, each with a little of what came before it.

The smallest portion is one record: what of it was read is noted by its bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from slowwave.extraction.model.material import Passage

Unit = tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """One portion.

    Attributes:
        units: the new passages, by record, in order.
        earlier: passages right before the first of them.
    """

    units: tuple[Unit, ...]
    earlier: tuple[Passage, ...]

    @property
    def new(self) -> tuple[Passage, ...]:
        """The new passages."""
        return tuple(passage for unit in self.units for passage in unit)

    @property
    def numbered(self) -> dict[int, Passage]:
        """Every passage by the number that the model knows it by."""
        return dict(enumerate((*self.earlier, *self.new), start=1))

    def halves(self, overlap_tokens: int) -> tuple["Window", "Window"]:
        """Return the two halves; the second sees the end of the first as what came before."""
        middle = len(self.units) // 2
        first = Window(self.units[:middle], self.earlier)
        return first, Window(self.units[middle:], _last((*self.earlier, *first.new), overlap_tokens))

    def alone(self) -> "Window":
        """Return the window without what came before it."""
        return Window(self.units, ())


def windows_of(
    passages: Sequence[Passage], is_new: Sequence[bool], window_tokens: int, overlap_tokens: int
) -> list[Window]:
    """Cut the new passages into windows.

    Args:
        passages: all passages of the session, in order.
        is_new: for each, whether it is to be read.
        window_tokens: how large a window may be; a record that is larger has one for itself.
        overlap_tokens: how much of what came before is shown.
    """
    windows: list[Window] = []
    units: list[Unit] = []
    begin = size = 0
    numbered = list(enumerate(passages))
    for _, group in groupby(numbered, key=lambda pair: (pair[1].span.part, pair[1].span.offset)):
        record = list(group)
        if not is_new[record[0][0]]:
            continue
        unit = tuple(passage for _, passage in record)
        tokens = sum(passage.tokens for passage in unit)
        if units and size + tokens > window_tokens:
            windows.append(Window(tuple(units), _last(passages[:begin], overlap_tokens)))
            units, size = [], 0
        if not units:
            begin = record[0][0]
        units.append(unit)
        size += tokens
    if units:
        windows.append(Window(tuple(units), _last(passages[:begin], overlap_tokens)))
    return windows


def _last(passages: Sequence[Passage], most_tokens: int) -> tuple[Passage, ...]:
    """Return the last passages that fit."""
    size = 0
    for at in range(len(passages) - 1, -1, -1):
        size += passages[at].tokens
        if size > most_tokens:
            return tuple(passages[at + 1 :])
    return tuple(passages)
