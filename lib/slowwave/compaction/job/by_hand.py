"""What a person asked for: a compaction or a pruning of any session, also one that was stopped or taken back."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from slowwave.compaction.job.alone import alone, one_at_a_time
from slowwave.compaction.job.book import Appended, Book, read_book, write_book
from slowwave.compaction.job.clearing import Clearing, clear, clearing_of, why_not
from slowwave.compaction.job.derived import content_stamp
from slowwave.compaction.job.drafting import Draft, drafted, write
from slowwave.compaction.job.due import due
from slowwave.compaction.job.flushing import flush
from slowwave.compaction.job.growth import Growth, files_of, growth_to_be, sizes_of
from slowwave.compaction.job.noting import settled_book, with_growth
from slowwave.compaction.job.reading import read_session
from slowwave.compaction.job.run import Compacting
from slowwave.compaction.job.story import refusal
from slowwave.compaction.plan import NoPlan
from slowwave.errors import UsageError
from slowwave.stores.model import StoredSession
from slowwave.stores.writing.base import Compaction

_REFUSED = {
    "subagents": "a sub-agent's session belongs to the session it works for",
    "put_aside": "its client has put it aside",
    "read_only": "slowwave writes nothing to sessions of this kind",
}


@one_at_a_time
def compact_one(session: StoredSession, run: Compacting) -> tuple[Draft, Appended | None]:
    """Compact one session now, its memories first; with ``run.dry_run`` only plan it.

    Raises:
        UsageError: nothing would be gained, or its client takes no compaction; the message says why.
        RefusedError: a client has it open.
        SlowwaveError: it cannot be read.
    """
    book, stamp = _book(session, run)
    draft = drafted(session, stamp, run, by_hand=True)
    if not isinstance(draft, Draft):
        raise UsageError(f"{session.id}: {run.report.items[-1].reason}; nothing was written")
    if run.dry_run:
        return draft, None
    flush(session, stamp, run, draft.reading.cwd, book)
    return draft, write(draft, book, run, by_hand=True)


@one_at_a_time
def prune_one(session: StoredSession, run: Compacting) -> tuple[Clearing, Appended | None]:
    """Clear old outputs of tools of one session now; with ``run.dry_run`` only plan it.

    Raises:
        UsageError: too little would be gained, or its client has no record for it; the message says why.
        RefusedError: a client has it open.
        SlowwaveError: it cannot be read.
    """
    if reason := why_not(session.dialect):
        raise UsageError(
            f"{session.id}: {reason}; a compaction clears them from what a model reads. Nothing was written"
        )
    book, stamp = _book(session, run)
    reading = read_session(session.dialect, session.files)
    found = due(reading, run.settings.compaction, soft=0)
    clearing = clearing_of(session, stamp, reading, found)
    if isinstance(clearing, NoPlan):
        raise UsageError(f"{session.id}: {clearing.reason}; nothing was written")
    return clearing, None if run.dry_run else clear(clearing, book, run)


class ByHand:
    """What a writer appends while a person's own summary is written.

    Attributes:
        message: what the client calls the summary, once it stands.
    """

    def __init__(self, session: StoredSession) -> None:
        self.message = ""
        paths = session.files.paths
        self._before = sizes_of(files_of(paths[0]) if session.dialect == "cersei" else paths)
        self.growth: Growth | None = None

    def announce(self, path: Path, size: int, data: bytes) -> None:
        """Take what will be written, before it is."""
        self.growth = growth_to_be(self._before, path, size, data)


@contextmanager
def noted_by_hand(session: StoredSession, folder: Path, compaction: Compaction) -> Generator[ByHand]:
    """Note a summary that a person wrote and that is appended while the block runs, so that it can be taken back.

    Raises:
        LockHeldError: another run is at the session.
        CorruptStateError: the book of the session is damaged.
    """
    with alone(session, folder):
        book, by_hand = read_book(folder, session.id, session.dialect, session.files.paths[0]), ByHand(session)
        yield by_hand
        if by_hand.growth is None:
            return
        note = Appended(
            run="",
            trigger="a person's own summary",
            tokens_before=compaction.tokens_before,
            tokens_after=max(0, compaction.tokens_before - compaction.tokens_summarised),
            kept=0,
            summarised=0,
            keep_from=compaction.keep_from,
            dropped=[],
            source="person",
        )
        book.succeed(with_growth(note, by_hand.growth, by_hand.message))
        write_book(folder, book)


def _book(session: StoredSession, run: Compacting) -> tuple[Book, str]:
    if reason := refusal(session):
        raise UsageError(f"{session.id}: {_REFUSED[reason]}; nothing was written")
    return settled_book(session, run), content_stamp(session.files.paths)
