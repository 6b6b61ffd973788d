"""Secrets that people tell in words: a noun of secrets, and near it what looks like no word.

Nothing here knows a sentence. The nearer a value stands to the noun, and the more plainly it is tied to it (a colon, a
dash, "is" in some language), the more it may look like a word itself; after a few words between the two it must be
beyond doubt. Languages without blanks are cut where their script ends.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial

from slowwave.secrets.answers import answered, fed, halves, joined_words, security_answer, spelled
from slowwave.secrets.codes import CARD_DIGITS, PIN_DIGITS, coded, entered_digits, few_digits, of_user, opening, pair_of
from slowwave.secrets.kinds import DIGIT, Kind, Noun, is_within
from slowwave.secrets.mixtures import answered_below, around, below, far, listed, phrase, phrase_before
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
from slowwave.secrets.validity import looks_quoted

_ENTERING = frozenset(words("entering"))
_WITH = frozenset(words("with"))
# these stand in addresses and in commands
_IN_CODE = (Kind.USER, Kind.FED)
# the first odd word behind them is a value, or none is
_AT_ONCE = (Kind.PASS, Kind.KEY, Kind.PLAIN_KEY, Kind.HINT)
_AFTER = " :="
_AS_ALSO = frozenset(words("as")) - frozenset(words("user")) - {"user", "la", "là"}
_SAID = re.compile(r"\b(?:is|as|was|are)\s(?:\w+\s)?\Z")
# how far from the noun values are looked for
_REACHES = {Kind.PASSWORD: REACH, Kind.SHORT: 60, Kind.PASS: 40, Kind.KEY: 80, Kind.PLAIN_KEY: 80, Kind.HINT: 40}
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
# how odd a word must be that shares a line with a noun, and whether a name with a year is enough
_AROUND = {
    **dict.fromkeys((Kind.PASSWORD, Kind.PASS, Kind.PIN, Kind.PLAIN_KEY, Kind.ANSWER, Kind.SHORT), (CLEAR, True)),
    **dict.fromkeys((Kind.LOGIN, Kind.ASKS, Kind.USER, Kind.SHORT_PIN, Kind.HINT), (BEYOND_DOUBT, True)),
    **dict.fromkeys((Kind.KEY, Kind.LOOSE), (BEYOND_DOUBT, True)),
    Kind.OPENED: (BEYOND_DOUBT, False),
}
_BOND = re.compile(r"(?:[:=]+|[-=]+>|\u2192)[>\"'`\u201c\u00ab]?")


_OWNER = re.compile(
    r"(?:sudo|root|admin|user|login|db|database|ssh|ftp|wi-?fi|vpn|my|the|your|our|server|mail|email|account|and|with"
    r"|el|la|il|le|mi|mia|tu|tua|ma|mon|mein|meine|dein|das|die|minha|minu|mijn|min|mitt|det|moje|moja|benim|saya)"
    r"['\u2019s]{0,2}[ \-:,]{1,2}\Z",
    re.IGNORECASE,
)
# a variable that is given a value
_ASSIGNED = re.compile(r"\s{0,3}:?=(?!=)")
# of what was taken out before
_MARK = re.compile(r"\[(?:secret:[\w\-]*)?\Z")
_NEVER = 9
_LINE = 60
_KEY_CHARS = 8
_SOME_CHARS = 6
_HEX = re.compile(r"(?=(?:[0-9]*[a-f]+[0-9]+){2})[0-9a-f]{10,}")


def told(text: str, start: int, end: int, noun: Noun) -> list[Span]:
    """Return where the values lie that a noun between ``start`` and ``end`` of a text tells."""
    at = end - noun.is_cut
    if not noun.is_cut and text[at : at + 1] not in _AFTER and not noun.is_whole and not IS_DENSE.match(text, at - 1):
        rest = _REST.match(text, at)
        at = rest.end() if rest else at
    if noun.near is not None and noun.near(text, at) is None:
        if noun.kinds[0] not in _HEADS or "\n" not in text[at : at + _LINE]:
            return _ahead(text, start, at) if noun.kinds[0] is Kind.SHORT else []
        return [
            *(_ahead(text, start, at) or answered_below(text, at) if noun.kinds[0] is Kind.SHORT else []),
            *below(text, start, at),
        ]
    before = text[start - 1 : start]
    if noun.begins and is_within(text, start):
        return []
    if (
        (before and before in OF_CODE and not (before == "$" and _ASSIGNED.match(text, at)))
        or (noun.kinds[0] not in _IN_CODE and _CODE_BEHIND.match(text, at))
        or (before and before in "[-:" and _MARK.search(text, max(0, start - 40), start))
    ):
        return []
    if noun.is_whole and text[at : at + 1].isalnum() and not IS_DENSE.match(text, at):
        return []
    found: list[Span] = []
    for kind in noun.kinds:
        found = found or _of_kind(text, start, at, kind)
    return found + _loose(text, start, at, noun.kinds[0], is_found=bool(found))


def _loose(text: str, start: int, at: int, kind: Kind, *, is_found: bool) -> list[Span]:
    """Return what is spelled, told in two, in a row of words or in a table, and what merely stands nearby."""
    found: list[Span] = []
    if DIGIT.search(text, max(0, start - BEFORE), at + 2 * BEFORE) is None:
        # without a digit it can be words only
        if kind in _SPELLED and not is_found:
            found = spelled(text, at) or phrase(text, start, at) or phrase_before(text, start)
        return found or (far(text, at) if kind is Kind.PASSWORD and len(text) > at + REACH else found)
    if kind in _SPELLED:
        found += spelled(text, at)
        found += [] if is_found or found else phrase(text, start, at) or phrase_before(text, start)
        found += joined_words(text, start, at)
    if kind in _AROUND:
        least, chosen = _AROUND[kind]
        is_plain = kind is not Kind.LOOSE
        chosen = chosen and not text.startswith("wd", start + 1)
        found += around(text, start, at, least, chosen=chosen, is_plain=is_plain)
        if kind in _PLAIN and not found and not is_found:
            found += answered_below(text, at)
        if kind is Kind.PASSWORD and not found and not is_found and len(text) > at + REACH:
            found += far(text, at)
    if kind in _HEADS and at < len(text):
        found += below(text, start, at) or listed(text, at)
    return found


# nouns whose value may stand in the next line
_PLAIN = (Kind.PASSWORD, Kind.PASS, Kind.PIN, Kind.PLAIN_KEY, Kind.ANSWER, Kind.SHORT)
_HEADS = (Kind.PASSWORD, Kind.SHORT, Kind.PASS, Kind.PIN)
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
        case Kind.LOOSE:
            found = []
        case Kind.CODE:
            found = coded(text, start, at)
        case Kind.OPENED:
            found = opening(text, start, at)
        case Kind.PIN | Kind.SHORT_PIN | Kind.CARD_CODE:
            least = CARD_DIGITS if kind is Kind.CARD_CODE else PIN_DIGITS
            found = few_digits(text, at, least, is_rare=kind is not Kind.SHORT_PIN or text[start] > "\u0250")
            found = found or (entered_digits(text, start, at) if kind is Kind.PIN else [])
            # or letters and digits in turn
            found = found or [span for span in _behind(text, at, at, Kind.PASS) if oddness(text[slice(*span)]) >= CLEAR]
        case _ if kind in _ANSWERS:
            found = _ANSWERS[kind](text, start, at)
        case Kind.KEY | Kind.PLAIN_KEY | Kind.HINT:
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
        if kind is Kind.KEY and _HEX.fullmatch(value):
            needed = CLEAR  # else a hash, which nobody calls a token
        is_tied = kind in _SPELLED and (bound == CLEAR or kind is Kind.SHORT)
        right, odd = _odd_at(text, left, right, stop, is_tied=is_tied, is_near=not gap)
        if value and needed < _NEVER and odd >= needed:
            yield left, right
            again = True
        elif kind in _AT_ONCE or (text.endswith(STOP, begin, stop) and not text.endswith(ASKS, begin, stop)):
            return
        # what was passed over counts as a word
        last = stop if again else last


_QUOTES = ("'", '"', "`")


def _odd_at(text: str, left: int, right: int, stop: int, *, is_tied: bool, is_near: bool) -> tuple[int, int]:
    """Return where a value ends, and how odd it is.

    One that is tied to its noun may have signs of code; a bracket that closes its own belongs to it.
    """
    value = text[left:right]
    if (odd := oddness(value)) or not value or not is_tied:
        return right, odd
    if right < stop and ((text[right] == ")" and "(" in value) or (text[right] == "]" and "[" in value.rstrip("]"))):
        right += "]" not in value
    is_quoted = text[left - 1 : left] in _QUOTES and text[right : right + 1] == text[left - 1]
    return right, BEYOND_DOUBT * ((is_quoted or is_near) and looks_quoted(text[left:right]))


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
    if kind is Kind.HINT:
        return 1 if is_near and not value.isdigit() else _NEVER
    if value.isdigit():
        is_told = (bound == CLEAR and (not gap or len(value) >= _SOME_CHARS)) or (last and not gap)
        is_told = is_told or (
            last and gap <= 2 * FEW_WORDS and len(value) >= _SOME_CHARS and not value.startswith("20")
        )
        needed = 1 if is_told and kind is not Kind.PASS else _NEVER
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
        or (value.isdigit() and not (tokens and tokens[0].lower() in _AS_ALSO))
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
