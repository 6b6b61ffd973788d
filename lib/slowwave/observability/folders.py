"""What stands in a memory folder now: how large it is, and what waits there that no dream has looked at."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from slowwave.consolidation.backlog import backlog_of
from slowwave.errors import SlowwaveError
from slowwave.files import file_bytes
from slowwave.memory.book import read_book
from slowwave.memory.topics import INDEX


class Footprint(msgspec.Struct, frozen=True):
    """One project's memory.

    Attributes:
        project: its key.
        memories: active memories.
        lines: lines of its index.
        bytes: bytes of its index.
        backlog: candidates that no dream has looked at.
        oldest: when the first of them was noted, ISO time, or "".
    """

    project: str
    memories: int = 0
    lines: int = 0
    bytes: int = 0
    backlog: int = 0
    oldest: str = ""

    def share(self, lines: int, size: int) -> float:
        """Return how full the index is, of its lines or its bytes, whichever is fuller; 1.0 is full."""
        return max(self.lines / lines if lines else 0.0, self.bytes / size if size else 0.0)


def footprints(folders: Sequence[tuple[str, Path]]) -> tuple[list[Footprint], list[str]]:
    """Return the footprint of each memory folder, given with its project's key, and what could not be read."""
    found: list[Footprint] = []
    problems: list[str] = []
    for project, memory in folders:
        try:
            found.append(footprint(project, memory))
        except (SlowwaveError, OSError) as error:
            problems.append(f"{project}: {error}")
    return found, problems


def footprint(project: str, memory: Path) -> Footprint:
    """Return the footprint of one memory folder.

    Raises:
        CorruptStateError: ledger or state are damaged.
        UnreadableError: a file cannot be read.
        OSError: as above.
    """
    if not memory.is_dir():
        return Footprint(project)
    book = read_book(memory)
    index = memory / INDEX
    data = file_bytes(index) if index.is_file() else b""
    times = [noted for _, noted in backlog_of(memory, book)]
    return Footprint(
        project, len(book.active), len(data.splitlines()), len(data), len(times), min(filter(None, times), default="")
    )
