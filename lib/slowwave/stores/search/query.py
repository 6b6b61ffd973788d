"""Words of a search and of what is searched: without case and accents, in their other forms, and around a hit.

A search from the first look at the stores to its ranked answers, and the filters over the rows of a listing.
"""

import math
import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from heapq import nlargest
from itertools import takewhile
from typing import Any, NamedTuple

from slowwave.errors import UnreadableError
from slowwave.settings import Settings
from slowwave.stores.catalogue import own_catalogue
from slowwave.stores.discovery import list_sessions
from slowwave.stores.search.index import (
    SESSION_SHIFT,
    SIDE_BIT,
    WEIGHTS,
    DamagedIndexError,
    Said,
    SearchIndex,
    index_path,
    is_damage,
    unpacked,
)
from slowwave.stores.summary import SessionRow

# Nobody types more; a pasted log must not keep the index busy for minutes.
MOST_CHARS = 4096
MOST_WORDS = 32
# A word that stands nowhere is tried as the beginning of one from this length on.
_LEAST_BEGINNING = 3
_PART = re.compile(r'"([^"]*)"?|([^\s"]+)')
_TOKEN = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['\u2019]s?\W*$", re.IGNORECASE)
# Words that every question has and no answer needs; they count only where nothing else is asked for.
_WORDS = """
    a an the of to in on at by for from with about into as and or but if than then so too also not no is are was
    were be been being am do does did done has have had will would can could should shall may might must what when
    where who whom whose how which why that this these those there here it its he him his she her hers they them
    their we us our you your i me my mine any some all each both just only very much many more most ever
"""
_EMPTY = frozenset(_WORDS.split())
_GAP = r"[\W_]+"


class Term:
    """One word, phrase or beginning of a word."""

    def __init__(self, text: str, *, is_prefix: bool, is_quoted: bool = False) -> None:
        self.tokens: tuple[str, ...] = tokens_of(folded(spaced(text)))
        self.text = text
        self.is_prefix = is_prefix
        self.is_quoted = is_quoted

    @property
    def word(self) -> str:
        """The plain word that it is, in lower case; "" for a phrase, a beginning, a name or what stands in quotes."""
        is_one = len(self.tokens) == 1 and not self.is_prefix and not self.is_quoted
        return self.tokens[0] if is_one and not _is_name(self.text) else ""

    @property
    def is_empty(self) -> bool:
        """Whether it is one of the words that every question has."""
        return self.word in _EMPTY

    @property
    def match(self) -> str:
        """The term as FTS5 takes it: one string, in which only quotes mean anything."""
        inner = spaced(self.text).replace('"', '""')
        return f'"{inner}" *' if self.is_prefix else f'"{inner}"'

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds it in a folded text."""
        joined = (_joint(a, b) + re.escape(b) for a, b in zip(("", *self.tokens), self.tokens, strict=False))
        end = "" if self.is_prefix else _edge(self.tokens[-1][-1], r"(?![^\W_])")
        return re.compile(_edge(self.tokens[0][0], r"(?<![^\W_])") + "".join(joined) + end)

    def is_in(self, text: str) -> bool:
        """Say whether it stands in a folded text."""
        word = self.tokens[0]
        at = text.find(word)
        if at < 0 or len(self.tokens) > 1 or not word.isascii():
            return at >= 0 and self.pattern.search(text) is not None
        # ten times as fast as the pattern, and a search asks thousands of times
        while at >= 0:
            end = at + len(word)
            begins = at == 0 or not text[at - 1].isalnum()
            if begins and (self.is_prefix or end == len(text) or not text[end].isalnum()):
                return True
            at = text.find(word, at + 1)
        return False

    def widened(self) -> "Term | None":
        """Return the same word as the beginning of others, None where that would mean half of the language."""
        if self.is_prefix or self.is_quoted or len(self.tokens) > 1 or len(self.text) < _LEAST_BEGINNING:
            return None
        return Term(self.text, is_prefix=True)


def _is_name(text: str) -> bool:
    """Say whether a word is spelled as a name of code is: ``useState``, ``OOMKilled``, ``py3``."""
    has_inner_capital = any(c.isupper() for c in text[1:]) and not text.isupper()
    return has_inner_capital or any(c.isdigit() for c in text)


def _joint(before: str, after: str) -> str:
    if not before:
        return ""
    # characters that the index parted with spaces stand side by side in the text
    return r"[\W_]*" if _is_unspaced(before[-1]) or _is_unspaced(after[0]) else _GAP


def _edge(char: str, edge: str) -> str:
    return "" if _is_unspaced(char) else edge


def _is_unspaced(char: str) -> bool:
    return spaced(char) != char


def tokens_of(text: str) -> tuple[str, ...]:
    """Return the words of a folded text in which characters without spaces between them are parted."""
    return tuple(_TOKEN.findall(text))


def terms_of(query: str) -> tuple[list[Term], bool]:
    """Return the terms of a query, each once, and whether something of it was left out because it is too long."""
    found: dict[tuple[tuple[str, ...], bool], Term] = {}
    text = plain(query[:MOST_CHARS])
    for part in _PART.finditer(text):
        is_quoted = part[1] is not None
        word = part[1] if is_quoted else _POSSESSIVE.sub("", part[2])
        term = Term(word.rstrip("*"), is_prefix=word.endswith("*"), is_quoted=is_quoted)
        if not term.tokens:
            continue
        if len(found) == MOST_WORDS:
            return list(found.values()), True
        found.setdefault((term.tokens, term.is_prefix), term)
    return list(found.values()), len(query) > MOST_CHARS


# Words as the index compares them: without case and accents, and scripts that write no spaces, character by character.
#
# SQLite's tokenizer ``unicode61`` does the first by itself; :func:`folded` does the same so that a snippet can show
# where a word stands. It takes a run of Chinese or Japanese for one word, so :func:`spaced` puts spaces between the
# characters before it sees them, and a query for some of them becomes a phrase.

# kana, CJK ideographs with extension A and compatibility forms, Hangul syllables, further ideographs
_UNSPACED = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f])")


def spaced(text: str) -> str:
    """Return a text in which every character of a script without spaces is a word of its own."""
    return text if text.isascii() else _UNSPACED.sub(r" \1 ", text)


class _Folds(dict[int, str]):
    """What each character is compared as; filled when one is first met."""

    def __missing__(self, point: int) -> str:
        char = chr(point)
        base, *marks = unicodedata.normalize("NFD", char)
        # one character for one, so that offsets stay those of the text itself
        folded = (base if all(map(unicodedata.combining, marks)) else char).lower()[0]
        self[point] = folded
        return folded


def folded(text: str) -> str:
    """Return a text of the same length without case and accents."""
    return text.lower() if text.isascii() else text.translate(_folds)


_folds = _Folds()


def plain(text: str) -> str:
    """Return a text that SQLite and UTF-8 can hold: lone surrogates become U+FFFD, NUL becomes a space."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    return text.replace("\0", " ")


# The other forms of a word, so that "painted" finds "painting": what in the index has the same English stem.
#
# The index keeps words as they are written. Stems are only compared when a question is asked, so a phrase or a name is
# still found exactly, nothing is stored twice, and words of other languages are never written down as something else.

# The words of the index as SQLite lists them, a view of each connection that stores nothing.
_VIEW = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, words, row)"
_FROM = "SELECT term FROM temp.vocabulary WHERE term >= ? AND term < ?"
# Shorter words are rarely inflected, and half of a vocabulary begins like them.
_LEAST = 3
# "ization" with a doubled consonant before it: what a word can have more than its stem
_MOST_ENDING = 8
# A word has a dozen forms at most; more would be a vocabulary of noise.
MOST_FORMS = 12


