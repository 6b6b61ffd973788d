"""A search from the first look at the stores to the answer: what is new or has changed is read first."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from slowwave.settings import Settings
from slowwave.stores.catalogue import own_catalogue
from slowwave.stores.listing import list_sessions
from slowwave.stores.rows import SessionRow
from slowwave.stores.search.file import DamagedIndexError, index_path
from slowwave.stores.search.index import SearchIndex
from slowwave.stores.search.query import Term
from slowwave.stores.search.ranking import Hit, search


class FoundSessions(NamedTuple):
    """What a search found.

    Attributes:
        hits: the sessions, the best first.
        among: of how many.
        erased: sessions that were erased on request and lie there again; they are not searched.
        warnings: what is wrong with the catalogue or the index.
    """

    hits: list[Hit]
    among: int
    erased: int
    warnings: list[str]


def found_sessions(
    settings: Settings,
    environ: Mapping[str, str],
    terms: list[Term],
    among: Callable[[Sequence[SessionRow]], list[SessionRow]],
    limit: int,
    *,
    everything: bool = False,
    say: Callable[[int], None] = lambda _waiting: None,
) -> FoundSessions:
    """Return the sessions that fit some words best.

    Args:
        settings: name the stores.
        environ: the environment.
        terms: what is looked for.
        among: chooses the sessions that may be found.
        limit: at most so many.
        everything: also what sub-agents said inside of main sessions.
        say: is told how many bytes are read before there is an answer.

    Raises:
        UnreadableError: a store or the index cannot be read.
        NotFoundError: ``among`` finds no project.
    """
    warnings: list[str] = []
    with own_catalogue(settings, environ, warnings) as catalogue:
        listing = list_sessions(settings, environ, catalogue)
        rows = listing.rows
    asked = among(rows)
    with SearchIndex(index_path(environ), warnings, environ, catalogue.blocked) as index:
        index.refresh(rows, say)
        hits: list[Hit] = []
        if terms:
            try:
                hits = search(index, terms, index.numbers(asked), limit=limit, everything=everything)
            except DamagedIndexError as error:
                index.rebuild(rows, error.reason, say)
                hits = search(index, terms, index.numbers(asked), limit=limit, everything=everything)
    erased = sum(problem.kind == "blocked" for problem in listing.problems)
    return FoundSessions(hits, len(asked), erased, warnings)
