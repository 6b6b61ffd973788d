"""A session with its plan and its summary, before anything is appended; and how that is written.

Where its client has a record that clears old outputs of tools, and that is enough, nothing is summarised.
"""

from collections.abc import Mapping
from typing import NamedTuple, cast

from slowwave.compaction.append import Order, count_compaction, digest_of, expected_of, noted_append
from slowwave.compaction.book import Appended, Book, Compacting, Expected, around, digested
from slowwave.compaction.due import Due, budget_of, due
from slowwave.compaction.files import of_calls
from slowwave.compaction.flush import flush, soft_tokens
from slowwave.compaction.items import Item, Usage, context_tokens, pi_items
from slowwave.compaction.plan import (
    CLEARED,
    MINIMUM_TOKENS,
    PROTECTED_TOKENS,
    NoPlan,
    Plan,
    cleared,
    dropped_by,
    live_bytes,
    planned,
    prune,
    ranges_of,
    spans_of,
    tokens_after,
)
from slowwave.compaction.reading import Reading, read_session
from slowwave.compaction.summary import Gone, Summary, summary_of
from slowwave.compaction.tokens import PI
from slowwave.errors import UsageError
from slowwave.formats.model import text_in
from slowwave.formats.pi.dialect import PiTranscript
from slowwave.formats.registry import by_name, client_of
from slowwave.formats.sessions import StoredSession
from slowwave.formats.writing import Compaction, checked, first_record, unknown
from slowwave.stores.writers import Opened


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
        after = f"about {self.tokens_after:,} tokens after"
        return f"{self.due.reason}; summarises {self.summarised} messages, {keeps}{split}; {after}"


class Clearing(NamedTuple):
    """What is cleared of a session."""

    session: StoredSession  # the session
    stamp: str  # its content when it was read
    reading: Reading  # what was read of it
    due: Due  # whether it is due, and how large it is
    left: list[Item]  # its items without these outputs
    calls: frozenset[str]  # ids of the calls whose outputs go
    gone: list[Item]  # the items that hold them
    freed: int  # the tokens that this frees, as its client guesses

    @property
    def tokens_after(self) -> int:
        """An estimate of the context after."""
        return max(0, self.due.tokens - self.reading.rule.likely(self.freed))

    @property
    def reason(self) -> str:
        """What would be done, in one sentence."""
        about = f"about {self.tokens_after:,} tokens after"
        return f"{self.due.reason}; clears {len(self.calls)} old outputs of tools; {about}"

    @property
    def after(self) -> Reading:
        """The session as it would be, with what its provider counted less what goes."""
        return self.reading._replace(items=self.left, recorded=Usage(total=max(1, self.tokens_after)), behind=0)


def drafted(session: StoredSession, stamp: str, run: Compacting, *, by_hand: bool = False) -> Draft | Clearing | None:
    """Return what would be appended to a session; None after saying why nothing is.

    What a person asks for by hand is always a summary. Raises SlowwaveError: it cannot be read, or its client takes no
    compaction there.
    """
    chosen = run.settings.compaction
    reading = read_session(session.dialect, session.files)
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
    # a form without a place for a compaction is told before memories are saved and a summary is made, also by a dry run
    client_of(session.dialect).check_compaction(session.id, session.files.paths[0])
    budget = budget_of(reading, run.settings.compaction)
    plan = planned(reading, budget)
    if isinstance(plan, NoPlan):
        run.skip("plan", session, f"{found.reason}; {plan.reason}")
        return None
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

    Raises SlowwaveError: as :func:`slowwave.compaction.append.append`; OSError: the disk is full.
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


# Pruning as a step of its own: old outputs of tools are cleared by an overlay, and every word stays.
#
# Only Codex has a record for it: a history that replaces itself. The numbers are opencode's (skip two turns, protect
# 40,000 tokens, gain more than 20,000). What is cleared stays in the file, and its byte ranges in the book.


def why_not(dialect: str) -> str:
    """Return why nothing can be cleared in sessions of a dialect, "" where it can."""
    return client_of(dialect).compacting.no_clearing


