"""Every secret of a text, in whatever form it hides, with its place in the text itself."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import ahocorasick_rs

from slowwave.secrets.layers import (
    APART,
    FOLDED,
    JOINS,
    LISTS,
    MAIL,
    TAGS,
    View,
    decoded,
    folded,
    glued,
    joined,
    parted,
    uncoded,
    uncoloured,
    unescaped,
)
from slowwave.secrets.nouns import NOUNS, Noun, cards, words
from slowwave.secrets.pieces import (
    DECODERS,
    Row,
    as_one,
    built,
    decoded_beside,
    is_secret_row,
    row_at,
    row_before,
    row_behind,
    row_in,
    row_within,
    side_by_side,
)
from slowwave.secrets.prose import told
from slowwave.secrets.rules import NAMED, RUNS, TOKENS, Finding, Rule, cookies, mixtures, private_key
from slowwave.secrets.validity import is_masked

# an escaped line of JSON in an escaped line of JSON, in base64
_DEPTH = 5
# the layers in the order in which they are taken off; base64 begins anew
_ESCAPES, _COLOURS, _CODES, _GLUES, _WRAPS = range(5)


def find_secrets(text: str) -> list[Finding]:
    """Return the secrets of a text in order; no two overlap."""
    if len(text) < MIN_CHARS:
        return []
    found = _find(text, _DEPTH, _ESCAPES, {})
    if found:
        found += _again(text, found)
    return apart(found) if len(found) > 1 else found


def _again(text: str, found: Sequence[Finding]) -> Iterator[Finding]:
    """Yield where passwords stand once more that a name tells elsewhere in the text."""
    for value, family in {one.secret: one.family for one in found if one.family in _TOLD}.items():
        at = text.find(value) if len(value) >= _LEAST_AGAIN and not value.isalpha() else -1
        while at >= 0:
            stop = at + len(value)
            if not text[at - 1 : at].isalnum() and not text[stop : stop + 1].isalnum():
                yield Finding(at, stop, family, value)
            at = text.find(value, stop)


# families of what people choose: a shape that would tell it elsewhere it has none
_TOLD = ("told", "password")
_LEAST_AGAIN = 6


# of each text that was made from one: how deep it was looked at, from which layer on, and what was found
_Known = dict[str, tuple[int, int, Sequence[Finding]]]


class _Found(list[Finding]):
    """What was found in a text, and in every other that was made from the same one: several ways lead to some."""

    __slots__ = ("known",)

    known: _Known


def _found(found: Iterable[Finding], known: _Known) -> _Found:
    every = _Found(found)
    every.known = known
    return every


def _find(text: str, depth: int, first: int, known: _Known) -> list[Finding]:
    signs = plain_signs(text)
    foreign, folds = (False, []) if text.isascii() else foreign_signs(text, signs)
    if depth and folds:
        found = _found((), known)
        _add(found, folded(text, folds), depth - 1, first)
        return found
    hits, runs = anchors_in(signs, text if foreign else ""), runs_in(signs)
    told, kinds = meanings(), 0
    for hit in hits:
        kinds |= told[hit[0]]
    # behind an escape or a code a number stands as it does here
    is_about = len(text) < _SMALL_WINDOW or kinds & CARD
    words = [hit[1] for hit in hits if told[hit[0]] & CARD] if kinds & CARD else ()
    numbers = cards(text, signs, words) if first <= _ESCAPES and is_about else []
    odd = mixtures(text, signs)
    if not hits and not runs and not numbers and not odd:
        return []
    found = _found(findings_in(text, hits, runs, numbers, odd), known)
    if depth:
        views = list(decoded(text, runs)) if runs else []
        for view in views:
            _add(found, view, depth - 1, _ESCAPES)
        seen = _Seen(told, hits, [hit for hit in hits if told[hit[0]] & PLACE] if kinds & PLACE else [], runs, kinds)
        if first <= _CODES and (seen.near or views or runs or kinds & HIDE):
            _codes(found, text, depth, first, seen)
        if first <= _GLUES and seen.kinds & (DECODE | NAME):
            found += _made(text, seen)
        _pieces(found, text, depth, first, seen)
    return found


# number of the literal, where it begins and where it ends
Hit = tuple[int, int, int]


class _Seen(NamedTuple):
    """What each literal says, and what a first look has shown: literals, those that secrets stand at, long runs."""

    told: Sequence[int]
    hits: Sequence[Hit]
    near: Sequence[Hit]
    runs: Sequence[tuple[int, int]]
    kinds: int


def _codes(found: _Found, text: str, depth: int, first: int, seen: _Seen) -> None:
    """Add what stands behind escapes, colours and codes."""
    colours = bool(seen.kinds & COLOUR) or "\u241b" in text
    if colours or "\\" in text or "%" in text or "&" in text:
        places = seen.near
        if seen.kinds & HIDE:
            told = seen.told
            places = [hit for hit in seen.hits if told[hit[0]] & (PLACE | HIDE)]
        for start, stop in _windows(text, places, seen.runs):
            _look_behind(found, text[start:stop], start, depth, first, colours=colours)


def _pieces(found: _Found, text: str, depth: int, first: int, seen: _Seen) -> None:
    """Add what source code, tags or lines part."""
    told = seen.told
    glues = _glues(text, found, seen) if seen.kinds & (TAG | BROKEN) else []
    if first <= _GLUES and (glues or seen.kinds & (NAME | JOIN | LIST)):
        names = [hit for hit in seen.near if told[hit[0]] & NAME] if seen.kinds & NAME else []
        if names or seen.kinds & (JOIN | LIST):
            for row in _rows(text, names, seen):
                _one_value(found, text, row, depth)
            for view, is_apart in _built(text, names):
                _add(found, view, 0, _WRAPS, in_parts=is_apart)
        tags = list(parted(text, [hit[2] for hit in names])) if names else []
        for is_named, places, before, behind in ((True, tags, *_NEAR_NAME), (False, glues, *_NEAR_GLUE)):
            for start, stop in _around([(place, behind) for place in places], before) if places else ():
                view = glued(text[start:stop], named=is_named)
                if view is not None:
                    _add(found, view, depth - 1, _WRAPS, start, in_parts=True)
    if first <= _WRAPS and "\n" in text and (seen.near or seen.runs or glues or seen.kinds & LINE):
        view = joined(text, _places(text, seen))
        if view is not None:
            _add(found, view, depth - 1, _WRAPS + 1)


def _one_value(found: _Found, text: str, row: Row, depth: int) -> None:
    """Add what the literals of a row make, but not when they are the names of fields."""
    if not _FIELDS.isdisjoint(text[left:right].lower() for left, right in row.spans):
        return
    _add(found, as_one(text, row), depth - 1, _WRAPS, in_parts=True)
    if is_secret_row(text, row):
        value = "".join(text[left:right] for left, right in row.spans)
        found += [Finding(left, right, "told", value) for left, right in row.spans]


def _made(text: str, seen: _Seen) -> Iterator[Finding]:
    """Yield what calls decode, and the values of variables that stand side by side near a name of secrets."""
    if seen.kinds & DECODE:
        codes = decoders()
        calls = ((start, end, codes[number]) for number, start, end in seen.hits if number in codes)
        for (left, right), value in decoded_beside(text, calls):
            yield Finding(left, right, "told", value, 1)
    last = -_NEXT_NAME
    for number, start, end in seen.near:
        if end - last >= _NEXT_NAME and seen.told[number] & NAME and seen.told[number] & BEFORE:
            last = end
            for spans, value in side_by_side(text, start, end):
                yield from (Finding(left, right, "told", value) for left, right in spans)


@cache
def decoders() -> dict[int, tuple[str, ...]]:
    """Return the codes that each literal decodes which is a call that does."""
    return {number: DECODERS[anchor] for number, anchor in enumerate(_anchors()) if anchor in DECODERS}


_NEXT_NAME = 150
_FIELDS = frozenset(words("naming"))


def _built(text: str, names: Sequence[Hit]) -> Iterator[tuple[View, bool]]:
    """Yield values that code builds behind names."""
    last = -APART
    for _, start, end in names:
        if end - last >= APART:
            last = end
            yield from built(text, start, end)


def _rows(text: str, names: Sequence[Hit], seen: _Seen) -> Iterator[Row]:
    """Yield the literals that one expression joins: behind names, at a sign that joins, in a list."""
    last = -APART
    for number, start, end in names:
        if end - last >= APART:
            is_before = seen.told[number] & BEFORE
            last = end if is_before else last
            look = row_behind if is_before else row_within
            if row := look(text, end, max(0, end - _NEAR_NAME[0])) or (
                row_before(text, start, end) if is_before else None
            ):
                yield row
    if seen.kinds & (JOIN | LIST):
        told = seen.told
        done = 0
        for number, start, _ in seen.hits:
            if told[number] & (JOIN | LIST) and start >= done:
                before = max(0, start - _NEAR_GLUE[0])
                is_list = told[number] & LIST
                quote = start if text[start] in _QUOTES else max(text.rfind(q, before, start) for q in _QUOTES)
                row = row_in(text, start) if is_list else row_at(text, quote, before)
                if row:
                    done = row.spans[-1][1]
                    yield row


_QUOTES = "\"'`"


def _glues(text: str, found: Sequence[Finding], seen: _Seen) -> list[int]:
    """Return where tags part a value, or mail lines."""
    told = seen.told
    # behind a tag another one parts nothing
    glues = [hit[1] for hit in seen.hits if told[hit[0]] & TAG and not _is_apart(text, hit[1])]
    if seen.kinds & BROKEN:
        begun = {hit[1] for hit in seen.near}
        # the sign may as well end a value in base64
        whole = {one.stop for one in found if one.family not in _TOLD and one.start not in begun}
        glues += [hit[1] for hit in seen.hits if told[hit[0]] & BROKEN and _is_broken(text, hit[1], whole)]
    return glues


def _is_apart(text: str, at: int) -> bool:
    before = text[at - 1 : at]
    return (not before or before.isspace() or before == ">") and not text.startswith("<!", at)


def _is_broken(text: str, at: int, whole: Container[int]) -> bool:
    """Say whether a sign at the end of a line may stand within a value."""
    return at > 0 and not text[at - 1].isspace() and text[at - 1] not in "=^" and at + 1 not in whole


def _look_behind(found: _Found, text: str, at: int, depth: int, first: int, *, colours: bool) -> None:
    """Look behind escapes, colours and codes in a part of a text that begins at ``at``."""
    if first <= _ESCAPES and (view := unescaped(text)) is not None:
        _add(found, view, depth - 1, _ESCAPES, at)
    if colours and first <= _COLOURS and (view := uncoloured(text)) is not None:
        _add(found, view, depth - 1, _CODES, at)
    if (view := uncoded(text)) is not None:
        _add(found, view, depth - 1, _ESCAPES if len(view.text) < _SMALL else _WRAPS, at)


def _windows(text: str, hits: Sequence[Hit], runs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the parts of a text that codes may matter in.

    These are around literals, codes that may stand within one (colours, those of an address and of letters), and runs
    that an escape stands before.
    """
    size = len(text)
    if size <= _SMALL_WINDOW:
        yield 0, size
        return
    told = meanings()
    places = [(hit[1], _AFTER_KEY if hit[0] == 0 else _AFTER if told[hit[0]] & PLACE else _AFTER_CODE) for hit in hits]
    places += [(start, _AFTER) for start, _ in runs if text[start - 1 : start] in ("\\", "%", ";", "m")]
    for begin, end in _around(places, _BEFORE):
        yield begin, min(end, size)


