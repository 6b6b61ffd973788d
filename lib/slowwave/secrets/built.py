"""Values that code builds behind a name of secrets by other means than joining literals.

Codes of characters, variables that hold the parts, a name that is added to itself, names with numbers: each is shown as
if the value stood there in one piece, with the way back to its parts.
"""

import re
from collections.abc import Iterator

from slowwave.secrets.layers import View

# a part of a value: what it says, where it stands, how many characters it takes there
Part = tuple[str, int, int]
_BACK, _FORTH = 600, 300
_SEP = r"[^\w\n\\]{0,3}(?:\n[ \t]{0,40})?"
_CALL = r"(?:(?i:chrw?|char|unichr|fromcharcode|chr\$)\s?\(\s?)?"
_CODE = r"(?:0[xX]|\\x|\\u00|\\0?|&H|U\+00|u8?)?[0-9a-fA-F]{2,3}(?![0-9a-zA-Z])"
_CODES = re.compile(rf"(?:{_CODE}\)?{_SEP}{_CALL}){{5,80}}{_CODE}|(?:\\x[0-9a-fA-F]{{2}}|\\[0-7]{{3}}){{5,80}}")
_ONE = re.compile(r"(?P<base>0[xX]|\\x|\\u00|\\0?|&H|U\+00)?(?P<digits>[0-9a-fA-F]{2,3})(?![0-9a-fA-F](?![\\]))")
_TO_CODES = re.compile(r"[^\n;]{0,90}?(?<![A-Za-z0-9_])(?=(?:0[xX]|\\x|\\)?[0-9a-fA-F]{2,3}(?:\W|\\))")
_HEX, _OCTAL, _DECIMAL = 16, 8, 10
_FEWEST = 6
# two of them, soon behind the name
_SOON = 100
_TWO_CODES = re.compile(
    r"[0-9][0-9a-fA-F]{1,2}(?![0-9a-zA-Z])[^\w\n]{0,4}(?:[a-zA-Z.]{2,12}\$?\()?(?:0[xX]|x|U\+00|&H)?[0-9a-fA-F]{2}"
)
_TO_VALUE = re.compile(r"[\w\-.\]\"')]{0,40}(?:\s{0,4}(?:[:=]=?|<-|\+=)\s{0,4}|[ \t]{1,4}(?=[\"'$]))")
# one item of an expression: a literal with places for variables, a variable, a bare word with one
_ITEM = re.compile(
    r"[bfFrRu$@]{0,2}(?P<q>[\"'`])(?P<literal>[^\"'`\n]{0,80})(?P=q)|(?P<name>%[A-Za-z_]\w{0,40}+%|[$#]{0,2}[{(]{0,2}[A-Za-z_]\w{0,40}+[})]{0,2}+)"
)
_WITHIN = re.compile(
    r"[$#]?\{\{?\s?(?P<braced>[A-Za-z_]\w{0,40})\s?\}\}?|\$(?P<bare>[A-Za-z_]\w{0,40})|%(?P<batch>[A-Za-z_]\w{0,40})%"
)
_SIGN = re.compile(r"[ \t]{0,3}(?:(?:[+.&~|<>,]{1,3}|\.\.)[ \t]{0,3}(?:\n[ \t]{0,40})?|(?=[$%#\"'`{]))")
_EXPRESSION_END = re.compile(r"\s{0,4}(?:[;,)#}]|\n|\Z|//)")
_MOST_ITEMS = 6
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_VALUE = (
    r"\s{0,4}(?::\s?\w{1,12}\s{0,2})?(?::?=\s{0,4}|(?<=\w)[ \t]{1,4}(?=[\"']))"
    r"(?P<q>[\"'`])?(?P<value>(?(q)[^\"'`\n]{1,80}|[^\s\"'`;,)]{1,80}))"
)
_NUMBER = re.compile(
    r"(?P<stem>[\w\-.]{0,40}?)(?P<by>[_\-.]?(?:(?i:part|p|half|chunk|seg|piece)[_\-]?)?)"
    r"(?P<number>[1-4]|[A-Da-d]|(?i:one|two|three|first|second|third|left|right|head|tail|start|end|prefix|suffix))"
    r"[\"'`]?(?=\s{0,4}[:=])"
)


