"""Secrets that people tell in words: a noun of secrets, and near it what looks like no word.

Nothing here knows a sentence. The nearer a value stands to the noun, and the more plainly it is tied to it (a colon, a
dash, "is" in some language), the more it may look like a word itself; after a few words between the two it must be
beyond doubt. Languages without blanks are cut where their script ends.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from slowwave.secrets.nouns import words
from slowwave.secrets.oddness import oddness


class Kind(StrEnum):
    """What a noun says of the value; the heads of the file of nouns."""

    PASSWORD = "password"  # noqa: S105 - a head
    SHORT = "short"
    PASS = "pass"  # noqa: S105 - a head
    KEY = "key"
    PIN = "pin"
    SHORT_PIN = "short-pin"
    CARD_CODE = "card-code"
    LOGIN = "login"
    OPENED = "opened"
    USER = "user"


# short nouns are part of many words, and looked for with what may end them; a letter of another script is looked for as
# a question mark
_LINKS = " :=\"'`*?"
_ENDS = {
    Kind.SHORT: " :=\"'*.,!?\n",
    Kind.PASS: _LINKS,
    Kind.SHORT_PIN: _LINKS,
    Kind.KEY: " :=",
    Kind.LOGIN: " :=(",
    Kind.OPENED: " :=,.\n\"'`)\\?",
    Kind.USER: "/:",
}
_BONDS = frozenset(words("bond"))
_ENDINGS = words("bond-ending")
_WHOLE = (Kind.SHORT, Kind.PASS, Kind.SHORT_PIN)
COMMON = (Kind.SHORT, Kind.PASS, Kind.SHORT_PIN, Kind.KEY, Kind.LOGIN, Kind.USER, Kind.OPENED)
_ENTERING = frozenset(words("entering"))
_WITH = frozenset(words("with"))
# the first odd word behind them is a value, or none is
_AT_ONCE = (Kind.PASS, Kind.KEY)
_AFTER = " :="
_SAID = re.compile(r"\b(?:is|as|was|are)\s(?:\w+\s)?\Z")
_OF_CODE = frozenset("_$./@\\")
# how far from the noun values are looked for
_REACH = 120
_REACHES = {Kind.PASSWORD: _REACH, Kind.SHORT: 60, Kind.PASS: 40, Kind.KEY: 80}
_BEFORE = 80
# scripts without blanks, or whose particles stand at the end of a foreign word, and their punctuation
_DENSE = (
    r"\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3000-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    r"\uff01-\uff0f\uff1a-\uff20\uff5b-\uffef"
)
_TOKEN = re.compile(rf"[{_DENSE}]+|[^\s{_DENSE}]+")
_IS_DENSE = re.compile(rf"[{_DENSE}]")
# words without anything odd are passed over at once
_ODD_WORD = (
    r"(?<![^\s{0}])(?=[^\s{0}]{{0,80}}?(?:[0-9!#$%&*+=?@^]|[a-z][A-Z]|[a-z]{{3}}[\-._][a-z]{{3,20}}[\-._][a-z]{{3}}"
    r"|[b-df-hj-np-tv-xzB-DF-HJ-NP-TV-XZ]{{6}}))[^\s{0}]{{3,200}}"
)
_CANDIDATE = re.compile(_ODD_WORD.format(_DENSE))
# the same for most texts, which have none of these letters
_ASCII_CANDIDATE = re.compile(_ODD_WORD.format(""))
_REST = re.compile(rf"[^\W\d_{_DENSE}]{{0,12}}(?:\(s\)|['\u2019][^\W\d_]{{1,3}})?")
_CODE_BEHIND = re.compile(r"[_$\[(]|(?<=[A-Za-z])[0-9]|[.\-/@](?=[A-Za-z_)])")
# words of many texts are looked at closely only where something odd is in reach
_BETWEEN = r"[ \t:=\-*>,/|\"'`()]{0,6}+"
_LETTERS = r"[^\x00-@\[-`{-\x7f]++"
_NEAR = re.compile(rf"(?:{_BETWEEN}{_LETTERS}){{0,9}}+{_BETWEEN}[0-9_!#$%&+?@^]")
_NEAR_KEY = re.compile(rf"(?:{_BETWEEN}{_LETTERS}){{0,7}}+{_BETWEEN}[0-9_!#$%&+?@^](?=\S{{3}})")


def _near_code(text: str, at: int) -> re.Match[str] | None:
    return _SOME_DIGITS.search(text, max(0, at - _BEFORE), at + _FEW_CHARS)


_SOME_DIGITS = re.compile(r"[0-9]{4}|[0-9]{3}[ \-][0-9]{3}")
_NEARS = {Kind.KEY: _NEAR_KEY.match, Kind.OPENED: _near_code}
_OPENERS = "\"'`\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb*([<{\u300c\u300e\u3010\uff08"
_QUOTES = "\"'`"
_CLOSERS = ".,;:?)]}>\"'`*\u201c\u201d\u2018\u2019\u00ab\u00bb\u300d\u300f\u3011\uff09"
_BOND = re.compile(r"(?:[:=]+|[-=]+>|\u2192)[>\"'`\u201c\u00ab]?")
_STOP = (".", "!", "?", ";", "\u3002", "\uff01", "\uff1f")
_ASKS = ("?", "\uff1f", "\u061f", "\u037e")
_COLONS = (":", "=", "\uff1a", "\uff1d")
_DIGITS = re.compile(
    r"(?<!\d:)(?<![A-Za-z0-9_.,\-/\\])(?:\d{3,8}|\d{3}[ \-]\d{3}|\d\d \d\d)(?![\d:]|[.,:%\-/]\d|[A-Za-z%_])"
)
_OWNER = re.compile(
    r"(?:sudo|root|admin|user|login|db|database|ssh|ftp|wi-?fi|vpn|my|the|your|our|server|mail|email|account|and|with)"
    r"['\u2019s]{0,2}[ \-:,]{1,2}\Z",
    re.IGNORECASE,
)
_PAIR = re.compile(
    r"(?<![\w./@:\-])(?P<user>[^\W\d_][\w.@+\-]{0,60})[\"'`]?"
    r"(?P<by>[ \t]{0,3}(?:[/:|,;&]|->|\u2192|and|with|y|und|et|e|i|\u0438|con|mit|avec)[ \t]{1,3}|[/:|])"
    r"(?:(?:password|pass|pw|pwd)[:=]?[ \t])?[\"'`(]?(?P<secret>[^\s\"'`]{5,80})"
)
# an escaped end of a line
_BROKEN = re.compile(r"\\[nrt]")
# of what was taken out before
_MARK = re.compile(r"\[(?:secret:[\w\-]*)?\Z")
_SHORT = 4
_MOST_WORDS = 12
_FEW_WORDS = 3
_NEVER = 9
_BEYOND_DOUBT = 3
_CLEAR = 2
_KEY_CHARS = 8
_SOME_CHARS = 6
_FEW_CHARS = 40
_PIN_DIGITS = 4
_CARD_DIGITS = 3
Span = tuple[int, int]


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
    """Say whether a word has begun before ``start``; an escaped end of a line is none, nor is a script without blanks."""
    before = text[start - 1 : start]
    return before.isalnum() and not _IS_DENSE.match(before) and not _BROKEN.match(text, max(0, start - 2))


def _nouns() -> Iterator[tuple[str, Noun]]:
    found: dict[str, tuple[Kind, ...]] = {}
    for kind in Kind:
        for noun in words(kind.value):
            for end in _ENDS.get(kind, ("",)) if noun.isascii() else ("",):
                found[noun + end] = (*found.get(noun + end, ()), kind)
    for noun, kinds in found.items():
        near = _NEARS.get(kinds[0], _NEAR.match) if kinds[0] in COMMON else None
        is_cut, is_whole = not noun[-1].isalnum() and noun.isascii(), kinds[0] in _WHOLE
        begins = is_whole or (noun.isascii() and (kinds[0] is Kind.OPENED or len(noun) - is_cut < _SHORT))
        yield noun, Noun(kinds, is_cut, begins, is_whole, near)


NOUNS = dict(_nouns())


def told(text: str, start: int, end: int, noun: Noun) -> list[Span]:
    """Return where the values lie that a noun between ``start`` and ``end`` of a text tells."""
    at = end - noun.is_cut
    if not noun.is_cut and text[at : at + 1] not in _AFTER and not noun.is_whole and not _IS_DENSE.match(text, at - 1):
        rest = _REST.match(text, at)
        at = rest.end() if rest else at
    if noun.near is not None and noun.near(text, at) is None:
        return _ahead(text, start, at) if noun.kinds[0] is Kind.SHORT else []
    before = text[start - 1 : start]
    if noun.begins and _is_within(text, start):
        return []
    if (
        (before and before in _OF_CODE)
        or (noun.kinds[0] is not Kind.USER and _CODE_BEHIND.match(text, at))
        or (before and before in "[-:" and _MARK.search(text, max(0, start - 40), start))
    ):
        return []
    if noun.is_whole and text[at : at + 1].isalnum() and not _IS_DENSE.match(text, at):
        return []
    found: list[Span] = []
    for kind in noun.kinds:
        found = found or _of_kind(text, start, at, kind)
    return found


def _of_kind(text: str, start: int, at: int, kind: Kind) -> list[Span]:
    match kind:
        case Kind.LOGIN:
            return _pair(text, at)
        case Kind.PIN | Kind.SHORT_PIN:
            return _digits(text, at, _PIN_DIGITS, is_rare=kind is Kind.PIN)
        case Kind.USER:
            return _of_user(text, at)
        case Kind.OPENED:
            return _opening(text, start, at)
        case Kind.CARD_CODE:
            return _digits(text, at, _CARD_DIGITS, is_rare=True)
        case Kind.PASS if not _OWNER.search(text, max(0, start - 12), start):
            return list(_behind(text, start, at, kind))
        case Kind.KEY:
            return list(_behind(text, start, at, kind))
        case _:
            found = list(_behind(text, start, at, Kind.SHORT if kind is Kind.PASS else kind))
            return found or _ahead(text, start, at)


def _behind(text: str, start: int, at: int, kind: Kind) -> Iterator[Span]:
    """Yield the values behind a noun that ends at ``at``."""
    is_latin = text[start : start + 1] < "\u0250"
    again = False
    last = at
    for begin, stop in _candidates(text, at, _REACHES[kind]):
        between = text[last:begin]
        tokens = _tokens(between)
        if len(tokens) > _MOST_WORDS or _parts(between, tokens):
            return
        gap, bound = _gap(tokens)
        if kind is Kind.KEY and tokens and tokens[-1].lower() in _WITH:
            bound = _CLEAR
        bond = _BOND.match(text, begin, stop)
        if bond and bond.end() < stop:
            begin, bound = bond.end(), _CLEAR  # noqa: PLW2901 - the colon is no part of the value
        left, right = _trimmed(text, begin, stop)
        value = text[left:right]
        foreign = not is_latin and not any(word.isascii() and word.isalpha() for word in tokens if word not in _BONDS)
        needed = _needed(kind, value, gap, bound, again=again, foreign=foreign, last=_is_last(text, stop))
        if value and needed < _NEVER and oddness(value) >= needed:
            yield left, right
            again = True
        elif kind in _AT_ONCE or (text.endswith(_STOP, begin, stop) and not text.endswith(_ASKS, begin, stop)):
            return
        # what was passed over counts as a word
        last = stop if again else last


def _candidates(text: str, at: int, reach: int) -> Iterator[Span]:
    """Yield the odd words of the rest of the line, and of the next one behind a colon."""
    size = min(len(text), at + reach)
    stop = text.find("\n", at, size)
    if stop >= 0 and not text[at:stop].rstrip(" \t\"'`*").endswith(_COLONS):
        size = stop
    if direct := _DIRECT.match(text, at):
        yield at, min(direct.end(), len(text))
        at = direct.end()
    for candidate in (_ASCII_CANDIDATE if text.isascii() else _CANDIDATE).finditer(text, at, size):
        end = candidate.end()
        if end == size < len(text):
            end = _TOKEN.match(text, candidate.start()).end()  # pyright: ignore[reportOptionalMemberAccess] - cut off
        yield candidate.start(), end


def _tokens(text: str) -> list[str]:
    """Return the words of a text; a part in a script without blanks is one."""
    return text.split() if text.isascii() else _TOKEN.findall(text)


# a value right behind the colon of its noun
_DIRECT = re.compile(rf"[\"'`*)\]]{{0,3}}[:=][^\s{_DENSE}]{{4,200}}")


def _parts(between: str, tokens: list[str]) -> bool:
    """Say whether a sentence or a paragraph ends in these words."""
    if "\n" in between and not between.split("\n", 1)[0].rstrip(" \t\"'`*").endswith(_COLONS):
        return True
    if '",' in between:
        return True  # the next value of JSON
    # what follows a question may be the answer
    if tokens and (
        tokens[-1].endswith(_ASKS) or (len(tokens) > 1 and tokens[-2].endswith(_ASKS) and tokens[-1].endswith(_COLONS))
    ):
        tokens = tokens[:-2]
    return any(token.endswith(_STOP) for token in tokens) or "\u3002" in between


def _gap(tokens: list[str]) -> tuple[int, int]:
    """Return how many words stand between noun and value, and how plainly the last one ties the two (2, 1 or 0)."""
    bare = [token.strip("\"'`*(,\u201c\u00ab").lower() for token in tokens]
    ties = [
        not token
        or token in _BONDS
        or token.endswith((*_COLONS, *_ASKS))
        or (token.endswith(_ENDINGS) and not token.isascii())
        for token in bare
    ]
    bound = _CLEAR if ties and ties[-1] else 1 if True in ties[-2:] else 0
    # a word before a colon is one, too: it may be another name
    named = sum(token.endswith(_COLONS) and token[0].isalpha() for token in bare if token and token not in _BONDS)
    return ties.count(False) + named, bound


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
    is_near = bound == _CLEAR or not gap
    if kind is Kind.KEY:
        return _BEYOND_DOUBT if is_near and len(value) >= _KEY_CHARS else _NEVER
    if value.isdigit():
        needed = 1 if bound == _CLEAR and not gap and kind is not Kind.PASS else _NEVER
    elif kind is Kind.PASS:
        needed = _CLEAR if is_near and bound == _CLEAR and not gap else _BEYOND_DOUBT if is_near else _NEVER
    elif again:
        needed = _CLEAR
    elif bound == _CLEAR:
        needed = 1
    elif not gap or (foreign and gap <= _FEW_WORDS + 1) or (gap == 1 and last):
        needed = 1 if len(value) >= _SOME_CHARS else _CLEAR
    else:
        needed = _CLEAR if bound else _BEYOND_DOUBT
    return needed


def _is_last(text: str, at: int) -> bool:
    """Say whether a sentence or a line ends with the word that ends here."""
    return text[at : at + 1] in ("", "\n", "\r", '"', "'", "`") or text[at - 1] in ".!?;,)"


def _trimmed(text: str, begin: int, stop: int) -> Span:
    """Return where a value lies within a word: without the quotes around it and the punctuation behind it."""
    raw = text[begin:stop]
    left = begin + len(raw) - len(raw.lstrip(_OPENERS))
    if left > begin and text[left - 1] in _QUOTES and (close := text.find(text[left - 1], left, stop)) > left:
        return left, close
    if end := _VALUE_END.search(text, left, stop):
        raw = text[begin : end.start()]
    return left, max(left, begin + len(raw.rstrip(_CLOSERS)))


# a value of JSON, or a line or a tag, ends within the word
_VALUE_END = re.compile(r"\\?[\"'`](?=[,:;}\])<\\]|$)|</|\\n")


def _ahead(text: str, start: int, at: int) -> list[Span]:
    """Return a value that stands before the noun: "... is the password"."""
    before = text[start - 1 : start]
    if (
        at - start < _SOME_CHARS - 2
        and text[start] < "\u0250"
        and (before != " " or not _SAID.search(text, max(0, start - 12), start))
    ):
        return []  # a short noun is many things, and one that a command prints
    first = max(0, start - _BEFORE)
    first = max(first, text.rfind("\n", first, start) + 1)
    last = None
    for candidate in _CANDIDATE.finditer(text, first, start):
        last = candidate
    if last is None or last.end() == start:
        return []
    between = text[last.end() : start]
    tokens = _tokens(between)
    if not between[-1:].isspace() and tokens and not _IS_DENSE.match(between[-1]):
        tokens.pop()  # the beginning of the noun's own word
    left, right = _trimmed(text, *last.span())
    value = text[left:right]
    if (
        len(tokens) > _MOST_WORDS
        or text[right : last.end()].endswith(_STOP)
        or _parts(between, tokens)
        or value.isdigit()
    ):
        return []
    is_entered = text[first : last.start()].rstrip(" \"'`\u201c\u00ab").rpartition(" ")[2].lower() in _ENTERING
    is_tied = is_entered or any(token.lower() in _BONDS for token in tokens)
    is_last = text[at : at + 1] in ("", "\n", "\r") or not text[at : at + 1].isspace()
    most = _FEW_WORDS * (2 if is_entered else 1)
    needed = (1 if is_last else _CLEAR) if is_tied and len(tokens) <= most else _BEYOND_DOUBT
    return [(left, right)] if value and oddness(value) >= needed else []


def _digits(text: str, at: int, least: int, *, is_rare: bool) -> list[Span]:
    """Return the few digits, or letters and digits in turn, that a noun of a number tells.

    Args:
        text: the text.
        at: where the noun ends.
        least: how many digits there must be.
        is_rare: the noun means nothing else: a few words may come between, when nothing follows.
    """
    size = min(len(text), at + _REACH)
    for found in _DIGITS.finditer(text, at, size):
        between = text[at : found.start()]
        tokens = _tokens(between)
        gap, bound = _gap(tokens)
        is_told = (
            bound == _CLEAR
            or not gap
            or (gap == 1 and bound)
            or (gap <= _FEW_WORDS and is_rare and _is_last(text, found.end()))
        )
        if _parts(between, tokens) or len(tokens) > _MOST_WORDS or not is_told:
            break
        if between.strip(_OPENERS + ":=\uff1a ")[-1:] in _OF_CODE - {""} or len(found[0]) < least:
            continue
        return [found.span()]
    return [span for span in _behind(text, at, at, Kind.PASS) if oddness(text[slice(*span)]) >= _CLEAR]


def _of_user(text: str, at: int) -> list[Span]:
    """Return the password right behind the name of a user."""
    if (word := _AT_USER.match(text, at)) is None:
        return []
    left, right = _trimmed(text, *word.span("secret"))
    value = text[left:right]
    return [(left, right)] if "/" not in value and ":" not in value and oddness(value) >= _BEYOND_DOUBT else []


_AT_USER = re.compile(r"[/:](?P<secret>[^\s/:]{8,80})(?!\S)")


def _opening(text: str, start: int, at: int) -> list[Span]:
    """Return the few digits of a code for a door or the like, which is named on either side of the noun."""
    begin = max(text.rfind("\n", 0, start) + 1, start - _BEFORE)
    stop = text.find("\n", at, at + _BEFORE)
    stop = min(len(text), at + _BEFORE) if stop < 0 else stop
    for code in _CODE_WORD.finditer(text, begin, stop):
        for found in _DIGITS.finditer(text, code.end(), stop):
            between = text[code.end() : found.start()]
            tokens = _tokens(between)
            gap, bound = _gap(tokens)
            is_behind = code.end() <= at <= found.start() and not text[at : found.start()].strip(" :")
            if (
                len(found[0]) >= _PIN_DIGITS
                and (not gap or bound == _CLEAR or is_behind)
                and not _parts(between, tokens)
            ):
                return [found.span()]
            break
    return []


# letters of scripts without blanks end no word
_CODE_WORD = re.compile(
    "|".join(rf"\b{word}\b" if word.isascii() or not _IS_DENSE.match(word) else word for word in words("code")),
    re.IGNORECASE,
)


def _pair(text: str, at: int) -> list[Span]:
    """Return the passwords of pairs of a name and a password behind a noun of logging in."""
    found: list[Span] = []
    stop = text.find("\n", at, at + _REACH)
    end = min(len(text), at + _REACH) if stop < 0 else stop
    is_bound = text[at : at + 1] in _COLONS
    begin = at
    while pair := _PAIR.search(text, begin, end):
        left, right = _trimmed(text, *pair.span("secret"))
        value = text[left:right]
        by = pair["by"]
        needed = 1 if is_bound or (by != by.strip() and not by.strip().isalnum() and by.strip() != ",") else _CLEAR
        if not value.isdigit() and "/" not in value[:-1] and oddness(value) >= needed:
            found.append((left, right))
        begin = right if found and found[-1][1] == right else pair.end("user")
    return found