def _around(places: Iterable[tuple[int, int]], before: int) -> Iterator[tuple[int, int]]:
    """Yield the surroundings of places, each with how far it reaches, in order; what overlaps is one."""
    begin = end = 0
    for place, reach in sorted(places):
        if place - before > end:
            if end > 0:
                yield begin, end
            begin = max(place - before, 0)
        end = max(end, place + reach)
    if end > 0:
        yield begin, end


_SMALL_WINDOW = 1_000
_BEFORE = 100
_AFTER = 700
_AFTER_CODE = 300
_AFTER_KEY = 20_000
_NEAR_NAME = (60, 300)
_NEAR_GLUE = (120, 400)


def _places(text: str, seen: _Seen) -> list[int]:
    """Return where broken values may be: at literals, at the ends of long runs, before a run that begins a line."""
    places = [hit[1] for hit in seen.near]
    for start, stop in seen.runs:
        if text[stop : stop + 1] in _BREAKS:
            places.append(start)
        if (line := text.rfind("\n", max(0, start - _INDENTATION), start)) >= 0:
            places.append(line)
    if seen.kinds & LINE:
        told = seen.told
        places += [hit[1] for hit in seen.hits if told[hit[0]] & LINE]
    places.sort()
    return places


_BREAKS = frozenset("\n\r\\\"'=-_/+")
_INDENTATION = 40

