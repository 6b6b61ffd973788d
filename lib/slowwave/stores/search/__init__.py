"""A search from the first look at the stores to its ranked answers, and the filters over the rows of a listing."""

import math
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple

from slowwave.errors import UnreadableError
from slowwave.settings import Settings
from slowwave.stores.catalogue import is_damage, own_catalogue
from slowwave.stores.discovery import list_sessions
from slowwave.stores.search.index import (
    SESSION_SHIFT,
    SIDE_BIT,
    WEIGHTS,
    DamagedIndexError,
    Said,
    SearchIndex,
    index_path,
    unpacked,
)
from slowwave.stores.search.words import Term, folded, forms_of, prepare, snippet_of
from slowwave.stores.summary import SessionRow


class Hit(NamedTuple):
    """A session that a search found."""

    row: SessionRow  # the session
    score: float  # how well it fits; only scores of one search can be compared
    snippet: str  # the words around the best hit, at most 1024 bytes
    said: Said | None  # the message of the hit; None when only the title fits


class FoundSessions(NamedTuple):
    """What a search found."""

    hits: list[Hit]  # the sessions, the best first
    among: int  # of how many
    erased: int  # sessions that were erased on request and lie there again; they are not searched
    warnings: list[str]  # what is wrong with the catalogue or the index


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
        limit: at most this many.
        everything: also what sub-agents said inside of main sessions.
        say: is told how many bytes are read before there is an answer.

    Raises UnreadableError: a store or the index cannot be read; NotFoundError: ``among`` finds no project.
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


# Ranked answers of the search index: one for each session, the best first, with the words around the best hit.
#
# The score of a session is the sum over the terms of the query of the best BM25 score that one of its segments has for
# it (k1 1.2 and b 0.75, as SQLite and RFC 0185 of crabtalk both have them; the weights of the columns are the RFC's). A
# word and its other forms are one term, as rare as all of them together; the word as it was asked for counts most.

_WEIGHTS = ", ".join(map(str, WEIGHTS.values()))
_SCORES = f"SELECT rowid, bm25(words, {_WEIGHTS}) FROM words WHERE words MATCH ?"  # noqa: S608 - fixed numbers
_COUNT = "SELECT count(*) FROM words WHERE words MATCH ?"
# A score takes 3 microseconds: beyond so many segments a word that is in most of them says too little for its price.
_MANY = 1000
# SQLite's weight of a word that stands in half of all documents or more
_LEAST_IDF = 1e-6
# How much another form of a word counts beside the word itself.
OTHER_FORM = 0.8


