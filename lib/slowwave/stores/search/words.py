"""Words of a search and of what is searched: without case and accents, in their other forms, and around a hit."""

import re
import sqlite3
import unicodedata
from collections.abc import Iterable
from functools import cache, cached_property
from itertools import takewhile
from typing import Any

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

    ``word``: a folded word; one that is not of plain Latin letters has no other forms.
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