_SMALL = 20_000
_UNKNOWN: tuple[int, int, Sequence[Finding]] = (-1, 0, ())


def _add(found: _Found, view: View, depth: int, first: int, at: int = 0, *, in_parts: bool = False) -> None:
    """Add what a view shows at its places in the text, which begin at ``at``.

    What parts a value stays when its parts are marked one by one (``in_parts``): code and markup are whole.
    """
    has_depth, has_first, ones = found.known.get(view.text, _UNKNOWN)
    if has_depth < depth or has_first > first:
        ones = _find(view.text, depth, first, found.known)
        found.known[view.text] = (depth, first, ones)
    for one in ones:
        places = view.sources(one.start, one.stop) if in_parts else (view.source(one.start, one.stop),)
        for start, stop in places:
            found.append(Finding(at + start, at + stop, one.family, one.secret, one.depth + 1))


# Secrets in one plain text: one pass finds the literals that secrets have, and only there the rules are tried.
#
# The pass is an Aho-Corasick automaton over all literals at once. Tried on 69 MB of real transcript text, strings of
# 150 characters on average: this one does 55 MB/s, pyahocorasick 28, one ``in`` a literal 7, an alternation of
# :mod:`re` 4.

RULES: tuple[Rule, ...] = (*TOKENS, *NAMED)
FAMILIES: tuple[str, ...] = tuple(
    dict.fromkeys([*(r.family for r in (*RULES, *RUNS)), "private-key", "cookie", "told", "card"])
)
_BY_RUN = {rule.family: rule for rule in RUNS}
# letters (arrows, frames and small pictures are in most texts)
_LETTERS = re.compile("[\u00c0-\u1fff\u3000-\ud7ff\ufb00-\ufdff]")
_ASCII = bytes(range(128))
# of so many signs one is foreign at most where each of these is looked at by itself
_FEW = 16
# colours and codes that may stand within literals, and escapes of letters that nouns have or nobody sees
_ESCAPED = (
    "00ad 00f 00e 01 03 04 05 06 09 0a 0b 0c 0d 0e 10 12 17 1e 200 202 206 30 fe"
    " 4 5 6 7 8 9 a b c d0 d1 d2 d3 d4 d5 d6 d7 d835 db40 {2 {a {f {e {1"
)
_HIDES = (":\\/", "\\u001b", "\\x1b", "\\033", "\\e[", "%3a%2f", *(f"\\u{begin}" for begin in _ESCAPED.split()))
# lines that go on
_LINES = ("\\\n", "\\\r\n")
_ABOUT_CARDS = (*words("card"), *words("paying"))
_COLOUR_SIGNS = ("^[[", "\x08", "\x00", "\x1b")
# what a literal says of the text besides its rules; a sum
PLACE, HIDE, TAG, LIST, COLOUR, NAME, CARD, BROKEN, LINE, JOIN, BEFORE, DECODE = (1 << power for power in range(12))
# names of so much else that no literals are looked for side by side behind them
_OF_MUCH = frozenset({"token", "key", "-key", "_key", "://", "-token", "pwd", "re_", "sdk-"})
_KEY, _COOKIE = "-----begin ", "cookie"
MIN_CHARS = 7
RUN_CHARS = 24
# names that are no secret's although a secret's name is in them
_HARMLESS_TAIL = re.compile(
    r"(?:.*[_\-.])?(?:ids?|names?|counts?|types?|ur[il]s?|endpoints?|paths?|files?|fields?|limits?|len(?:gth)?|size|ttl|expiry"
    r"|expires?(?:_?(?:at|in))?|arn|version|usage|used|budget|format|regex|pattern|label|title|description|policy|hash|key_?id"
    r"|prefix|header|window|page|next|cost|price|rate|map|error|reset|kind|scope|status|index|env|var|ref|hint|placeholder)"
    r"|(?:i[sz]er|s?Count|s?Limit|Id|Name|Type|Url|Path|File|Usage|Budget|Hash|Ref|board|stroke|word|frame|ring|ize|ified)\w*"
)
# families that say where a secret stood, not what it is
_BY_NAME = frozenset(
    {"assignment", "password", "spoken", "token-flag", "password-flag", "auth-header", "cookie", "told"}
)
_RUN_SIGN = b"a" * RUN_CHARS
_TO_SIGN = bytes(97 if chr(c).isalnum() and c < 128 else 32 for c in range(256))  # noqa: PLR2004


