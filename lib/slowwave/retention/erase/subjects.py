"""The subjects of one erasure: persons, topics and patterns, in any form that they have in bytes; overwritten by stars.

A phrase is found plain, escaped in JSON, URL-encoded, in base64, hex or UTF-16. One expression matches every character
of it in each of its forms, so that forms may be mixed and nested (JSON in JSON); upper and lower case are one, and so
is any space between words. It is tried only where some sign of the phrase was seen before. In base64 and hex the phrase
itself is looked for; runs that may be base64 are decoded and looked through in turn, too. What is found is a range of
the bytes themselves, whole codes only.
"""

import base64
import json
import re
import signal
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html.entities import codepoint2name
from itertools import accumulate
from typing import NamedTuple, Protocol
from unicodedata import normalize
from urllib.parse import quote

import msgspec
from ahocorasick_rs import BytesAhoCorasick, Implementation

from slowwave.errors import UsageError
from slowwave.secrets import Redactor
from slowwave.secrets.finder import find_secrets
from slowwave.secrets.rules import Finding

# both alphabets, broken into lines as programs print it, with the escapes that JSON gives to a line end and a slash
_BREAK = rb"(?:(?:\\+[rn]|[\r\n])+|\\+(?=/))"
_BASE64_RUN = re.compile(rb"[A-Za-z0-9+/_-]{16,}(?:" + _BREAK + rb"[A-Za-z0-9+/_-]+)*")
_BREAKS = re.compile(_BREAK)
# base64 in base64, as a JSON text within a request that was logged
DEPTH = 3
_ENTITIES = {"&": rb"&amp;", "<": rb"&lt;", ">": rb"&gt;", '"': rb"&quot;", "'": rb"&(?:apos|\#39);"}
# one space for another, and line ends however often escaped
_SPACE = (
    rb"(?:\s|\\+[nrt]|\\+u00(?:20|a0|0[9ad])|%(?:25)*(?:20|09|0[AaDd]|[Cc]2%(?:25)*[Aa]0)|\+|\xc2\xa0|&nbsp;|=\r?\n"
    rb"|(?:\\+xc2)?\\+xa0|\\+302\\+240|=C2=A0)+"
)
_PLAIN = re.compile(r"[A-Za-z0-9]{2,}")
_STANDARD = bytes.maketrans(b"-_", b"+/")


