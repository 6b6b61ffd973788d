"""Values that no phrase ties to a name: mixtures that nobody writes otherwise, and odd words near a name of secrets.

What a sentence looks like, and in which language, matters to none of them. The less a word looks like one, the less has
to stand near it: letters, digits and a sign in between are enough alone, a name with a year must share a line with a
name of secrets and be called nothing else there, a cell of a table must stand below one.
"""

import re
from itertools import pairwise
from string import ascii_letters, digits

from slowwave.secrets.nouns import (
    BEFORE,
    BEYOND_DOUBT,
    CLEAR,
    DENSE,
    IS_DENSE,
    REACH,
    TOKEN,
    Span,
    is_last,
    line_begin,
    trimmed,
    words,
)
from slowwave.secrets.validity import is_hex_text, oddness

# letters and digits, signs that may stand within a value, anything else
_SHAPE = bytes(97 if chr(c).isalnum() or chr(c) == "?" else 35 if chr(c) in "!#$&*^~" else 32 for c in range(256))
_NO_SIGNS = bytes(c for c in range(256) if _SHAPE[c] != 35)  # noqa: PLR2004 - the sign
# the letter behind a sign is looked at only there: almost every sign of a text is one
_BEFORE_SIGN = b"a#"
_MIXED = re.compile(r"[^\W_](?:[^\W_]|[!#$%&*+?@^~_.\-]){5,46}(?:[^\W_]|[!#$*?@^~])(?![^\s\"'`,;:.!?)\]}>|*<\\])")
_SIGNS_OF_WORDS = ascii_letters + digits + "_!#$%&*+?@^~.-"
_LONGEST = 40
_LEAST = 7
_TURNS = 3
# a name, a sign and a number: of an issue, a section, a line
_NUMBERED = re.compile(
    r"[A-Za-z_.\-]+[#$&*^~][0-9A-Z]*|[A-Za-z]+(?:[&*^~$][A-Za-z]*\d*)+|.*#L?\d+.*|.*\.[a-z]{2,4}(?:[#&*~].*)?"
)
_HEX = re.compile(r"[0-9a-fA-F]+")
# how people choose one: a name and a year, also with a line or a point between
_CHOSEN = re.compile(
    r"(?!(?i:\w*(?:pass|login|token|secret)))"
    r"(?![A-Z]{1,4}\d{1,4}\Z|[A-Z]+\d\Z)(?:[a-z]{4,20}[_.\-+%~]?\d{2,6}|[a-z]{2,16}(?:[A-Z][a-z]{2,15}){1,3}[_.\-+%~]\d{2,6}|(?=(?:[^\W\d_][_.\-+%~]?){5})[^\W\d_]{3,16}[+%~][^\W\d_]{0,16}\d{1,6}|(?=(?:[^\W\d_][_.\-]?){7})[^\W\d_]{2,16}(?:[_.\-][^\W\d_]{2,16}){1,4}[_.\-]?\d{1,6}|[^\W\d_a-z](?:[^\W\d_]{2,20}(?:[_.\-]\d|\d\d)|[^\W\d_A-Z]{4,20}\d)\d{0,5}[A-Za-z!?.*#$]?|(?=[^\W\d_]*[^\x00-\u024f])[^\W\d_]{3,20}\d{2,6})"
)
_NAMING = frozenset(words("naming"))
_NAMING_DENSE = tuple(word for word in _NAMING if IS_DENSE.match(word))
_NAMED = _NAMING | frozenset(words("of"))
_ENTERING = frozenset(words("entering"))
_TYING = frozenset(w for head in ("with", "joiner") for w in words(head)) | {
    "and",
    "und",
    "et",
    "y",
    "e",
    "en",
    "i",
    "och",
}
# what is said to be one, to be entered or to be wanted
_GIVEN = (
    _ENTERING
    | _TYING
    | frozenset(w for head in ("bond", "wants", "joiner") for w in words(head) if w.isalpha() or "'" in w)
)
_QUOTED = tuple("\"'`\u201c\u00ab(")
_TIED = "|".join(
    re.escape(word) for word in words("bond") if word.isalpha() and len(word) > 1 and not IS_DENSE.match(word)
)
_PHRASE = re.compile(
    rf"(?:\([^\n()]{{0,40}}\)|[^\n.;:=\"'`(]){{0,40}}?(?:[:=]|\s(?:{_TIED})(?=\s)|\w['\u2019]s(?=\s)|\s(?=[\"'`\u201c\u00ab]))\s{{0,3}}(?P<quote>[\"'`\u201c\u00ab])?"
    r"(?P<value>(?:[^\W_]{1,14}[ \-]){2,8}[^\W_]{1,14})(?=(?P<end>[\"'`\u201d\u00bb])|[.,;)]?(?:\s{0,4}(?:\n|\\n|\Z)))"
)
_FEWEST_WORDS, _FEWEST_QUOTED, _WORD, _MEAN = 4, 3, 3, 4
_SPEAKING = frozenset(w for head in ("bond", "of", "naming", "entering", "article", "speaking") for w in words(head))
_COLUMN = re.compile(r"[ \t]*[|;\t][ \t]*|,[ \t]*| {3,}")
_CELL_ENDS = re.compile(r"[\w\"'`*]{0,20} {0,40}(?:[|;\t,\n]| {3})")
_MOST_ROWS = 20
_LONGEST_HEAD = 2 * REACH


