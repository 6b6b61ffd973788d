"""Compaction of one project's sessions: gates, plan, memory flush, summary, append; each failure stays its session's.

It appends to transcripts and rewrites nothing. A second run finds nothing new since the compaction and appends nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowwave.clock import Clock
from slowwave.compaction.flush import SOFT_THRESHOLD_TOKENS
from slowwave.compaction.job.appending import Order, append
from slowwave.compaction.job.book import Appended, Book, folder_of, read_book, write_book
from slowwave.compaction.job.derived import content_stamp
from slowwave.compaction.job.due import Due, budget_of, due
from slowwave.compaction.job.planning import planned, ranges_of, spans_of, tokens_after
from slowwave.compaction.job.reading import Reading, read_session
from slowwave.compaction.job.summary import Summarise, Summary, summary_of
from slowwave.compaction.plan import NoPlan, Plan
from slowwave.errors import MovedError, RefusedError, SlowwaveError, UsageError
from slowwave.places import home_folder
from slowwave.report import Gate, Item, Report
from slowwave.settings import Settings
from slowwave.stores.live import live_reason
from slowwave.stores.model import Project, StoredSession

# Dialects that have a record for it, and sources that their clients read no more.
WRITTEN = ("claude", "cersei", "pi", "openclaw", "codex", "crabtalk", "ulid")
_PUT_ASIDE = ("reset", "deleted", "backup", "archived")
# Every token is a byte at least, and what stands around a conversation (instructions, tools) is below the other half.
_LEAST_BYTES_A_TOKEN = 0.5

Flush = Callable[[StoredSession], Report]


@dataclass(slots=True)
class Compacting:
    """What all sessions of a run have in common.

    Attributes:
        project: key of the project.
        settings: the settings in force.
        clock: what time it is.
        environ: the environment.
        summarise: makes summaries.
        flush: saves the memories of a session first.
        run_id: names the run.
        force: compact what is not due, too, and what was undone or stopped; never a live session.
        dry_run: plan and report, change nothing.
        report: what was done.
        redact: takes secrets out of whatever is written.
    """

    project: str
    settings: Settings
    clock: Clock
    environ: Mapping[str, str]
    summarise: Summarise
    flush: Flush
    run_id: str = ""
    force: bool = False
    dry_run: bool = False
    report: Report = field(default_factory=lambda: Report("compact"))
    redact: Callable[[str], str] = str

    @property
    def folder(self) -> Path:
        """Where the books are."""
        return folder_of(self.environ)

    @property
    def home(self) -> Path:
        """The home folder of the person whose sessions these are."""
        return home_folder(self.environ)


class Draft:
    """A session with its plan and its summary, before anything is appended."""

    def __init__(
        self, session: StoredSession, stamp: str, reading: Reading, is_due: Due, plan: Plan, summary: Summary
    ) -> None:
        self.session, self.stamp, self.reading, self.due = session, stamp, reading, is_due
        self.plan, self.summary = plan, summary
        gone = [item for item in plan.history + plan.prefix if item.speaks]
        self.summarised = len(gone)
        self.dropped = ranges_of(gone)
        self.kept = sum(item.speaks for item in plan.kept)
        saved = reading.guess - tokens_after(reading, plan, summary.text)
        self.tokens_after = max(0, is_due.tokens - saved)

    @property
    def reason(self) -> str:
        """What would be done, in one sentence."""
        keeps = f"keeps {self.kept} from {self.plan.first_kept}" if self.kept else "keeps none"
        split = ", in the middle of a turn" if self.plan.is_split and self.kept else ""
        return (
            f"{self.due.reason}; summarises {self.summarised} messages, {keeps}{split};"
            f" about {self.tokens_after:,} tokens after"
        )


def compact_sessions(project: Project, sessions: Sequence[StoredSession], run: Compacting) -> Report:
    """Compact the sessions of a project that are due, the largest first, and return what was done.

    Raises:
        OSError: the state folder cannot be written.
    """
    limit = run.settings.compaction.max_sessions
    for session in sorted(sessions, key=lambda s: (-s.size, s.id)):
        run.report.count("sessions")
        if reason := refusal(session):
            run.report.count(reason)
            continue
        if run.report.counts.get("compacted", 0) + run.report.counts.get("planned", 0) >= limit:
            run.report.gates.append(
                Gate(
                    "limit", project.key, passed=False, reason=f"{limit} sessions in one run (compaction.max_sessions)"
                )
            )
            break
        _contained(session, run)
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


def _contained(session: StoredSession, run: Compacting) -> None:
    """Compact one session; whatever is wrong with it stays its own trouble."""
    try:
        book = read_book(run.folder, session.id, session.dialect, session.files.paths[0])
        if not run.force and _is_small(session, run.settings):
            run.report.count("small")
            return
        stamp = content_stamp(session.files.paths)
        if not _may(session, book, stamp, run):
            return
        _attempted(session, book, stamp, run)
    except MovedError as error:
        _skip(session, run, "moved", str(error))
    except RefusedError as error:
        _skip(session, run, "lock", str(error))
    except UsageError as error:
        _skip(session, run, "client", str(error))
    except (SlowwaveError, OSError) as error:
        _fail(session, run, str(error))


def _is_small(session: StoredSession, settings: Settings) -> bool:
    """Say whether a session's bytes alone prove that it is not due; a client's own window is never that small."""
    chosen = settings.compaction
    window = chosen.context_window or min([100_000, *chosen.windows.values()])
    least = min(window - chosen.reserve_tokens, chosen.trigger_bytes or window)
    return session.size < least * _LEAST_BYTES_A_TOKEN


def _may(session: StoredSession, book: Book, stamp: str, run: Compacting) -> bool:
    breaker = book.breaker(stamp)
    if breaker.is_open and not run.force:
        reason = f"stopped after {breaker.failures} failures in a row: {book.error}"
        return _gate("breaker", session, run, reason)
    if book.undone_at == stamp and not run.force:
        return _gate("undone", session, run, "a person took its compaction back, and it has not changed since")
    live = live_reason(session, run.clock.now(), run.settings.extraction.idle, run.home)
    return live is None or _gate("idle", session, run, live)


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
        _fail(session, run, message)


def drafted(session: StoredSession, stamp: str, run: Compacting, *, by_hand: bool = False) -> Draft | None:
    """Return what would be appended to a session; None after saying why nothing is.

    Raises:
        SlowwaveError: it cannot be read, or its client takes no compaction there.
    """
    reading = read_session(session.dialect, session.files)
    chosen = run.settings.compaction
    live = sum(len(span.raw) for span in spans_of(reading.items)) if chosen.trigger_bytes else 0
    found = due(reading, chosen, soft=SOFT_THRESHOLD_TOKENS, live_bytes=live)
    if not (found.is_due or by_hand or run.force):
        run.report.count("not_due")
        if found.is_near:
            _flush(session, stamp, run)
        return None
    budget = budget_of(session.dialect, chosen)
    plan = planned(reading, budget)
    if isinstance(plan, NoPlan):
        _skip(session, run, "plan", f"{found.reason}; {plan.reason}")
        return None
    draft = Draft(session, stamp, reading, found, plan, summary_of(reading, plan, budget, run.summarise, run.redact))
    after = tokens_after(reading, plan, draft.summary.text)
    if after >= reading.guess:
        reason = f"{found.reason}; the context would not shrink: {reading.guess:,} tokens would become {after:,}"
        _skip(session, run, "plan", reason)
        return None
    return draft


def _carried_out(draft: Draft, book: Book, run: Compacting) -> None:
    item = Item(draft.session.id, "compact", draft.reason, run.project)
    if run.dry_run:
        run.report.items.append(item)
        run.report.count("planned")
        return
    _flush(draft.session, draft.stamp, run, book)
    done = write(draft, book, run)
    run.report.items.append(item)
    run.report.count("compacted")
    run.report.count("tokens_before", done.tokens_before)
    run.report.count("tokens_after", done.tokens_after)


def write(draft: Draft, book: Book, run: Compacting, *, by_hand: bool = False) -> Appended:
    """Append what was drafted, and note it.

    Raises:
        SlowwaveError: as :func:`slowwave.compaction.job.appending.append`.
        OSError: the disk is full.
    """
    summary, plan = draft.summary, draft.plan
    order = Order(
        draft.session, draft.stamp, draft.reading, plan, summary.text, summary.files, draft.due.tokens, by_hand
    )
    grown, message = append(order, run.settings, run.home)
    done = Appended(
        id=grown.sha256[:12],
        run=run.run_id,
        path=str(grown.path),
        before=grown.before,
        after=grown.after,
        sha256=grown.sha256,
        mtime_ns=grown.mtime_ns,
        message=message,
        trigger=draft.due.reason,
        tokens_before=draft.due.tokens,
        tokens_after=draft.tokens_after,
        kept=draft.kept,
        summarised=draft.summarised,
        keep_from=plan.first_kept,
        dropped=draft.dropped,
        source=summary.source,
        score=summary.score,
        lost=list(summary.lost),
    )
    book.succeed(done)
    write_book(run.folder, book)
    return done


def _flush(session: StoredSession, stamp: str, run: Compacting, book: Book | None = None) -> None:
    """Save the memories of a session, once for one content of it."""
    book = book or read_book(run.folder, session.id, session.dialect, session.files.paths[0])
    if run.dry_run or book.flushed_at == stamp:
        return
    saved = run.flush(session)
    run.report.warnings += [*saved.warnings, *saved.failures]
    run.report.items += [item for item in saved.items if item.action == "candidate"]
    run.report.count("flushed")
    run.report.count("candidates", saved.counts.get("candidates", 0))
    book.flushed_at = stamp
    write_book(run.folder, book)


def _gate(gate: str, session: StoredSession, run: Compacting, reason: str) -> bool:
    run.report.gates.append(Gate(gate, run.project, passed=False, reason=f"session {session.id}: {reason}"))
    return False


def _skip(session: StoredSession, run: Compacting, gate: str, reason: str) -> None:
    _gate(gate, session, run, reason)
    run.report.items.append(Item(session.id, "skip", reason, run.project))
    run.report.count("skipped")


def _fail(session: StoredSession, run: Compacting, message: str) -> None:
    run.report.failures.append(f"{run.project}: session {session.id}: {message}")
    run.report.items.append(Item(session.id, "failed", message, run.project))
    run.report.count("failed")


def stopped(books: Sequence[Book], stamp_of: Callable[[Book], str]) -> list[Book]:
    """Return the books whose breaker is open for the content as it is now."""
    return [book for book in books if book.is_stopped and book.failed_at == stamp_of(book)]
