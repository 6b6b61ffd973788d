"""The subjects of one erasure: persons, topics and patterns, found in bytes and overwritten by stars."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

import msgspec

from slowwave.errors import UsageError
from slowwave.retention.subjects.many import Many
from slowwave.retention.subjects.needles import Needle, signs_of
from slowwave.retention.subjects.patterns import Pattern
from slowwave.retention.what import Hit, whole_characters
from slowwave.secrets.redactor import Redactor

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
# what stands where a subject stood, when there is room: `slowwave.secrets.blocked` puts the same
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


class Subjects:
    """What is looked for in one erasure of subjects; satisfies :class:`slowwave.retention.what.What`."""

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
        raise UsageError(f"--{kind}: write at least {_FEWEST} characters; fewer stand in every other word")
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
