"""Compaction of one project's sessions: gates, plan, memory flush, summary, append; each failure stays its session's.

It appends to transcripts and rewrites nothing. A second run finds nothing new since the compaction and appends nothing.
"""

from collections.abc import Sequence

from slowwave.compaction.job.alone import alone
from slowwave.compaction.job.book import Book, file_of, write_book
from slowwave.compaction.job.clearing import Clearing, clear
from slowwave.compaction.job.derived import content_stamp
from slowwave.compaction.job.drafting import Draft, drafted, write
from slowwave.compaction.job.flushing import flush
from slowwave.compaction.job.noting import settled_book
from slowwave.compaction.job.rested import Rested
from slowwave.compaction.job.run import Compacting
from slowwave.compaction.triggers import RESERVE_TOKENS
from slowwave.errors import MovedError, RefusedError, SlowwaveError, UsageError
from slowwave.report import Gate, Item, Report
from slowwave.stores.live import live_reason
from slowwave.stores.model import Project, StoredSession

# Dialects that have a record for it, and sources that their clients read no more.
WRITTEN = ("claude", "cersei", "pi", "openclaw", "codex", "crabtalk", "ulid")
_PUT_ASIDE = ("reset", "deleted", "backup", "archived")
# Every token is a byte at least, and what stands around a conversation (instructions, tools) is below the other half.
_LEAST_BYTES_A_TOKEN = 0.5


def compact_sessions(project: Project, sessions: Sequence[StoredSession], run: Compacting) -> Report:
    """Compact the sessions of a project that are due, the largest first, and return what was done.

    Raises:
        OSError: the state folder cannot be written.
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
                    "limit", project.key, passed=False, reason=f"{limit} sessions in one run (compaction.max_sessions)"
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
