"""Values that code makes of pieces: literals that one expression joins, and what is built by other means."""

import base64
import binascii
import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import unquote

from slowwave.secrets.layers import View
from slowwave.secrets.nouns import Span, has_word, line_begin
from slowwave.secrets.validity import looks_chosen, oddness

# Pieces of string literals that one expression joins, as the one value that they make.
#
# What joins them is told by what stands between two literals: an operator, a call, nothing but blanks, or a comma where
# a word for joining stands before or behind the list. No language is known by name; what joins nothing ends the row.

_COMMENT = r"/\*[^*\n]{0,80}\*/|//[^\n]{0,80}\n|(?<=\s)(?:#|--)[^\n\"'`]{0,80}\n"
_NAME = r"[$@]?[A-Za-z_][\w.:>\-]{0,40}"
_OPERATOR = r"(?:\+\+?|\.\.?(?=[\s\"'`$@\w(])|&|\|\||<>|<<|//|[~^]|\*(?=\s{0,4}[\"']))"
# of builders: names of what adds to the end
_ADDING = r"(?:\w{0,20}(?:append|concat|cat|push|add|write|put|plus|emit)\w{0,20}|<<)"
_CLOSE = rf"(?:\s{{1,80}}+|{_COMMENT}|[)\]}}]|_?\w{{1,3}}(?=[\s)+.&|;,])|\.\w{{1,30}}(?:\(\)|(?=[\s)])))"
_OPEN = (
    rf"(?:\s{{1,80}}+|{_COMMENT}|[(\[{{&]|\\\n"
    rf"|(?:(?:new\s)?[\w.:]{{1,40}}!?(?:<\w{{1,20}}>)?(?:\[\])?\s?[(\[{{]){{1,2}}|_\s|[`\xac]\s)"
)
_JOIN = (
    rf"(?P<sign>\\?{_OPERATOR}(?:\s{{0,8}}{_NAME}(?:\(\w{{0,8}}\))?\s{{0,8}}{_OPERATOR})?|%(?=\s{{0,4}}\()|\|>|\}}[$#]?\{{)"
    rf"|(?P<call>\.\w{{1,30}}!?\(|\|\s?\w{{1,20}}:|\s\w{{1,30}}:(?=\s{{0,4}}@\")|\s-f(?=\s))"
    rf"|(?P<again>;?\s{{1,80}}(?:{_NAME}\s?(?:[+.~&|]{{1,2}}=|<<)|(?P<that>\w{{1,40}})=\$\{{?(?P=that)\b\}}?"
    rf"|(?:set |let |local )?(?P<it>{_NAME})\s?:?=\s?(?P=it)\s?{_OPERATOR}"
    rf"|(?:{_NAME}(?:\.|->|::))?{_ADDING}!?\((?:{_NAME},)?))"
    r"|(?P<comma>[,;])"
)
_BETWEEN = re.compile(
    rf"(?:{_CLOSE}{{0,6}}?(?:{_JOIN}){_OPEN}{{0,6}}+|[ \t]{{0,80}}\\?(?:\s{{1,80}}|{_COMMENT}){{0,4}}+)"
    r"(?:[bBfFrRuULNSs@$]{1,2}(?=[\"'`]))?(?=[\"'`])"
)
_OPENS = re.compile(rf"(?:{_OPEN}){{1,6}}+(?P<comma>)(?=[\"'`])")
# one literal as far as a quote; the part of a template ends before the next one
_BODY = re.compile(r"(?:[^\"'`\\\n]|\\(?:[^\n]|\r?\n[ \t]{0,80})){0,400}")
_TEMPLATE = re.compile(r"[$#]?\{\s{0,4}\Z")
_INNER = re.compile(r"(?P<q>[\"'`])(?P<body>[^\"'`\n]{0,200})(?P=q)\s{0,4}\}")
_PLACES = re.compile(r"[\-_.:/]?(?:(?:%[sv]|%\d\$s|\{\d?\}|\{:s\})[\-_.:/]?)+")
_JOINING = re.compile(
    r"(?i:join|concat|implode|paste|print|strcat|append|mkstring|reduce|fold|to_?string|format|sprintf|printf|merge|glue)|\b(?:str|cat|sum)\b|%|\s-f\s"
)
# between a name and the first literal: what a name ends in, and an assignment or a call
_NAME_END = re.compile(r"[\w\-.]{0,40}+(?:[\\\"'`\]]{1,3}+(?=\s{0,8}[:=,]))?+")
_TO_FIRST = re.compile(r"[^\"'`\n;]{0,100}+(?:(?<=[=(:\[{,) ])\n[ \t]{0,80}+[^\"'`\n;]{0,60}+){0,2}+[\"'`]")
_TIE = re.compile(r"[^\n=(]{0,60}?(?:=>|:=|<-|\u2190|,|:(?![:\w])|[=(])\s{0,40}")
# behind a key, or a literal that nothing follows
_ENDS = ("", ":", "=", ">", "*", "\\")
_QUOTES = "\"'`"
_LIST = 200
# two literals have so many quotes, when the name stands in the first one, within so many characters
_FEWEST = 3
_FAR = 500
_BEHIND = 60
_MOST = 60


