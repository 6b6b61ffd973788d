"""Compaction of one project's sessions: gates, plan, memory flush, summary, append; each failure stays its session's.

It appends to transcripts and rewrites nothing. A second run finds nothing new since the compaction and appends nothing.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from slowwave.compaction.append import Growth, files_now, growth_to_be, settled_book, sizes_of, with_growth
from slowwave.compaction.book import (
    Appended,
    Book,
    Compacting,
    alone,
    content_stamp,
    file_of,
    one_at_a_time,
    read_book,
    write_book,
)
from slowwave.compaction.draft import Clearing, Draft, clear, clearing_of, drafted, why_not, write
from slowwave.compaction.due import Rested, due
from slowwave.compaction.flush import flush
from slowwave.compaction.plan import RESERVE_TOKENS, NoPlan
from slowwave.compaction.reading import read_session
from slowwave.errors import MovedError, RefusedError, SlowwaveError, UsageError
from slowwave.formats.registry import CLIENTS
from slowwave.formats.sessions import StoredSession
from slowwave.formats.writing import Compaction
from slowwave.quantities import counted
from slowwave.report import Gate, Item, Report
from slowwave.stores.discovery import live_reason
from slowwave.stores.projects import Project

# Clients that have a record for it, and sources that their clients read no more.
WRITTEN = tuple(name for name, client in CLIENTS.items() if client.compacting.is_written)
_PUT_ASIDE = ("reset", "deleted", "backup", "archived")
# Every token is a byte at least, and what stands around a conversation (instructions, tools) is below the other half.
_LEAST_BYTES_A_TOKEN = 0.5


def compact_sessions(project: Project, sessions: Sequence[StoredSession], run: Compacting) -> Report:
    """Compact the sessions of a project that are due, the largest first, and return what was done.

    Raises OSError: the state folder cannot be written.
    """
    limit = run.settings.compaction.max_sessions
    run.root = project.root
    rested = Rested(run.folder, project, run.settings.compaction)
    for session in sorted(sessions, key=lambda s: (-s.size, s.id)):
        run.report.count("sessions")
        if reason := refusal(session):
            run.report.count(reason)
            continue
        if sum(run.report.counts.get(name, 0) for name in ("compacted", "pruned", "planned")) >= limit:
            run.report.gates.append(
                Gate(
                    "limit",
                    project.key,
                    passed=False,
                    reason=f"{counted(limit, 'session')} in one run (compaction.max_sessions)",
                )
            )
            break
        if not run.force and rested.knows(session):
            run.report.count("unchanged")
        elif _contained(session, run):
            rested.add(session)
    if not run.dry_run:
        rested.save()
    return run.report


def refusal(session: StoredSession) -> str:
    """Return in one word why nobody appends to a session, "" when it may be done."""
    if session.kind == "subagent":
        return "subagents"
    if session.source in _PUT_ASIDE:
        return "put_aside"
    if session.in_database or session.dialect not in WRITTEN or session.files.paths[0].suffix != ".jsonl":
        return "read_only"
    return ""


def _contained(session: StoredSession, run: Compacting) -> bool:
    """Compact one session; whatever is wrong with it stays its own trouble. Return whether it is far from due."""
    before = run.report.counts.get("not_due", 0)
    try:
        is_new = not file_of(run.folder, session.files.paths[0]).exists()
        if is_new and not run.force and _is_small(session, run):
            run.report.count("small")
            return False
        with alone(session, run.folder, dry_run=run.dry_run):
            _looked_at(session, run)
    except MovedError as error:
        run.skip("moved", session, str(error))
    except RefusedError as error:
        run.skip("lock", session, str(error))
    except UsageError as error:
        run.skip("client", session, str(error))
    except (SlowwaveError, OSError) as error:
        run.fail(session, str(error))
    return run.report.counts.get("not_due", 0) > before


def _looked_at(session: StoredSession, run: Compacting) -> None:
    book = settled_book(session, run)
    if not run.force and _is_small(session, run):
        run.report.count("small")
        return
    stamp = content_stamp(session.files.paths)
    if _may(session, book, stamp, run):
        _attempted(session, book, stamp, run)


def _is_small(session: StoredSession, run: Compacting) -> bool:
    """Say whether a session's bytes alone prove that it is not due; a client's own window is never that small."""
    chosen, told = run.settings.compaction, run.chosen(session)
    window = chosen.context_window or min([100_000, *chosen.windows.values()])
    reserve = chosen.reserve_tokens if chosen.reserve_tokens is not None else told.reserve_tokens or RESERVE_TOKENS
    least = min(window - reserve, told.limit or window, chosen.trigger_bytes or window)
    return session.size < least * _LEAST_BYTES_A_TOKEN


def _may(session: StoredSession, book: Book, stamp: str, run: Compacting) -> bool:
    breaker = book.breaker(stamp)
    if breaker.is_open and not run.force:
        reason = f"stopped after {breaker.failures} failures in a row: {book.error}"
        return run.gate("breaker", session, reason)
    if book.undone_at == stamp and not run.force:
        return run.gate("undone", session, "a person took its compaction back, and it has not changed since")
    live = live_reason(session, run.clock.now(), run.settings.extraction.idle, run.home)
    return live is None or run.gate("idle", session, live)


def _attempted(session: StoredSession, book: Book, stamp: str, run: Compacting) -> None:
    try:
        draft = drafted(session, stamp, run)
        if draft is None:
            return
        _carried_out(draft, book, run)
    except (RefusedError, UsageError):
        raise
    except Exception as error:  # noqa: BLE001 - a session that trips a bug must not cost the others their night
        message = str(error) if isinstance(error, SlowwaveError) else f"{type(error).__name__}: {error}"
        book.fail(message[:300], stamp)
        if not run.dry_run:
            write_book(run.folder, book)
        run.fail(session, message)


def _carried_out(draft: Draft | Clearing, book: Book, run: Compacting) -> None:
    action, done_word = ("prune", "pruned") if isinstance(draft, Clearing) else ("compact", "compacted")
    item = Item(draft.session.id, action, draft.reason, run.project)
    if run.dry_run:
        run.report.items.append(item)
        run.report.count("planned")
        return
    if isinstance(draft, Clearing):
        done = clear(draft, book, run)  # nothing that was said goes away, so there are no memories to save first
    else:
        flush(draft.session, draft.stamp, run, draft.reading.cwd, book)
        done = write(draft, book, run)
    run.report.items.append(item)
    run.report.count(done_word)
    run.report.count("tokens_before", done.tokens_before)
    run.report.count("tokens_after", done.tokens_after)


# What a person asked for: a compaction or a pruning of any session, also one that was stopped or taken back.

_REFUSED = {
    "subagents": "a sub-agent's session belongs to the session it works for",
    "put_aside": "its client has put it aside",
    "read_only": "slowwave writes nothing to sessions of this kind",
}


@one_at_a_time
def compact_one(session: StoredSession, run: Compacting) -> tuple[Draft, Appended | None]:
    """Compact one session now, its memories first; with ``run.dry_run`` only plan it.

    Raises UsageError: nothing would be gained, or its client takes no compaction, the message says why; RefusedError: a
    client has it open; SlowwaveError: it cannot be read.
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

    Raises UsageError: too little would be gained, or its client has no record for it, the message says why;
    RefusedError: a client has it open; SlowwaveError: it cannot be read.
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
        self._before = sizes_of(files_now(session))
        self.growth: Growth | None = None

    def announce(self, path: Path, size: int, data: bytes) -> None:
        """Take what will be written, before it is."""
        self.growth = growth_to_be(self._before, path, size, data)


@contextmanager
def noted_by_hand(session: StoredSession, folder: Path, compaction: Compaction) -> Generator[ByHand]:
    """Note a summary that a person wrote and that is appended while the block runs, so that it can be taken back.

    Raises LockHeldError: another run is at the session; CorruptStateError: the book of the session is damaged.
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