def mixtures(text: str, signs: bytes) -> list[Span]:
    """Return where mixtures lie that are secrets wherever they stand: letters and digits with a sign in between.

    ``signs``: the same, one byte a character.
    """
    found: list[Span] = []
    if not signs.translate(None, _NO_SIGNS):
        return found
    shape = signs.translate(_SHAPE)
    at = shape.find(_BEFORE_SIGN)
    while at >= 0:
        if shape[at + 2 : at + 3] == b"a" and (span := _mixture(text, at + 1)):
            found.append(span)
        at = shape.find(_BEFORE_SIGN, at + 2)
    return found


def _mixture(text: str, sign: int) -> Span | None:
    head = text[max(0, sign - _LONGEST) : sign]
    begin = sign - len(head) + len(head.rstrip(_SIGNS_OF_WORDS))
    while begin > sign - len(head) and not text[begin - 1].isascii() and text[begin - 1].isalnum():
        begin -= 1
    if begin and not (
        text[begin - 1].isspace() or text[begin - 1] in "\"'`([{<>:=,|/\\" or not text[begin - 1].isascii()
    ):
        return None
    if (word := _MIXED.match(text, begin)) is None or word.end() <= sign:
        return None
    begin, stop = trimmed(text, begin, word.end())
    value = text[begin:stop]
    if len(value) < _LEAST or not any(c.isdigit() for c in value):
        return None
    if text[sign] == "!":
        return (begin, stop) if oddness(value) >= CLEAR else None
    turns = sum(a.isdigit() != b.isdigit() for a, b in pairwise(value))
    is_cased = not value.islower() and not value.isupper() and value[0].isupper() and turns > 1
    is_odd = oddness(value) >= BEYOND_DOUBT and (turns >= _TURNS or is_cased) and not _NUMBERED.fullmatch(value)
    return (begin, stop) if is_odd and not value.islower() else None


def around(text: str, start: int, at: int, least: int, *, chosen: bool, is_plain: bool) -> list[Span]:
    """Return the odd words that share a line with a noun, on either side, whatever stands between.

    Args:
        text: the text.
        start: where the noun begins.
        at: where it ends.
        least: how odd they must be.
        chosen: a name with a year is enough, unless a word says what else it names.
        is_plain: also one in small letters; else it must be quoted or entered, or something logs in with it.
    """
    first = line_begin(text, start, BEFORE)
    stop = text.find("\n", at, at + REACH)
    stop = min(len(text), at + REACH) if stop < 0 else stop
    spans: list[Span] = []
    for word in (_ASCII_WORD if text.isascii() else _WORD_WITH_DIGIT).finditer(text, first, stop):
        end = word.end()
        if word.start() < at and end > start:
            continue
        if word.start() == first and first and not text[first - 1].isspace():
            continue  # its beginning is out of reach
        if end == stop < len(text):
            whole = TOKEN.match(text, word.start(), word.start() + _MOST_CHARS)
            end = whole.end() if whole else end
        if end - word.start() >= _MOST_CHARS:
            continue
        left, right = trimmed(text, word.start(), end)
        # of a user and a password the latter
        colon = text.rfind(":", left, right)
        spans.append((left if colon < 0 or right - colon < _LEAST else colon + 1, right))
    if is_plain:
        spans += [
            one.span("value") for one in _LITERAL.finditer(text, first, stop) if one.end() <= start or one.start() >= at
        ]
    return [span for span in spans if _is_odd(text, first, span, least, chosen=chosen, is_plain=is_plain)]