def built(text: str, start: int, end: int) -> Iterator[tuple[View, bool]]:
    """Yield values that are built behind a name, as if they stood there in one piece, and whether its parts lie apart.

    Args:
        text: the text.
        start: where the name begins.
        end: where it ends.
    """
    if parts := _of_codes(text, end):
        yield _shown(text, start, end, parts), False
    if _GIVEN.match(text, end) is None:
        return
    word = _WORD_BEFORE.search(text, max(0, start - 40), start)
    begin = word.start() if word else start
    for parts in (
        _of_words(text, end),
        _of_list(text, end),
        _of_call(text, end),
        _of_variables(text, begin, end),
        _of_numbered(text, begin),
    ):
        if parts:
            yield _shown(text, start, end, parts), True


_GIVEN = re.compile(r"[\w\-.\]\"')]{0,40}\s{0,4}(?::\s?\w{1,12}\s{0,2})?(?:[:+]?=|:|<-|[ \t](?:\"\$|\(string join))")
_WORD_BEFORE = re.compile(r"[\w\-.]{1,40}\Z")


def _shown(text: str, start: int, end: int, parts: list[Part]) -> View:
    head = (text[start:end].rstrip(" :=\"'`*"), start, 0)
    every = [head, ('="', end, 0), *parts, ('"\n', end, 0)]
    return View("".join(plain for plain, _, _ in every), lambda: ((len(plain), at, size) for plain, at, size in every))


def _of_codes(text: str, end: int) -> list[Part]:
    """Return the characters that a row of their codes stands for."""
    if _TWO_CODES.search(text, end, end + _SOON) is None:
        return []
    head = _TO_CODES.match(text, end, end + _FORTH)
    row = _CODES.match(text, head.end(), head.end() + _FORTH) if head else None
    if row is None:
        return []
    every = list(_ONE.finditer(text, row.start(), row.end()))
    bases = {one["base"] for one in every}
    digits = [one["digits"] for one in every]
    base = _base(bases, digits)
    try:
        plain = [chr(int(one, base)) for one in digits]
    except ValueError:
        return []
    if len(plain) < _FEWEST or not all("!" <= sign <= "~" for sign in plain):
        return []
    return [(sign, one.start(), one.end() - one.start()) for sign, one in zip(plain, every, strict=True)]


def _base(bases: set[str | None], digits: list[str]) -> int:
    if bases <= {"\\", "\\0"}:
        return _OCTAL
    if bases - {None} or not all(one.isdigit() for one in digits):
        return _HEX
    return _DECIMAL if any(len(one) > 2 for one in digits) else _HEX  # noqa: PLR2004 - a byte in hex


def _of_words(text: str, end: int) -> list[Part]:
    """Return the parts of a word of a shell that has quotes within."""
    tied = _TO_WORD.match(text, end)
    word = _QUOTED_WORD.match(text, tied.end()) if tied else None
    if word is None:
        return []
    every = [one for one in _QUOTED.finditer(text, word.start(), word.end()) if one[0].strip("\"'")]
    return [
        (one[0].strip("\"'"), one.start() + one[0].startswith(("'", '"')), len(one[0].strip("\"'"))) for one in every
    ]


_TO_WORD = re.compile(r"[\w\-.]{0,40}=(?=\S{4})")
_QUOTED = re.compile(r"[^\s\"'`;,=()\[\]{}$\\|&<>]{1,60}|\"[^\"\s$]{1,60}\"|'[^'\s]{1,60}'")
_QUOTED_WORD = re.compile(
    rf"(?=[^\s\"']{{1,60}}[\"']|([\"'])[^\s\"']{{1,60}}\1[^\s\"',;)\]}}])(?:{_QUOTED.pattern}){{2,6}}(?=[\s;|&]|\Z)"
)


def _of_list(text: str, end: int) -> list[Part]:
    """Return the words of a list that is written without quotes."""
    row = _WORD_LIST.match(text, end)
    every = list(_BARE_WORD.finditer(text, row.start("words"), row.end("words"))) if row else []
    return [(one[0], one.start(), len(one[0])) for one in every] if len(every) > 1 else []


_WORD_LIST = re.compile(
    r"[^\n;]{0,40}?(?:%[wW][\[({<]|\bqw\s?[\[({/<]|string join (?:''|\"\") )(?P<words>[^\])}/>\n]{6,80})"
)
_BARE_WORD = re.compile(r"\S+")


