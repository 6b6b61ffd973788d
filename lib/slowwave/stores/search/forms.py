"""The other forms of a word, so that "painted" finds "painting": what in the index has the same English stem.

The index keeps words as they are written. Stems are only compared when a question is asked, so a phrase or a name is
still found exactly, nothing is stored twice, and words of other languages are never written down as something else.
"""

import sqlite3
from collections.abc import Iterable
from functools import cache
from itertools import takewhile
from typing import Any

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