@cache
def _anchors() -> dict[str, list[Rule]]:
    """Return the literals in ASCII, each with its rules."""
    by_anchor: dict[str, list[Rule]] = {_KEY: [], _COOKIE: []}
    for rule in RULES:
        for anchor in rule.anchors:
            by_anchor.setdefault(anchor, []).append(rule)
    for noun in (*NOUNS, *JOINS, *TAGS, *MAIL, *LISTS, *_HIDES, *_COLOUR_SIGNS, *_LINES, *_ABOUT_CARDS, *DECODERS):
        if noun.isascii():
            by_anchor.setdefault(noun, [])
    return by_anchor


@cache
def _automaton() -> tuple[ahocorasick_rs.BytesAhoCorasick, tuple[tuple[Rule, ...], ...], tuple[Noun | None, ...]]:
    """Return the automaton of the literals in ASCII, and of every literal its rules and what it says as a noun."""
    by_anchor = _anchors()
    literals = [anchor.encode() for anchor in by_anchor]
    automaton = ahocorasick_rs.BytesAhoCorasick(literals, implementation=ahocorasick_rs.Implementation.DFA)
    kinds = (*(NOUNS.get(anchor) for anchor in by_anchor), *(kinds for _, kinds in _FOREIGN_NOUNS))
    return automaton, (*(tuple(rules) for rules in by_anchor.values()), *(() for _ in _FOREIGN_NOUNS)), kinds