def far(text: str, at: int) -> list[Span]:
    """Return the value that a sentence ends with, or that commas enclose, which began with a noun long before."""
    stop = text.find("\n", at, at + _FAR)
    for tied in _FAR_TIED.finditer(text, at + REACH, min(len(text), at + _FAR) if stop < 0 else stop):
        left, right = trimmed(text, *tied.span("value"))
        odd = oddness(text[left:right])
        if odd >= CLEAR or (odd and (_CHOSEN.fullmatch(text, left, right) or "." in text[left:right])):
            return [(left, right)]
    return []


_FAR = 420
_FAR_TIED = re.compile(
    r"(?<=\s)(?:is|was|it's|ist|war|lautet|est|c'est|es|era|\u00e8|\u00e9|\u00e4r|er|to|je|on)[,:]? [\"'`]?"
    r"(?P<value>(?=[^\s0-9]{0,60}[0-9])[^\s]{6,60}?)[\"'`]?(?=[.,;!](?:\s|\Z))"
)
# within code
_LITERAL = re.compile(r"(?<=[\"'`])(?P<value>(?=[^\s\"'`]*[0-9])[^\s\"'`]{6,80})(?=[\"'`])")


def _is_odd(text: str, first: int, span: Span, least: int, *, chosen: bool, is_plain: bool) -> bool:
    left, right = span
    value = text[left:right]
    odd = 0 if _HEX.fullmatch(value) else oddness(value)
    odd = BEYOND_DOUBT if is_hex_text(value.removeprefix("0x")) else odd
    if odd >= least or bool(chosen and odd and _is_chosen(text, first, left, right, is_plain=is_plain)):
        return True
    if odd < CLEAR or least == CLEAR:
        return False
    return _word_before(text, first, left) in _GIVEN or text[first:left].rstrip("\"'`*").endswith((": ", "\uff1a"))


def _is_chosen(text: str, first: int, left: int, right: int, *, is_plain: bool = True) -> bool:
    """Say whether a value is made as people make them, or is to be entered, and its neighbours name nothing else."""
    before = _word_before(text, first, left)
    behind = text[right : right + _TAIL].lstrip("\"'`*) ").partition(" ")[0].rstrip(".,;:!?\"'`)").lower()
    if (
        before in _NAMED
        or text.endswith(_NAMING_DENSE, first, left)
        or (behind in _NAMING and not is_last(text, right))
    ):
        return False
    if before in _ENTERING:
        return True
    if _CHOSEN.fullmatch(text, left, right) is None:
        return False
    return (
        is_plain
        or before in _TYING
        or before in _GIVEN
        or text[left - 1 : left] in _QUOTED
        or not text[left:right].islower()
    )


def _word_before(text: str, first: int, left: int) -> str:
    """Return the word before a value, without what stands around it."""
    return text[first:left].rstrip(" \"'`*(:=").rpartition(" ")[2].strip("\"'`*(,:").lower()


_TAIL = 24
_MOST_CHARS = 200
_DIGIT_WITHIN = r"(?<![^\s{0}])(?=[^\s{0}0-9]{{0,80}}+[0-9])[^\s{0}]{{4,200}}"
_WORD_WITH_DIGIT, _ASCII_WORD = (re.compile(_DIGIT_WITHIN.format(dense)) for dense in (DENSE, ""))


_OF_PHRASES = re.compile(
    r"(?i:phrase|frase|fraza|fraz|\u0444\u0440\u0430\u0437|satz|mnemonic|\u53e5|\u30d5\u30ec\u30fc\u30ba)"
)


def phrase(text: str, start: int, at: int) -> list[Span]:
    """Return the row of words that a noun is tied to, when it is no sentence: none is short or speaks of secrets."""
    found = _PHRASE.match(text, at, min(len(text), at + REACH))
    if found is None:
        return []
    least = 1 if _OF_PHRASES.search(text, max(0, start - 1), at) else _WORD
    every = re.split(r"[ \-]", found["value"])
    of_letters = [word for word in every if word.isalpha()]
    is_quoted = found["quote"] and found["end"]
    speaking = [word for word in of_letters if word.lower() in _SPEAKING and len(word) >= _WORD]
    # one word of sentences may be in what an equals sign or quotes make a value
    most = int(least == 1 and (bool(is_quoted) or text[found.start("value") - 2] == "="))
    if (
        len(every) < (_FEWEST_QUOTED if is_quoted else _FEWEST_WORDS)
        or len(of_letters) < len(every) - 1
        or len(speaking) > most
        or any(len(word) < least for word in of_letters)
        or (least > 1 and sum(map(len, of_letters)) < _MEAN * len(of_letters))
    ):
        return []
    return [found.span("value")]