class Row(NamedTuple):
    """Literals that are one value."""

    begin: int  # where the text begins that says what the value is
    tie: int  # where that ends
    spans: tuple[tuple[int, int], ...]  # where the literals lie, without their quotes
    is_whole: bool  # nothing but the literals belongs to the value; else what stands before the first one does


def row_behind(text: str, end: int, before: int) -> Row | None:
    """Return the literals behind a name that ends at ``end``, when they are several; its text begins at ``before``."""
    named = _NAME_END.match(text, end)
    at = named.end() if named else end
    if text[at : at + 1] == ":" and (block := _BLOCK.match(text, at)):
        return _block(text, before, block)
    if sum(text.count(quote, end, end + _FAR) for quote in _QUOTES) < _FEWEST:
        return None
    first = _TO_FIRST.match(text, at)
    if first is None:
        return None
    quote = first.end() - 1
    tied = _TIE.match(text, first.start(), quote)
    tie = tied.end() if tied else quote
    if inner := _TEMPLATED.match(text, quote):
        quote = inner.end()
    # what closes a part of a template begins none
    is_value = text[quote + 1 : quote + 2] != "}"
    spans = _literals(text, quote, -1) if is_value else ()
    if len(spans) > 1:
        return Row(before, tie, spans, is_whole=True)
    # the name may stand in a literal itself
    if row := row_at(text, _first_quote(text, end), before):
        return row
    spans = _behind_word(text, quote) if is_value and _JOINING.search(text, first.start(), quote + _LATER) else ()
    return Row(before, tie, spans, is_whole=True) if spans else None


def row_before(text: str, start: int, end: int) -> Row | None:
    """Return the literals that are put together in the line before a name: some languages name the target last."""
    first = line_begin(text, start, _LIST)
    if sum(text.count(quote, first, start) for quote in _QUOTES) <= _FEWEST:
        return None
    quote = _first_quote(text, first)
    spans = _literals(text, quote, -1) if quote >= 0 else ()
    if len(spans) < 2 or not start - _BEHIND < spans[-1][1] < start:  # noqa: PLR2004 - one is in one piece
        return None
    return Row(start, end, spans, is_whole=True)


def _behind_word(text: str, quote: int) -> tuple[tuple[int, int], ...]:
    """Return a row that begins a few quotes later: a word for joining may have quotes itself, a symbol has one."""
    for opening in _LATER_OPENING.finditer(text, quote + 1, quote + _BEHIND):
        if len(spans := _literals(text, opening.end(), -1)) > 1:
            return spans
    return ()


# a template that is a literal itself
_TEMPLATED = re.compile(r"[\"']\{\{-?[ \t]{0,3}(?=[\"'])")
_LATER = 24
_LATER_OPENING = re.compile(r"(?:[\[({,]\s{0,8}|\s)(?=[\"'])")