_FOREIGN_NOUNS = tuple(
    (form, kinds)
    for noun, kinds in (*NOUNS.items(), *((word, None) for word in _ABOUT_CARDS if word not in NOUNS))
    if not noun.isascii()
    # "\u041f\u0406\u041d-\u043a\u043e\u0434", too
    for form in dict.fromkeys(
        (noun, noun.capitalize(), noun.upper(), "-".join((noun.split("-")[0].upper(), *noun.split("-")[1:])))
    )
)


@cache
def meanings() -> tuple[int, ...]:
    """Return what each literal says of a text: that secrets may stand there in other forms, and in which."""
    others = {
        **dict.fromkeys(_HIDES, HIDE),
        **dict.fromkeys(JOINS, JOIN),
        **dict.fromkeys(TAGS, TAG),
        **dict.fromkeys(LISTS, LIST),
        **dict.fromkeys(MAIL, BROKEN),
        **dict.fromkeys(_LINES, LINE),
        **dict.fromkeys(_COLOUR_SIGNS, COLOUR),
        **dict.fromkeys(_ABOUT_CARDS, CARD),
        **dict.fromkeys(DECODERS, DECODE),
        "\x1b": COLOUR | HIDE,
    }
    _, rules, kinds = _automaton()
    anchors = (*_anchors(), *(noun for noun, _ in _FOREIGN_NOUNS))
    foreign = len(_anchors())
    return tuple(
        others.get(anchor.lower(), 0)
        + _meaning(anchor, own, noun, is_block=number < _BLOCKS, is_foreign=number >= foreign)
        for number, (anchor, own, noun) in enumerate(zip(anchors, rules, kinds, strict=True))
    )


def _meaning(anchor: str, own: Sequence[Rule], noun: Noun | None, *, is_block: bool, is_foreign: bool) -> int:
    """Return what a literal says as a name of secrets, or as the beginning of one."""
    is_noun = noun is not None and (is_foreign or noun.near is None or anchor.startswith(_SHORT_NAMES))
    is_name = (bool(own) and anchor not in _OF_MUCH) or is_noun
    is_before = noun is not None or any(rule.behind for rule in own)
    return NAME * is_name + BEFORE * is_before + PLACE * (bool(own) or is_block or is_noun)


# short, and hardly ever anything else in source code
_SHORT_NAMES = ("pw=", "pw:", "pw ", "psw", "pws", "pwd=", "pwd ")

