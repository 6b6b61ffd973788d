"""The end of a live context, and the trail of what lies before it."""

import os
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from slowwave.compaction.live.claude import claude_trail
from slowwave.compaction.live.codex import codex_trail
from slowwave.compaction.live.earlier import Earlier
from slowwave.compaction.live.items import KINDS, About, Records
from slowwave.compaction.live.linear import cersei_trail, crabtalk_trail, ulid_trail
from slowwave.compaction.live.pi import pi_trail
from slowwave.compaction.live.trail import Trail
from slowwave.dialects.model import SessionFiles
from slowwave.errors import UnreadableError
from slowwave.records.lines import open_regular
from slowwave.records.tail import BLOCK_BYTES

# Sessions up to this size are read as a whole; of longer ones no more than a plan needs is decoded.
WINDOW_BYTES = 2 << 20

_TRAILS: Mapping[str, Callable[[SessionFiles], Trail | None]] = {
    "cersei": cersei_trail,
    "crabtalk": crabtalk_trail,
    "ulid": ulid_trail,
    "pi": pi_trail,
    "openclaw": pi_trail,
    "claude": claude_trail,
    "codex": codex_trail,
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
    """

    records: Records
    trail: Trail
    start: int

    def may_answer(self, files: SessionFiles, calls: Collection[str]) -> bool:
        """Say whether calls with these ids may stand before these records.

        Raises:
            UnreadableError: a file cannot be read.
        """
        words = [call.encode("ascii", "replace") for call in calls]
        is_plain = all(map(_PLAIN_ID.fullmatch, words))  # others may be written in several ways
        return not is_plain or self.trail.mentions(files.paths, words, self.start)

    def earlier(self, dialect: str, files: SessionFiles, about: About) -> Earlier | None:
        """Return what lies before, None when nothing does."""
        return Earlier(files.paths, self.trail, self.start, KINDS[dialect], about) if self.start else None


def has_trail(dialect: str, files: SessionFiles) -> bool:
    """Say whether the trail of a session may be found at all: its files are there, and are not packed.

    Raises:
        OSError: a file cannot be looked at.
    """
    return dialect in _TRAILS and all(path.is_file() and path.suffix != ".zst" for path in files.paths)


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
    find = _TRAILS.get(dialect)
    return find(files) if find is not None else None


def window_of(dialect: str, files: SessionFiles, trail: Trail, size: int) -> Window:
    """Return about the last ``size`` bytes of a context.

    Raises:
        UnreadableError: a file cannot be read, or has changed since.
    """
    start = trail.begin_of_end(size)
    records: list[tuple[Any, Any]] = list(trail.records(files.paths, KINDS[dialect].decoder, range(start, len(trail))))
    return Window(records, trail, start)
