"""The end of a live context, and the trail of what lies before it."""

import os
import re
from collections.abc import Collection
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, cast

from slowwave.compaction.items import Item
from slowwave.compaction.live.earlier import Earlier
from slowwave.compaction.live.items import About, Kind, Records
from slowwave.compaction.live.trail import Trail
from slowwave.errors import UnreadableError
from slowwave.formats.lines import open_regular
from slowwave.formats.model import SessionFiles
from slowwave.formats.tail import BLOCK_BYTES

# Sessions up to this size are read as a whole; of longer ones no more than a plan needs is decoded.
WINDOW_BYTES = 2 << 20

# Where the kind of a dialect stands, as ``module:name`` below this package; imported when a session of it is read.
_KINDS = {
    "cersei": "cersei:CERSEI",
    "crabtalk": "crabtalk:CRABTALK",
    "ulid": "ulid:ULID",
    "pi": "pi:PI_SESSION",
    "openclaw": "pi:PI_SESSION",
    "claude": "claude:CLAUDE_CODE",
    "codex": "codex:ROLLOUT",
}
# What a compaction says in raw bytes, for the clients whose trails are walked from the beginning; a walk from the end
# meets one at once.
_COMPACTIONS = {"cersei": b'"summary"', "crabtalk": b'"compact"', "ulid": b'"compaction"', "codex": b'"compacted"'}
_PLAIN_ID = re.compile(rb"[\w:|.-]+")
# A session is seldom gone on with for longer without the next one.
_NEAR_BYTES = 16 << 20


class Window(NamedTuple):
    """The end of a context.

    Attributes:
        records: the records of it, decoded but for their content.
        trail: where all records of the context stand.
        start: how many of them lie before these.
        kind: what there is to know of their dialect.
    """

    records: Records
    trail: Trail
    start: int
    kind: Kind

    def items(self, about: About) -> list[Item]:
        """Return the records as the items of a plan."""
        return self.kind.items(self.records, about, True)  # noqa: FBT003 - one of a table

    def may_answer(self, files: SessionFiles, calls: Collection[str]) -> bool:
        """Say whether calls with these ids may stand before these records.

        Raises:
            UnreadableError: a file cannot be read.
        """
        words = [call.encode("ascii", "replace") for call in calls]
        is_plain = all(map(_PLAIN_ID.fullmatch, words))  # others may be written in several ways
        return not is_plain or self.trail.mentions(files.paths, words, self.start)

    def earlier(self, files: SessionFiles, about: About) -> Earlier | None:
        """Return what lies before, None when nothing does."""
        return Earlier(files.paths, self.trail, self.start, self.kind, about) if self.start else None


def has_trail(dialect: str, files: SessionFiles) -> bool:
    """Say whether the trail of a session may be found at all: its files are there, and are not packed.

    Raises:
        OSError: a file cannot be looked at.
    """
    return dialect in _KINDS and all(path.is_file() and path.suffix != ".zst" for path in files.paths)


def seems_compacted(dialect: str, files: SessionFiles) -> bool:
    """Say whether a compaction may stand near the end: then its end is looked for before its trail.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    mark = _COMPACTIONS.get(dialect)
    if mark is None:
        return False
    path = files.paths[-1]
    with open_regular(path) as file:
        try:
            at = max(0, os.fstat(file.fileno()).st_size - _NEAR_BYTES)
            while len(block := os.pread(file.fileno(), BLOCK_BYTES, at)) >= len(mark):
                if mark in block:
                    return True
                at += len(block) - len(mark) + 1
        except OSError as error:
            raise UnreadableError(path, error.strerror or "cannot be read") from error
    return False


def trail_of(dialect: str, files: SessionFiles) -> Trail | None:
    """Return where the records of a context stand, None where the session has to be read as a whole.

    Raises:
        UnreadableError: a file cannot be opened.
    """
    return _kind_of(dialect).trail(files) if dialect in _KINDS else None


def window_of(dialect: str, files: SessionFiles, trail: Trail, size: int) -> Window:
    """Return about the last ``size`` bytes of a context.

    Raises:
        UnreadableError: a file cannot be read, or has changed since.
    """
    start = trail.begin_of_end(size)
    kind = _kind_of(dialect)
    records: list[tuple[Any, Any]] = list(trail.records(files.paths, kind.decoder, range(start, len(trail))))
    return Window(records, trail, start, kind)


@cache
def _kind_of(dialect: str) -> Kind:
    module, _, name = _KINDS[dialect].partition(":")
    return cast("Kind", getattr(import_module(f"slowwave.compaction.live.{module}"), name))
