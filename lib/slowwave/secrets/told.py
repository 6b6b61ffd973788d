"""Secrets that people tell in words: a noun of secrets, and near it what looks like no word.

Nothing here knows a sentence. The nearer a value stands to the noun, and the more plainly it is tied to it (a colon, a
dash, "is" in some language), the more it may look like a word itself; after a few words between the two it must be
beyond doubt. Languages without blanks are cut where their script ends.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from slowwave.secrets.answers import answered, fed, halves, security_answer, spelled
from slowwave.secrets.codes import CARD_DIGITS, PIN_DIGITS, few_digits, of_user, opening, pair_of
from slowwave.secrets.nouns import words
from slowwave.secrets.oddness import oddness
from slowwave.secrets.phrases import (
    ASKS,
    BEFORE,
    BEYOND_DOUBT,
    BONDS,
    CLEAR,
    COLONS,
    DENSE,
    FEW_WORDS,
    IS_DENSE,
    MOST_WORDS,
    OF_CODE,
    REACH,
    STOP,
    TOKEN,
    Span,
    are_parted,
    gap_of,
    is_last,
    tokens_of,
    trimmed,
)


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


# short nouns are part of many words, and looked for with what may end them; a letter of another script is looked for as
# a question mark
_LINKS = " :=\"'`*?"
_ENDS = {
    Kind.SHORT: " :=\"'*.,!?\n",
    Kind.PASS: _LINKS,
    Kind.SHORT_PIN: _LINKS,
    Kind.KEY: " :=",
    Kind.LOGIN: " :=(",
    Kind.OPENED: ' :,.\n"\\?',
    Kind.USER: "/:",
    Kind.ASKS: ' ,:.\n"\\',
    Kind.HALF: " ,:=",
}
_WHOLE = (Kind.SHORT, Kind.PASS, Kind.SHORT_PIN)
COMMON = (Kind.SHORT, Kind.PASS, Kind.SHORT_PIN, Kind.KEY, Kind.LOGIN, Kind.USER, Kind.OPENED, Kind.ASKS, Kind.HALF)
_BEGINNING = (Kind.OPENED, Kind.ASKS, Kind.HALF, Kind.ANSWER, Kind.SHORT_ANSWER, Kind.FED)
_ENTERING = frozenset(words("entering"))
_WITH = frozenset(words("with"))
# these stand in addresses and in commands
_IN_CODE = (Kind.USER, Kind.FED)
# the first odd word behind them is a value, or none is
_AT_ONCE = (Kind.PASS, Kind.KEY, Kind.PLAIN_KEY)
_AFTER = " :="
_SAID = re.compile(r"\b(?:is|as|was|are)\s(?:\w+\s)?\Z")
# how far from the noun values are looked for
_REACHES = {Kind.PASSWORD: REACH, Kind.SHORT: 60, Kind.PASS: 40, Kind.KEY: 80, Kind.PLAIN_KEY: 80}
# words without anything odd are passed over at once
_ODD_WORD = (
    r"(?<![^\s{0}])(?=[^\s{0}]{{0,80}}?(?:[0-9!#$%&*+=?@^]|[a-z][A-Z]|[a-z]{{3}}[\-._][a-z]{{3,20}}[\-._][a-z]{{3}}"
    r"|[b-df-hj-np-tv-xzB-DF-HJ-NP-TV-XZ]{{6}}))[^\s{0}]{{3,200}}"
)
_CANDIDATE = re.compile(_ODD_WORD.format(DENSE))
# the same for most texts, which have none of these letters
_ASCII_CANDIDATE = re.compile(_ODD_WORD.format(""))
_REST = re.compile(rf"[^\W\d_{DENSE}]{{0,12}}(?:\(s\)|['\u2019][^\W\d_]{{1,3}})?")
_CODE_BEHIND = re.compile(r"[_$\[(]|(?<=[A-Za-z])[0-9]|[.\-/@](?=[A-Za-z_)])")
# words of many texts are looked at closely only where something odd is in reach
_BETWEEN = r"[ \t:=\-*>,./|\"'`()]{0,6}+"
_LETTERS = r"[^\x00-@\[-`{-\x7f]++"
_NEAR = re.compile(rf"(?:{_BETWEEN}{_LETTERS}){{0,9}}+{_BETWEEN}[0-9_!#$%&+?@^]")
_NEAR_KEY = re.compile(rf"(?:{_BETWEEN}{_LETTERS}){{0,7}}+{_BETWEEN}[0-9_!#$%&+?@^](?=\S{{3}})")


def _near_code(text: str, at: int) -> re.Match[str] | None:
    return _SOME_DIGITS.search(text, max(0, at - BEFORE), at + _FEW_CHARS)


def _near_digit(text: str, at: int) -> re.Match[str] | None:
    return _DIGIT.search(text, max(0, at - BEFORE), at + BEFORE)


_DIGIT = re.compile(r"[0-9]")
_SOME_DIGITS = re.compile(r"[0-9]{4}|[0-9]{3}[ \-][0-9]{3}")
_NEARS = {Kind.KEY: _NEAR_KEY.match, Kind.OPENED: _near_code, Kind.ASKS: _near_digit, Kind.HALF: _near_digit}
_BOND = re.compile(r"(?:[:=]+|[-=]+>|\u2192)[>\"'`\u201c\u00ab]?")


_SOME_BOND = re.compile(r"(?:[:=]+|[-=]+>|\u2192)[>\"'`\u201c\u00ab]?")
_OWNER = re.compile(
    r"(?:sudo|root|admin|user|login|db|database|ssh|ftp|wi-?fi|vpn|my|the|your|our|server|mail|email|account|and|with"
    r"|el|la|il|le|mi|mia|tu|tua|ma|mon|mein|meine|dein|das|die|minha|minu|mijn|min|mitt|det|moje|moja|benim|saya)"
    r"['\u2019s]{0,2}[ \-:,]{1,2}\Z",
    re.IGNORECASE,
)
# an escaped end of a line
_BROKEN = re.compile(r"\\[nrt]")
# of what was taken out before
_MARK = re.compile(r"\[(?:secret:[\w\-]*)?\Z")
_SHORT = 4
# behind a stem: any ending, in a compound, too
_ANY = "*"
_NEVER = 9
_KEY_CHARS = 8
_SOME_CHARS = 6
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
        if not self.is_cut or self.near is None or self.kinds[0] is Kind.SHORT:
            return False
        return (self.begins and _is_within(text, start)) or self.near(text, end - 1) is None


def _is_within(text: str, start: int) -> bool:
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


def told(text: str, start: int, end: int, noun: Noun) -> list[Span]:
    """Return where the values lie that a noun between ``start`` and ``end`` of a text tells."""
    at = end - noun.is_cut
    if not noun.is_cut and text[at : at + 1] not in _AFTER and not noun.is_whole and not IS_DENSE.match(text, at - 1):
        rest = _REST.match(text, at)
        at = rest.end() if rest else at
    if noun.near is not None and noun.near(text, at) is None:
        return _ahead(text, start, at) if noun.kinds[0] is Kind.SHORT else []
    before = text[start - 1 : start]
    if noun.begins and _is_within(text, start):
        return []
    if (
        (before and before in OF_CODE)
        or (noun.kinds[0] not in _IN_CODE and _CODE_BEHIND.match(text, at))
        or (before and before in "[-:" and _MARK.search(text, max(0, start - 40), start))
    ):
        return []
    if noun.is_whole and text[at : at + 1].isalnum() and not IS_DENSE.match(text, at):
        return []
    found: list[Span] = []
    for kind in noun.kinds:
        found = found or _of_kind(text, start, at, kind)
    return found or (spelled(text, at) if noun.kinds[0] in _SPELLED else found)


_SPELLED = (Kind.PASSWORD, Kind.SHORT, Kind.PASS, Kind.KEY, Kind.PIN)


_ANSWERS: dict[Kind, Callable[[str, int, int], list[Span]]] = {
    Kind.ASKS: answered,
    Kind.FED: fed,
    Kind.ANSWER: partial(security_answer, is_short=False),
    Kind.SHORT_ANSWER: partial(security_answer, is_short=True),
    Kind.HALF: halves,
}


def _of_kind(text: str, start: int, at: int, kind: Kind) -> list[Span]:
    match kind:
        case Kind.LOGIN:
            found = pair_of(text, at)
        case Kind.USER:
            found = of_user(text, at)
        case Kind.OPENED:
            found = opening(text, start, at)
        case Kind.PIN | Kind.SHORT_PIN | Kind.CARD_CODE:
            least = CARD_DIGITS if kind is Kind.CARD_CODE else PIN_DIGITS
            found = few_digits(text, at, least, is_rare=kind is not Kind.SHORT_PIN or text[start] > "\u0250")
            # or letters and digits in turn
            found = found or [span for span in _behind(text, at, at, Kind.PASS) if oddness(text[slice(*span)]) >= CLEAR]
        case _ if kind in _ANSWERS:
            found = _ANSWERS[kind](text, start, at)
        case Kind.KEY | Kind.PLAIN_KEY:
            found = list(_behind(text, start, at, kind))
        case Kind.PASS if not _OWNER.search(text, max(0, start - 12), start):
            found = list(_behind(text, start, at, kind))
        case _:
            found = list(_behind(text, start, at, Kind.SHORT if kind is Kind.PASS else kind))
            found = found or _ahead(text, start, at)
    return found


def _behind(text: str, start: int, at: int, kind: Kind) -> Iterator[Span]:
    """Yield the values behind a noun that ends at ``at``."""
    is_latin = text[start : start + 1] < "\u0250"
    again = False
    last = at
    for begin, stop in _candidates(text, at, _REACHES[kind]):
        between = text[last:begin]
        tokens = tokens_of(between)
        if len(tokens) > MOST_WORDS or are_parted(between, tokens):
            return
        gap, bound = gap_of(tokens)
        if kind is Kind.KEY and tokens and tokens[-1].lower() in _WITH:
            bound = CLEAR
        bond = _BOND.match(text, begin, stop)
        if bond and bond.end() < stop:
            begin, bound = bond.end(), CLEAR  # noqa: PLW2901 - the colon is no part of the value
        if kind in _AT_ONCE and gap and bound < CLEAR:
            return
        left, right = trimmed(text, begin, stop)
        value = text[left:right]
        foreign = not is_latin and not any(word.isascii() and word.isalpha() for word in tokens if word not in BONDS)
        needed = _needed(kind, value, gap, bound, again=again, foreign=foreign, last=is_last(text, stop))
        if kind is Kind.PLAIN_KEY and bound == CLEAR and not gap and len(value) >= _KEY_CHARS:
            needed = CLEAR
        if value and needed < _NEVER and oddness(value) >= needed:
            yield left, right
            again = True
        elif kind in _AT_ONCE or (text.endswith(STOP, begin, stop) and not text.endswith(ASKS, begin, stop)):
            return
        # what was passed over counts as a word
        last = stop if again else last


def _candidates(text: str, at: int, reach: int) -> Iterator[Span]:
    """Yield the odd words of the rest of the line, and of the next one behind a colon."""
    size = min(len(text), at + reach)
    stop = text.find("\n", at, size)
    if stop >= 0 and not text[at:stop].rstrip(" \t\"'`*").endswith(COLONS):
        size = stop
    if direct := _DIRECT.match(text, at):
        yield at, min(direct.end(), len(text))
        at = direct.end()
    for candidate in (_ASCII_CANDIDATE if text.isascii() else _CANDIDATE).finditer(text, at, size):
        end = candidate.end()
        if end == size < len(text):
            end = TOKEN.match(text, candidate.start()).end()  # pyright: ignore[reportOptionalMemberAccess] - cut off
        yield candidate.start(), end


# a value right behind the colon of its noun
_DIRECT = re.compile(rf"[\"'`*)\]]{{0,3}}[:=][^\s{DENSE}]{{4,200}}")


def _needed(kind: Kind, value: str, gap: int, bound: int, *, again: bool, foreign: bool, last: bool) -> int:
    """Return how odd a value must be, so many words behind the noun and so plainly tied to it.

    Args:
        kind: what the noun says.
        value: the value.
        gap: how many words stand between.
        bound: 2 when it is tied to the noun, 1 when another word comes between, else 0.
        again: the noun has told a value already.
        foreign: nothing else here is written in the letters of the value.
        last: nothing stands behind it in its sentence.
    """
    is_near = bound == CLEAR or not gap
    if kind in (Kind.KEY, Kind.PLAIN_KEY):
        return BEYOND_DOUBT if is_near and len(value) >= _KEY_CHARS else _NEVER
    if value.isdigit():
        needed = 1 if bound == CLEAR and not gap and kind is not Kind.PASS else _NEVER
    elif kind is Kind.PASS:
        needed = CLEAR if is_near and bound == CLEAR and not gap else BEYOND_DOUBT if is_near else _NEVER
    elif again:
        needed = CLEAR
    elif bound == CLEAR:
        needed = 1
    elif not gap or (foreign and gap <= FEW_WORDS + 1) or (gap == 1 and last):
        needed = 1 if len(value) >= _SOME_CHARS else CLEAR
    else:
        needed = CLEAR if bound else BEYOND_DOUBT
    return needed


def _ahead(text: str, start: int, at: int) -> list[Span]:
    """Return a value that stands before the noun: "... is the password"."""
    before = text[start - 1 : start]
    if (
        at - start < _SOME_CHARS - 2
        and text[start] < "\u0250"
        and (before != " " or not _SAID.search(text, max(0, start - 12), start))
    ):
        return []  # a short noun is many things, and one that a command prints
    first = max(0, start - BEFORE)
    first = max(first, text.rfind("\n", first, start) + 1)
    last = None
    for candidate in _CANDIDATE.finditer(text, first, start):
        last = candidate
    if last is None or last.end() == start:
        return []
    between = text[last.end() : start]
    tokens = tokens_of(between)
    if not between[-1:].isspace() and tokens and not IS_DENSE.match(between[-1]):
        tokens.pop()  # the beginning of the noun's own word
    left, right = trimmed(text, *last.span())
    value = text[left:right]
    if (
        len(tokens) > MOST_WORDS
        or text[right : last.end()].endswith(STOP)
        or are_parted(between, tokens)
        or value.isdigit()
    ):
        return []
    verb = text[first : last.start()].rstrip(" \"'`\u201c\u00ab").rpartition(" ")[2]
    is_entered = verb.lower().lstrip("\"'`(") in _ENTERING
    is_tied = is_entered or any(token.lower() in BONDS for token in tokens)
    is_last = text[at : at + 1] in ("", "\n", "\r") or not text[at : at + 1].isspace()
    most = FEW_WORDS * (2 if is_entered else 1)
    is_given = is_entered and len(tokens) <= FEW_WORDS
    needed = (1 if is_last or is_given else CLEAR) if is_tied and len(tokens) <= most else BEYOND_DOUBT
    return [(left, right)] if value and oddness(value) >= needed else []
