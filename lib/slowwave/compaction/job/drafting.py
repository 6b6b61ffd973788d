"""A session with its plan and its summary, before anything is appended; and how that is written and noted."""

from typing import Any

from slowwave.compaction.flush import SOFT_THRESHOLD_TOKENS
from slowwave.compaction.job.appending import Order, append
from slowwave.compaction.job.book import Appended, Book, Pending, read_book, write_book
from slowwave.compaction.job.due import Due, budget_of, due
from slowwave.compaction.job.flushing import flush, noted
from slowwave.compaction.job.growth import Growth, state_of
from slowwave.compaction.job.openclaw import note_compaction
from slowwave.compaction.job.outcome import expected_of
from slowwave.compaction.job.planning import planned, ranges_of, spans_of, tokens_after
from slowwave.compaction.job.reading import Reading, read_session
from slowwave.compaction.job.run import Compacting
from slowwave.compaction.job.settling import as_it_stands, growth_in, is_open, settle
from slowwave.compaction.job.summary import Summary, summary_of
from slowwave.compaction.plan import NoPlan, Plan
from slowwave.stores.model import StoredSession
from slowwave.stores.writing.base import Means


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
        if found.is_near:
            run.report.count("near")
            flush(session, stamp, run, reading.cwd)
        else:
            run.report.count("not_due")
        return None
    budget = budget_of(session.dialect, chosen)
    plan = planned(reading, budget)
    if isinstance(plan, NoPlan):
        run.skip("plan", session, f"{found.reason}; {plan.reason}")
        return None
    draft = Draft(session, stamp, reading, found, plan, summary_of(reading, plan, budget, run.summarise, run.redact))
    after = tokens_after(reading, plan, draft.summary.text)
    if after >= reading.guess:
        reason = f"{found.reason}; the context would not shrink: {reading.guess:,} tokens would become {after:,}"
        run.skip("plan", session, reason)
        return None
    return draft


def settled_book(session: StoredSession, run: Compacting) -> Book:
    """Return what is known of a session, with whatever a killed run left unfinished finished first.

    Raises:
        CorruptStateError: the book is damaged.
        SlowwaveError, OSError: as :func:`slowwave.compaction.job.settling.settle`.
    """
    book = read_book(run.folder, session.id, session.dialect, session.files.paths[0])
    if run.dry_run:
        if is_open(book):
            as_it_stands(book, session)
        return book
    known = len(book.compactions)
    if told := settle(book, run.folder, session, Means(run.clock, run.home)):
        run.report.warnings.append(f"session {session.id}: {told}")
    if len(book.compactions) > known:
        count_compaction(session, run)
    return book


def write(draft: Draft, book: Book, run: Compacting, *, by_hand: bool = False) -> Appended:
    """Append what was drafted; it is noted before the transcript is touched, and again when it stands.

    Raises:
        SlowwaveError: as :func:`slowwave.compaction.job.appending.append`.
        OSError: the disk is full.
    """
    order = _order(draft, by_hand=by_hand)

    def intend(grown: Growth) -> None:
        book.pending = Pending(_noted(draft, grown, run.run_id), order.expected)
        write_book(run.folder, book)

    try:
        grown, message = append(order, run.settings, run.home, intend)
    except Exception:
        if book.pending is not None and state_of(growth_in(book.pending.done)) == "absent":
            book.pending = None
            write_book(run.folder, book)
        raise
    done = _noted(draft, grown, run.run_id, message)
    book.succeed(done)
    write_book(run.folder, book)
    count_compaction(draft.session, run)
    return done


def count_compaction(session: StoredSession, run: Compacting) -> None:
    """Count a compaction where its client counts them, too."""
    if session.dialect == "openclaw":
        noted(session, run, lambda: note_compaction(session.files.paths[0], session.id))


def _order(draft: Draft, *, by_hand: bool) -> Order:
    summary = draft.summary
    # what was lost stands in the book alone: with the record it would be sent to other machines with the transcript
    score = {name: value for name, value in _proof(summary).items() if name != "lost"}
    expected = expected_of(draft.reading, draft.plan, summary.text)
    what = (draft.session, draft.stamp, draft.reading, draft.plan, summary.text, summary.files, draft.due.tokens)
    return Order(*what, expected, by_hand, score)


def _noted(draft: Draft, grown: Growth, run_id: str, message: str = "") -> Appended:
    return Appended(
        id=grown.sha256[:12],
        run=run_id,
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
        keep_from=draft.plan.first_kept,
        dropped=draft.dropped,
        source=draft.summary.source,
        proof=_proof(draft.summary),
        notes=list(draft.summary.notes),
    )


def _proof(summary: Summary) -> dict[str, Any]:
    return summary.loss.as_fields() if summary.loss is not None else {}
