"""What somebody typed into a search, as words and phrases; whatever stands in it, it is never an operator.

``"two words"`` in quotes is a phrase, ``pre*`` every word that begins so, everything else a word. A word with
separators in it (``outbox_events``, ``src/ledger``) is a phrase of its pieces, since the index parts them, too. What is
quoted, and every name, stands for itself alone; a plain word also finds its other forms (:mod:`.forms`).
"""

import re
from functools import cached_property

from slowwave.stores.search.fold import folded, plain, spaced

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
