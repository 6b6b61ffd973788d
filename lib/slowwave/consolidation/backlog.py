"""What no dream has looked at yet, and since when it waits."""

from datetime import datetime
from pathlib import Path

from slowwave.consolidation.state import read_state
from slowwave.formats.times import parse_time
from slowwave.memory.book import Book, read_book
from slowwave.memory.candidates import candidates_path, read_entries
from slowwave.memory.model import Candidate, iso


def backlog_of(memory: Path, book: Book, noted: Path | None = None) -> list[tuple[Candidate, str]]:
    """Return each candidate that no dream has looked at, and when it was noted: ISO time, "" where it is not known.

    What a dream has looked at and let wait for more evidence is no backlog: it may wait for ever.

    Args:
        memory: the memory folder.
        book: what its ledger adds up to.
        noted: the folder that the candidates are in, where that is another one.

    Raises:
        CorruptStateError: the state is damaged.
        UnreadableError: the candidates cannot be read.
    """
    if not candidates_path(noted or memory).exists():
        return []
    last = read_state(memory)
    found: list[tuple[Candidate, str]] = []
    open_: list[Candidate] = []
    for entry in read_entries(noted or memory)[0]:
        if isinstance(entry, Candidate):
            open_.append(entry)
            continue
        # candidates stand before the ranges of bytes that they came from, and these say when they were read
        at = _known(entry.at)
        found += [(c, at) for c in open_ if not _is_settled(c, book) and _is_later(at, last)]
        open_ = []
    return found + [(c, _known(c.observed_at)) for c in open_ if not _is_settled(c, book)]


def waiting_since(memory: Path, noted: Path | None = None) -> datetime | None:
    """Return since when the oldest of them waits: since it was said, or was noted where no record says when.

    None when there is none, or no time is known of any. The arguments are those of :func:`backlog_of`.

    Raises:
        CorruptStateError: the state or the ledger is damaged.
        UnreadableError: a file cannot be read.
    """
    if not candidates_path(noted or memory).exists():
        return None
    times = (
        min(filter(None, (_known(c.observed_at), noted)), default="")
        for c, noted in backlog_of(memory, read_book(memory), noted)
    )
    oldest = min(filter(None, times), default="")
    return datetime.fromisoformat(oldest) if oldest else None


def _is_settled(candidate: Candidate, book: Book) -> bool:
    return candidate.id in book.done or candidate.id in book.undone or candidate.id in book.rejected


def _known(at: str) -> str:
    """Return a time in UTC, "" where it is damaged: what waits since nobody knows when waits all the same."""
    return iso(found) if (found := parse_time(at)) else ""


def _is_later(at: str, last: float | None) -> bool:
    """Say whether something was noted after the last dream began, in whole seconds; a night notes, then dreams."""
    return last is None or not at or datetime.fromisoformat(at).timestamp() > last
