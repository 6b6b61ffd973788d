"""What lies before the end of a context that a plan weighs: its sizes are known, its words are read again on demand."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from slowwave.compaction.items import Item
from slowwave.compaction.live.items import About, Kind, Records
from slowwave.compaction.live.trail import BEGINS, SPEAKS, TURN, Trail

# what is decoded at once while the words are read again
CHUNK_BYTES = 1 << 20


class Earlier:
    """Records of a context that are not held.

    Args:
        paths: the files of the session.
        trail: the records of its context.
        stop: how many of them lie before its end.
        kind: how they become items.
        about: what the session says about them.
        chunk_bytes: about how much of them is decoded at once.

    Attributes:
        tokens: about how many they take.
        size: their bytes.
        messages: about how many messages they are.
    """

    def __init__(
        self, paths: tuple[Path, ...], trail: Trail, stop: int, kind: Kind, about: About, chunk_bytes: int = CHUNK_BYTES
    ) -> None:
        self._paths, self._trail, self._stop = paths, trail, stop
        self._kind, self._about, self._chunk_bytes = kind, about, chunk_bytes
        self.tokens = trail.tokens(stop)
        self.size = trail.size(stop)
        self.messages = trail.count(SPEAKS, stop)

    @property
    def has_turn(self) -> bool:
        """Whether a turn begins in it."""
        return self._trail.count(TURN, self._stop) > 0

    def items(self) -> Iterator[Item]:
        """Read it again and yield its items in order; no more than a stretch of them is held.

        Raises:
            UnreadableError: the session cannot be read, or has changed since.
        """
        for start, stop in self._chunks():
            records: Records = list(self._trail.records(self._paths, self._kind.decoder, range(start, stop)))
            yield from self._kind.items(records, self._about, False)  # noqa: FBT003 - one of a table

    def ranges(self) -> Iterator[tuple[int, int, int]]:
        """Yield part, offset and length of each record."""
        return (self._trail[at][:3] for at in range(self._stop))

    def _chunks(self) -> Iterator[tuple[int, int]]:
        """Yield stretches that can be read by themselves."""
        start = size = 0
        for at in range(self._stop):
            if size >= self._chunk_bytes and self._trail.has(at, BEGINS):
                yield start, at
                start, size = at, 0
            size += self._trail[at].length
        if start < self._stop:
            yield start, self._stop


def joined_ranges(ranges: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return ranges (part, offset and length) in order, those joined that no more than a line end lies between."""
    found: list[tuple[int, int, int]] = []
    for part, offset, length in sorted(ranges):
        if found and found[-1][0] == part and offset <= found[-1][1] + found[-1][2] + 2:
            _, start, known = found[-1]
            found[-1] = (part, start, max(start + known, offset + length) - start)
        else:
            found.append((part, offset, length))
    return found
