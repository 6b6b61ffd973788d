"""Ranked answers of the search index: one for each session, the best first, with the words around the best hit.

The score of a session is the sum over the terms of the query of the best BM25 score that one of its segments has for
it (k1 1.2 and b 0.75, as SQLite and RFC 0185 of crabtalk both have them; the weights of the columns are the RFC's).
"""

import math
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from slowwave.errors import UnreadableError
from slowwave.stores.rows import SessionRow
from slowwave.stores.search.fold import folded
from slowwave.stores.search.index import SESSION_SHIFT, SIDE_BIT, SearchIndex, numbers_of
from slowwave.stores.search.query import Term
from slowwave.stores.search.said import WEIGHTS, Said, unpacked
from slowwave.stores.search.snippet import snippet_of

_WEIGHTS = ", ".join(map(str, WEIGHTS.values()))
_SCORES = f"SELECT rowid, bm25(words, {_WEIGHTS}) FROM words WHERE words MATCH ?"  # noqa: S608 - fixed numbers
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


class _Found:
    """How well one session fits so far."""

    __slots__ = ("best", "segments")

    def __init__(self) -> None:
        self.best: dict[int, float] = {}
        self.segments: dict[int, float] = {}

    @property
    def score(self) -> float:
        return sum(self.best.values())


def search(
    index: SearchIndex, terms: list[Term], rows: Iterable[SessionRow], *, limit: int, everything: bool = False
) -> list[Hit]:
    """Return the sessions among ``rows`` that fit best.

    Args:
        index: the index, up to date.
        terms: what is looked for.
        rows: the sessions that may be found.
        limit: at most so many.
        everything: also what sub-agents said inside of main sessions.

    Raises:
        UnreadableError: the index cannot be read.
    """
    try:
        return _search(index.database, terms, numbers_of(index.database, rows), limit, everything=everything)
    except sqlite3.Error as error:
        place = Path(index.database.execute("PRAGMA database_list").fetchone()[2])
        raise UnreadableError(
            place, f"the search index cannot be read ({error})", "delete it, it is a cache"
        ) from error


def _search(
    database: sqlite3.Connection, terms: list[Term], rows: Mapping[int, SessionRow], limit: int, *, everything: bool
) -> list[Hit]:
    found: dict[int, _Found] = {}
    total: int = database.execute("SELECT count(*) FROM segments").fetchone()[0]
    used = list(terms)
    rarity = [0.0] * len(terms)
    for at, term in enumerate(terms):
        scores = database.execute(_SCORES, (term.match,)).fetchall()
        if not scores and (wider := term.widened()) is not None:
            used[at] = wider
            scores = database.execute(_SCORES, (wider.match,)).fetchall()
        rarity[at], scale = _rarity(len(scores), total)
        for segment, score in scores:
            number = segment >> SESSION_SHIFT
            if number not in rows or (segment & SIDE_BIT and not everything):
                continue
            one = found.setdefault(number, _Found())
            value = -score * scale
            one.segments[segment] = one.segments.get(segment, 0.0) + value
            if value > one.best.get(at, 0.0):
                one.best[at] = value
    order = sorted(found, key=lambda number: (found[number].score, rows[number].last_activity), reverse=True)
    return [_hit(database, rows[n], found[n], used, rarity) for n in order[:limit]]


def _rarity(documents: int, total: int) -> tuple[float, float]:
    """Return the weight of a word by the number of documents it stands in, and what SQLite's scores are scaled by.

    SQLite weighs a word of half of all documents with nearly nothing, so that in a small store most words would count
    for nothing; the form that Lucene uses never falls to zero.
    """
    ratio = (total - documents + 0.5) / (documents + 0.5)
    own = math.log(1 + ratio)
    theirs = math.log(ratio) if ratio > 1 else 0.0
    return own, own / (theirs if theirs > 0 else _LEAST_IDF)


def _hit(database: sqlite3.Connection, row: SessionRow, one: _Found, terms: list[Term], rarity: list[float]) -> Hit:
    best = max(one.segments, key=lambda segment: (one.segments[segment], -segment))
    body = database.execute("SELECT body FROM segments WHERE number = ?", (best,)).fetchone()
    chosen: Said | None = None
    value = 0.0
    for said in unpacked(body[0]):
        text = folded(said.text)
        worth = sum(rare for term, rare in zip(terms, rarity, strict=True) if term.pattern.search(text))
        worth *= WEIGHTS[said.field]
        if said.tools and not worth:
            tools = folded(" \n ".join(said.tools))
            worth = sum(rare for term, rare in zip(terms, rarity, strict=True) if term.pattern.search(tools))
        if worth > value:
            chosen, value = said, worth
    return Hit(row, one.score, snippet_of(row.title if chosen is None else _shown(chosen), terms), chosen)


def _shown(said: Said) -> str:
    return said.text or ", ".join(said.tools)