def _of_call(text: str, end: int) -> list[Part]:
    """Return the one literal that a call turns into the value: decodes, reverses, takes apart."""
    call = _CALLED.match(text, end)
    return [(call["value"], call.start("value"), len(call["value"]))] if call else []


_CALLED = re.compile(
    r"[\w\-.\]\"')]{0,40}\s{0,4}(?::\s?\w{1,12}\s)?:?=\s{0,4}(?:new\s)?(?:\$\()?[\w.:\\]{2,40}[(\s]\s{0,4}[\"'](?P<value>[^\s\"']{6,120})[\"']"
)


def _of_variables(text: str, begin: int, end: int) -> list[Part]:
    """Return the values of the variables that are put together, the name itself among them."""
    tied = _TO_VALUE.match(text, end)
    if tied is None:
        return []
    own = _WORD_AT.match(text, begin)
    bare = _BARE.match(text, tied.end())
    if bare and (value := _last_value(text, bare["name"], begin)):
        return [*value, (bare["rest"], bare.start("rest"), len(bare["rest"]))]
    itself = _ITSELF.match(text, tied.end())
    if itself and own and itself["name"] == own[0]:
        value = _last_value(text, own[0], begin)
        return [*value, (itself["rest"], itself.start("rest"), len(itself["rest"]))] if value else []
    parts: list[Part] = []
    at, has_name = tied.end(), False
    for _ in range(_MOST_ITEMS):
        item = _ITEM.match(text, at)
        found = _of_item(text, item, begin) if item else None
        if item is None or found is None:
            return []
        has_name = has_name or item["name"] is not None or len(found) > 1 or _WITHIN.search(item[0]) is not None
        parts += found
        at = item.end()
        sign = None if _EXPRESSION_END.match(text, at) else _SIGN.match(text, at)
        if sign is None:
            break
        at = sign.end()
    return parts if has_name and len(parts) > 1 and _EXPRESSION_END.match(text, at) else []


def _of_item(text: str, item: re.Match[str], before: int) -> list[Part] | None:
    """Return the parts that an item of an expression stands for; None when a variable in it was given no value."""
    if item["name"]:
        name = _VARIABLE.search(item["name"])
        return (_last_value(text, name[0], before) if name else []) or None
    at, parts = item.start("literal"), list[Part]()
    for place in _WITHIN.finditer(text, at, item.end("literal")):
        value = _last_value(text, place["braced"] or place["bare"] or place["batch"], before)
        if not value and place["bare"]:
            continue  # a sign of the value
        if not value:
            return None
        parts += [*([(text[at : place.start()], at, place.start() - at)] if place.start() > at else []), *value]
        at = place.end()
    rest = text[at : item.end("literal")]
    return [*parts, (rest, at, len(rest))] if rest else parts


_BARE = re.compile(r"\$\{?(?P<name>[A-Za-z_]\w{0,40})\}?(?P<rest>[\w!#%*+?@^~\-]{1,60})(?=[\s;]|\Z)")
_WORD_AT = re.compile(r"[\w\-.]{1,60}")
_ITSELF = re.compile(r"[\"']?(?:\$[({]?|%)(?P<name>[\w\-.]{2,40})[)}%]?(?P<rest>[^\s\"'%$(){}]{1,80})")


def _last_value(text: str, name: str, before: int) -> list[Part]:
    """Return the value that a variable was given last before a place, as a part; nothing when it was given none."""
    first = max(0, before - _BACK)
    given = None
    for given in re.finditer(rf"(?<![\w.]){re.escape(name)}{_VALUE}", text[first:before]):  # noqa: B007 - the last one
        pass
    return [(given["value"], first + given.start("value"), len(given["value"]))] if given else []


def _of_numbered(text: str, begin: int) -> list[Part]:
    """Return the values of names that differ in a number or a letter at their end."""
    name = _NUMBER.match(text, begin)
    if name is None:
        return []
    stem = re.escape(name["stem"] + name["by"])
    values = re.finditer(
        rf"(?<![\w.\-]){stem}(?P<number>\w{{1,6}})[\"'`]?\s{{0,4}}[:=]+\s{{0,4}}[\"'`]?(?P<value>[^\s\"'`,;]{{1,80}})",
        text[begin : begin + _FORTH],
    )
    parts = {one["number"]: (one["value"], begin + one.start("value"), len(one["value"])) for one in values}
    return list(parts.values()) if 1 < len(parts) <= _MOST_PARTS else []


_MOST_PARTS = 4
