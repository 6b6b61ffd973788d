"""A fitted judge of words near a name of secrets: whether each is a secret, or a piece of one.

What is looked at are the looks of a word, the words on both sides of it and what parts them, and which names of secrets
are near. One sum of weights says how likely the word is one. The weights are data (``weights.json``); ``make
train-secrets`` fits them anew. What a word adds is kept by the word and its place, so that most words cost a few
look-ups.
"""

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import accumulate
from typing import NamedTuple

import ahocorasick_rs
import msgspec

from slowwave.secrets.nouns import DENSE, IS_DENSE, Span, words
from slowwave.secrets.validity import is_masked, oddness

# Words, and what parts them.

_BEHIND_CHARS, _BEFORE_CHARS = 200, 160
_MOST_TOKENS = 400
_SIGNS_BETWEEN = (
    r"\s\"'`\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb\u2039"
    r"\u203a()\[\]{}<>,;|=:\\\u2014\u2013\u2192\u2190\u061b\u060c\u0964\u00b7\u2022"
)
_ANY = re.compile(
    r"([A-Za-z][\w+.\-]{1,12}://[^\s\"'`<>]{1,200}"  # addresses
    r"|(?:[~.]{0,2}/)?(?:[\w.@\-]{1,60}/){2,12}[\w.@\-]{0,60}"  # paths
    rf"|[^{_SIGNS_BETWEEN}/]{{1,80}})"
)
_TRAIL = ".!?\u2026*_"
_LEAD = ".*_#-!?"


class Word(NamedTuple):
    """A word of a text, as it is judged."""

    start: int
    stop: int
    text: str
    lower: str


def words_of(text: str, start: int, stop: int) -> list[Word]:
    """Return the words of a part of a text; in a script without blanks known words and single letters are words."""
    return _placed(_ANY.split(text[start:stop]), start)


def _placed(pieces: Sequence[str], at: int) -> list[Word]:
    """Return the words of a text that was split into what parts words and what has some."""
    found: list[Word] = []
    is_gap = True
    for piece in pieces:
        if not is_gap:
            for left, right, word, lower in _words_in(piece):
                found.append(Word(at + left, at + right, word, lower))
        at += len(piece)
        is_gap = not is_gap
    return found


@lru_cache(1 << 16)
def _words_in(value: str) -> tuple[Word, ...]:
    if not value.isascii() and IS_DENSE.search(value):
        return tuple(Word(left, right, value[left:right], value[left:right].lower()) for left, right in _dense(value))
    bare = value.rstrip(_TRAIL)
    right = len(bare)
    bare = bare.lstrip(_LEAD)
    return (Word(right - len(bare), right, bare, bare.lower()),) if bare else ()


def _dense(value: str) -> Iterator[Span]:
    for part in _PARTS.finditer(value):
        left, right = part.span()
        if part.lastgroup == "other":
            yield left, right - (len(part[0]) - len(part[0].rstrip(_TRAIL)) if right - left > 1 else 0)
            continue
        at = left
        for _, begin, end in _lexicon().find_matches_as_indexes(part[0]):
            yield from _letters(value, at, left + begin)
            yield left + begin, left + end
            at = left + end
        yield from _letters(value, at, right)


def _letters(value: str, left: int, right: int) -> Iterator[Span]:
    yield from (one.span() for one in _LETTER.finditer(value, left, right))


# what is written with blanks, or for words of other languages, is whole
_LETTER = re.compile(r"[\uac00-\ud7af]+|[\u30a1-\u30fa\u30fc]+|[^\W_]")
_PARTS = re.compile(rf"(?P<dense>[{DENSE}]+)|(?P<other>[^{DENSE}]+)")


@cache
def _lexicon() -> ahocorasick_rs.AhoCorasick:
    every = {word for head in HEADS for word in words(head) if IS_DENSE.match(word) and len(word) > 1}
    return ahocorasick_rs.AhoCorasick(
        sorted(word.rstrip("*") for word in every), matchkind=ahocorasick_rs.MatchKind.LeftmostLongest
    )


# What a word is called by.

HEADS = (
    *("password", "short", "pass", "key", "plain-key", "pin", "short-pin", "code", "opened", "card-code", "login"),
    *("bond", "entering", "with", "as", "article", "user", "entering-behind", "card", "asker", "asks", "fed", "answer"),
    *("short-answer", "half", "hint", "of", "naming", "speaking", "joiner", "wants", "opened-stem", "owner", "sent"),
    *("uncoded", "loose", "together", "second", "answered", "spelling", "sign", "characters"),
)
_STEMS = frozenset(
    {"password", "plain-key", "pin", "card-code", "answer", "short-answer", "opened-stem", "hint", "opened"}
)
# which of them name a secret
NAMES = ("password", "short", "pass", "key", "plain-key", "pin", "short-pin", "code", "card-code", "answer", "login")
_NAMES = frozenset(NAMES)


