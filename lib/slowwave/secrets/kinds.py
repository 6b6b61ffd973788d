"""The kinds of nouns of secrets: how each is looked for, and what must stand near it to be looked at closely."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from slowwave.secrets.nouns import BEFORE, IS_DENSE, words


class Kind(StrEnum):
    """What a noun says of the value; the heads of the file of nouns."""

    PASSWORD = "password"  # noqa: S105 - a head
    SHORT = "short"
    PASS = "pass"  # noqa: S105 - a head
    KEY = "key"
    PLAIN_KEY = "plain-key"
    PIN = "pin"
    SHORT_PIN = "short-pin"
    CARD_CODE = "card-code"
    LOGIN = "login"
    OPENED = "opened"
    USER = "user"
    ASKS = "asks"
    FED = "fed"
    ANSWER = "answer"
    SHORT_ANSWER = "short-answer"
    HALF = "half"
    HINT = "hint"
    CODE = "code"
    LOOSE = "loose"


# short nouns are part of many words, and looked for with what may end them; a letter of another script is looked for as
# a question mark
_LINKS = " :=\"'`*?"
_ENDS = {
    Kind.SHORT: " :=\"'*.,!?\n",
    Kind.PASS: _LINKS,
    Kind.SHORT_PIN: _LINKS,
    Kind.KEY: " :=?",
    Kind.LOGIN: " :=(,.\n",
    Kind.OPENED: ' :,.\n"\\?',
    Kind.USER: "/:",
    Kind.ASKS: ' ,:.\n"\\',
    Kind.HALF: " ,:=",
    Kind.HINT: ' ,:.\n"',
    Kind.CODE: " :=",
    Kind.LOOSE: ' ,:.\n"',
}
_WHOLE = (Kind.SHORT, Kind.PASS, Kind.SHORT_PIN)
COMMON = (
    *(Kind.SHORT, Kind.PASS, Kind.SHORT_PIN, Kind.KEY, Kind.LOGIN, Kind.USER, Kind.OPENED, Kind.ASKS, Kind.HALF),
    *(Kind.HINT, Kind.CODE, Kind.LOOSE),
)
_BEGINNING = (Kind.OPENED, Kind.ASKS, Kind.HALF, Kind.ANSWER, Kind.SHORT_ANSWER, Kind.FED, Kind.HINT, Kind.LOOSE)
# words of many texts are looked at closely only where something odd is in reach
_BETWEEN = r"[ \t:=\-*>,./|\"'`()]{0,6}+"
_LETTERS = r"[^\x00-@\[-`{-\x7f]++"
_NEAR = re.compile(rf"(?:{_BETWEEN}{_LETTERS}){{0,14}}+{_BETWEEN}[0-9_!#$%&+?@^~<\[;]")
_NEAR_KEY = re.compile(rf"(?:{_BETWEEN}{_LETTERS}){{0,7}}+{_BETWEEN}[0-9_!#$%&+?@^](?=\S{{3}})")


def _near_code(text: str, at: int) -> re.Match[str] | None:
    return _SOME_DIGITS.search(text, max(0, at - BEFORE), at + _FEW_CHARS)


def _near_digit(text: str, at: int) -> re.Match[str] | None:
    return DIGIT.search(text, max(0, at - BEFORE), at + BEFORE)


DIGIT = re.compile(r"[0-9]")
_SOME_DIGITS = re.compile(r"[0-9](?:[0-9](?:[0-9]{2}|[0-9]?[ \-][0-9]{2}|[A-Z][0-9]{2})|[ \-.,][0-9][ \-.,]+[0-9])")


def _code_ahead(text: str, at: int) -> re.Match[str] | None:
    return _SOME_DIGITS.search(text, at, at + BEFORE)


def _near_odd(text: str, at: int) -> re.Match[str] | None:
    return _DIGIT_IN_WORD.search(text, max(0, at - BEFORE), at + BEFORE)


# behind a letter or a sign that may part words
_DIGIT_IN_WORD = re.compile(r"[0-9](?<=[^\s0-9:,;()\[\]{}\"'=/<>|][0-9])")


def _near_either(text: str, at: int) -> re.Match[str] | None:
    return _NEAR.match(text, at) or _DIGIT_IN_WORD.search(text, max(0, at - BEFORE), at)


_NEARS = {
    Kind.LOGIN: _near_either,
    Kind.KEY: _NEAR_KEY.match,
    Kind.OPENED: _near_code,
    Kind.CODE: _code_ahead,
    **dict.fromkeys((Kind.HINT, Kind.LOOSE), _near_odd),
    **dict.fromkeys((Kind.ASKS, Kind.HALF), _near_digit),
}
# an escaped end of a line
_BROKEN = re.compile(r"\\[nrt]")
_SHORT = 4
# behind a stem: any ending, in a compound, too
_ANY = "*"
_FEW_CHARS = 40


@dataclass(frozen=True, slots=True)
class Noun:
    """What is known of a noun before a text is looked at.

    Attributes:
        kinds: what it may say of the value, in the order in which that is tried.
        is_cut: its last character is what ends it.
        begins: it is so short that it must begin a word: many words end so.
        is_whole: it must be a word of its own.
        near: tries at its end whether anything odd is in reach; None for nouns that are rare enough.
    """

    kinds: tuple[Kind, ...]
    is_cut: bool
    begins: bool
    is_whole: bool
    near: Callable[[str, int], re.Match[str] | None] | None

    def is_idle(self, text: str, start: int, end: int) -> bool:
        """Say whether the noun ends another word, or nothing odd is in reach: most of the common ones tell nothing."""
        if not self.is_cut or self.near is None or self.kinds[0] is Kind.SHORT or text.startswith("|", end):
            return False
        return (self.begins and is_within(text, start)) or self.near(text, end - 1) is None


def is_within(text: str, start: int) -> bool:
    """Say whether a word has begun before ``start``: no escaped end of a line, nor a script without blanks."""
    before = text[start - 1 : start]
    return before.isalnum() and not IS_DENSE.match(before) and not _BROKEN.match(text, max(0, start - 2))


def _nouns() -> Iterator[tuple[str, Noun]]:
    found: dict[str, tuple[Kind, ...]] = {}
    for kind in Kind:
        for noun in words(kind.value):
            stem = noun.removesuffix(_ANY)
            # several words are rare enough without what ends them
            is_cut = noun.isascii() and stem == noun and (" " not in noun or kind in (Kind.KEY, Kind.LOGIN))
            for end in _ENDS.get(kind, ("",)) if is_cut else ("",):
                found[stem + end] = (*found.get(stem + end, ()), kind)
    for noun, kinds in found.items():
        near = _NEARS.get(kinds[0], _NEAR.match) if kinds[0] in COMMON else None
        is_cut, is_whole = not noun[-1].isalnum() and noun.isascii(), kinds[0] in _WHOLE
        begins = is_whole or (noun.isascii() and (kinds[0] in _BEGINNING or len(noun) - is_cut < _SHORT))
        yield noun, Noun(kinds, is_cut, begins, is_whole, near)


NOUNS = dict(_nouns())
