"""What secrets are called in many languages, and what ties a value to its name: the words of ``nouns.txt``."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

import ahocorasick_rs

from slowwave.secrets.validity import oddness

_FILE = Path(__file__).with_name("nouns.txt")


@cache
def words(head: str) -> tuple[str, ...]:
    """Return the words below a head of the file. Raises KeyError: there is no such head."""
    return _blocks()[head]


@cache
def _blocks() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for block in _FILE.read_text(encoding="utf-8").split("\n["):
        head, _, lines = block.partition("]")
        every = ",".join(lines.split("\n")[1:]).split(",")
        found[head] = tuple(dict.fromkeys(word.strip() for word in every if word.strip()))
    return found


# The words between the name of a secret and its value: where they end, how many they are, how they tie the two.

Span = tuple[int, int]
# how far from the noun values are looked for
REACH = 120
BEFORE = 80
MOST_WORDS = 12
FEW_WORDS = 3
# how odd a value must be, and how plainly it is tied to its noun
BEYOND_DOUBT = 3
CLEAR = 2
BONDS = frozenset(words("bond"))
_ENDINGS = words("bond-ending")
OF_CODE = frozenset("_$./@\\")
# scripts without blanks, or whose particles stand at the end of a foreign word, and their punctuation
DENSE = (
    r"\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3000-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    r"\uff01-\uff0f\uff1a-\uff20\uff5b-\uffef"
)
TOKEN = re.compile(rf"[{DENSE}]+|[^\s{DENSE}]+")
IS_DENSE = re.compile(rf"[{DENSE}]")
OPENERS = "\"'`\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb*([<{\u300c\u300e\u3010\uff08"
_QUOTES = "\"'`"
_CLOSERS = ".,;:?)]}>\"'`*\u201c\u201d\u2018\u2019\u00ab\u00bb\u300d\u300f\u3011\uff09"
STOP = (".", "!", "?", ";", "\u3002", "\uff01", "\uff1f")
ASKS = ("?", "\uff1f", "\u061f", "\u037e")
COLONS = (":", "=", "\uff1a", "\uff1d")


def tokens_of(text: str) -> list[str]:
    """Return the words of a text; a part in a script without blanks is one."""
    return text.split() if text.isascii() else TOKEN.findall(text)


def are_parted(between: str, tokens: list[str]) -> bool:
    """Say whether a sentence or a paragraph ends in these words."""
    if "\n" in between and not between.split("\n", 1)[0].rstrip(" \t\"'`*").endswith(COLONS):
        return True
    if '",' in between:
        return True  # the next value of JSON
    # what follows a question may be the answer
    if tokens and (
        tokens[-1].endswith(ASKS) or (len(tokens) > 1 and tokens[-2].endswith(ASKS) and tokens[-1].endswith(COLONS))
    ):
        tokens = tokens[:-2]
    return any(token.endswith(STOP) for token in tokens) or "\u3002" in between


def gap_of(tokens: list[str]) -> tuple[int, int]:
    """Return how many words stand between noun and value, and how plainly the last one ties the two (2, 1 or 0)."""
    bare = [token.strip("\"'`*(,\u201c\u00ab").lower() for token in tokens]
    ties = [
        not token
        or token in BONDS
        or token.endswith((*COLONS, *ASKS))
        or (token.endswith(_ENDINGS) and not token.isascii())
        for token in bare
    ]
    bound = CLEAR if ties and ties[-1] else 1 if True in ties[-2:] else 0
    # a word before a colon is one, too: it may be another name
    named = sum(token.endswith(COLONS) and token[0].isalpha() for token in bare if token and token not in BONDS)
    return ties.count(False) + named, bound


def is_last(text: str, at: int) -> bool:
    """Say whether a sentence or a line ends with the word that ends here."""
    return text[at : at + 1] in ("", "\n", "\r", '"', "'", "`", "\\") or text[at - 1] in ".!?;,)"


def trimmed(text: str, begin: int, stop: int) -> Span:
    """Return where a value lies within a word: without the quotes around it and the punctuation behind it."""
    raw = text[begin:stop]
    left = begin + len(raw) - len(raw.lstrip(OPENERS))
    if left > begin and text[left - 1] in _QUOTES and (close := text.find(text[left - 1], left, stop)) > left:
        return left, close
    if end := _VALUE_END.search(text, left, stop):
        raw = text[begin : end.start()]
    return left, max(left, begin + len(raw.rstrip(_CLOSERS)))


# a value of JSON, or a line or a tag, ends within the word
_VALUE_END = re.compile(r"\\?[\"'`](?=[,:;}\])<\\]|$)|</|\\n")


@cache
def needles(*heads: str) -> tuple[str, ...]:
    """Return the words below heads as :func:`_spaced` has them: they begin where a word does, if any."""
    every = dict.fromkeys(word.lower() for head in heads for word in words(head))
    return tuple(word if IS_DENSE.match(word) else f" {_SIGNS.sub(' ', word)}" for word in every)


def spaced(text: str) -> str:
    """Return a text in lower case, its signs as blanks: one character for one."""
    plain = text.lower().replace("\\n", "  ")
    return " " + (plain.translate(_ASCII_SIGNS) if plain.isascii() else _SIGNS.sub(" ", plain))


def line_begin(text: str, at: int, most: int) -> int:
    """Return where the line of a place begins, or so many characters before it where that is farther."""
    first = max(0, at - most)
    return max(text.rfind("\n", first, at) + 1, first)


def has_word(text: str, *heads: str) -> bool:
    """Say whether a text has a word that is below one of the heads."""
    return has_any(spaced(text), needles(*heads))


def has_any(text: str, literals: tuple[str, ...]) -> bool:
    """Say whether one of many literals is in a text, in one pass."""
    return bool(_automaton(literals).find_matches_as_indexes(text.encode("utf-8", "replace")))


@cache
def _automaton(literals: tuple[str, ...]) -> ahocorasick_rs.BytesAhoCorasick:
    return ahocorasick_rs.BytesAhoCorasick([one.encode() for one in literals])


_SIGNS = re.compile(r"[^\w\u0300-\u036f\u0900-\u0eff\u1000-\u109f\u1780-\u17ff]|_")
# the same of a text in ASCII, ten times as fast
_ASCII_SIGNS = {code: " " for code in range(128) if _SIGNS.match(chr(code))}


# A few digits, and what somebody logs in with: values that need a noun and its neighbours to be anything at all.

PIN_DIGITS = 4
CARD_DIGITS = 3
_DIGITS = re.compile(
    r"(?<!\d:)(?<![A-Za-z0-9_.,\-/\\])(?:\d{3}[ \-]\d{3}|\d\d[ \-]\d\d(?:[ \-]\d\d)?|\d{3,8}"
    r"|\d{3,6}[A-Z]|\d{2,3}[\u043a\u041aA-Z]\d{2,5}|(?<!\w)[A-Z]-\d{6}|\d{4}-\d{4}"
    r"|\d(?P<by>[ \-.,]|, |\u00a0)(?:\d(?P=by)){2,6}\d)(?![\d:]|[.,:%\-/]\d|[A-Za-z%_])"
)
_PAIR = re.compile(
    r"(?<![\w./@:\-])(?P<user>[^\W\d_][\w.@+\-]{0,60})[\"'`]?"
    r"(?P<by>[ \t]{0,3}(?:[/:|,;&]|->|\u2192|and|y|und|et|e|i|en|og|och|a|\u0438|\u0442\u0430|ve|"
    rf"{'|'.join(words('with'))})[ \t]{{1,3}}|[/:|])"
    r"(?:(?:password|pass|pw|pwd)[:=]?[ \t])?[\"'`(]?(?P<secret>[^\s\"'`]{5,80})"
)


def few_digits(text: str, at: int, least: int, *, is_rare: bool) -> list[Span]:
    """Return the few digits that a noun of a number tells.

    ``at``: where the noun ends. ``least``: how many digits there must be. ``is_rare``: the noun means nothing else: a
    few words may come between, when nothing follows.
    """
    size = min(len(text), at + REACH)
    for found in _DIGITS.finditer(text, at, size):
        between = text[at : found.start()]
        tokens = tokens_of(between)
        gap, bound = gap_of(tokens)
        is_told = (
            bound == CLEAR
            or not gap
            or (gap == 1 and bound)
            or (gap <= FEW_WORDS and is_last(text, found.end()) and (is_rare or has_word(between, "opened-stem")))
            or (gap <= FEW_WORDS and is_rare and has_word(between, "opened-stem", "opened"))
        )
        is_parted = are_parted(between, tokens) and not (tokens and tokens[-1].lower() in _IT_IS)
        if is_parted or len(tokens) > MOST_WORDS or not is_told:
            break
        if between.strip(OPENERS + ":=\uff1a ")[-1:] in OF_CODE or len(found[0]) < least:
            continue
        if has_word(" ".join([word for word in tokens if word[0].isalnum()][-1:]), "uncoded"):
            continue  # the number of an issue, a page
        return [found.span()]
    return []


_ONE_WORD = 12
_A_DATE = re.compile(r"20[0-3]\d[01]\d[0-3]\d")
_IT_IS = frozenset(("it's", "its", "c'est", "\u044d\u0442\u043e", "it\u2019s"))


def of_user(text: str, at: int) -> list[Span]:
    """Return the password right behind the name of a user."""
    if (word := _AT_USER.match(text, at)) is None:
        return []
    left, right = trimmed(text, *word.span("secret"))
    value = text[left:right]
    return [(left, right)] if "/" not in value and ":" not in value and oddness(value) >= BEYOND_DOUBT else []


_AT_USER = re.compile(r"[/:](?P<secret>[^\s/:]{8,80})(?!\S)")


def opening(text: str, start: int, at: int) -> list[Span]:
    """Return the few digits of a code for a door or the like, which is named on either side of the noun."""
    begin = line_begin(text, start, BEFORE)
    stop = text.find("\n", at, at + BEFORE)
    stop = min(len(text), at + BEFORE) if stop < 0 else stop
    if dialled := _DIALLED.search(text, at, stop):
        return [dialled.span("value")]
    for code in _CODE_WORD.finditer(text, begin, stop):
        apart = text[min(at, code.end()) : max(start, code.start())]
        is_about = text[at : at + 1] in COLONS and at < code.start()
        if has_word(text[max(begin, code.start() - _ONE_WORD) : code.start()].rpartition(",")[2], "uncoded"):
            continue
        if not is_about and any(sign in apart for sign in ",;!?\u3002\uff0c"):
            continue
        if not is_about and len(tokens_of(apart)) > FEW_WORDS - 1 + 2 * (code.end() < start):
            continue  # the one has nothing to do with the other
        for found in _DIGITS.finditer(text, code.end(), stop):
            between = text[code.end() : found.start()]
            tokens = tokens_of(between)
            gap, bound = gap_of(tokens)
            is_behind = code.end() <= at <= found.start() and not text[at : found.start()].strip(" :")
            if (
                len(found[0]) >= PIN_DIGITS
                and (not gap or bound == CLEAR or is_behind or (bound and is_last(text, found.end())))
                and not are_parted(between, tokens)
            ):
                return [found.span(), *(_opened_with(text, start, at, stop) if found.start() < start else [])]
            break
    return [*_told_before(text, begin, start, stop), *_opened_with(text, start, at, stop)][:1]


def _told_before(text: str, begin: int, start: int, stop: int) -> list[Span]:
    """Return few digits that stand before a word for codes: "1234 as the code"."""
    for code in _CODE_WORD.finditer(text, begin, stop):
        last = None
        for found in _DIGITS.finditer(text, begin, code.start()):
            last = found
        tokens = tokens_of(text[last.end() : code.start()]) if last else []
        is_as = any(token.lower() in _AS | BONDS for token in tokens)
        if last and len(last[0]) >= PIN_DIGITS and len(tokens) <= FEW_WORDS - 1 and is_as and last.start() > start:
            return [last.span()]
    return []


def _opened_with(text: str, start: int, at: int, stop: int) -> list[Span]:
    """Return few digits that something is opened with."""
    if entered := entered_digits(text, start, at):
        return entered
    if owned := _OWNED.match(text, at):
        return [owned.span("digits")]
    found = _DIGITS.search(text, at, stop)
    if found is None or len(found[0]) < PIN_DIGITS:
        return []
    tokens = tokens_of(text[at : found.start()])
    is_with = bool(tokens) and tokens[-1].lower() in _TYING | _ASKING
    return [found.span()] if is_with and len(tokens) <= FEW_WORDS + 2 else []


# how a lock is turned
_DIALLED = re.compile(
    r"(?<!\w)(?i:left|right|clockwise|links|rechts|gauche|droite|izquierda|derecha|esquerda|direita|sinistra|destra|v\u00e4nster|h\u00f6ger"
    r"|venstre|h\u00f8jre|lewo|prawo|doleva|doprava|\u0432\u043b\u0435\u0432\u043e|\u0432\u043f\u0440\u0430\u0432\u043e)"
    r"(?: to| auf| bis| a| na| til)? (?P<value>\d{1,2}(?:[ \-,/]{1,2}\d{1,2}){2,3})(?![\d:])"
)
# "the alarm's 4711"
_OWNED = re.compile(r"(?:(?<=['\u2019]s)|['\u2019]s) (?P<digits>\d{4,8})(?=[.,;!?]?(?:\s|\Z))")


def entered_digits(text: str, start: int, at: int) -> list[Span]:
    """Return few digits on either side of a noun, in its line, that a word says are to be entered."""
    first = line_begin(text, start, BEFORE)
    stop = text.find("\n", at, at + BEFORE)
    stop = min(len(text), at + BEFORE) if stop < 0 else stop
    for found in _ALONE.finditer(text, first, stop):
        if found.start() < at and found.end() > start:
            continue
        apart = text[at : found.start()] if found.start() >= at else text[found.end() : start]
        words_before = text[first : found.start()].rstrip(" :\"'`*").split()[-2:]
        words_before = [word.strip("\"'`*(,").lower() for word in words_before]
        before = words_before[-1] if words_before else ""
        behind = text[found.end() : stop].lstrip(" \"'`*")
        is_entered = (
            not _ENTERING.isdisjoint((*words_before, " ".join(words_before)))
            or _is_entering(behind)
            or before.endswith(_DENSE_ENTERING)
        )
        if is_entered and len(tokens_of(apart)) <= MOST_WORDS and not any(sign in apart for sign in ".!?\u3002"):
            return [found.span()]
    return []


def _is_entering(behind: str) -> bool:
    # a particle may come between
    after = [word.rstrip(".,;:!?\"'`)").lower() for word in behind.split(maxsplit=2)[:2]]
    return (
        any((word in _ENTERING and not word.isascii()) for word in after)
        or (after[:1] != [] and after[0] in _ENTERING_BEHIND)
        or behind.startswith(_DENSE_ENTERING)
    )


_ALONE = re.compile(rf"(?<![^\s{DENSE}\"'`(*])\d{{4,8}}(?![^\s{DENSE}.,;!?\"'`)*#]|[.,]\d)")

# letters of scripts without blanks end no word
_CODE_WORD = re.compile(
    "|".join(word if IS_DENSE.match(word) else rf"{word}[^\W\d_]{{0,3}}(?![^\W\d_])" for word in words("code")),
    re.IGNORECASE,
)


def coded(text: str, start: int, at: int) -> list[Span]:
    """Return the few digits that a word for codes is tied to, when its line says what they open, or whose they are."""
    first = line_begin(text, start, BEFORE)
    stop = text.find("\n", at, at + BEFORE)
    stop = min(len(text), at + BEFORE) if stop < 0 else stop
    found = _DIGITS.search(text, at, stop)
    if found is None or len(found[0]) < PIN_DIGITS or _A_DATE.fullmatch(found[0]):
        return []
    between = text[at : found.start()]
    tokens = tokens_of(between)
    gap, bound = gap_of(tokens)
    line = text[first:stop]
    if (
        (bound < CLEAR and gap > 1 + FEW_WORDS * bound)
        or len(tokens) > MOST_WORDS
        or are_parted(between, tokens)
        or has_word(line, "uncoded")
    ):
        return []
    return [found.span()] if has_word(line, "opened-stem", "owner", "sent") else []


# before the name of a user
_AS = frozenset(words("as"))
_TYING = frozenset(words("with"))
_ENTERING = frozenset(words("entering"))
_DENSE_ENTERING = tuple(word for word in _ENTERING if IS_DENSE.match(word))
# where the verb stands at the end
_ENTERING_BEHIND = frozenset(words("entering-behind"))
_ASKING = frozenset(word for head in ("wants", "entering") for word in words(head))
# what ties the pair to the noun
_WITH = re.compile(rf"\b(?:{'|'.join(words('with'))}) (?:\w+ )?\Z")


def pair_of(text: str, at: int) -> list[Span]:
    """Return the passwords of pairs of a name and a password behind a noun of logging in."""
    found: list[Span] = []
    stop = text.find("\n", at, at + REACH)
    end = min(len(text), at + REACH) if stop < 0 else stop
    is_bound = text[at : at + 1] in COLONS
    begin = at
    while pair := _PAIR.search(text, begin, end):
        left, right = trimmed(text, *pair.span("secret"))
        value = text[left:right]
        by = pair["by"]
        is_bound = is_bound or _WITH.search(text, at, pair.start()) is not None
        is_named = text[at : pair.start()].rstrip().rpartition(" ")[2].lower() in _AS
        is_tied = (by.strip() in _TYING and (is_named or is_last(text, pair.end()))) or (is_named and by == "/")
        needed = (
            1 if is_bound or is_tied or (by != by.strip() and not by.strip().isalnum() and by.strip() != ",") else CLEAR
        )
        if not value.isdigit() and "/" not in value[:-1] and oddness(value) >= needed:
            found.append((left, right))
        begin = right if found and found[-1][1] == right else pair.end("user")
    return found


# Numbers of payment cards in groups of digits, with the date and the code behind them.
#
# Beside a word for cards the groups may be parted by anything that looks like a blank, also by ends of lines.

# digits, what parts their groups, and anything else
_CARD_SIGNS = bytes(48 if chr(c).isdecimal() and c < 128 else 32 if chr(c) in " -.?\xa0" else 120 for c in range(256))  # noqa: PLR2004
_BEGIN = b"0000 000"
_PLAIN = b"0" * 15
_LEAST = 17
_BLANK = r"[ \-.\u00a0\u2000-\u200a\u202f\u205f\u3000]"
_NUMBER = re.compile(
    rf"(?<![\d.\-])(?:[3-6]\d{{3}}({_BLANK})\d{{4}}\1\d{{4}}\1\d{{4}}|3\d{{3}}({_BLANK})\d{{6}}\2\d{{5}})(?![\w\-])"
)
# beside a word for cards
_LOOSE = re.compile(
    r"(?:[4-6](?<![\w.\-].)(?:[\s.\-_>|]{0,6}\d){15}|3(?<![\w.\-].)(?:[\s.\-_>|]{0,6}\d){14})(?![\w\-])"
)
# without groups it may be any number: a word for cards must stand near
_BARE = re.compile(r"(?<![\d.\-])(?:[4-6]\d{15}|3\d{14})(?![\w\-])")
_NAMES = re.compile("|".join(words("card")), re.IGNORECASE)
_BEHIND = re.compile(
    r"[ ,;/(|]{1,3}(?:\w{1,12}[.:]?[ ])?(?P<date>\d\d[/\-]\d{2,4})?"
    r"(?:[ ,;/(|]{1,3}(?:\w{1,12}[.:]?[ ])?)?(?P<code>\d{3,4})?(?![\w/:.])"
)
_NEAR = 60


def cards(text: str, signs: bytes, places: Iterable[int] = ()) -> list[tuple[int, int]]:
    """Return where numbers of cards lie in a text, and the codes right behind them.

    ``signs``: the same, one byte a character. ``places``: where words for cards stand.
    """
    if len(signs) < _LEAST:
        return []
    shape = signs.translate(_CARD_SIGNS)
    found = list(_cards(text, shape)) if _BEGIN in shape or _PLAIN in shape else []
    done = 0
    for place in places:
        for number in _LOOSE.finditer(text, max(done, place - _NEAR), place + 2 * _NEAR):
            done = number.end()
            if _is_valid(number[0]):
                found.append(number.span())
    return found


def _cards(text: str, shape: bytes) -> Iterator[tuple[int, int]]:
    at = shape.find(_BEGIN)
    while at >= 0:
        number = _NUMBER.match(text, at)
        if number and _is_valid(number[0]):
            yield number.span()
            behind = _BEHIND.match(text, number.end())
            if behind and behind["date"] and behind["code"]:
                yield behind.span("code")
        at = shape.find(_BEGIN, at + 4)
    at = shape.find(_PLAIN)
    while at >= 0:
        number = _BARE.match(text, at)
        if number and _is_valid(number[0]) and _NAMES.search(text, max(0, at - _NEAR), at + 2 * _NEAR):
            yield number.span()
        at = shape.find(_PLAIN, number.end() if number else at + 1)


def _is_valid(number: str) -> bool:
    """Say whether the last digit checks the others (Luhn), and these are not all the same few."""
    digits = [int(c) for c in number if c.isdecimal()]
    total = sum(sum(divmod(2 * d, 10)) if rank % 2 else d for rank, d in enumerate(reversed(digits)))
    return total % 10 == 0


# The kinds of nouns of secrets: how each is looked for, and what must stand near it to be looked at closely.


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
_NEAR_ODD = re.compile(rf"(?:{_BETWEEN}{_LETTERS}){{0,14}}+{_BETWEEN}[0-9_!#$%&+?@^~<\[;]")
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
    return _NEAR_ODD.match(text, at) or _DIGIT_IN_WORD.search(text, max(0, at - BEFORE), at)


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
    """What is known of a noun before a text is looked at."""

    kinds: tuple[Kind, ...]  # what it may say of the value, in the order in which that is tried
    is_cut: bool  # its last character is what ends it
    begins: bool  # it is so short that it must begin a word: many words end so
    is_whole: bool  # it must be a word of its own
    # tries at its end whether anything odd is in reach; None for nouns that are rare enough
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
        near = _NEARS.get(kinds[0], _NEAR_ODD.match) if kinds[0] in COMMON else None
        is_cut, is_whole = not noun[-1].isalnum() and noun.isascii(), kinds[0] in _WHOLE
        begins = is_whole or (noun.isascii() and (kinds[0] in _BEGINNING or len(noun) - is_cut < _SHORT))
        yield noun, Noun(kinds, is_cut, begins, is_whole, near)


NOUNS = dict(_nouns())