@cache
def _wholes() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for head in HEADS:
        for word in words(head):
            for one in {word.lower().rstrip("*:"), *word.lower().replace("-", " ").split(" ")[-1:]}:
                if one and head not in found.get(one, ()):
                    found[one] = (*found.get(one, ()), head)
    return found


@cache
def _stems() -> tuple[ahocorasick_rs.AhoCorasick, tuple[tuple[str, str], ...]]:
    every = tuple(
        (word.lower().rstrip("*"), head)
        for head in HEADS
        if head in _STEMS
        for word in words(head)
        if len(word) > 3  # noqa: PLR2004
    )
    return ahocorasick_rs.AhoCorasick([word for word, _ in every]), every


@lru_cache(1 << 14)
def heads_of(lower: str) -> tuple[str, ...]:
    """Return what lists of words a word is in."""
    found = dict.fromkeys(_wholes().get(lower, ()))
    automaton, every = _stems()
    # halves of pairs, of which some clients write one alone, are no UTF-8
    plain = lower.encode("utf-8", "replace").decode()
    for number, start, _ in automaton.find_matches_as_indexes(plain, overlapping=True):
        word, head = every[number]
        # a stem of several letters within a compound counts, a short one begins the word
        if start == 0 or len(word) > 4:  # noqa: PLR2004
            found[head] = None
    return tuple(found)


@lru_cache(1 << 14)
def look_of(text: str) -> str:  # noqa: PLR0911 - one of each class
    """Return the class of a word's looks."""
    if len(text) == 1:
        return "h" if IS_DENSE.match(text) else "x" if text.isalnum() else "s"
    if text.isdigit():
        return "d" if len(text) < 4 else "D" if len(text) < 9 else "L"  # noqa: PLR2004
    if text.isalpha():
        lower = text.lower()
        known = "k" if lower in weights().often else "u"
        if IS_DENSE.match(text):
            return known + "h"
        if len(text) > 4 and oddness(text) > 0:  # noqa: PLR2004
            return "o"
        if text.islower():
            return known + "l"
        if text.isupper():
            return known + "A"
        return known + ("T" if text[1:].islower() else "C" if text.isascii() else "l")
    odd = oddness(text)
    has_digit = any(c.isdigit() for c in text)
    has_letter = any(c.isalpha() for c in text)
    if not has_letter:
        return f"n{odd}"
    if not has_digit:
        return f"p{odd}" if set(text) - set("-_.'/@:") - _LETTERS else f"w{odd}"
    return f"m{odd}"


_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def _shape(text: str) -> str:
    return _RUNS.sub(lambda m: m[0][0], text[:40].translate(_CLASSES))[:10]


_RUNS = re.compile(r"(.)\1+")
_CLASSES = {
    c: "A" if chr(c).isupper() else "a" if chr(c).isalpha() else "0" if chr(c).isdigit() else chr(c) for c in range(128)
}


def _grams(lower: str, size: int = 3) -> set[str]:
    text = f"^{lower[:24]}$"
    return {text[at : at + size] for at in range(len(text) - size + 1)}


# Features: names by the kind of key, so that sums are kept by the key.

# what adds to the sum: its kind, the looks of the word that is judged, and what stands there
Key = tuple[str, str, str]
_BEFORE, _BEHIND = ("L1", "L2", "L3", "L4", "L4", "L5", "L5", "L5"), ("R1", "R2", "R3", "R4", "R4", "R4")
_PLACES = ("L1", "L2", "L3", "L4", "L5", "R1", "R2", "R3", "R4", "N", "M")
_SLOT = {place: number for number, place in enumerate(_PLACES)}
_SLOTS_BEFORE, _SLOTS_BEHIND = tuple(_SLOT[one] for one in _BEFORE), tuple(_SLOT[one] for one in _BEHIND)
_AROUND_BEFORE, _AROUND_BEHIND = 12, 9
_OPENING, _CLOSING = "^", "$"


