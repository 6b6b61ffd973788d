"""Compaction of one project's sessions: gates, plan, memory flush, summary, append; each failure stays its session's.

It appends to transcripts and rewrites nothing. A second run finds nothing new since the compaction and appends nothing.
A draft is a session with its plan and its summary, before anything is appended. Where its client has a record that
clears old outputs of tools, and that is enough, nothing is summarised.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, cast

from slowwave.compaction.append import (
    Growth,
    Order,
    count_compaction,
    digest_of,
    expected_of,
    files_now,
    growth_to_be,
    noted_append,
    settled_book,
    sizes_of,
    with_growth,
)
from slowwave.compaction.book import (
    Appended,
    Book,
    Compacting,
    Expected,
    alone,
    around,
    content_stamp,
    digested,
    file_of,
    flush,
    one_at_a_time,
    read_book,
    soft_tokens,
    write_book,
)
from slowwave.compaction.files import of_calls
from slowwave.compaction.items import Item as ContextItem
from slowwave.compaction.items import Reading, Usage, context_tokens, pi_items, read_session
from slowwave.compaction.plan import (
    CLEARED,
    MINIMUM_TOKENS,
    PROTECTED_TOKENS,
    RESERVE_TOKENS,
    Due,
    NoPlan,
    Plan,
    Rested,
    budget_of,
    cleared,
    dropped_by,
    due,
    live_bytes,
    planned,
    prune,
    ranges_of,
    spans_of,
    tokens_after,
)
from slowwave.compaction.summary import Gone, Summary, summary_of
from slowwave.compaction.tokens import PI
from slowwave.errors import MovedError, RefusedError, SlowwaveError, UsageError
from slowwave.formats import text_in
from slowwave.formats.pi.dialect import PiTranscript
from slowwave.formats.registry import CLIENTS, by_name, client_of
from slowwave.formats.sessions import StoredSession
from slowwave.formats.writing import Compaction, checked, first_record, unknown
from slowwave.quantities import counted
from slowwave.report import Gate, Item, Report
from slowwave.stores.discovery import live_reason
from slowwave.stores.projects import Project
from slowwave.stores.roots import Opened


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
    left: list[ContextItem]  # its items without these outputs
    calls: frozenset[str]  # ids of the calls whose outputs go
    gone: list[ContextItem]  # the items that hold them
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


def _id(items: list[ContextItem], at: int, number: int) -> str:
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