def _block(text: str, before: int, head: re.Match[str]) -> Row | None:
    """Return the lines of a block of YAML, which are one value when each is one word."""
    spans: list[tuple[int, int]] = []
    at = head.end()
    while (line := _BLOCK_LINE.match(text, at)) and line["indent"] == (head["indent"] or head["item"]):
        begin, stop = line.span("word")
        spans.append((begin, stop - text.endswith("\\", begin, stop)))
        at = line.end()
    return Row(before, head.end("tie"), tuple(spans), is_whole=True) if len(spans) > (head["indent"] is None) else None


_BLOCK = re.compile(
    r"(?P<tie>:)[ \t]{0,4}"
    r"(?:[>|][+\-\d]{0,2}[ \t]{0,4}\r?\n(?=(?P<indent>[ \t]{1,40}))|\r?\n(?=(?P<item>[ \t]{1,40}- )))"
)
_BLOCK_LINE = re.compile(r"(?P<indent>[ \t]{1,40}(?:- )?)(?P<word>[^\s\"'`]{2,400})[ \t]{0,40}(?:\r?\n|\Z)")


def row_at(text: str, quote: int, before: int) -> Row | None:
    """Return the literals that follow a quote which ends one; what stands before it begins the value."""
    if (
        text[quote + 1 : quote + 2] == "}"
        and (part := _BODY.match(text, quote + 2))
        and (part.end() > quote + 2 and not _TEMPLATE.search(text, part.start(), part.end()))
    ):
        # the rest of a template
        return (
            Row(before, quote, (part.span(),), is_whole=False) if text[part.end() : part.end() + 1] in _AFTER else None
        )
    if quote < 0 or (between := _BETWEEN.match(text, quote + 1)) is None:
        return None
    spans = _literals(text, between.end(), quote)
    if between["comma"] and not (
        spans
        and (
            _JOINING.search(text, max(0, quote - _LIST), quote)
            or _JOINING.search(text, spans[-1][1], spans[-1][1] + _BEHIND)
        )
    ):
        return None
    return Row(before, quote, spans, is_whole=False) if spans and spans[-1][1] > between.end() + 1 else None


def row_in(text: str, start: int) -> Row | None:
    """Return the literals of a list that is joined, as a word right there says: they stand behind it or before it."""
    first = _FIRST.search(text, start, start + _BEHIND)
    spans = _literals(text, first.end() - 1, -1) if first else ()
    if len(spans) < 2:  # noqa: PLR2004 - one is no list
        opened = max(text.rfind("[", max(0, start - _LIST), start), text.rfind("(", max(0, start - _LIST), start))
        first = _OPENING.match(text, opened) if opened >= 0 else None
        spans = _literals(text, first.end() - 1, -1) if first else ()
    return Row(spans[0][0] - 1, spans[0][0], spans, is_whole=False) if len(spans) > 1 else None


_AFTER = ('"', "'", "`")
_FIRST = re.compile(r"[\[({,]\s{0,80}[bfru@]?[\"'`]")
_OPENING = re.compile(rf"[^\n\"'`]{{0,60}}{_FIRST.pattern}")


def row_within(text: str, end: int, before: int) -> Row | None:
    """Return the literals that go on with a value of which the beginning, up to ``end``, tells what it is."""
    value = _TO_END.match(text, end)
    return row_at(text, value.end() - 1, before) if value else None


_TO_END = re.compile(r"[^\s\"'`]{0,300}+[\"'`]")


def _first_quote(text: str, at: int) -> int:
    """Return where the first quote stands in the rest of a line."""
    found = _TO_QUOTE.match(text, at)
    return found.end() - 1 if found else -1


_TO_QUOTE = re.compile(r"[^\"'`\n]{0,80}[\"'`]")


