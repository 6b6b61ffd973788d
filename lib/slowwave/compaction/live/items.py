"""What there is to know of a dialect whose long sessions are not read as a whole."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from slowwave.compaction.items import Item
from slowwave.compaction.live.trail import Trail
from slowwave.formats.model import SessionFiles, Span

Records = Sequence[tuple[Span, Any]]


class About(NamedTuple):
    """What the whole of a session says about each of its records.

    Attributes:
        cwd: the working folder of the session.
        version: of the client (Claude Code).
    """

    cwd: str = ""
    version: tuple[int, int] = (2, 1)


class Kind(NamedTuple):
    """Where the records of a dialect stand, how they are decoded, and how they become items by their client's rules.

    Attributes:
        trail: finds the records of a context, None where the session has to be read as a whole.
        decoder: of one record.
        items: makes items of records that stand by themselves; the flag says that nothing follows them.
    """

    trail: Callable[[SessionFiles], Trail | None]
    decoder: msgspec.json.Decoder[Any]
    items: Callable[[Records, About, bool], list[Item]]
