"""Ids and times of what is appended, derived from the session itself: the same input leaves the same bytes."""

import hashlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from slowwave.formats.lines import open_regular

_TAIL_BYTES = 4096


def content_stamp(paths: Sequence[Path]) -> str:
    """Return what changes whenever something is appended to one of these files, or its end is rewritten.

    Raises:
        UnreadableError: a file cannot be opened.
    """
    digest = hashlib.sha256()
    for path in paths:
        with open_regular(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            digest.update(b"%d\0%b\0" % (size, file.read()))
    return digest.hexdigest()[:32]


def ids_of(session: str, stamp: str) -> Callable[[], str]:
    """Return a maker of UUIDs that gives the same ones for the same content of the same session."""
    number = 0

    def make() -> str:
        nonlocal number
        number += 1
        return str(
            UUID(
                bytes=hashlib.sha256(f"{session}\0{stamp}\0{number}".encode(errors="replace")).digest()[:16], version=4
            )
        )

    return make


def time_of(at: datetime | None, paths: Sequence[Path]) -> datetime:
    """Return the time of a compaction: that of the last message, else of the last change.

    A session that was compacted must not look as if somebody had worked in it.
    """
    return at or datetime.fromtimestamp(max(path.stat().st_mtime for path in paths), UTC)