# a word may end with the text
_END = b"\n"
# the beginning of a private key, and of a header of cookies
_BLOCKS = 2


@cache
def _foreign() -> ahocorasick_rs.AhoCorasick:
    """Return the automaton of the nouns that are no ASCII."""
    return ahocorasick_rs.AhoCorasick([noun for noun, _ in _FOREIGN_NOUNS])


def plain_signs(text: str) -> bytes:
    """Return a text as one byte a character, which is all that literals and runs need; they are ASCII."""
    return text.encode("latin-1", "replace")


def foreign_signs(text: str, signs: bytes) -> tuple[bool, list[str]]:
    """Say whether a text has letters that are no ASCII, and return its signs for show and such as nobody sees.

    ``signs``: the same as :func:`plain_signs` returns it, which has a question mark for most of these.
    """
    others: set[str] = set()
    at, left = (signs.find(b"?"), len(signs) // _FEW) if signs.isascii() else (0, 0)
    while at >= 0 and left:
        others.add(text[at])
        at = signs.find(b"?", at + 1)
        left -= 1
    if at >= 0:
        others = set(text.encode("utf-8", "replace").translate(None, _ASCII).decode())
    every = "".join(others)
    return bool(_LETTERS.search(every)), FOLDED.findall(every)


def anchors_in(signs: bytes, foreign: str = "") -> list[Hit]:
    """Return the literals in a text, in order: their number, where each begins and where it ends.

    ``signs``: the text as :func:`plain_signs` returns it. ``foreign``: the text itself, when :func:`foreign_signs` says
    that it has such letters.
    """
    hits = _automaton()[0].find_matches_as_indexes(signs.lower() + _END, overlapping=True)
    if not foreign:
        return hits
    # halves of pairs, of which some clients write one alone, are no UTF-8
    foreign = foreign.encode("utf-8", "replace").decode()
    first = len(_automaton()[1]) - len(_FOREIGN_NOUNS)
    more = [(first + n, start, end) for n, start, end in _foreign().find_matches_as_indexes(foreign, overlapping=True)]
    return sorted(hits + more, key=lambda hit: hit[2]) if more else hits


def runs_in(signs: bytes) -> list[tuple[int, int]]:
    """Return where the long runs of letters and digits lie."""
    found: list[tuple[int, int]] = []
    if len(signs) < RUN_CHARS:
        return found
    signs = signs.translate(_TO_SIGN)
    stop = 0
    while (start := signs.find(_RUN_SIGN, stop)) >= 0:
        stop = signs.find(b" ", start)
        if stop < 0:
            stop = len(signs)
        found.append((start, stop))
    return found


def findings_in(
    text: str,
    hits: Sequence[Hit],
    runs: Sequence[tuple[int, int]],
    numbers: Iterable[tuple[int, int]] = (),
    odd: Iterable[tuple[int, int]] = (),
) -> list[Finding]:
    """Return the secrets of a plain text, in order, none overlapping another.

    ``hits``: what :func:`anchors_in` says of it. ``runs``: what :func:`runs_in` says of it. ``numbers``: where numbers
    of cards lie in it. ``odd``: where mixtures lie that nothing need name.
    """
    found: list[Finding] = []
    _, rules, kinds = _automaton()
    tried: dict[str, tuple[int, int]] = {}
    taken = baked = 0
    for number, start, stop in hits:
        if number == 0:
            span = private_key(text, text.find("-----", start)) if start >= taken else None
            if span is not None:
                taken = span[1]
                found.append(Finding(*span, "private-key", text[span[0] : taken]))
        elif number == 1:
            if start >= baked:
                spans, baked = cookies(text, start)
                found += [Finding(a, b, "cookie", text[a:b]) for a, b in spans]
        else:
            for rule in rules[number]:
                at = stop if rule.behind else start
                # most are no match, and a call costs as much as the look itself
                looks = rule.back or at < tried.get(rule.shape, _NEVER)[0] or rule.match(text, at) is not None
                if looks and (one := _tried_again(rule, text, at, tried)) is not None:
                    found.append(one)
            if (noun := kinds[number]) is not None and not noun.is_idle(text, start, stop):
                found += [Finding(a, b, "told", text[a:b]) for a, b in told(text, start, stop, noun)]
    found += [Finding(a, b, "card", text[a:b]) for a, b in numbers]
    found += [Finding(a, b, "told", text[a:b]) for a, b in odd]
    if _MARK in text:
        found = [one for one in found if one.family not in _BY_NAME or not _is_in_mark(text, one.start)]
    found += _in_runs(text, runs)
    return apart(found) if len(found) > 1 else found


_MARK, _MARK_CHARS = "[secret:", 48


def _is_in_mark(text: str, at: int) -> bool:
    """Say whether a place lies within the mark of a secret that was taken out before."""
    begin = text.rfind(_MARK, max(0, at - _MARK_CHARS), at + len(_MARK) - 1)
    return begin >= 0 and "]" not in text[begin:at]


def _in_runs(text: str, runs: Sequence[tuple[int, int]]) -> Iterator[Finding]:
    """Yield what long runs of letters and digits are, as their own shapes tell."""
    for start, stop in runs:
        # hardly one is of such a kind
        if stop - start < _LONG_RUN and text[stop : stop + 1] != ".":
            continue
        if (rule := _rule_of_run(text, start, stop)) is None:
            continue
        match = rule.pattern.search(text, max(0, start - 20), min(len(text), stop + 80))
        if match and not is_masked(match["secret"]) and (rule.is_valid is None or rule.is_valid(match["secret"])):
            yield Finding(*match.span("secret"), rule.family, match["secret"])


_LONG_RUN = 32  # hex digits


def _rule_of_run(text: str, start: int, stop: int) -> Rule | None:
    """Return the rule that a long run could fit, by its length and what stands beside it."""
    behind = text[stop : stop + 1]
    family = None
    if behind == "." and text[start] in "MNO":
        family = "discord"
    elif stop - start >= _LONG_RUN:
        if text.startswith("SK", start):
            family = "twilio"
        elif behind == "-" and text.startswith("us", stop + 1):
            family = "mailchimp"
        elif text[start - 1 : start] == ":":
            family = "asana"
        elif text.startswith("pat", max(start - 18, 0)):
            family = "airtable"
    return None if family is None else _BY_RUN[family]


_MOST_AGAIN = 4
_NEVER = (0, 0)


def _tried_again(rule: Rule, text: str, start: int, tried: dict[str, tuple[int, int]]) -> Finding | None:
    """Try one rule at one place, unless it has begun anew too often within what it looked at already.

    A value may hold its own name many times. ``tried`` says how far each rule has looked, and how often it began anew.
    """
    end, again = tried.get(rule.shape, _NEVER)
    if start < end and again >= _MOST_AGAIN:
        return None
    one, stop = _tried(rule, text, start)
    tried[rule.shape] = (end, again + 1) if start < end else (stop, 0)
    return one


def _tried(rule: Rule, text: str, start: int) -> tuple[Finding | None, int]:
    """Try one rule at one place and return what it found, and how far it looked."""
    places = [start - back for back in rule.back or (0,) if start >= back]
    match = next((match for place in places if (match := rule.match(text, place)) is not None), None)
    if match is None:
        return None, start
    secret = match["secret"]
    tail = match.groupdict().get("tail")
    if is_masked(secret) or (tail and _HARMLESS_TAIL.fullmatch(tail)):
        return None, match.end()
    if rule.is_valid is not None and not rule.is_valid(secret):
        return None, match.end()
    begin, stop = match.span("secret")
    return Finding(begin, stop, rule.family, secret), stop


def apart(found: Sequence[Finding]) -> list[Finding]:
    """Return findings in order without overlaps; what overlaps becomes one, called after the plainest of them."""
    kept: list[Finding] = []
    for one in sorted(found, key=lambda f: (f.start, -f.stop)):
        last = kept[-1] if kept else None
        if last is None or one.start >= last.stop:
            kept.append(one)
        else:
            weaker = last.family in _BY_NAME and one.family not in _BY_NAME
            name = one if one.depth > last.depth or (one.depth == last.depth and weaker) else last
            if last.secret.endswith("-----") > one.secret.endswith("-----"):
                name = last  # of a private key joined lines may hold the beginning only
            kept[-1] = Finding(last.start, max(last.stop, one.stop), name.family, name.secret, name.depth)
    return kept