def names_of(key: Key) -> list[str]:
    """Return the names of the features that a key stands for."""
    kind, look, what = key
    if kind == "t":
        return _names_of_word(look, what)
    if kind == "c":  # lists that a word near it is in, by its place
        return [f"{what[:2]}{look}:{head}" for head in what[2:].split()]
    if kind == "k":  # a word right beside it, and its own looks
        return [f"k{look[:1]}{what}"]
    if kind == "n":
        return [f"n{what}", f"n{look}{what}"]
    if kind in _SLOT:
        return _names_beside(kind, what)
    return [f"{kind}{what}", f"{kind}{look}{what}", f"{kind}{look[:1]}.{what}"]


def _names_of_word(look: str, word: str) -> list[str]:
    lower = word.lower()
    found = [f"t:{lower}", f"l:{look}", f"l:{look}{min(len(word), 16)}", f"s:{_shape(word)}"]
    found += [f"g:{gram}" for gram in _grams(lower)] if len(word) > 1 else []
    return [*found, *(f"h:{head}" for head in heads_of(lower))]


def _names_beside(place: str, lower: str) -> list[str]:
    found = [f"{place}:{lower}", *(f"{place}{head}" for head in heads_of(lower))]
    if place in ("N", "M"):
        found += [f"N:{lower}", *(f"N{head}" for head in heads_of(lower))] if place == "M" else []
        return [*found, f"N:{lower[:4]}~"] if len(lower) > 4 else found  # noqa: PLR2004
    if len(lower) > 3:  # noqa: PLR2004
        found += [f"{place}{lower[:4]}~", f"{place}~{lower[-3:]}"]
        if place in ("L1", "R1"):
            found += [f"{place}~{gram}~" for gram in _grams(lower)]
    return found


class _Line(NamedTuple):
    """What is known of words that follow each other before one of them is judged."""

    gaps: list[str]
    looks: list[str]
    names: list[int]  # which of them name a secret
    named: list[str]  # what each of those is
    ends: list[tuple[int, int]]  # how many sentences and lines have ended before each word

    def nearest(self, n: int) -> tuple[str, str]:
        """Return the name of a secret on either side of a word: how far it is, and what parts the two."""
        at = bisect_left(self.names, n)
        before = self._named("<", n, at - 1) if at else "<"
        at += at < len(self.names) and self.names[at] == n
        return before, self._named(">", n, at) if at < len(self.names) else ">"

    def _named(self, side: str, n: int, which: int) -> str:
        other = self.names[which]
        (sentence, line), (sentence_there, line_there) = self.ends[n], self.ends[other]
        apart = _APART[min(abs(sentence - sentence_there), 2)][min(abs(line - line_there), 2)]
        return f"{side}{self.named[which]}{_bucket(abs(n - other))}{apart}"


def _line(text: str, every: Sequence[Word], looks: list[str]) -> _Line:
    gaps: list[str] = []
    ends: list[tuple[int, int]] = []
    sentence = line = 0
    at = max(0, every[0].start - 4)
    for word in every:
        gap, ended, broken = _gap(text[at : word.start])
        sentence += ended
        line += broken
        gaps.append(gap)
        ends.append((sentence, line))
        at = word.stop
    gaps.append(_gap(text[at : at + 4])[0])
    named = [(n, name) for n, word in enumerate(every) if (name := _name_in(word.lower))]
    return _Line(gaps, looks, [n for n, _ in named], [name for _, name in named], ends)


_APART = tuple(tuple("." * dots + "n" * lines for lines in range(3)) for dots in range(3))


@lru_cache(1 << 14)
def _name_in(lower: str) -> str:
    return next((head for head in heads_of(lower) if head in _NAMES), "")


def _fixed(line: _Line, n: int) -> Iterator[Key]:
    """Yield the keys of what parts a word from its neighbours, and of the names of secrets on both sides."""
    look, gaps, looks = line.looks[n], line.gaps, line.looks
    yield "<", look, gaps[n]
    yield ">", look, gaps[n + 1]
    yield "q", look, gaps[n][-1:] + gaps[n + 1][:1]
    yield "<<", look, gaps[n - 1] + looks[n - 1] if n else _OPENING
    yield ">>", look, looks[n + 1] + gaps[n + 2] if n + 1 < len(looks) else _CLOSING
    for name in line.nearest(n):
        yield "n", look, name


def _places(lowers: Sequence[str], n: int) -> Iterator[tuple[int, str]]:
    """Yield the words beside a word, each with the number of its place; where the text ends that is told instead."""
    for by, slot in enumerate(_SLOTS_BEFORE, 1):
        if n - by < 0:
            yield slot, _OPENING
            break
        yield slot, lowers[n - by]
    for by, slot in enumerate(_SLOTS_BEHIND, 1):
        if n + by >= len(lowers):
            yield slot, _CLOSING
            break
        yield slot, lowers[n + by]


