"""Every secret of a text, in whatever form it hides, with its place in the text itself."""

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from slowwave.secrets.built import built
from slowwave.secrets.cards import cards
from slowwave.secrets.glue import APART, glued, parted
from slowwave.secrets.layers import View, decoded, folded, uncoded, uncoloured, unescaped
from slowwave.secrets.mixtures import mixtures
from slowwave.secrets.model import Finding
from slowwave.secrets.pieces import Row, as_one, row_at, row_before, row_behind, row_in, row_within
from slowwave.secrets.scan import (
    BEFORE,
    BROKEN,
    CARD,
    COLOUR,
    HIDE,
    JOIN,
    LINE,
    LIST,
    MIN_CHARS,
    NAME,
    PLACE,
    TAG,
    Hit,
    anchors_in,
    apart,
    findings_in,
    foreign_signs,
    meanings,
    plain_signs,
    runs_in,
)
from slowwave.secrets.wraps import joined

# an escaped line of JSON in an escaped line of JSON, in base64
_DEPTH = 5
# the layers in the order in which they are taken off; base64 begins anew
_ESCAPES, _COLOURS, _CODES, _GLUES, _WRAPS = range(5)


def find_secrets(text: str) -> list[Finding]:
    """Return the secrets of a text in order; no two overlap."""
    if len(text) < MIN_CHARS:
        return []
    found = _find(text, _DEPTH, _ESCAPES)
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


def _find(text: str, depth: int, first: int) -> list[Finding]:
    signs = plain_signs(text)
    foreign, folds = (False, []) if text.isascii() else foreign_signs(text, signs)
    if depth and folds:
        found: list[Finding] = []
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
    found = findings_in(text, hits, runs, numbers, odd)
    if depth:
        views = list(decoded(text, runs)) if runs else []
        for view in views:
            _add(found, view, depth - 1, _ESCAPES)
        seen = _Seen(told, hits, [hit for hit in hits if told[hit[0]] & PLACE] if kinds & PLACE else [], runs, kinds)
        if first <= _CODES and (seen.near or views or runs or kinds & HIDE):
            _codes(found, text, depth, first, seen)
        _pieces(found, text, depth, first, seen)
    return found


class _Seen(NamedTuple):
    """What each literal says, and what a first look has shown: literals, those that secrets stand at, long runs."""

    told: Sequence[int]
    hits: Sequence[Hit]
    near: Sequence[Hit]
    runs: Sequence[tuple[int, int]]
    kinds: int


def _codes(found: list[Finding], text: str, depth: int, first: int, seen: _Seen) -> None:
    """Add what stands behind escapes, colours and codes."""
    colours = bool(seen.kinds & COLOUR) or "\u241b" in text
    if colours or "\\" in text or "%" in text or "&" in text:
        places = seen.near
        if seen.kinds & HIDE:
            told = seen.told
            places = [hit for hit in seen.hits if told[hit[0]] & (PLACE | HIDE)]
        for start, stop in _windows(text, places, seen.runs):
            _look_behind(found, text[start:stop], start, depth, first, colours=colours)


def _pieces(found: list[Finding], text: str, depth: int, first: int, seen: _Seen) -> None:
    """Add what source code, tags or lines part."""
    told = seen.told
    glues = _glues(text, found, seen) if seen.kinds & (TAG | BROKEN) else []
    if first <= _GLUES and (glues or seen.kinds & (NAME | JOIN | LIST)):
        names = [hit for hit in seen.near if told[hit[0]] & NAME] if seen.kinds & NAME else []
        if names or seen.kinds & (JOIN | LIST):
            for row in _rows(text, names, seen):
                _add(found, as_one(text, row), depth - 1, _WRAPS, in_parts=True)
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


def _look_behind(found: list[Finding], text: str, at: int, depth: int, first: int, *, colours: bool) -> None:
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


def _add(found: list[Finding], view: View, depth: int, first: int, at: int = 0, *, in_parts: bool = False) -> None:
    """Add what a view shows at its places in the text, which begin at ``at``.

    What parts a value stays when its parts are marked one by one (``in_parts``): code and markup are whole.
    """
    for one in _find(view.text, depth, first):
        places = view.sources(one.start, one.stop) if in_parts else (view.source(one.start, one.stop),)
        for start, stop in places:
            found.append(Finding(at + start, at + stop, one.family, one.secret, one.depth + 1))
