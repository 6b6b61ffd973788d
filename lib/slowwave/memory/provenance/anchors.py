"""Which sessions can hold words like those of a line: two of its rarest words must stand in the bytes.

That is one search for many words at memory speed, and only sessions that pass are decoded. Words are looked for as they
are written in JSON, where only letters beyond ASCII may be escaped; a line without two plain words, and a session with
characters that hide or look like others within words, pass without being asked.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from slowwave.formats.lines import open_plain
from slowwave.memory.foreign import ForeignLine

_WORD = re.compile(r"[^\W_]+")
# as many words, and as many of them, as :mod:`slowwave.reading.echo` looks at
_ANCHORS = 3
_TOGETHER = 2
_CHUNK = 4 << 20
_LONGEST = 256
# joiners, soft hyphens, tag characters and letters that look like Latin ones, in UTF-8 and escaped: a word with one of
# them in it is not found by its letters
_HIDDEN = (
    *(b"\xe2\x80\x8b", b"\xe2\x80\x8c", b"\xe2\x80\x8d", b"\xe2\x81\xa0", b"\xc2\xad", b"\xef\xbb\xbf", b"\xf3\xa0"),
    *(b"\xce", b"\xcf", b"\xd0", b"\xd1", b"\xef\xbc", b"\xef\xbd", b"\xf0\x9d"),
    *(b"\\u200", b"\\u2060", b"\\u00ad", b"\\ufeff", b"\\udb40", b"\\u03", b"\\u04", b"\\uff", b"\\ud835"),
)


class Anchors:
    """The rare words of some lines."""

    def __init__(self, lines: Iterable[ForeignLine]) -> None:
        self._wanted: list[frozenset[bytes]] = []
        self._always = False
        for line in lines:
            words = sorted(set(_WORD.findall(line.text.lower())), key=lambda word: (-len(word), word))[:_ANCHORS]
            plain = frozenset(word.encode() for word in words if word.isascii())
            if len(plain) == len(words):
                self._wanted.append(plain)
            else:
                self._always = True
        from ahocorasick_rs import BytesAhoCorasick  # noqa: PLC0415 - only where there is something to look for

        self._needles = sorted({word for words in self._wanted for word in words})
        self._automaton = BytesAhoCorasick(self._needles)

    def are_in(self, paths: Sequence[Path]) -> bool:
        """Say whether files may hold one of the lines.

        Raises:
            UnreadableError: a file cannot be opened.
            OSError: a file cannot be read.
        """
        if self._always:
            return True
        seen: set[bytes] = set()
        for path in paths:
            for chunk in _chunks(path):
                if _hides_words(chunk):
                    return True
                seen |= {
                    self._needles[hit[0]] for hit in self._automaton.find_matches_as_indexes(chunk, overlapping=True)
                }
                if any(self._passes(words, seen) for words in self._wanted):
                    return True
        return False

    @staticmethod
    def _passes(words: frozenset[bytes], seen: set[bytes]) -> bool:
        return len(words & seen) >= min(_TOGETHER, len(words))


def _hides_words(chunk: bytes) -> bool:
    is_plain = chunk.isascii() and b"\\u" not in chunk
    return not is_plain and any(mark in chunk for mark in _HIDDEN)


def _chunks(path: Path) -> Iterator[bytes]:
    """Yield a file in lower case, piece by piece, each with the end of the one before it."""
    with open_plain(path) as file:
        rest = b""
        while chunk := file.read(_CHUNK):
            yield rest + chunk.lower()
            rest = chunk[-_LONGEST:].lower()
