"""What an erasure takes out: secrets by their rules, or subjects by their names; both say where it stands in bytes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from slowwave.secrets.finder import find_secrets
from slowwave.secrets.model import Finding
from slowwave.secrets.redactor import Redactor

_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_")
_HEX = frozenset("0123456789abcdefABCDEF")
_STARS_IN_BASE64 = "Kioq"
_STARS_IN_HEX = "2a"


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
        if size % 2 == 0 and _HEX.issuperset(text):
            return _STARS_IN_HEX * (size // 2)
        return (_STARS_IN_BASE64 * (size // 4 + 1))[:size]
    return mark + "*" * (size - len(mark)) if size >= len(mark) else "*" * size