class Needle:
    """A phrase that is looked for."""

    def __init__(self, phrase: str) -> None:
        """Prepare the search for a phrase."""
        words = phrase.split()
        if not any(char.isalnum() for char in phrase):
            raise ValueError("write a name or a phrase with at least one letter or digit")
        self.phrase = " ".join(words)
        # as one sign or two, a letter and its accent: file names of macOS have two
        spelt = dict.fromkeys((self.phrase, *(normalize(form, self.phrase) for form in ("NFC", "NFD"))))
        self._expression = re.compile(b"|".join(map(_expression, spelt)))
        signs = sorted({sign for one in spelt for sign in _signs(one)})
        self._signs = BytesAhoCorasick(signs, implementation=Implementation.DFA)
        forms = list(dict.fromkeys(form for one in spelt for form in _usual_forms(one)))
        self._coded = CodedPhrase(forms)
        in_hex = [one.hex().encode() for one in forms]
        self._in_hex = BytesAhoCorasick(in_hex, implementation=Implementation.DFA)
        # without one of these, in lower case or as it is, or what is coded in base64, the phrase is not there
        self.wide = WidePhrase(self.phrase)
        self.folded_signs = (*signs, *in_hex, *self.wide.signs)
        self.exact_signs = self._coded.literals
        self._least = len(self.phrase.encode())

    def occurs_in(self, data: bytes) -> bool:
        """Say whether the phrase stands anywhere in ``data``."""
        return next(self._find(data, DEPTH), None) is not None

    def is_plain(self, data: bytes) -> bool:
        """Say whether the phrase stands in ``data`` as text, escaped or not, rather than in base64 or hex."""
        return self._expression.search(data) is not None

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """Return the ranges of ``data`` in which the phrase stands, in order, without overlaps."""
        found: list[tuple[int, int]] = []
        for start, stop in sorted(self._find(data, DEPTH)):
            if found and start < found[-1][1]:
                found[-1] = found[-1][0], max(stop, found[-1][1])
            else:
                found.append((start, stop))
        return found

    def _find(self, data: bytes, depth: int) -> Iterator[tuple[int, int]]:
        low = data.lower()
        if self._signs.find_matches_as_indexes(low):
            for match in self._expression.finditer(data):
                yield match.span()
        for _, start, stop in self._in_hex.find_matches_as_indexes(low):
            yield start, stop
        yield from self.wide.find(low)
        yield from self._coded.find(data)
        if not depth:
            return
        for run in _BASE64_RUN.finditer(data):
            if len(run[0]) * 3 // 4 >= self._least and not run[0].islower():
                yield from self._in_base64(run[0], run.start(), depth - 1)

    def _in_base64(self, run: bytes, at: int, depth: int) -> Iterator[tuple[int, int]]:
        places = signs_of(run)
        for shift, plain in enumerate(_decoded(run, places)):
            for start, stop in self._find(plain, depth):
                last = min(shift + -(-stop // 3) * 4, len(places)) - 1
                yield at + places[shift + start // 3 * 4], at + places[last] + 1


def _expression(phrase: str) -> bytes:
    return _SPACE.join(b"".join(map(_forms, word)) for word in phrase.split())


def decoded_runs(data: bytes) -> Iterator[bytes]:
    """Yield what every run that may be base64 decodes to, from each of the places where it may begin."""
    for run in _BASE64_RUN.finditer(data):
        if not run[0].islower():
            yield from _decoded(run[0], signs_of(run[0]))


def _decoded(run: bytes, places: Sequence[int]) -> Iterator[bytes]:
    """Yield a run decoded from each of its first four signs on: a path before it belongs to its alphabet, too."""
    signs = bytes(map(run.__getitem__, places)).translate(_STANDARD)
    for shift in range(4):
        body = signs[shift:]
        body = body[: len(body) - (len(body) % 4 == 1)]
        yield base64.b64decode(body + b"=" * (-len(body) % 4))


def _signs(phrase: str) -> list[bytes]:
    """Return what of a phrase is in lower case in any text that holds it: a plain part, or a code within that."""
    part = max(_PLAIN.findall(phrase), key=len, default="") or phrase[0]
    whole = [part.lower().encode()] if part.isascii() else []
    codes = {form for char in part for one in (char, char.lower(), char.upper()) for form in _codes(one)}
    return [*whole, *sorted(codes)]


def _codes(char: str) -> Iterator[bytes]:
    """Yield, in lower case, the codes for a character, and its bytes where they are no plain letter."""
    data = char.encode("utf-8", "surrogatepass")
    if not char.isascii():
        yield data.lower()
        yield b"u" + char.encode("utf-16-be", "surrogatepass")[:2].hex().encode()
        yield b"&%b;" % codepoint2name.get(ord(char), "#").lower().encode()
        yield b"\\x%02x" % data[0]
        yield b"\\x%02x" % (ord(char) & 0xFF)
        yield b"\\%03o" % data[0]
        yield b"=%02x" % data[0]
    else:
        yield b"u00%02x" % data[0]
    yield b"%%%02x" % data[0]
    yield b"%%25%02x" % data[0]
    yield b"&#"


def _usual_forms(phrase: str) -> Iterator[bytes]:
    """Yield a phrase as programs write it before they encode it."""
    for one in (phrase, phrase.lower(), phrase.upper(), phrase.title(), phrase.casefold()):
        yield one.encode("utf-8", "surrogatepass")
        yield json.dumps(one)[1:-1].encode()
        yield quote(one, safe="", errors="surrogatepass").encode()


def signs_of(run: bytes) -> Sequence[int]:
    """Return where the signs of a run of base64 stand in it, without what breaks it into lines."""
    breaks = list(_BREAKS.finditer(run))
    if not breaks:
        return range(len(run))
    places: list[int] = []
    at = 0
    for one in breaks:
        places += range(at, one.start())
        at = one.end()
    return [*places, *range(at, len(run))]


def _forms(char: str) -> bytes:
    """Return an expression for a character in every form and case."""
    every = dict.fromkeys((char, char.lower(), char.upper(), char.casefold()))
    return b"(?:" + b"|".join(form for one in every for form in _forms_of(one)) + b")"


def _forms_of(text: str) -> Iterator[bytes]:
    data = text.encode("utf-8", "surrogatepass")
    yield re.escape(data)
    yield b"".join(b"%%(?:25)*(?i:%02x)" % byte for byte in data)
    units = text.encode("utf-16-be", "surrogatepass")
    codes = (units[at : at + 2].hex().encode() for at in range(0, len(units), 2))
    yield b"".join(rb"\\+u(?i:%b)" % code for code in codes)
    if text in ('"', "/", "'"):
        yield rb"\\+" + re.escape(data)
    if text == "\\":
        yield rb"\\{2,}"
    if text in _ENTITIES:
        yield _ENTITIES[text]
    elif not text.isascii():
        # as Python shows bytes and git names of files, and in mails
        yield b"".join(rb"\\+x(?i:%02x)" % byte for byte in data)
        yield b"".join(rb"\\+%03o" % byte for byte in data)
        yield b"".join(b"=(?i:%02x)" % byte for byte in data)
        if len(text) == 1:
            yield from _codes_of_character(ord(text))


def _codes_of_character(number: int) -> Iterator[bytes]:
    yield b"&#(?:0*%d|[xX]0*(?i:%x));" % (number, number)
    if number in codepoint2name:
        yield b"&%b;" % codepoint2name[number].encode()
    if number <= 0xFF:  # noqa: PLR2004 - as Python shows a character of one byte
        yield rb"\\+x(?i:%02x)" % number


# A phrase in base64, found without decoding anything: three alignments, and the cases that programs write.


class CodedPhrase:
    """The signs that a phrase leaves in base64, whatever stands around it.

    A sign of base64 holds six bits. Of a phrase that begins at the first, second or third byte of a group all signs but
    those at its ends are known; they are looked for as they are.
    """

    def __init__(self, forms: Iterable[bytes]) -> None:
        """Prepare the search for a phrase in these forms, each at least four bytes long to count."""
        self._found: list[tuple[int, int]] = []
        literals: list[bytes] = []
        for form in dict.fromkeys(forms):
            for before in range(3):
                signs = base64.b64encode(b"\0" * before + form + b"\0" * 2)
                first, last = -(-before * 8 // 6), (before + len(form)) * 8 // 6
                if last - first < _FEWEST_CODES:
                    continue
                for literal in dict.fromkeys((signs[first:last], signs[first:last].translate(_OF_URLS))):
                    literals.append(literal)
                    self._found.append((first, -(-(before + len(form)) // 3) * 4))
        self.literals = tuple(literals)
        self._automaton = BytesAhoCorasick(literals, implementation=Implementation.DFA) if literals else None

    def find(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield the ranges that hold the phrase, whole groups of four signs as far as ``data`` goes."""
        if self._automaton is None:
            return
        for number, start, _ in self._automaton.find_matches_as_indexes(data, overlapping=True):
            first, last = self._found[number]
            yield max(start - first, 0), min(start - first + last, len(data))


_OF_URLS = bytes.maketrans(b"+/", b"-_")
# fewer signs stand in any text by chance
_FEWEST_CODES = 5


# A phrase in UTF-16, in either order of its bytes, or as JSON shows such bytes: one space between words as it is.

_ORDERS = {"utf-16-le": b"*\0", "utf-16-be": b"\0*"}
_NUL_IN_JSON = b"\\u0000"


class WidePhrase:
    """The bytes that a phrase takes in UTF-16, in the cases that people write."""

    def __init__(self, phrase: str) -> None:
        """Prepare the search for a phrase."""
        cases = dict.fromkeys((phrase, phrase.lower(), phrase.upper(), phrase.title()))
        # in lower case as the bytes that are looked through, with what is as long as one unit of it
        self._fills = {one.encode(order).lower(): fill for one in cases for order, fill in _ORDERS.items()}
        for spelt in map("\0".join, cases):
            shown = json.dumps(spelt), json.dumps(spelt, ensure_ascii=False)
            self._fills |= {one[1:-1].encode().lower(): b"*" for one in shown}
        self.signs = tuple(self._fills)
        # most bytes have none, and need no look
        self._has_nul = all(b"\0" in sign or _NUL_IN_JSON in sign for sign in self.signs)
        self._automaton = BytesAhoCorasick(self.signs, implementation=Implementation.DFA)

    def find(self, low: bytes) -> Iterator[tuple[int, int]]:
        """Yield the ranges of bytes, given in lower case, in which the phrase stands."""
        if not self._has_nul or b"\0" in low or _NUL_IN_JSON in low:
            for _, start, stop in self._automaton.find_matches_as_indexes(low):
                yield start, stop

    def fill_of(self, was: bytes) -> bytes:
        """Return as many bytes as stand there, stars in the same form; nothing when they are no such phrase."""
        unit = self._fills.get(was.lower(), b"")
        return unit * (len(was) // len(unit)) if unit else b""


# Which of many phrases may stand in bytes at all, told in one look over them, however many phrases there are.


class Many:
    """The first look for many needles."""

    def __init__(self, needles: Sequence[Needle]) -> None:
        """Prepare the look."""
        folded = [(sign, number) for number, needle in enumerate(needles) for sign in needle.folded_signs]
        exact = [(sign, number) for number, needle in enumerate(needles) for sign in needle.exact_signs]
        self._folded, self._owners_folded = _automaton(folded)
        self._exact, self._owners_exact = _automaton(exact)

    def may_occur(self, data: bytes, depth: int = DEPTH) -> set[int]:
        """Return the numbers of the needles that may occur in ``data``; no other one does."""
        found: set[int] = set()
        if self._folded is not None:
            for number, _, _ in self._folded.find_matches_as_indexes(data.lower(), overlapping=True):
                found |= self._owners_folded[number]
        if self._exact is not None:
            for number, _, _ in self._exact.find_matches_as_indexes(data, overlapping=True):
                found |= self._owners_exact[number]
        if depth:
            for plain in decoded_runs(data):
                found |= self.may_occur(plain, depth - 1)
        return found


def _automaton(signs: Sequence[tuple[bytes, int]]) -> tuple[BytesAhoCorasick | None, list[set[int]]]:
    owners: dict[bytes, set[int]] = {}
    for sign, number in signs:
        owners.setdefault(sign, set()).add(number)
    if not owners:
        return None, []
    return BytesAhoCorasick(list(owners), implementation=Implementation.ContiguousNFA), list(owners.values())


# shorter ones stand in every other word
_FEWEST = 3
_STARS_IN_BASE64 = b"Kioq"
_STARS_IN_HEX = b"2a"
_HEX = frozenset(b"0123456789abcdefABCDEF")
_LONGEST_PATH = 4096
# what parts words, texts of JSON, lists and addresses
_PARTS = rb"\s\"'`<>|()\[\]{},;=:"
# from the root, a home or a drive up to what is looked at
_PATH_BEGINS = re.compile(rb"(?:(?<![^%b\\])~?/|(?<![A-Za-z])[A-Za-z]:[\\/])[^%b]*\Z" % (_PARTS, _PARTS))
# what stands where a subject stood, when there is room: `slowwave.secrets.blocklist` puts the same
ERASED = b"[erased]"


class Asked(msgspec.Struct, frozen=True):
    """What somebody asked to have erased."""

    sessions: tuple[str, ...] = ()  # ids of sessions, which go as a whole
    persons: tuple[str, ...] = ()  # names of persons, also other names of the same
    topics: tuple[str, ...] = ()  # phrases
    patterns: tuple[str, ...] = ()  # regular expressions

    def __bool__(self) -> bool:
        """Say whether anything was asked for."""
        return bool(self.sessions or self.persons or self.topics or self.patterns)


class Hit(NamedTuple):
    """One range of bytes that must go, whole characters only."""

    start: int  # where it begins
    stop: int  # behind its last byte
    family: str  # what kind of thing it is
    mark: str  # stands for it in reports, and in texts whose length may change; no way leads back from it
    fill: bytes  # as many bytes as the range has, for where no byte may move
    in_path: bool = False  # it is part of the path of a file or folder


class Pattern:
    """An expression; after it took too long once it is not tried again.

    ``text``: the expression. Raises UsageError: it is none, or fits an empty text.
    """

    def __init__(self, text: str) -> None:
        try:
            self._expression = re.compile(text)
        except re.error as error:
            raise UsageError(f"--pattern: is not a regular expression: {error}") from error
        if self._expression.match(""):
            raise UsageError("--pattern: matches an empty text, so it would match everywhere")
        self.text = text
        self._is_endless = False

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Return where it fits, from the first character to the one behind the last; never an empty range.

        Raises UsageError: it takes too long, here or before.
        """
        if not self._is_endless:
            try:
                with _in_time():
                    spans = [match.span() for match in self._expression.finditer(text)]
            except _TooLongError:
                self._is_endless = True
            else:
                return ((start, stop) for start, stop in spans if start < stop)
        raise UsageError(f"--pattern: takes more than {MOST_S:g} s for one record; write it without nested repetitions")


class Subjects:
    """What is looked for in one erasure of subjects; satisfies :class:`slowwave.retention.erase.subjects.What`."""

    noun = "subjects"
    keeps_length = True

    def __init__(self, asked: Asked, redact: Redactor) -> None:
        """Prepare the search."""
        self._needles = [
            (kind, f"[erased:{kind}:{redact.fingerprint(phrase.casefold())}]", _needle(kind, phrase))
            for kind, phrases in (("person", asked.persons), ("topic", asked.topics))
            for phrase in dict.fromkeys(phrases)
        ]
        self._many = Many([needle for _, _, needle in self._needles])
        self._patterns = [Pattern(text) for text in dict.fromkeys(asked.patterns)]
        self._redact = redact
        # what patterns met, as text: later readers are to know it again by its fingerprint
        self.met: set[str] = set()
        # what stands for the subjects that were met
        self.found: set[str] = set()

    @property
    def marks(self) -> list[str]:
        """What stands for each subject in a certificate."""
        return [*(mark for _, mark, _ in self._needles), *map(self._mark_of, self._patterns)]

    @property
    def is_sought(self) -> bool:
        """Whether anything is looked for; else only whole sessions go."""
        return bool(self._needles or self._patterns)

    def _mark_of(self, pattern: Pattern) -> str:
        return f"[erased:pattern:{self._redact.fingerprint(pattern.text)}]"

    def hits(self, data: bytes) -> Sequence[Hit]:
        """Return where subjects stand in ``data``. Raises UsageError: a pattern takes too long for it."""
        found = sorted(self._hits(data), key=lambda hit: (hit.start, -hit.stop))
        apart: list[Hit] = []
        for hit in found:
            if apart and hit.start < apart[-1].stop:
                if hit.stop <= apart[-1].stop:
                    continue
                start = apart[-1].stop
                hit = hit._replace(start=start, fill=hit.fill[start - hit.start :])  # noqa: PLW2901 - the rest of it
            apart.append(hit)
        return apart

    def _hits(self, data: bytes) -> Iterator[Hit]:
        for number in sorted(self._many.may_occur(data)) if self._needles else ():
            kind, mark, needle = self._needles[number]
            for start, stop in needle.find(data):
                self.found.add(mark)
                if fill := needle.wide.fill_of(data[start:stop]):
                    yield Hit(start, stop, kind, mark, fill)
                    continue
                begin, end = whole_characters(data, start, stop)
                fill = _fill(data[begin:end], ERASED, is_plain=needle.is_plain(data[begin:end]))
                yield Hit(begin, end, kind, mark, fill, is_in_path(data, begin, end))
        if not self._patterns:
            return
        text = data.decode("utf-8", "surrogateescape")
        sizes = [0, *accumulate(len(c.encode("utf-8", "surrogateescape")) for c in text)] if not text.isascii() else ()
        for pattern in self._patterns:
            for start, stop in pattern.find(text):
                met = text[start:stop]
                if set(met) <= {"*"} or met == ERASED.decode():
                    continue
                self.met.add(met)
                self.found.add(self._mark_of(pattern))
                mark = f"[erased:pattern:{self._redact.fingerprint(met.casefold())}]"
                begin, end = (sizes[start], sizes[stop]) if sizes else (start, stop)
                fill = _fill(data[begin:end], ERASED, is_plain=True)
                yield Hit(begin, end, "pattern", mark, fill, is_in_path(data, begin, end))


def _needle(kind: str, phrase: str) -> Needle:
    if len("".join(phrase.split())) < _FEWEST:
        raise UsageError(f"--{kind}: write at least {_FEWEST} characters; fewer occur in every other word")
    try:
        return Needle(phrase)
    except ValueError as error:
        raise UsageError(f"--{kind}: {error}") from error


def is_in_path(data: bytes, start: int, stop: int) -> bool:
    """Say whether a range of bytes is part of the path of a file or folder, which begins at a root or a home."""
    before = data[max(start - _LONGEST_PATH, 0) : start]
    first = _PATH_BEGINS.search(before)
    if first is None:
        return data[start:stop].startswith((b"/", b"~/"))
    return not first[0].startswith(b"//") or first[0].startswith(b"///")


def _fill(was: bytes, mark: bytes, *, is_plain: bool) -> bytes:
    """Return as many bytes as there were: a mark and stars, in base64 and hex such that they decode to stars."""
    size = len(was)
    if is_plain:
        return mark + b"*" * (size - len(mark)) if size >= len(mark) else b"*" * size
    if size % 2 == 0 and _HEX.issuperset(was):
        return _STARS_IN_HEX * (size // 2)
    new = bytearray(was)
    # line breaks and padding stay where they are
    for number, at in enumerate(at for at in signs_of(was) if was[at : at + 1] != b"="):
        new[at] = _STARS_IN_BASE64[number % 4]
    return bytes(new)


# What an erasure takes out: secrets by their rules, or subjects by their names; both say where it stands in bytes.

_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_")


class What(Protocol):
    """What is taken out."""

    @property
    def noun(self) -> str:
        """What reports call it."""
        ...

    @property
    def keeps_length(self) -> bool:
        """Whether it is overwritten also in what slowwave wrote; else its mark stands there."""
        ...

    @property
    def is_sought(self) -> bool:
        """Whether anything is looked for at all; else only whole sessions go."""
        ...

    def hits(self, data: bytes) -> Sequence[Hit]:
        """Return what must go from ``data``, in order, without overlaps."""
        ...


@dataclass(frozen=True, slots=True)
class Secrets:
    """Secrets, found by the rules of :mod:`slowwave.secrets`."""

    redact: Redactor  # makes their marks
    noun: str = "secrets"
    keeps_length: bool = False
    is_sought: bool = True

    def hits(self, data: bytes) -> Sequence[Hit]:
        """Return the secrets in ``data``."""
        # what is no UTF-8 keeps its bytes as halves of pairs, which no word has
        text = data.decode("utf-8", "surrogateescape")
        found: list[Hit] = []
        at = place = 0
        for one in find_secrets(text):
            start = place + len(text[at : one.start].encode("utf-8", "surrogateescape"))
            stop = start + len(text[one.start : one.stop].encode("utf-8", "surrogateescape"))
            at, place = one.stop, stop
            mark = self.redact.mark(one.family, one.secret)
            found.append(Hit(start, stop, one.family, mark, _fill_of_secret(data[start:stop], one, mark.encode())))
        return found


def whole_characters(data: bytes, start: int, stop: int) -> tuple[int, int]:
    """Return the range without half characters at its ends."""
    while start > 0 and _continues(data[start]):
        start -= 1
    while stop < len(data) and _continues(data[stop]):
        stop += 1
    return start, stop


def _continues(byte: int) -> bool:
    return byte & 0xC0 == 0x80  # noqa: PLR2004 - UTF-8


def _fill_of_secret(was: bytes, found: Finding, mark: bytes) -> bytes:
    """Return what stands in the place of a secret: its mark, or stars in the encoding that it was in."""
    is_coded = found.depth and found.secret.encode("utf-8", "surrogatepass") not in was and _BASE64.issuperset(was)
    return _fill(was, mark, is_plain=not is_coded)


# Regular expressions that people write for an erasure: checked before, and stopped where one would never end.

# for one record or file; an honest expression takes milliseconds
MOST_S = 30.0


class _TooLongError(Exception):
    """Raised by the clock within a search."""


@contextmanager
def _in_time() -> Generator[None]:
    """Stop what runs within after :data:`MOST_S`; beside the main thread there is no clock that could."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: object) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, MOST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