def search(
    index: SearchIndex, terms: list[Term], among: Mapping[int, SessionRow], *, limit: int, everything: bool = False
) -> list[Hit]:
    """Return the sessions that fit best.

    Args:
        index: the index, up to date.
        terms: what is looked for.
        among: the sessions that may be found, by their numbers in the index.
        limit: at most this many.
        everything: also what sub-agents said inside of main sessions.

    Raises DamagedIndexError: the index has to be built anew; UnreadableError: it cannot be read.
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
            if score > best.get(number, 0.0):
                best[number] = score
        for number, score in best.items():
            totals[number] = totals.get(number, 0.0) + score
    fitting = ((score, rows[number].last_activity, number) for number, score in totals.items() if number in rows)
    return [_hit(database, rows[number], number, score, found) for score, _, number in nlargest(limit, fitting)]


class _Asked(NamedTuple):
    """What the index has for one term."""

    # the term, or when it stands nowhere all words that begin with it; then the other forms of the word
    terms: list[Term]
    scores: dict[int, float]  # the score of each segment, the greater the better
    rarity: float  # the weight of the term

    def weight_in(self, text: str) -> float:
        """Return what it counts in a folded text."""
        if self.terms[0].is_in(text):
            return self.rarity
        if len(self.terms) > 1 and any(term.is_in(text) for term in self.terms[1:]):
            return self.rarity * OTHER_FORM
        return 0.0


def _asked(database: sqlite3.Connection, terms: Sequence[Term], total: int, *, everything: bool) -> list[_Asked]:
    """Ask for each term; one that is everywhere, or in every question, counts for nothing beside one that is not."""
    prepare(database)
    alike = [_alike(database, term) for term in terms]
    telling = [not same[0].is_empty and (number <= _MANY or 2 * number <= total) for same, number in alike]
    has_telling = any(number and tells for (_, number), tells in zip(alike, telling, strict=True))
    found: list[_Asked] = []
    for (same, number), tells in zip(alike, telling, strict=True):
        rarity, _ = _rarity(number, total)
        scores = _scores(database, same, total, rarity) if number and (tells or not has_telling) else {}
        if not everything and any(segment & SIDE_BIT for segment in scores):
            scores = {segment: score for segment, score in scores.items() if not segment & SIDE_BIT}
        found.append(_Asked(same, scores, rarity))
    return found


def _alike(database: sqlite3.Connection, term: Term) -> tuple[list[Term], int]:
    """Return a term with the other forms of its word, and in how many segments they stand.

    One that stands nowhere in any form is widened to a beginning.
    """
    others = (
        [] if term.is_empty else [Term(form, is_prefix=False, is_quoted=True) for form in forms_of(database, term.word)]
    )
    number = _count(database, [term, *others])
    if not number and (wider := term.widened()) is not None:
        return [wider], _count(database, [wider])
    return [term, *others], number


def _count(database: sqlite3.Connection, terms: Sequence[Term]) -> int:
    """Return in how many segments any of some terms stands."""
    return database.execute(_COUNT, (" OR ".join(term.match for term in terms),)).fetchone()[0]


def _scores(database: sqlite3.Connection, terms: Sequence[Term], total: int, rarity: float) -> dict[int, float]:
    """Return the score of every segment for a word and its other forms, all weighed as one term of a rarity."""
    scores: dict[int, float] = {}
    for term in terms:
        # SQLite's scores are the better the smaller they are
        found: list[tuple[int, float]] = database.execute(_SCORES, (term.match,)).fetchall()
        scale = -_rarity(len(found), total)[1] * rarity * (1.0 if term is terms[0] else OTHER_FORM)
        if scores:
            for segment, score in found:
                scores[segment] = scores.get(segment, 0.0) + score * scale
        else:
            scores = {segment: score * scale for segment, score in found}
    return scores


def _rarity(documents: int, total: int) -> tuple[float, float]:
    """Return the weight of a word by the number of documents it stands in, and what takes SQLite's own out of a score.

    SQLite weighs a word of half of all documents with nearly nothing, so that in a small store most words would count
    for nothing; the form that Lucene uses never falls to zero.
    """
    ratio = _ratio(documents, total)
    theirs = math.log(ratio) if ratio > 1 else 0.0
    return lucene_rarity(documents, total), 1 / (theirs if theirs > 0 else _LEAST_IDF)


def lucene_rarity(documents: int, total: int) -> float:
    """Return the weight of a word by the number of documents that it stands in."""
    return math.log(1 + _ratio(documents, total))


def _ratio(documents: int, total: int) -> float:
    return (total - documents + 0.5) / (documents + 0.5)


def _hit(database: sqlite3.Connection, row: SessionRow, number: int, score: float, found: Sequence[_Asked]) -> Hit:
    """Return a hit with the message that has the most of the rarest terms, in the best segment of the session."""
    # what counted for nothing shows nothing
    telling = [one for one in found if one.scores]
    query = "SELECT number FROM segments WHERE number >= ? AND number < ? ORDER BY number"
    span = (number << SESSION_SHIFT, (number + 1) << SESSION_SHIFT)
    segments = (segment for (segment,) in database.execute(query, span))
    best = max(segments, key=lambda s: sum(one.scores.get(s, 0.0) for one in found))
    body = database.execute("SELECT body FROM segments WHERE number = ?", (best,)).fetchone()
    chosen: Said | None = None
    value = 0.0
    for said in unpacked(body[0]):
        text = folded(said.text)
        weight = WEIGHTS[said.field] * sum(one.weight_in(text) for one in telling)
        if said.tools and not weight:
            tools = folded(" \n ".join(said.tools))
            weight = sum(one.weight_in(tools) for one in telling)
        if weight > value:
            chosen, value = said, weight
    terms = [term for one in telling for term in one.terms]
    shown = row.title if chosen is None else chosen.text or ", ".join(chosen.tools)
    return Hit(row, score, snippet_of(shown, terms), chosen)
