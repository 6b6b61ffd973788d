"""What stands in a memory folder now: how large it is, and what waits there that no dream has looked at."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from slowwave.consolidation.state import read_state
from slowwave.dialects.times import parse_time
from slowwave.errors import SlowwaveError
from slowwave.files import file_bytes
from slowwave.memory.book import Book, read_book
from slowwave.memory.candidates import candidates_path, read_entries
from slowwave.memory.model import Candidate, iso
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
    times = backlog_of(memory, book)
    return Footprint(
        project, len(book.active), len(data.splitlines()), len(data), len(times), min(filter(None, times), default="")
    )


def backlog_of(memory: Path, book: Book) -> list[str]:
    """Return when each candidate was noted that no dream has looked at, as ISO times; "" where it is not known.

    What a dream has looked at and let wait for more evidence is no backlog: it may wait for ever.

    Raises:
        CorruptStateError: the state is damaged.
        UnreadableError: the candidates cannot be read.
    """
    if not candidates_path(memory).exists():
        return []
    last = read_state(memory)
    times: list[str] = []
    open_: list[Candidate] = []
    for entry in read_entries(memory)[0]:
        if isinstance(entry, Candidate):
            open_.append(entry)
            continue
        # candidates stand before the ranges of bytes that they came from, and these say when they were read
        at = _known(entry.at)
        times += [at for c in open_ if not _is_settled(c, book) and _is_later(at, last)]
        open_ = []
    return times + [_known(c.observed_at) for c in open_ if not _is_settled(c, book)]


def _is_settled(candidate: Candidate, book: Book) -> bool:
    return candidate.id in book.done or candidate.id in book.undone or candidate.id in book.rejected


def _known(at: str) -> str:
    """Return a time in UTC, "" where it is damaged: what waits since nobody knows when waits all the same."""
    return iso(found) if (found := parse_time(at)) else ""


def _is_later(at: str, last: float | None) -> bool:
    """Say whether something was noted after the last dream began, in whole seconds; a night notes, then dreams."""
    return last is None or not at or datetime.fromisoformat(at).timestamp() > last
