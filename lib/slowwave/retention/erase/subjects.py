"""The subjects of one erasure: persons, topics and patterns, found in bytes and overwritten by stars."""

import re
import signal
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, Protocol

import msgspec

from slowwave.errors import UsageError
from slowwave.retention.erase.mask import Many, Needle, signs_of
from slowwave.secrets.finder import find_secrets
from slowwave.secrets.redactor import Redactor
from slowwave.secrets.rules import Finding

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
    """What somebody asked to have erased.

    Attributes:
        sessions: ids of sessions, which go as a whole.
        persons: names of persons, also other names of the same.
        topics: phrases.
        patterns: regular expressions.
    """

    sessions: tuple[str, ...] = ()
    persons: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Say whether anything was asked for."""
        return bool(self.sessions or self.persons or self.topics or self.patterns)


class Hit(NamedTuple):
    """One range of bytes that must go, whole characters only.

    Attributes:
        start: where it begins.
        stop: behind its last byte.
        family: what kind of thing it is.
        mark: stands for it in reports, and in texts whose length may change; no way leads back from it.
        fill: as many bytes as the range has, for where no byte may move.
        in_path: it is part of the path of a file or folder.
    """

    start: int
    stop: int
    family: str
    mark: str
    fill: bytes
    in_path: bool = False


class Pattern:
    """An expression; after it took too long once it is not tried again.

    Args:
        text: the expression.

    Raises:
        UsageError: it is none, or fits an empty text.
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

        Raises:
            UsageError: it takes too long, here or before.
        """
        if not self._is_endless:
            try:
                with _at_most(MOST_S):
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
        """Prepare the search.

        Raises:
            UsageError: a phrase is too short to be looked for, or a pattern is none or fits an empty text.
        """
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
        """Return where subjects stand in ``data``.

        Raises:
            UsageError: a pattern takes too long for it.
        """
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
                fill = _fill(data[begin:end], is_plain=needle.is_plain(data[begin:end]))
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
                fill = _fill(data[begin:end], is_plain=True)
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


def _fill(was: bytes, *, is_plain: bool) -> bytes:
    """Return as many bytes as there were: stars, in base64 and hex such that they decode to stars."""
    size = len(was)
    if is_plain:
        return ERASED + b"*" * (size - len(ERASED)) if size >= len(ERASED) else b"*" * size
    if size % 2 == 0 and _HEX.issuperset(was):
        return _STARS_IN_HEX * (size // 2)
    new = bytearray(was)
    # line breaks and padding stay where they are
    for number, at in enumerate(at for at in signs_of(was) if was[at : at + 1] != b"="):
        new[at] = _STARS_IN_BASE64[number % 4]
    return bytes(new)


# What an erasure takes out: secrets by their rules, or subjects by their names; both say where it stands in bytes.

_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_")
_HEX_LETTERS = frozenset("0123456789abcdefABCDEF")
_BASE64_STARS = "Kioq"
_HEX_STARS = "2a"


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
    """Secrets, found by the rules of :mod:`slowwave.secrets`.

    Attributes:
        redact: makes their marks.
    """

    redact: Redactor
    noun: str = "secrets"
    keeps_length: bool = False
    is_sought: bool = True

    def hits(self, data: bytes) -> Sequence[Hit]:
        """Return the secrets in ``data``."""
        # one character a byte: whatever is found has its offset in bytes
        text = data.decode("latin-1")
        found: list[Hit] = []
        for one in find_secrets(text):
            start, stop = whole_characters(data, one.start, one.stop)
            mark = self.redact.mark(one.family, plain_of(one))
            found.append(Hit(start, stop, one.family, mark, _filler(text[start:stop], one, mark).encode("latin-1")))
        return found


def plain_of(found: Finding) -> str:
    """Return a secret that was found in bytes as text, so that it has the fingerprint that it has elsewhere."""
    try:
        return found.secret.encode("latin-1").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return found.secret  # an escape stood for a character beyond one byte


def whole_characters(data: bytes, start: int, stop: int) -> tuple[int, int]:
    """Return the range without half characters at its ends."""
    while start > 0 and _continues(data[start]):
        start -= 1
    while stop < len(data) and _continues(data[stop]):
        stop += 1
    return start, stop


def _continues(byte: int) -> bool:
    return byte & 0xC0 == 0x80  # noqa: PLR2004 - UTF-8


def _filler(text: str, found: Finding, mark: str) -> str:
    """Return what stands in the place of a secret: its mark, or stars in the encoding that it was in."""
    size = len(text)
    if found.depth and found.secret not in text and _BASE64.issuperset(text):
        if size % 2 == 0 and _HEX_LETTERS.issuperset(text):
            return _HEX_STARS * (size // 2)
        return (_BASE64_STARS * (size // 4 + 1))[:size]
    return mark + "*" * (size - len(mark)) if size >= len(mark) else "*" * size


# Regular expressions that people write for an erasure: checked before, and stopped where one would never end.

# for one record or file; an honest expression takes milliseconds
MOST_S = 30.0


class _TooLongError(Exception):
    """Raised by the clock within a search."""


@contextmanager
def _at_most(seconds: float) -> Generator[None]:
    """Stop what runs within after so many seconds; beside the main thread there is no clock that could."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: object) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