def _literals(text: str, at: int, since: int) -> tuple[tuple[int, int], ...]:
    """Return where the literals of a row lie that begins with the quote at ``at``.

    ``at``: where the row begins. ``since``: where a word for joining may stand, by which commas join, too; -1 when
    there is one.
    """
    spans: list[tuple[int, int]] = []
    listed: int | None = None
    for begin, stop, has_comma in _row(text, at):
        if has_comma and listed is None:
            listed = len(spans)
        if _PLACES.fullmatch(text, begin, stop):
            since = -1
        elif stop > begin:
            spans.append((begin, stop))
    if listed is not None and since >= 0 and spans:
        begins = (since, *(stop for _, stop in spans))
        ends = (*(begin for begin, _ in spans), spans[-1][1] + _BEHIND)
        if not _JOINING.search(" ".join(text[a:b] for a, b in zip(begins, ends, strict=True))):
            spans = spans[:listed]
    return tuple(spans)


def _row(text: str, at: int) -> Iterator[tuple[int, int, bool]]:
    """Yield literals as long as something joins them: where each lies, and whether a comma parts it from the last."""
    has_comma = False
    for _ in range(_MOST):
        spans, stop = _literal(text, at)
        if has_comma and _KEY_END.match(text, stop + 1):
            return  # the next key of a table
        for begin, end in spans:
            yield begin, end, has_comma
            has_comma = False
        if not spans or stop < 0 or text[stop + 1 : stop + 2] in _ENDS:
            return
        between = _BETWEEN.match(text, stop + 1)
        if between is None and spans[0] == (stop, stop):
            between = _OPENS.match(text, stop + 1)  # nothing is put between the pieces, as some languages write it
        if between is None:
            return
        has_comma = between["comma"] is not None
        at = between.end()


_KEY_END = re.compile(r"\s{0,4}(?:=>|[:=])")


def _literal(text: str, at: int) -> tuple[list[tuple[int, int]], int]:
    """Return the parts of the literal that begins with the quote at ``at``, and where it ends; -1 when it does not.

    A template has literals within, each in brackets: these and what stands between are its parts.
    """
    quote = text[at : at + 1]
    spans: list[tuple[int, int]] = []
    for _ in range(_MOST):
        body = _BODY.match(text, at + 1)
        if body is None or body.end() == len(text) or text[body.end()] not in _QUOTES:
            return spans, -1
        stop = body.end()
        opening = _TEMPLATE.search(text, body.start(), stop) if text[stop - 1] in "{ " else None
        if opening is None or (text[stop] == quote and _INNER.match(text, stop) is None):
            # a quote of another kind is part of a value
            return ([*spans, body.span()], stop) if text[stop] == quote else (spans, -1)
        spans.append((body.start(), opening.start()))
        inner = _INNER.match(text, stop)
        if inner is None:
            return spans, -1
        spans.append(inner.span("body"))
        at = inner.end() - 1
    return spans, -1


def as_one(text: str, row: Row) -> View:
    """Return the value that a row of literals makes, behind what says what it is."""
    tie = row.tie
    sign = ""
    if row.is_whole:
        tie -= len(text[row.begin : tie]) - len(_UNTIED.sub("", text[row.begin : tie]))
        sign = (
            '"'
            if text[tie - 1 : tie] in _SIGNS
            else ' "'
            if " " in text[tie : row.tie] and _IN_WORDS.search(text, row.begin, tie)
            else '="'
        )
    pieces = [(text[row.begin : tie], row.begin, tie - row.begin), (sign, tie, 0)]
    pieces += [(text[start:stop], start, stop - start) for start, stop in row.spans]
    pieces.append(('"\n', row.spans[-1][1], 0))
    return View(
        "".join(piece for piece, _, _ in pieces), lambda: ((len(piece), at, size) for piece, at, size in pieces)
    )


_UNTIED = re.compile(
    r"(?:\s|(?:(?<![\w.:!])(?![\w.:!]{0,40}(?i:passw|pwd|secret|token))(?:new\s)?[\w.:!]{1,40})?\(|(?<=[:=]\s)[\"'](?=\{\{)|(?<![\"'`]),(?=\s{0,40}\Z)|[\w.:!]{6,40}\s\{|<-|\u2190|[)\[{]|(?<=[\s\[(])[bfruLNS@$]{1,2}|(?<=\s)[A-Za-z_]\w{0,20}[.:]{1,2}\w{1,20}(?=\s)|::)+\Z"
)
_SIGNS = frozenset(":=>")
_IN_WORDS = re.compile(r" \w+\Z")