def keys_of(text: str, every: Sequence[Word]) -> Iterator[list[Key]]:
    """Yield for each word the keys of all that is known of it; :func:`scores` sums the same, sooner."""
    line, lowers = _line(text, every, [look_of(word.text) for word in every]), [word.lower for word in every]
    for n, word in enumerate(every):
        look = line.looks[n]
        keys: list[Key] = [("t", look, word.text), *_fixed(line, n)]
        for slot, lower in _places(lowers, n):
            place = _PLACES[slot]
            keys.append((place, "", lower))
            if heads := " ".join(heads_of(lower)):
                keys.append(("c", look, f"{place}{heads}"))
            if place in ("L1", "R1"):
                keys.append(("k", look[:1], f"{place}{lower}"))
        keys += [("N", "", lower) for lower in lowers[max(0, n - _AROUND_BEFORE) : n]]
        keys += [("M", "", lower) for lower in lowers[n + 1 : n + 1 + _AROUND_BEHIND]]
        yield keys


_FAR = (1, 2, 3, 5, 8, 13, 21, 34, 10_000)


def _bucket(distance: int) -> int:
    return next(number for number, most in enumerate(_FAR) if distance <= most)


@lru_cache(1 << 12)
def _gap(gap: str) -> tuple[str, bool, bool]:
    """Return what parts two words, shortened, and whether a sentence or a line ends there."""
    plain = _BLANKS.sub(lambda m: "\n" if "\n" in m[0] else " ", gap)[:6]
    return plain, any(sign in gap for sign in ".!?\u3002\n"), "\n" in gap


_BLANKS = re.compile(r"\s+")


# The judgement.


class Weights(msgspec.Struct, frozen=True):
    """All that was fitted."""

    bias: float
    least: float  # what a word must reach
    least_leaning: float  # the same where a word too many does less harm than a secret
    beside: float  # how much less is enough for one beside such a word
    least_look: float  # what its own looks must say before anything else is looked at
    often: frozenset[str]  # words of many texts
    cues: frozenset[str]  # words of messages that tell a secret, and of few others
    by_name: dict[str, float]


@cache
def weights() -> Weights:
    """Return the weights that are shipped."""
    data = files("slowwave.secrets").joinpath("weights.json").read_bytes()
    return msgspec.json.decode(data, type=Weights)


@lru_cache(1 << 16)
def _sum_of(key: Key) -> float:
    known = weights().by_name
    return math.fsum(known.get(name, 0.0) for name in names_of(key))


@lru_cache(1 << 15)
def _beside(lower: str) -> tuple[float, ...]:
    """Return what a word adds at each of the places."""
    known = weights().by_name
    return tuple(math.fsum(known.get(name, 0.0) for name in _names_beside(place, lower)) for place in _PLACES)


@lru_cache(1 << 15)
def _heads_in(lower: str) -> str:
    return " ".join(heads_of(lower))


# less than any sum
NEVER = -99.0


class _Own(NamedTuple):
    """What is known of a word wherever it stands."""

    look: str
    own: float  # what it says of itself
    look_enough: float  # the same, to be looked at: a letter of a script without blanks says little of itself
    beside: tuple[float, ...]  # what it adds to words near it, by the place
    heads: str


@lru_cache(1 << 15)
def _own(word: str) -> _Own:
    look, lower = look_of(word), word.lower()
    own = _sum_of(("t", look, word))
    is_dense = IS_DENSE.match(word) is not None
    return _Own(look, own, own + _OF_LETTERS * is_dense, _beside(lower), " ".join(heads_of(lower)))


# how much less is enough of a letter that is a word of its own
_OF_LETTERS = 0.8


@lru_cache(1 << 16)
def _has_any(value: str) -> bool:
    """Say whether a piece of a text has a word that looks as if it could be a secret."""
    least = weights().least_look
    return any(_own(word.text).look_enough >= least for word in _words_in(value))


