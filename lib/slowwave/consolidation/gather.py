"""Gather: the candidates that no dream has dealt with, and whether their evidence still re-reads."""

from collections.abc import Callable, Mapping, Sequence

from slowwave.consolidation.model import Gathered
from slowwave.memory.book import Book
from slowwave.memory.model import Candidate


def gather(
    book: Book, candidates: Sequence[Candidate], unproven: Callable[[Sequence[Candidate]], Mapping[str, str]]
) -> Gathered:
    """Return the waiting candidates, in an order that does not depend on that of the file.

    Args:
        book: what the ledger adds up to.
        candidates: all candidates of the memory folder.
        unproven: returns why evidence of some candidates does not re-read, by their ids; none for what does.
    """
    ordered = sorted(candidates, key=lambda c: (c.observed_at, c.id))
    waiting = [c for c in ordered if book.waits(c)]
    undone = [c for c in ordered if c.id in book.undone and c.id not in book.done and not book.waits(c)]
    return Gathered(
        waiting=tuple(waiting),
        undone=tuple((c, book.undone[c.id]) for c in undone),
        unproven=dict(unproven(waiting)),
        known={c.id: c for c in ordered if c.id in book.done},
        rejected=tuple(c for c in ordered if c.id in book.rejected),
    )
