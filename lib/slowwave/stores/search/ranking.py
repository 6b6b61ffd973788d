"""Ranked answers of the search index: one for each session, the best first, with the words around the best hit.

The score of a session is the sum over the terms of the query of the best BM25 score that one of its segments has for
it (k1 1.2 and b 0.75, as SQLite and RFC 0185 of crabtalk both have them; the weights of the columns are the RFC's).
"""

import math
import sqlite3
from collections.abc import Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple

from slowwave.errors import UnreadableError
from slowwave.stores.rows import SessionRow
from slowwave.stores.search.file import DamagedIndexError, is_damage
from slowwave.stores.search.fold import folded
from slowwave.stores.search.index import SESSION_SHIFT, SIDE_BIT, SearchIndex
from slowwave.stores.search.query import Term
from slowwave.stores.search.said import WEIGHTS, Said, unpacked
from slowwave.stores.search.snippet import snippet_of

_WEIGHTS = ", ".join(map(str, WEIGHTS.values()))
_SCORES = f"SELECT rowid, bm25(words, {_WEIGHTS}) FROM words WHERE words MATCH ?"  # noqa: S608 - fixed numbers
_COUNT = "SELECT count(*) FROM words WHERE words MATCH ?"
# A score takes 3 microseconds: beyond so many segments a word that is in most of them says too little for its price.
_MANY = 1000
# SQLite's weight of a word that stands in half of all documents or more
_LEAST_IDF = 1e-6


class Hit(NamedTuple):
    """A session that a search found.

    Attributes:
        row: the session.
        score: how well it fits; only scores of one search can be compared.
        snippet: the words around the best hit, at most 1024 bytes.
        said: the message of the hit; None when only the title fits.
    """

    row: SessionRow
    score: float
    snippet: str
    said: Said | None


def search(
    index: SearchIndex, terms: list[Term], among: Mapping[int, SessionRow], *, limit: int, everything: bool = False
) -> list[Hit]:
    """Return the sessions that fit best.

    Args:
        index: the index, up to date.
        terms: what is looked for.
        among: the sessions that may be found, by their numbers in the index.
        limit: at most so many.
        everything: also what sub-agents said inside of main sessions.

    Raises:
        DamagedIndexError: the index has to be built anew.
        UnreadableError: it cannot be read.
    """
    try:
        return _search(index.database, terms, among, limit, everything=everything)
    except sqlite3.Error as error:
        if isinstance(error, sqlite3.DatabaseError) and is_damage(error):
            raise DamagedIndexError(index.path, str(error)) from error
        raise UnreadableError(index.path, f"the search index cannot be read ({error})") from error


def _search(
    database: sqlite3.Connection, terms: list[Term], rows: Mapping[int, SessionRow], limit: int, *, everything: bool
) -> list[Hit]:
    total: int = database.execute("SELECT count(*) FROM segments").fetchone()[0]
    found = _asked(database, terms, total, everything=everything)
    totals: dict[int, float] = {}
    for one in found:
        best: dict[int, float] = {}
        for segment, score in one.scores.items():
            number = segment >> SESSION_SHIFT
            # SQLite's scores are the better the smaller they are
            if score < best.get(number, 0.0):
                best[number] = score
        for number, score in best.items():
            totals[number] = totals.get(number, 0.0) - score * one.scale
    fitting = ((score, rows[number].last_activity, number) for number, score in totals.items() if number in rows)
    return [_hit(database, rows[number], number, score, found) for score, _, number in nlargest(limit, fitting)]


class _Asked(NamedTuple):
    """What the index has for one term.

    Attributes:
        term: the term, widened when it stands nowhere as it is.
        scores: SQLite's score of each segment.
        rarity: the weight of the term.
        scale: what SQLite's scores are multiplied by to have that weight.
    """

    term: Term
    scores: dict[int, float]
    rarity: float
    scale: float


def _asked(database: sqlite3.Connection, terms: Sequence[Term], total: int, *, everything: bool) -> list[_Asked]:
    """Ask for each term; one that is everywhere counts for nothing as long as another one is rarer."""
    counted = [_counted(database, term) for term in terms]
    usual = [number > _MANY and 2 * number > total for _, number in counted]
    has_rare = any(number and not common for (_, number), common in zip(counted, usual, strict=True))
    found: list[_Asked] = []
    for (term, number), common in zip(counted, usual, strict=True):
        rarity, scale = _rarity(number, total)
        scores: dict[int, float] = {}
        if number and not (common and has_rare):
            scores = dict(database.execute(_SCORES, (term.match,)))
        if not everything:
            scores = {segment: score for segment, score in scores.items() if not segment & SIDE_BIT}
        found.append(_Asked(term, scores, rarity, scale))
    return found


def _counted(database: sqlite3.Connection, term: Term) -> tuple[Term, int]:
    """Return a term with the number of its segments; one that stands nowhere is widened to a beginning."""
    number: int = database.execute(_COUNT, (term.match,)).fetchone()[0]
    if not number and (wider := term.widened()) is not None:
        return wider, database.execute(_COUNT, (wider.match,)).fetchone()[0]
    return term, number


def _rarity(documents: int, total: int) -> tuple[float, float]:
    """Return the weight of a word by the number of documents it stands in, and what SQLite's scores are scaled by.

    SQLite weighs a word of half of all documents with nearly nothing, so that in a small store most words would count
    for nothing; the form that Lucene uses never falls to zero.
    """
    ratio = (total - documents + 0.5) / (documents + 0.5)
    own = math.log(1 + ratio)
    theirs = math.log(ratio) if ratio > 1 else 0.0
    return own, own / (theirs if theirs > 0 else _LEAST_IDF)


def _hit(database: sqlite3.Connection, row: SessionRow, number: int, score: float, found: Sequence[_Asked]) -> Hit:
    """Return a hit with the message that has the most of the rarest terms, in the best segment of the session."""
    # the scores are negative, so the best segment has the least sum; the first of equals
    best = min(_segments_of(database, number), key=lambda s: sum(one.scores.get(s, 0.0) * one.scale for one in found))
    body = database.execute("SELECT body FROM segments WHERE number = ?", (best,)).fetchone()
    chosen: Said | None = None
    value = 0.0
    for said in unpacked(body[0]):
        text = folded(said.text)
        weight = WEIGHTS[said.field] * sum(one.rarity for one in found if one.term.is_in(text))
        if said.tools and not weight:
            tools = folded(" \n ".join(said.tools))
            weight = sum(one.rarity for one in found if one.term.is_in(tools))
        if weight > value:
            chosen, value = said, weight
    terms = [one.term for one in found]
    return Hit(row, score, snippet_of(row.title if chosen is None else _shown(chosen), terms), chosen)


def _segments_of(database: sqlite3.Connection, number: int) -> list[int]:
    query = "SELECT number FROM segments WHERE number >= ? AND number < ? ORDER BY number"
    span = (number << SESSION_SHIFT, (number + 1) << SESSION_SHIFT)
    return [segment for (segment,) in database.execute(query, span)]


def _shown(said: Said) -> str:
    return said.text or ", ".join(said.tools)