def scores(text: str, every: Sequence[Word]) -> list[float]:
    """Return the log-odds of each word; of what looks like no value itself nothing else is looked at."""
    owns = [_own(word.text) for word in every]
    sums = [NEVER] * len(every)
    least = weights().least_look
    wanted = [n for n, one in enumerate(owns) if one.look_enough >= least]
    if not wanted:
        return sums
    line, bias, size = _line(text, every, [one.look for one in owns]), weights().bias, len(every)
    ahead = list(accumulate((one.beside[_NEAR] for one in owns), initial=0.0))
    after = list(accumulate((one.beside[_FAR_SLOT] for one in owns), initial=0.0))
    opening, closing = _own(_OPENING), _own(_CLOSING)
    for n in wanted:
        look = owns[n].look
        total = bias + owns[n].own + ahead[n] - ahead[max(0, n - _AROUND_BEFORE)]
        total += after[min(size, n + 1 + _AROUND_BEHIND)] - after[n + 1]
        before, behind = owns[max(0, n - len(_BEFORE)) : n][::-1], owns[n + 1 : n + 1 + len(_BEHIND)]
        total += _sum_beside(look, before if n >= len(_BEFORE) else [*before, opening], _BEFORE)
        total += _sum_beside(look, behind if n + len(_BEHIND) < size else [*behind, closing], _BEHIND)
        total += _sum_of(("k", look[:1], "L1" + (every[n - 1].lower if n else _OPENING)))
        total += _sum_of(("k", look[:1], "R1" + (every[n + 1].lower if n + 1 < size else _CLOSING)))
        for key in _fixed(line, n):
            total += _sum_of(key)
        sums[n] = total
    return sums


def _sum_beside(look: str, every: Sequence[_Own], places: Sequence[str]) -> float:
    """Return what the words on one side of a word add."""
    total = 0.0
    for one, place in zip(every, places, strict=False):
        total += one.beside[_SLOT[place]]
        if one.heads:
            total += _sum_of(("c", look, place + one.heads))
    return total


_NEAR, _FAR_SLOT = _SLOT["N"], _SLOT["M"]


MESSAGE = 2_000
_SHORT = 300


def is_message(text: str) -> bool:
    """Say whether a text is as short as what people type, and has a word of messages that tell secrets."""
    if len(text) > _SHORT:
        return False
    return not text.isascii() or not weights().cues.isdisjoint(_ASCII_WORDS.findall(text.lower()))


_ASCII_WORDS = re.compile(r"[a-z]{2,16}")


def parts_near(text: str, places: Iterable[Span]) -> Iterator[Span]:
    """Yield the parts of a text around names of secrets: whole lines where they are short, in order."""
    begin = end = -1
    for start, stop in places:
        if stop <= end - _BEHIND_CHARS // 2 and begin >= 0:
            continue
        left = max(0, start - _BEFORE_CHARS)
        left = left if left == 0 else max(text.find("\n", left, start) + 1, _blank(text, left, start))
        right = min(len(text), stop + _BEHIND_CHARS)
        right = right if right == len(text) else max(text.rfind(" ", stop, right), text.rfind("\n", stop, right), stop)
        if begin < 0:
            begin, end = left, right
        elif left <= end:
            end = max(end, right)
        else:
            yield begin, end
            begin, end = left, right
    if begin >= 0:
        yield begin, end


def _blank(text: str, left: int, start: int) -> int:
    at = text.find(" ", left, start)
    return left if at < 0 else at + 1


class Judged(NamedTuple):
    """Where a secret is told, and whether that is so sure that one may overwrite it."""

    start: int
    stop: int
    is_sure: bool


def judged(text: str, places: Iterable[Span], *, leaning: bool = False) -> list[Judged]:
    """Return where secrets are told near names of secrets, which lie at ``places``.

    ``leaning``: rather a word too many than one too few.
    """
    found: list[Judged] = []
    known = weights()
    least = known.least_leaning if leaning else known.least
    for start, stop in parts_near(text, places):
        pieces = _ANY.split(text[start:stop])
        if not any(map(_has_any, pieces[1::2])):
            continue
        every = _placed(pieces, start)[:_MOST_TOKENS]
        sums = scores(text, every)
        is_one = [score >= least for score in sums]
        if True not in is_one:
            continue
        for step in (range(1, len(every)), range(len(every) - 2, -1, -1)):
            by = -1 if step.step > 0 else 1
            for n in step:
                if is_one[n + by] and not is_one[n] and sums[n] >= least - known.beside:
                    is_one[n] = _are_one(text, every[min(n, n + by)].stop, every[max(n, n + by)].start)
        last = -1
        for n, word in enumerate(every):
            if not is_one[n] or is_masked(word.text):
                continue
            is_sure = sums[n] >= known.least
            if last == n - 1 and found and _are_one(text, found[-1].stop, word.start):
                found[-1] = Judged(found[-1].start, word.stop, found[-1].is_sure or is_sure)
            else:
                found.append(Judged(word.start, word.stop, is_sure))
            last = n
    return found


def _are_one(text: str, stop: int, start: int) -> bool:
    return start - stop < 3 and "\n" not in text[stop:start] and not any(c in "\"'`" for c in text[stop:start])  # noqa: PLR2004
