"""The end of a live context, and the trail of what lies before it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from slowwave.compaction.live.claude import claude_trail
from slowwave.compaction.live.codex import codex_trail
from slowwave.compaction.live.earlier import Earlier
from slowwave.compaction.live.items import KINDS, About, Records
from slowwave.compaction.live.linear import cersei_trail, crabtalk_trail, ulid_trail
from slowwave.compaction.live.pi import pi_trail
from slowwave.compaction.live.trail import Trail
from slowwave.dialects.model import SessionFiles

# Sessions up to this size are read as a whole; of longer ones this much is decoded, more where the plan needs it.
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
# Their trails are walked from the end: a session that was compacted shows it at once.
BACKWARD = ("pi", "openclaw", "claude")


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

    def earlier(self, dialect: str, files: SessionFiles, about: About) -> Earlier | None:
        """Return what lies before, None when nothing does."""
        return Earlier(files.paths, self.trail, self.start, KINDS[dialect], about) if self.start else None


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
    records: list[tuple[Any, Any]] = list(trail.records(files.paths, KINDS[dialect].decoder, start))
    return Window(records, trail, start)
