"""A few digits, and what somebody logs in with: values that need a noun and its neighbours to be anything at all."""

import re

from slowwave.secrets.nouns import words
from slowwave.secrets.oddness import oddness
from slowwave.secrets.phrases import (
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
    OPENERS,
    REACH,
    Span,
    are_parted,
    gap_of,
    has_word,
    is_last,
    tokens_of,
    trimmed,
)

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

    Args:
        text: the text.
        at: where the noun ends.
        least: how many digits there must be.
        is_rare: the noun means nothing else: a few words may come between, when nothing follows.
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
    begin = max(text.rfind("\n", 0, start) + 1, start - BEFORE)
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
    first = max(text.rfind("\n", 0, start) + 1, start - BEFORE)
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
    first = max(text.rfind("\n", 0, start) + 1, start - BEFORE)
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