def phrase_before(text: str, start: int) -> list[Span]:
    """Return the quoted row of words that stands a few words before a noun."""
    if text[start - 1 : start] != " ":
        return []
    first = line_begin(text, start, BEFORE)
    found = _PHRASE_BEFORE.search(text, first, start)
    if found is None or any(word.lower() in _SPEAKING for word in found["value"].split()):
        return []
    return [found.span("value")]


_PHRASE_BEFORE = re.compile(
    r"(?P<q>[\"'`\u201c\u00ab])(?P<value>(?:[^\W\d_]{2,14} ){2,8}[^\W_]{2,14})"
    r"[\"'`\u201d\u00bb](?: [\w'\u2019]{1,12}){1,5} \Z"
)


def answered_below(text: str, at: int) -> list[Span]:
    """Return the one word of the next line, or of an answer there, when the noun's line ends a few words behind it."""
    line = _NEXT_LINE.match(text, at)
    if line is None:
        return []
    left, right = trimmed(text, *line.span("value"))
    value = text[left:right]
    is_odd = not value.isdigit() and not _HEX.fullmatch(value) and oddness(value)
    return [(left, right)] if is_odd and (is_odd >= CLEAR or _CHOSEN.fullmatch(value)) else []


_NEXT_LINE = re.compile(
    r"[^\n:=]{0,40}\n{1,2}[>\s]{0,4}"
    r"(?:\[?[\d:]{4,8}\]? )?(?:<?[\w.\-]{1,20}(?:>?:|>)[ \t]{1,3})?(?P<value>[^\s<]{5,60})(?:<br ?/?>)?[ \t]*(?:\n|\Z)"
)


def below(text: str, start: int, at: int) -> list[Span]:
    """Return the cells of a table in the column that a noun is the head of."""
    if not _CELL_ENDS.match(text, at):
        return []
    end = text.find("\n", at, at + _LONGEST_HEAD)
    first = line_begin(text, start, _LONGEST_HEAD + 1)
    if end < 0 or end - first > _LONGEST_HEAD:
        return []
    heads = _cells(text, first, end)
    column = next((n for n, (left, right) in enumerate(heads) if left <= start and at <= right), -1)
    if len(heads) < 2 or column < 0 or any(c.isdigit() for c in text[first:end]):  # noqa: PLR2004 - one is no table
        return []
    found: list[Span] = []
    for _ in range(_MOST_ROWS):
        first, end = end + 1, text.find("\n", end + 1)
        end = len(text) if end < 0 else end
        cells = _cells(text, first, end)
        if len(cells) != len(heads):
            break
        left, right = cells[column]
        left, right = trimmed(text, left, right)
        if " " not in text[left:right] and oddness(text[left:right]) > text[left:right].isdigit():
            found.append((left, right))
    return found


def listed(text: str, at: int) -> list[Span]:
    """Return the words that stand alone in the lines behind a noun whose line ends with a colon."""
    head = _LIST_HEAD.match(text, at)
    found: list[Span] = []
    while head and (item := _ITEM.match(text, head.end())) and len(found) < _MOST_ROWS:
        left, right = trimmed(text, *item.span("value"))
        if not oddness(text[left:right]):
            break
        found.append((left, right))
        head = item
    return found


_LIST_HEAD = re.compile(r"[^\n:]{0,60}:[ \t]*\n(?:[ \t]*\n)?")
_ITEM = re.compile(r"[ \t]{0,20}(?:[-*+>]|\d{1,2}[.)])?[ \t]{0,4}(?P<value>\S{4,80})[ \t]*(?:\n|\Z)")


def _cells(text: str, first: int, end: int) -> list[Span]:
    """Return where the cells of a line lie."""
    spans: list[Span] = []
    at = first
    for sign in _COLUMN.finditer(text, first, end):
        spans.append((at, sign.start()))
        at = sign.end()
    return [*spans, (at, end)]
