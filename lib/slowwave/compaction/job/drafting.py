"""A session with its plan and its summary, before anything is appended; and how that is written.

Where its client has a record that clears old outputs of tools, and that is enough, nothing is summarised.
"""

from collections.abc import Mapping

from slowwave.compaction.job.appending import Order
from slowwave.compaction.job.book import Appended, Book
from slowwave.compaction.job.clearing import Clearing, clearing_of
from slowwave.compaction.job.dropped import around, digested
from slowwave.compaction.job.due import Due, budget_of, due
from slowwave.compaction.job.flushing import flush
from slowwave.compaction.job.forms import check_form
from slowwave.compaction.job.noting import count_compaction, noted_append
from slowwave.compaction.job.openclaw import soft_tokens
from slowwave.compaction.job.outcome import expected_of
from slowwave.compaction.job.planning import dropped_by, live_bytes, planned, spans_of, tokens_after
from slowwave.compaction.job.reading import Reading, read_session
from slowwave.compaction.job.run import Compacting
from slowwave.compaction.job.summary import ROOM, ROOM_BYTES, Summary, summary_of
from slowwave.compaction.plan import NoPlan, Plan
from slowwave.stores.model import StoredSession
from slowwave.stores.writing.base import Compaction, checked
from slowwave.stores.writing.opened import Opened


class Draft:
    """A session with its plan and its summary, before anything is appended."""

    def __init__(
        self, session: StoredSession, stamp: str, reading: Reading, is_due: Due, plan: Plan, summary: Summary
    ) -> None:
        self.session, self.stamp, self.reading, self.due = session, stamp, reading, is_due
        self.plan, self.summary = plan, summary
        self.summarised = plan.messages_summarised
        self.dropped = dropped_by(plan)
        self.kept = sum(item.speaks for item in plan.kept)
        saved = reading.guess - tokens_after(reading, plan, summary.text)
        self.tokens_after = max(0, is_due.tokens - reading.rule.likely(saved))

    @property
    def reason(self) -> str:
        """What would be done, in one sentence."""
        keeps = f"keeps {self.kept} from {self.plan.first_kept}" if self.kept else "keeps none"
        split = ", in the middle of a turn" if self.plan.is_split and self.kept else ""
        about, after = "", f"about {self.tokens_after:,} tokens after"
        if self.plan.earlier is not None:
            about = "about "
            after = f"{after}, at most {ROOM_BYTES:,} bytes of them the summary" if self.summary is ROOM else after
        return f"{self.due.reason}; summarises {about}{self.summarised} messages, {keeps}{split}; {after}"


def drafted(session: StoredSession, stamp: str, run: Compacting, *, by_hand: bool = False) -> Draft | Clearing | None:
    """Return what would be appended to a session; None after saying why nothing is.

    What a person asks for by hand is always a summary.

    Raises:
        SlowwaveError: it cannot be read, or its client takes no compaction there.
    """
    chosen = run.settings.compaction
    reading = read_session(session.dialect, session.files, keep=chosen.keep_recent_tokens)
    live = live_bytes(reading) if chosen.trigger_bytes else 0
    found = due(reading, chosen, soft=soft_tokens(session), live_bytes=live)
    if found.is_off and not (by_hand or run.force):
        run.skip("client", session, found.reason)
        return None
    if not (found.is_due or by_hand or run.force):
        if found.is_near:
            run.report.count("near")
            flush(session, stamp, run, reading.cwd)
        else:
            run.report.count("not_due")
        return None
    clearing = NoPlan("") if by_hand or chosen.prune == "off" else clearing_of(session, stamp, reading, found)
    if isinstance(clearing, Clearing) and (chosen.prune == "only" or not _is_due_after(clearing, run)):
        return clearing
    if chosen.prune == "only" and not by_hand:
        run.skip("plan", session, f"{found.reason}; {clearing.reason}")
        return None
    return _summarised(session, stamp, reading, found, run)


def _is_due_after(clearing: Clearing, run: Compacting) -> bool:
    live = sum(len(span.raw) for span in spans_of(clearing.left)) if run.settings.compaction.trigger_bytes else 0
    return due(clearing.after, run.settings.compaction, soft=0, live_bytes=live).is_due


def _summarised(session: StoredSession, stamp: str, reading: Reading, found: Due, run: Compacting) -> Draft | None:
    """Return what would be appended with a summary; None after saying why nothing is."""
    check_form(session)
    budget = budget_of(reading, run.settings.compaction)
    plan = planned(reading, budget)
    if isinstance(plan, NoPlan):
        run.skip("plan", session, f"{found.reason}; {plan.reason}")
        return None
    if run.dry_run and plan.earlier is not None:
        summary = ROOM  # its ledger takes longer than all the rest of the plan; how long it may become is known
    else:
        summary = summary_of(reading, plan, budget, run.summarise, run.redact)
    draft = Draft(session, stamp, reading, found, plan, summary)
    after = tokens_after(reading, plan, draft.summary.text)
    if after >= reading.guess:
        reason = f"{found.reason}; the context would not shrink: {reading.guess:,} tokens would become {after:,}"
        run.skip("plan", session, reason)
        return None
    return draft


def write(draft: Draft, book: Book, run: Compacting, *, by_hand: bool = False) -> Appended:
    """Append what was drafted.

    Raises:
        SlowwaveError: as :func:`slowwave.compaction.job.appending.append`.
        OSError: the disk is full.
    """
    session, plan, summary = draft.session, draft.plan, draft.summary
    proof = summary.loss.as_fields() if summary.loss is not None else {}
    paths = session.files.paths
    # what was lost stands in the book alone, else it would travel with the transcript
    told = {name: value for name, value in proof.items() if name != "lost"}
    remarks = told | {"dropped": [[*one] for one in digested(paths, around(draft.dropped))]}
    compaction = _compaction(draft, remarks, by_hand=by_hand)
    checked(compaction)
    expected = expected_of(draft.reading, plan, summary.text)
    note = Appended(
        run=run.run_id,
        trigger=draft.due.reason,
        tokens_before=draft.due.tokens,
        tokens_after=draft.tokens_after,
        kept=draft.kept,
        summarised=draft.summarised,
        keep_from=plan.first_kept,
        dropped=digested(paths, draft.dropped),
        source=summary.source,
        proof=proof,
        notes=list(summary.notes),
    )

    def append(opened: Opened) -> str:
        return opened.writer.compaction(opened.target, compaction)

    done = noted_append(Order(session, draft.stamp, draft.reading.at, append, expected), note, book, run)
    count_compaction(session, run)
    return done


def _compaction(draft: Draft, remarks: Mapping[str, object], *, by_hand: bool) -> Compaction:
    plan, files = draft.plan, draft.summary.files
    return Compaction(
        draft.summary.text,
        plan.first_kept,
        draft.due.tokens,
        tuple(files.read_files),
        tuple(files.modified_files),
        "manual" if by_hand else "auto",
        tokens_summarised=plan.tokens_summarised,
        remarks=remarks,
    )
