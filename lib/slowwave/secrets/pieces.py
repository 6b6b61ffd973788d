"""Pieces of string literals that one expression joins, in any programming language, as the one value that they make.

What joins them is told by what stands between two literals: an operator, a call, nothing but blanks, or a comma where a
word for joining stands before or behind the list. No language is known by name; what joins nothing ends the row.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from slowwave.secrets.layers import View

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
    """Literals that are one value.

    Attributes:
        begin: where the text begins that says what the value is.
        tie: where that ends.
        spans: where the literals lie, without their quotes.
        is_whole: nothing but the literals belongs to the value; else what stands before the first one does.
    """

    begin: int
    tie: int
    spans: tuple[tuple[int, int], ...]
    is_whole: bool


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
    first = max(text.rfind("\n", 0, start) + 1, start - _LIST)
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
    first = _OPENING.search(text, start, start + _BEHIND)
    spans = _literals(text, first.end() - 1, -1) if first else ()
    if len(spans) < 2:  # noqa: PLR2004 - one is no list
        opened = max(text.rfind("[", max(0, start - _LIST), start), text.rfind("(", max(0, start - _LIST), start))
        first = _OPENING.match(text, opened) if opened >= 0 else None
        spans = _literals(text, first.end() - 1, -1) if first else ()
    return Row(spans[0][0] - 1, spans[0][0], spans, is_whole=False) if len(spans) > 1 else None


_AFTER = ('"', "'", "`")
_OPENING = re.compile(r"[^\n\"'`]{0,60}[\[({,]\s{0,80}[bfru@]?[\"'`]")


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

    Args:
        text: the text.
        at: where the row begins.
        since: where a word for joining may stand, by which commas join, too; -1 when there is one.
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