# Values that code builds behind a name of secrets by other means than joining literals.
#
# Codes of characters, variables that hold the parts, a name that is added to itself, names with numbers: each is shown
# as if the value stood there in one piece, with the way back to its parts.

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
_FEWEST_BUILT = 6
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
    r"[\"']?\s{0,4}(?::\s?\w{1,12}\s{0,2})?(?::?=\s{0,4}|(?<=\w):[ \t]{1,4}(?:&\w{1,20} )?|(?<=\w)[ \t]{1,4}(?=[\"']))"
    r"(?P<q>[\"'`])?(?P<value>(?(q)[^\"'`\n]{1,80}|[^\s\"'`;,)]{1,80}))"
)
_NUMBER = re.compile(
    r"(?P<stem>[\w\-.]{0,40}?)(?P<by>[_\-.]?(?:(?i:part|p|half|chunk|seg|piece)[_\-]?)?)"
    r"(?P<number>[1-4]|[A-Da-d]|(?i:one|two|three|first|second|third|left|right|head|tail|start|end|prefix|suffix))"
    r"[\"'`]?(?=\s{0,4}[:=])"
)


def built(text: str, start: int, end: int) -> Iterator[tuple[View, bool]]:
    """Yield values that are built behind a name, as if they stood there in one piece, and whether its parts lie apart.

    ``start``: where the name begins. ``end``: where it ends.
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
    if len(plain) < _FEWEST_BUILT or not all("!" <= sign <= "~" for sign in plain):
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
    return _last_values(text, (name,), before)


def _last_values(text: str, names: Sequence[str], before: int) -> list[Part]:
    """Return the values that variables were given last before a place, as parts; nothing when one was given none."""
    first = max(0, before - _BACK)
    for name in names:
        if text.find(name, first, before) < 0:
            return []
    given = {one["name"]: one for one in _ASSIGNMENT.finditer(text, first, before)}
    values = [given[name] for name in names if name in given]
    if len(values) < len(names):
        return []
    return [(one["value"], one.start("value"), len(one["value"])) for one in values]


_ASSIGNMENT = re.compile(rf"(?<![\w.])(?P<name>[A-Za-z_]\w{{0,40}}+){_VALUE}")


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


# Values that nothing need name, because they are hidden or put together on purpose: what a call decodes, and what two
# variables side by side hold. A value that comes out of one must look like one that people or programs choose.

# calls that decode, each with the codes that it takes
_CODES_OF = {
    "numbers": (
        "fromcharcode",
        "chr(",
        "chr,",
        "char(",
        "[]byte{",
        "char[]",
        "char []",
        "bytes([",
        "unsigned char",
        "uint8",
    ),
    "letters": ("char[]", "char []", "unsigned char"),
    "escapes": ("$'\\x", "$'\\0", "'\\x", '"\\x', '"\\u00'),
    "hex": (
        *("fromhex", "xxd -r", "unhex", "identified by 0x", "decodestring", "buffer.from("),
        *("pack('h*'", 'pack("h*"'),
    ),
    "base64": (
        *("b64decode", "base64_decode", "atob(", "-enc ", "base64 -d", "base64 --decode", "frombase64string"),
        *("from_base64", "decode64", "decodestring", "buffer.from("),
    ),
    "reversed": ("strrev", ".reverse", "[::-1]", "| rev", "rev <<<"),
    "rot13": ("rot13",),
    "percent": ("unquote(", "decodeuricomponent", "urldecode"),
}
DECODERS = {
    call: tuple(code for code, calls in _CODES_OF.items() if call in calls)
    for call in dict.fromkeys(call for calls in _CODES_OF.values() for call in calls)
}
# a literal in quotes, or a word of a shell line
_LITERAL = r"(?:(?P<q>[\"'])|(?<=[ =(])|(?<= 0x))(?P<code>{0})(?(q)(?P=q)|(?=[\s;,)|]|\Z))"
_BASE64_CODE, _TURNED = r"(?:[A-Za-z0-9+/_\-]{4}){2,40}(?:[A-Za-z0-9+/_\-]{2,3}={1,2})?", r"[!#-&*-~]{7,60}"
_CODED = {
    "numbers": re.compile(
        r"(?P<code>(?:0x[0-9a-fA-F]{2}|\b\d{2,3})"
        r"(?:\W{1,10}(?:(?i:chrw?|char|unichr)\()?(?:0x[0-9a-fA-F]{2}\b|\d{2,3}\b)){5,60})"
    ),
    "letters": re.compile(r"(?P<code>(?:'[!-~]'\s?,\s?){5,60}'[!-~]')"),
    "escapes": re.compile(r"(?P<code>(?:\\(?:x[0-9a-fA-F]{2}|u00[0-9a-fA-F]{2}|[0-7]{3})){5,60})"),
    "hex": re.compile(_LITERAL.format(r"(?:[0-9a-fA-F]{2}){7,60}")),
    "base64": re.compile(_LITERAL.format(_BASE64_CODE)),
    "reversed": re.compile(_LITERAL.format(_TURNED)),
    "rot13": re.compile(_LITERAL.format(_TURNED)),
    "percent": re.compile(_LITERAL.format(r"[^\s\"'%]{0,60}%[^\s\"']{2,160}")),
}
_BEFORE_CALL, _BEHIND_CALL, _LONGEST_CODE = 80, 60, 400


# where a call stands that decodes, and the codes that it takes
Call = tuple[int, int, tuple[str, ...]]


def decoded_beside(text: str, calls: Iterable[Call]) -> Iterator[tuple[Span, str]]:
    """Yield codes beside calls that decode such, with what comes out where that looks like a secret."""
    parts: dict[str, list[Span]] = {}
    for start, end, codes in calls:
        begin = line_begin(text, start, _BEFORE_CALL)
        for code in codes:
            own = parts.setdefault(code, [])
            # nothing is looked at twice
            is_near = own and begin <= own[-1][1]
            own[len(own) - bool(is_near) :] = [(own[-1][0] if is_near else begin, end + _BEHIND_CALL)]
    for code, own in parts.items():
        for begin, stop in own:
            for one in _CODED[code].finditer(text, begin, min(len(text), stop + _LONGEST_CODE)):
                if one.start() > stop:
                    break
                if value := next(filter(_is_made, _plain_of(one["code"], code)), ""):
                    yield one.span("code"), value


def _plain_of(literal: str, code: str) -> Iterator[str]:
    """Yield what a literal in a code may stand for."""
    match code:
        case "letters":
            yield "".join(re.findall(r"'([!-~])'", literal))
        case "numbers":
            numbers = [
                int(one, 0 if one.startswith("0x") else _DECIMAL)
                for one in re.findall(r"0x[0-9a-fA-F]{2}|\d{2,3}", literal)
            ]
            yield "".join(map(chr, numbers[:-1] if numbers[-1] == 0 else numbers))
        case "escapes":
            yield codecs.decode(literal, "unicode_escape")
        case "hex":
            yield bytes.fromhex(literal).decode("latin-1")
        case "base64":
            try:
                plain = base64.b64decode(literal, altchars=b"-_" if "-" in literal or "_" in literal else None)
            except binascii.Error:
                return
            yield plain.decode("latin-1")
            # as PowerShell takes commands; of one the last word
            yield plain.decode("utf-16-le", "replace").rpartition(" ")[2]
        case "percent":
            yield unquote(literal)
        case _:
            if oddness(literal) > 1 or looks_chosen(literal):
                yield literal[::-1] if code == "reversed" else codecs.decode(literal, "rot13")


_MADE = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9!#$%&*+?@^_])[!-~]{7,60}")


def _is_made(value: str) -> bool:
    return bool(_MADE.fullmatch(value)) and oddness(value) > 0 and looks_chosen(value)


def is_secret_row(text: str, row: Row) -> bool:
    """Say whether literals that are joined make a value: one of chance, or such as people choose behind a name."""
    value = "".join(text[left:right] for left, right in row.spans)
    if not _is_made(value) or value.islower():
        return False
    turns = sum(a.isdigit() != b.isdigit() for a, b in pairwise(value))
    if oddness(value) > 2 and turns > 2 and not value.isupper():  # noqa: PLR2004 - beyond doubt
        return True
    first = row.spans[0][0]
    head = _HUMPS.sub(" ", text[max(0, first - _HEAD) : first])
    return has_word(head, "password", "short", "pass", "key", "plain-key", "pin", "code")


_HEAD, _HUMPS = 60, re.compile(r"(?<=[a-z])(?=[A-Z])")
_REFERENCE = (
    r"\$\{[A-Za-z_][\w.]{0,40}\}|\$[A-Za-z_]\w{0,30}|\$\([A-Za-z_]\w{0,30}\)|%[A-Za-z_]\w{0,30}%|%\([A-Za-z_]\w{0,30}\)s"
    r"|#?\{\{?\s?[.A-Za-z_][\w.]{0,40}\s?\}?\}"
)
_NAMED_PART = r"[.$]?[A-Za-z_][\w.]{0,40}"
_JOINS_NAMES = re.compile(r"[+~&]\s?[$.A-Za-z_]|[\[(]\s?\*?[A-Za-z_]\w*,|\" [$.A-Za-z_]")
_MACRO = "#define "
# what stands between a variable and its value
_GIVES = ("=", ": ", ' "', " '")
_ROW = re.compile(rf"(?:{_REFERENCE}){{2,5}}")
_SUM = re.compile(
    rf"(?<![\w.])(?P<sum>{_NAMED_PART}(?:\s?[+~&]\s?{_NAMED_PART}){{1,4}})"
    rf"|[\[(]\s?[*]?(?P<list>{_NAMED_PART}(?:,\s?[*]?{_NAMED_PART}){{1,4}})\s?[\])]"
    rf"|\" (?P<words>{_NAMED_PART}(?: {_NAMED_PART}){{1,4}})"
    rf"|(?<=\w )(?P<macro>[A-Z]\w{{0,20}}(?:\s[A-Z]\w{{0,20}}){{1,4}})(?=\n|\Z)"
)
_ONE_NAME = re.compile(r"[A-Za-z_]\w*(?=[^\w.]|\Z)(?!s\Z)")
_NEAR_VARIABLES = 200


def side_by_side(text: str, start: int, end: int) -> Iterator[tuple[tuple[Span, ...], str]]:
    """Yield the values of variables that stand side by side near a name of secrets, and what they make."""
    begin, stop = max(0, start - _NEAR_VARIABLES), min(len(text), end + _NEAR_VARIABLES)
    near = text[begin:stop]
    if " " not in near and "\n" not in near:
        return  # no code: a long run
    first, last = max(text.rfind("\n", begin, start) + 1, begin), text.find("\n", end, stop)
    last = stop if last < 0 else last
    has_rows = near.count("$") > 1 or "}{" in near or "}#{" in near or "%%" in near or ")s%(" in near
    has_sums = _JOINS_NAMES.search(text, first, last) is not None or _MACRO in near
    if not (has_rows or has_sums) or not _has_two(text, max(0, begin - _BACK), stop):
        return
    for pattern, left, right in ((_ROW, begin, stop),) * has_rows + ((_SUM, first, last),) * has_sums:
        for one in pattern.finditer(text, left, right):
            names = tuple(dict.fromkeys(_ONE_NAME.findall(one[one.lastgroup or 0])))
            parts = _last_values(text, names, one.start()) if len(names) > 1 else []
            value = "".join(part for part, _, _ in parts)
            if _is_made(value):
                yield tuple((at, at + size) for _, at, size in parts), value


def _has_two(text: str, begin: int, stop: int) -> bool:
    """Say whether two variables may be given values in a part of a text."""
    given = 0
    for sign in _GIVES:
        given += text.count(sign, begin, stop)
        if given > 1:
            return True
    return False