def clearing_of(session: StoredSession, stamp: str, reading: Reading, is_due: Due) -> Clearing | NoPlan:
    """Return what is cleared of a session, or why nothing is."""
    if reason := why_not(reading.dialect):
        return NoPlan(f"{reason}; a compaction clears old outputs from what the summarising model reads")
    items = reading.items
    pruning = prune(items)
    chosen = {(output.at, output.number) for output in pruning.outputs}
    results = [
        (at, n, r.id) for at, i in enumerate(items) for n, r in enumerate(i.message.results if i.message else ())
    ]
    stays = {own for at, number, own in results if (at, number) not in chosen}
    outputs = tuple(o for o in pruning.outputs if _id(items, o.at, o.number) not in stays)
    if not outputs:
        return NoPlan(
            f"no more than {MINIMUM_TOKENS:,} tokens of outputs stand before the last two turns and"
            f" {PROTECTED_TOKENS:,} tokens more"
        )
    left = cleared(items, pruning._replace(outputs=outputs), reading.rule)
    freed = sum(item.tokens for item in items) - sum(item.tokens for item in left)
    calls = frozenset(_id(items, o.at, o.number) for o in outputs)
    gone = [items[at] for at in sorted({o.at for o in outputs})]
    return Clearing(session, stamp, reading, is_due, left, calls, gone, freed)


def clear(clearing: Clearing, book: Book, run: Compacting) -> Appended:
    """Append the overlay; it is noted before the transcript is touched, and again when it stands.

    Raises SlowwaveError: as :func:`slowwave.compaction.append.append`; OSError: the disk is full.
    """
    reading, spoken = clearing.reading, [item for item in clearing.left if item.speaks]
    before, after = reading.guess, reading.guess - clearing.freed
    note = Appended(
        run=run.run_id,
        trigger=clearing.due.reason,
        tokens_before=clearing.due.tokens,
        tokens_after=clearing.tokens_after,
        kept=len(spoken),
        summarised=0,
        keep_from=None,
        dropped=digested(clearing.session.files.paths, ranges_of(clearing.gone)),
        source="prune",
        notes=[f"{len(clearing.calls)} outputs of tools cleared"],
    )

    def write(opened: Opened) -> str:
        opened.writer.clear(opened.target, clearing.calls, CLEARED)
        return ""

    expected = Expected("", digest_of(spoken), len(spoken), before, after, is_whole=True)
    return noted_append(Order(clearing.session, clearing.stamp, reading.at, write, expected), note, book, run)


def _id(items: list[Item], at: int, number: int) -> str:
    message = items[at].message
    return message.results[number].id if message is not None else ""


# The summary of a branch that somebody leaves: what was said behind the message that they go on from.
#
# Source: ``branchWithSummary`` and ``generateBranchSummary`` of pi. As there the model is asked where one is set; else,
# and where its words do not pass the proof, the ledger tells what was done.

_LEAD = "Before going on from here, another way was tried and left. This was done there:\n\n"


def branch_summary(session: StoredSession, message_id: str, run: Compacting) -> str:
    """Return what is left behind when a session goes on from an older message.

    Raises NotFoundError: the message is not on the path that its client goes on from; UsageError: its client has no
    branches, or nothing was said after the message.
    """
    if not client_of(session.dialect).compacting.has_branches:
        raise UsageError(f"{session.id}: {session.dialect} has no summaries of branches; nothing was written")
    read = cast("PiTranscript", by_name(session.dialect).read(session.files))
    cwd = text_in(first_record(session.files.paths[0]), "cwd")
    items = pi_items(read.path, read.loaded, cwd)
    at = next((number for number, item in enumerate(items) if item.id == message_id), None)
    if at is None:
        raise unknown(message_id, session.id)
    left = tuple(item for item in items[at + 1 :] if item.speaks and item.kind != "compaction")
    if not left:
        raise UsageError(f"{session.id}: nothing was said after {message_id}; leave out --summarise")
    calls = (call for item in left if item.message is not None for call in item.message.calls)
    plan = Plan(left, (), (), "", of_calls(calls), context_tokens(left))
    reading = Reading(session.dialect, list(left), PI, cwd=cwd)
    made = run.summarise(Gone(reading, plan, budget_of(reading, run.settings.compaction), run.redact))
    return _LEAD + run.redact(made.text)
