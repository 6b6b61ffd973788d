"""A session with its plan and its summary, before anything is appended; and how that is written and noted."""

from slowwave.compaction.flush import SOFT_THRESHOLD_TOKENS
from slowwave.compaction.job.appending import Order, append
from slowwave.compaction.job.book import Appended, Book, write_book
from slowwave.compaction.job.due import Due, budget_of, due
from slowwave.compaction.job.flushing import flush, noted
from slowwave.compaction.job.openclaw import note_compaction
from slowwave.compaction.job.planning import planned, ranges_of, spans_of, tokens_after
from slowwave.compaction.job.reading import Reading, read_session
from slowwave.compaction.job.run import Compacting
from slowwave.compaction.job.summary import Summary, summary_of
from slowwave.compaction.plan import NoPlan, Plan
from slowwave.stores.model import StoredSession


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


def write(draft: Draft, book: Book, run: Compacting, *, by_hand: bool = False) -> Appended:
    """Append what was drafted, and note it.

    Raises:
        SlowwaveError: as :func:`slowwave.compaction.job.appending.append`.
        OSError: the disk is full.
    """
    summary, plan = draft.summary, draft.plan
    proof = summary.loss.as_fields() if summary.loss is not None else {}
    # what was lost stands in the book alone: with the record it would be sent to other machines with the transcript
    score = {name: value for name, value in proof.items() if name != "lost"}
    order = Order(
        draft.session, draft.stamp, draft.reading, plan, summary.text, summary.files, draft.due.tokens, by_hand, score
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
        proof=proof,
        notes=list(summary.notes),
    )
    book.succeed(done)
    write_book(run.folder, book)
    if draft.session.dialect == "openclaw":
        noted(draft.session, run, lambda: note_compaction(draft.session.files.paths[0], draft.session.id))
    return done
