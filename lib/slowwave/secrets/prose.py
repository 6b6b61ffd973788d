"""Secrets that people tell in words: a noun of secrets, and near it what looks like no word.

Nothing here knows a sentence. The nearer a value stands to the noun, and the more plainly it is tied to it (a colon, a
dash, "is" in some language), the more it may look like a word itself; after a few words between the two it must be
beyond doubt. Languages without blanks are cut where their script ends.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache, partial

from slowwave.secrets.nouns import (
    ASKS,
    BEFORE,
    BEYOND_DOUBT,
    BONDS,
    CARD_DIGITS,
    CLEAR,
    COLONS,
    DENSE,
    DIGIT,
    FEW_WORDS,
    IS_DENSE,
    MOST_WORDS,
    OF_CODE,
    OPENERS,
    PIN_DIGITS,
    REACH,
    STOP,
    TOKEN,
    Kind,
    Noun,
    Span,
    are_parted,
    coded,
    entered_digits,
    few_digits,
    gap_of,
    has_any,
    has_word,
    is_last,
    is_within,
    line_begin,
    needles,
    of_user,
    opening,
    pair_of,
    spaced,
    tokens_of,
    trimmed,
    words,
)
from slowwave.secrets.rules import answered_below, around, below, far, listed, phrase, phrase_before
from slowwave.secrets.validity import is_masked, is_url_password, looks_quoted, oddness

# Values that are offered where a secret is asked for: to a prompt, to a program's input, to a question of security.
#
# Here the noun of the secret itself may be missing: who asks, and what one does with the value, take its place. Values
# that are told letter by letter, or in two halves, are here too: the words around say what they are.

_LEAST, _NAME = 4, 4
_ENTERING = frozenset(words("entering"))
_DENSE_ENTERING = tuple(word for word in _ENTERING if IS_DENSE.match(word))
_TIES = BONDS | _ENTERING | {"it's", "with", "mit", "con", "avec", "met"}
_ODD = re.compile(rf"(?<![^\s{DENSE}\"'`(\u201c\u00ab])(?=[^\s{DENSE}\"'`]{{0,80}}?[0-9])[^\s{DENSE}\"'`]{{4,80}}")
_DIGIT = re.compile(r"[0-9]")


def answered(text: str, start: int, at: int) -> list[Span]:
    """Return what is to be typed when something asks for a secret; the word for asking lies between the two places."""
    first = line_begin(text, start, BEFORE)
    stop = text.find("\n", at, at + BEFORE)
    stop = min(len(text), at + BEFORE) if stop < 0 else stop
    if _DIGIT.search(text, first, stop) is None:
        return []
    is_asked = has_word(text[first:stop], "asker")
    found: list[Span] = []
    for word in _ODD.finditer(text, first, stop):
        left, right = trimmed(text, *word.span())
        before = text[max(first, left - _TIE) : left].rstrip(" \"'`\u201c\u00ab")
        last = before.rpartition(" ")[2].lower().rpartition("\\n")[2].lstrip(OPENERS)
        behind = TOKEN.match(text, right + len(text[right:stop]) - len(text[right:stop].lstrip(" \"'`\u201d\u00bb")))
        is_tied = (
            last in _TIES
            or last.endswith((*COLONS, ",", *_DENSE_ENTERING))
            or (behind is not None and _is_entering(behind[0]))
        )
        between = text[right:start] if right <= start else text[at:left]
        if not (is_asked or is_tied) or '",' in between or (right <= start and are_parted(between, tokens_of(between))):
            continue
        needed = CLEAR + (not is_asked)
        if (is_asked and is_tied) or (last in _ENTERING and is_last(text, word.end())):
            needed = 1
        value = text[left:right]
        if value and not value.isdigit() and oddness(value) >= needed:
            found.append((left, right))
    return found


_TIE = 24


def _is_entering(word: str) -> bool:
    return word.partition("\\")[0].rstrip(".,;:!?\"'`)}]").lower() in _ENTERING or word.startswith(_DENSE_ENTERING)


def fed(text: str, start: int, at: int) -> list[Span]:
    """Return what a shell line feeds to a program that reads a secret from its standard input."""
    first = line_begin(text, start, _LONGEST_LINE)
    stop = text.find("\n", at, at + _LONGEST_LINE)
    stop = min(len(text), at + _LONGEST_LINE) if stop < 0 else stop
    if text.startswith("-", at - 1) and not _FROM_INPUT.match(text, at - 1, stop):
        return []  # one of the options only
    given = _HERE.search(text, first, stop)
    every = [*[*_ECHO.finditer(text, first, start + 1)][-1:], *([given] if given else [])]
    spans = [one.span("quoted" if one["quoted"] is not None else "bare") for one in every]
    return [(a + (text.find(":", a, b) + 1 - a if ":" in text[a:b] else 0), b) for a, b in spans if _is_fed(text[a:b])]


def _is_fed(value: str) -> bool:
    return len(value) >= _LEAST and is_url_password(value) and not is_masked(value) and "$(" not in value


_LONGEST_LINE = 200
_FROM_INPUT = re.compile(r"(?:-(?!S)\w{1,12}\s+)*-\w*S|-(?:-\w{1,12}\s+-)*-stdin")
_ECHO = re.compile(
    r"\b(?:echo|printf|print|Write-Output)\s+(?:-[neE]+\s+)?(?:[\"']?%s(?:\\n)?[\"']?\s+)?"
    r"(?:(?P<q>[\"'])(?P<quoted>[^\"'\n]{4,80}?)(?:\\n)?(?P=q)|(?P<bare>[^\s\"'|<>;&]{4,80}))\s*\|(?!\|)"
)
_HERE = re.compile(r"<<<\s*(?:(?P<q>[\"'])(?P<quoted>[^\"'\n]{4,80})(?P=q)|(?P<bare>[^\s\"'|<>;&]{4,80}))")


def security_answer(text: str, start: int, at: int, *, is_short: bool) -> list[Span]:
    """Return the answer to a question of security: it may be any word, so it must be plainly said.

    ``start``: where the question begins. ``at``: where it ends. ``is_short``: the question has a few words that may be
    about something else: nothing may come between.
    """
    stop = text.find("\n", at, at + BEFORE)
    stop = min(len(text), at + BEFORE) if stop < 0 else stop
    if text[at : at + 1].isalnum() and not IS_DENSE.match(text, at) and text[at - 1].isascii():
        return []
    direct = _NAMED_AT_ONCE.match(text, at, stop)
    if direct and not is_short and text[start].islower() and is_last(text, direct.end()):
        return [trimmed(text, *direct.span("value"))]
    given = _GIVEN.search(text, max(0, start - BEFORE), start)
    if given and not is_short and given["verb"].lower() in _ENTERING:
        return [given.span("value")]
    if said := _answer_given(text, start, at):
        return said
    for tie in _SAYS.finditer(text, at, stop):
        between = text[at : tie.start()]
        tokens = tokens_of(between)
        is_dash = text[tie.start() + 1 : tie.end()].strip() in _DASHES
        if len(tokens) > (1 if is_short else FEW_WORDS * (3 if is_dash else 1) + 2) or are_parted(between, tokens):
            break
        answer = _ANSWER.match(text, tie.end(), stop)
        if answer is None or _ASKED.match(text, answer.end(), stop):
            break
        left, right = trimmed(text, *answer.span())
        value = text[left:right]
        is_bound = text[left - 1 : left] in "\"'`\u201c\u00ab"
        is_name = value[:1].isupper() or (not value[:1].isascii() and not value[:1].islower())
        is_name = is_name or (text[tie.start()] in COLONS and is_last(text, answer.end()) and not is_short)
        if right - left > 1 and (is_bound or is_name):
            return [(left, right)]
        if is_short:
            break
    return []


_DASHES = ("\u2013", "\u2014", "-")


def _answer_given(text: str, start: int, at: int) -> list[Span]:
    """Return what somebody says that he answered, in the lines of the question."""
    for said in _ANSWERED.finditer(text, max(0, start - BEFORE), at + 2 * BEFORE):
        part = "behind" if said["behind"] else "before" if said["before"] else "dense"
        if said.start(part) >= at or said.end(part) <= start:
            return [trimmed(text, *said.span(part))]
    return []


_VERBS = sorted(words("answered"), key=len, reverse=True)
_PLAIN_VERBS = "|".join(re.escape(word) for word in _VERBS if not IS_DENSE.match(word))
_NAME_SAID = r"[\"'`\u201c\u00ab\u201e]?[A-Z\u00c0-\u00de\u0386-\u03ab\u0410-\u042f][\w'\-]{2,30}"
_ANSWERED = re.compile(
    rf"(?<!\w)(?:{_PLAIN_VERBS})[:,]? (?P<behind>{_NAME_SAID})"
    rf"|(?<!\w)(?P<before>{_NAME_SAID})[\"'`\u201d\u00bb]? (?:{_PLAIN_VERBS})(?!\w)"
    r"|(?P<dense>[\u3400-\u9fff\u30a1-\u30fc]{2,8})(?:\u3068(?:\u7b54|\u5165|\u66f8|\u767b)"
    r"|(?:\ub77c\uace0|\uc73c\ub85c) (?:\ub2f5|\uc801|\uc37c))"
)

# "answer Rotterdam to the security question"
_GIVEN = re.compile(
    r"(?P<verb>\w{3,12}) [\"'`]?(?P<value>[A-Z\u00c0-\u00de\u0410-\u042f][\w'\-]{2,30})[\"'`]?(?: [a-z]{1,6}){1,3} \Z"
)
# a question follows, no answer
_ASKED = re.compile(r"[^.!\n]{0,60}[?\uff1f]")

_AS = frozenset((*words("as"), *words("article")))
_SAYS = re.compile(
    r"[:=\uff1a]\s{0,3}|\??\s(?:->|=>|\u2192)\s|\s[\u2013\u2014\-]\s|[\u662f\u70ba\u4e3a\u306f]|(?<=[\uac00-\ud7af])[\uc740\ub294\uc774\uac00]\s|"
    r"(?<=[\s\"'])(?:"
    + "|".join(
        re.escape(w)
        for w in sorted(BONDS | set(words("with")), key=len, reverse=True)
        if w.isalpha() and not IS_DENSE.match(w) and w not in _AS
    )
    + r")(?:\s(?:called|named|always|still))?\s|\bcalled\s|\bnamed\s"
)
_NAMED_AT_ONCE = re.compile(rf"[^\W\d_{DENSE}]{{0,6}} (?P<value>[A-Z\u00c0-\u00de\u0410-\u042f][\w'\-]{{2,30}})")
_ANSWER = re.compile(
    rf"[{re.escape(OPENERS)}]?(?:[{DENSE}]{{2,12}}|[^\s{DENSE}]{{2,40}}(?: [A-Z\u00c0-\u00de][\w'\-]{{1,30}})?)"
)


def spelled(text: str, at: int) -> list[Span]:
    """Return a value that is told letter by letter, behind its noun."""
    one = _SPELLED.search(text, at, at + 2 * BEFORE)
    if one is None:
        return _said_in_words(text, at)
    part = one.lastgroup if one.lastgroup in ("placed", "bits") else "value"
    between = text[at : one.start(part)].rstrip("\n")
    tokens = tokens_of(between)
    gap, bound = gap_of(tokens)
    is_long = bound == CLEAR and one.end(part) - one.start(part) > _LONG_ROW
    is_row = one.end(part) - one.start(part) > _LONG_ROW and gap <= FEW_WORDS
    if (
        are_parted(between, tokens)
        or (gap and bound < CLEAR and not is_row)
        or len(tokens) > FEW_WORDS * (1 + 2 * is_long) + 2
    ):
        return []
    return [one.span(part)]


def _said_in_words(text: str, at: int) -> list[Span]:
    """Return a value that is told by the words of a spelling alphabet, or with its signs by their names."""
    head = _TO_WORDS.match(text, at, at + BEFORE)
    if head is None:
        return []
    for row in (_alphabet(), _signs_named()):
        said = row.match(text, head.end(), head.end() + 2 * BEFORE)
        if said and not has_word(said["said"], "characters"):
            return [said.span("said")]
    return []


_TO_WORDS = re.compile(
    r"(?:[ ,][^\n.;:=]{0,50})?(?:[:=\uff1a]| is| ist| est| es| \u00e8| \u00e9| \u00e4r| er| to| je)\s{1,3}"
)
_PARTED = r"(?:[ ,\-/.;\u3001]|, | then | and | und | dann | y | et | puis ){1,2}"


@cache
def _alphabet() -> re.Pattern[str]:
    """Return what matches a row of words that stand for letters and digits."""
    word = "(?:" + "|".join(re.escape(w) for w in sorted(words("spelling"), key=len, reverse=True)) + ")"
    return re.compile(rf"(?P<said>{word}(?:{_PARTED}{word}){{5,40}})(?!\w)", re.IGNORECASE)


@cache
def _signs_named() -> re.Pattern[str]:
    """Return what matches words with the name of a sign among them."""
    sign = (
        r"(?:(?:the |a |an |un |une |una |ein )?(?:"
        + "|".join(sorted(words("sign"), key=len, reverse=True))
        + r")(?!\w))"
    )
    word = r"(?:(?:capital|uppercase|lowercase|gro\u00df|klein|majuscule|may\u00fascula|maiuscola) )?[^\W_]{1,20}"
    tie = (
        r"(?:,? (?:and then|then|followed by|und dann|dann|puis|luego|poi|depois|daarna|sen|potem|potom"
        r"|\u0437\u0430\u0442\u0435\u043c|\u043f\u043e\u0442\u043e\u043c) |, | )"
    )
    return re.compile(
        rf"(?P<said>{word}{tie}{sign}{tie}{word}(?:{tie}(?:{sign}|(?=\w+,|\w+ then)|(?<=, ){word})){{0,8}})",
        re.IGNORECASE,
    )


_LONG_ROW = 12
# single letters and digits, all parted by the same sign
_SPELLED = re.compile(
    r"[\s:=\uff1a\"'`(](?P<value>[^\W_]"
    r"(?P<by>[ \-._,/|\n\u3001\u00b7]|\n[\-*] |, |\u00a0|  | [\-\u00b7\u2022|/] |\\n)"
    r"(?:[!-~](?P=by)){4,40}[!-~])(?![^\s\"'`.,;)])"
    # or with their places, or bit by bit
    r"|[\s:=](?P<placed>(?:\d{1,2}[=:.)] ?[!-~][ ,;]{1,2}){4,40}\d{1,2}[=:.)] ?[!-~])(?!\S)"
    r"|[\s:=](?P<bits>(?:[01]{8}[ _]?){5,80}[01]{8})(?!\S)"
)


def joined_words(text: str, start: int, at: int) -> list[Span]:
    """Return the two parts of a value that a noun tells with a word between them that puts them together."""
    stop = min(len(text), at + 2 * BEFORE)
    if _DIGIT.search(text, at, stop) is None:
        return []
    if "-\n" in text[at:stop] and (wrapped := _WRAPPED.match(text, at, stop)):
        left, right = wrapped.span("left"), trimmed(text, *wrapped.span("right"))
        if oddness(text[slice(*left)] + text[slice(*right)]):
            return [left, right]
    near = f" {text[at:stop].lower().replace(',', ' ')} "
    one = _IN_TWO.match(text, at, stop) if has_any(near, _JOINERS) else None
    if one is None:
        return _told_together(text, start, at, stop)
    parts = ("first", "second") if one["first"] else ("a", "b")
    spans = [trimmed(text, *one.span(part)) for part in parts]
    first, second = (text[a:b] for a, b in spans)
    return spans if first and second and oddness(first + second) and not (first + second).isdigit() else []


def _told_together(text: str, start: int, at: int, stop: int) -> list[Span]:
    """Return the two words behind a noun of which the sentence says that they are one value."""
    two = _TWO_WORDS.match(text, at, stop) if has_word(text[max(0, start - BEFORE) : stop], "together") else None
    spans = [trimmed(text, *two.span(part)) for part in ("left", "right")] if two else []
    return spans if spans and oddness("".join(text[a:b] for a, b in spans)) else []


def halves(text: str, start: int, at: int) -> list[Span]:
    """Return the parts of a value that is told in two, when a noun of secrets stands near; one half is told here."""
    here = _part(text, at)
    if here is None:
        return []
    first = max(0, start - _NEAR_HALF)
    stop = min(len(text), at + _NEAR_HALF)
    plain = spaced(text[first:stop])
    places = [plain.find(word) + len(word) - 1 for word in needles("half") if word in plain]
    behind = plain[at - first + 1 :]
    places += [at - first + behind.find(word) + len(word) for word in needles("second") if word in behind]
    others = [_part(text, first + place) for place in places]
    if len(others) < 2 or not has_word(text[first:stop], "password", "short", "key"):  # noqa: PLR2004 - this one is one
        return []
    for other in others:
        if other is None or other == here:
            continue
        spans = sorted((here, other))
        if oddness("".join(text[slice(*span)] for span in spans)):
            return spans
    return []


def _part(text: str, at: int) -> Span | None:
    """Return what follows a word for a part: at once where it is odd, else behind a word that ties it.

    A name of passwords may come between, and what ties it to the part.
    """
    ending = _ENDING.match(text, at)
    at = ending.end() if ending else at
    while passed := _PASSED.match(text, at):
        word = passed["word"].strip(_WRAPPED_IN).lower()
        if word and not word.startswith(_OF_NAMES) and word not in _PASSABLE:
            break
        at = passed.end("word")
    word = _NEXT.match(text, at)
    if (
        word
        and not word["value"][0].isupper()
        and (rest := word["value"][1:].rstrip(".,;:")).isalpha()
        and rest.islower()
    ):
        word = _TIED.match(text, at) or word
    word = word or _TIED.match(text, at)
    if word is None:
        return None
    left, right = trimmed(text, *word.span("value"))
    return (left, right) if right - left > 1 else None


_ENDING = re.compile(rf"[^\W\d_{DENSE}]{{1,4}}(?=[\s:=,])")
_PASSED = re.compile(r"[\s:=,\u2013\u2014\-]{1,4}(?P<word>[^\s0-9:=]{1,24})(?=[\s:=])")
_WRAPPED_IN = "\"'`*(,\u2013\u2014-"
_PASSABLE = BONDS | frozenset(w for head in ("of", "article", "owner") for w in words(head))
# every word of the names of passwords
_OF_NAMES = tuple(
    {
        part
        for head in ("password", "key")
        for name in words(head)
        for part in name.lower().split()
        if len(part) >= _NAME - (not part.isascii()) and part.isalpha()
    }
)
_TWO_WORDS = re.compile(
    r"[^\n:=]{0,60}?(?:[:=]|\s(?:is|ist|est|es|\u00e8|\u00e9|to|je|\u00e4r|er|on))\s{1,2}"
    r"(?P<left>\S{2,40})[ \-_](?P<right>[^\s(]\S{1,39})"
)
_MADE_OF = (
    "made of",
    "made up of",
    "consists of",
    "besteht aus",
    "состоит из",
    "складається з",
    "se compone de",
    "est composé de",
    "składa się z",
)
# a mail or a terminal breaks a value in two
_WRAPPED = re.compile(
    r"[^\n]{0,80}?(?:[:=]|\s(?:is|ist|est|es|\u00e8|\u00e9|to|je|\u00e4r|er|on))\s{1,2}"
    r"(?P<left>[^\s:]{3,40}-)\n[>\s]{0,4}(?P<right>(?=[^\s0-9]{0,40}[0-9])\S{3,40})"
)
_IN_TWO = re.compile(
    r"(?:[^\n.;:=]{0,40}?(?:[:=\uff1a\u662f\u306f\uc740\ub294]|\s(?:"
    + "|".join(
        re.escape(w)
        for w in sorted(BONDS | set(words("half")), key=len, reverse=True)
        if w[:1].isalpha() and not IS_DENSE.match(w) and w not in _AS
    )
    + r")(?=\s))|\s(?:c'est|s'appelle)(?=\s))\s{0,3}"
    rf"(?P<first>[^\s{DENSE}]{{2,40}}),?\s{{0,3}}(?:"
    + "|".join(re.escape(w) for w in sorted(words("joiner"), key=len, reverse=True))
    + rf"|(?<=\s)[+&](?=\s))(?:[:,]|\s(?:with|by|in|mit|por|par))?\s{{0,3}}(?P<second>[^\s{DENSE}]{{2,40}})"
    r"|[^\n.;:=]{0,20}?\s(?:"
    + "|".join(_MADE_OF)
    + r")\s(?P<a>\S{2,40})\s(?P<by>and|und|\u0438|\u0439|\u0442\u0430|\u0456|y|et|i|e)\s(?P<b>\S{2,40})"
)
_JOINERS = tuple(word if IS_DENSE.match(word) else f" {word} " for word in (*words("joiner"), *_MADE_OF, *"+&"))
_NEAR_HALF = 160
_VALUE = rf"[\s{re.escape(OPENERS)}]{{0,4}}(?P<value>[^\s{DENSE}\"'`]{{2,60}})"
_NEXT = re.compile(rf"(?:\s|[:=\u2013\u2014])+{_VALUE}")
_TIED = re.compile(
    r"[^\n.;,]{0,50}?(?:, [^\n.;,]{0,40},)?(?:[:=\uff1a\u662f\u306f\uc740\ub294]"
    r"|\u0e04\u0e37\u0e2d|\u0ec1\u0ea1\u0ec8\u0e99|\s(?:"
    + "|".join(re.escape(w) for w in BONDS if w.isalpha() and not IS_DENSE.match(w) and w not in _AS)
    + rf")(?=\s)){_VALUE}"
)


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
        if kind in _SPELLED_KINDS and not is_found:
            found = spelled(text, at) or phrase(text, start, at) or phrase_before(text, start)
        return found or (far(text, at) if kind is Kind.PASSWORD and len(text) > at + REACH else found)
    if kind in _SPELLED_KINDS:
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
_SPELLED_KINDS = (Kind.PASSWORD, Kind.SHORT, Kind.PASS, Kind.KEY, Kind.PIN)

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
        is_tied = kind in _SPELLED_KINDS and (bound == CLEAR or kind is Kind.SHORT)
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

    ``kind``: what the noun says. ``value``: the value. ``gap``: how many words stand between. ``bound``: 2 when it is
    tied to the noun, 1 when another word comes between, else 0. ``again``: the noun has told a value already.
    ``foreign``: nothing else here is written in the letters of the value. ``last``: nothing stands behind it in its
    sentence.
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
