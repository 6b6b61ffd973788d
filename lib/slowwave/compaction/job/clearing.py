"""Pruning as a step of its own: old outputs of tools are cleared by an overlay, and every word stays.

Only Codex has a record for it: a history that replaces itself. The numbers are opencode's (skip two turns, protect
40,000 tokens, gain more than 20,000). What is cleared stays in the file, and its byte ranges in the book.
"""

from collections.abc import Mapping
from typing import NamedTuple

from slowwave.compaction.items import Item
from slowwave.compaction.job.appending import Order
from slowwave.compaction.job.book import Appended, Book, Expected
from slowwave.compaction.job.dropped import digested
from slowwave.compaction.job.due import Due
from slowwave.compaction.job.noting import noted_append
from slowwave.compaction.job.outcome import digest_of
from slowwave.compaction.job.planning import ranges_of
from slowwave.compaction.job.reading import Reading
from slowwave.compaction.job.run import Compacting
from slowwave.compaction.plan import NoPlan
from slowwave.compaction.pruning import CLEARED, MINIMUM_TOKENS, PROTECTED_TOKENS, cleared, prune
from slowwave.compaction.usage import Usage
from slowwave.stores.model import StoredSession
from slowwave.stores.writing.opened import Opened

# Why the others cannot: what was looked for is in the reference of formats, sections 2 to 9.
_NO_RECORD: Mapping[str, str] = {
    "claude": "Claude Code takes no later record for the output of an earlier one",
    "cersei": "a tombstone of Cersei hides whole entries, and providers refuse a call without its result",
    "pi": "no entry of pi changes an earlier one",
    "openclaw": "Clawdbot prunes what it sends and keeps no note of it",
    "crabtalk": "crabtalk knows messages and compact markers only",
    "ulid": "the specification knows messages and compactions only",
    "opencode": "the mark is in opencode's own database, which is never written",
}


class Clearing(NamedTuple):
    """What is cleared of a session.

    Attributes:
        session: the session.
        stamp: its content when it was read.
        reading: what was read of it.
        due: whether it is due, and how large it is.
        left: its items without these outputs.
        calls: ids of the calls whose outputs go.
        gone: the items that hold them.
        freed: the tokens that this frees, as its client guesses.
    """

    session: StoredSession
    stamp: str
    reading: Reading
    due: Due
    left: list[Item]
    calls: frozenset[str]
    gone: list[Item]
    freed: int

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


def why_not(dialect: str) -> str:
    """Return why nothing can be cleared in sessions of a dialect, "" where it can."""
    return "" if dialect == "codex" else _NO_RECORD.get(dialect, "slowwave writes nothing to sessions of this kind")


def clearing_of(session: StoredSession, stamp: str, reading: Reading, is_due: Due) -> Clearing | NoPlan:
    """Return what is cleared of a session, or why nothing is."""
    if reason := why_not(reading.dialect):
        return NoPlan(f"{reason}; a compaction clears old outputs from what the summarising model reads")
    if reading.earlier is not None:
        return NoPlan("so long a session is summarised: a history that replaces itself would repeat all of it")
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

    Raises:
        SlowwaveError: as :func:`slowwave.compaction.job.appending.append`.
        OSError: the disk is full.
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