def prepare(database: sqlite3.Connection) -> None:
    """Let a connection list the words of its index."""
    database.execute(_VIEW)


def forms_of(database: sqlite3.Connection, word: str) -> list[str]:
    """Return the other words of the index that are forms of a word, in alphabetic order.

    Args:
        database: the open index, prepared.
        word: a folded word; one that is not of plain Latin letters has no other forms.
    """
    if len(word) < _LEAST or not (word.isascii() and word.isalpha()):
        return []
    stem = stems_of([word])[0]
    # "happier" and "happy" are both of the stem "happi", "caches" and "cache" of "cach"
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(stem, word, strict=False))
    beginning = "".join(char for char, _ in shared).removesuffix("i")
    if len(beginning) < _LEAST:
        return []
    most = len(beginning) + _MOST_ENDING
    near = [term for (term,) in database.execute(_FROM, (beginning, beginning + "{")) if len(term) <= most]
    near = [term for term in near if term != word and term.isascii() and term.isalpha()]
    return [term for term, own in zip(near, stems_of(near), strict=True) if own == stem][:MOST_FORMS]


def stems_of(words: Iterable[str]) -> list[str]:
    """Return the English stem of each word (Snowball's second Porter stemmer)."""
    return _english().stemWords(list(words))


@cache
def _english() -> Any:
    import Stemmer  # noqa: PLC0415 - only a search needs it

    return Stemmer.Stemmer("english")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped


# The words around a hit, short enough for a line or two of a terminal.

MOST_BYTES = 1024
_BEFORE = 100
_AFTER = 300
_MORE = "…"
# A word is not cut within so many characters of where a cut would fall.
_SLACK = 24


def snippet_of(text: str, terms: list[Term]) -> str:
    """Return the part of a text around its first hit on one line, at most 1024 bytes; its beginning without a hit."""
    compared = folded(text)
    places = [found.start() for term in terms if (found := term.pattern.search(compared))]
    at = min(places, default=0)
    start, end = max(0, at - _BEFORE), min(len(text), at + _AFTER)
    if start and (space := text.find(" ", start, start + _SLACK)) >= 0:
        start = space + 1
    if end < len(text) and (space := text.rfind(" ", end - _SLACK, end)) > at:
        end = space
    words = " ".join(text[start:end].split())
    shown = (_MORE if start else "") + words + (_MORE if end < len(text) else "")
    return shown.encode("utf-8", "replace")[:MOST_BYTES].decode("utf-8", "ignore")


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
        limit: at most this many.
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
            if score > best.get(number, 0.0):
                best[number] = score
        for number, score in best.items():
            totals[number] = totals.get(number, 0.0) + score
    fitting = ((score, rows[number].last_activity, number) for number, score in totals.items() if number in rows)
    return [_hit(database, rows[number], number, score, found) for score, _, number in nlargest(limit, fitting)]


class _Asked(NamedTuple):
    """What the index has for one term.

    Attributes:
        terms: the term, or when it stands nowhere all words that begin with it; then the other forms of the word.
        scores: the score of each segment, the greater the better.
        rarity: the weight of the term.
    """

    terms: list[Term]
    scores: dict[int, float]
    rarity: float

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
    best = max(_segments_of(database, number), key=lambda s: sum(one.scores.get(s, 0.0) for one in found))
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
    return Hit(row, score, snippet_of(row.title if chosen is None else _shown(chosen), terms), chosen)


def _segments_of(database: sqlite3.Connection, number: int) -> list[int]:
    query = "SELECT number FROM segments WHERE number >= ? AND number < ? ORDER BY number"
    span = (number << SESSION_SHIFT, (number + 1) << SESSION_SHIFT)
    return [segment for (segment,) in database.execute(query, span)]


def _shown(said: Said) -> str:
    return said.text or ", ".join(said.tools)
