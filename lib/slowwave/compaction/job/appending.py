"""One append to one session: a compaction or a pruning, under its lock, then read back.

It is taken away again when the client would not go on from exactly the summary and what was to stay.
"""

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from slowwave.clock import FixedClock
from slowwave.compaction.job.book import Expected
from slowwave.compaction.job.derived import content_stamp, ids_of, time_of
from slowwave.compaction.job.growth import (
    Growth,
    files_of,
    growth_of,
    growth_to_be,
    keep_time,
    own_part,
    sizes_of,
    take_back,
)
from slowwave.compaction.job.outcome import difference
from slowwave.errors import MovedError, SlowwaveError
from slowwave.formats.model import SessionFiles
from slowwave.settings import Settings
from slowwave.stores.model import StoredSession
from slowwave.stores.walk import FoundFile, FoundSession
from slowwave.stores.writing.base import Means
from slowwave.stores.writing.opened import Opened, Writers, held
from slowwave.stores.writing.ulid import UlidWriter


class CompactionError(SlowwaveError):
    """A compaction that would not have done what its plan says; the session is as it was."""


class Written(NamedTuple):
    """What was appended, and what the client calls the summary."""

    growth: Growth
    message: str


Intend = Callable[[Growth], None]


class Order(NamedTuple):
    """What is to be appended to a session.

    Attributes:
        session: the session.
        stamp: its content when it was planned.
        at: when its last message was written, where messages tell.
        write: has the writer append it, and returns what the client calls it.
        expected: what the client has to go on from.
    """

    session: StoredSession
    stamp: str
    at: datetime | None
    write: Callable[[Opened], str]
    expected: Expected


def append(order: Order, settings: Settings, home: Path, intend: Intend) -> Written:
    """Append to a session and look at what the client goes on from.

    Args:
        order: what is appended.
        settings: the settings in force.
        home: the home folder of the person whose session it is.
        intend: is told what will have grown, right before it does; what it notes outlives a kill.

    Raises:
        MovedError: the session changed since it was planned; nothing was appended, or nobody can tell what was.
        RefusedError: a client has it open, or another process holds its lock.
        UsageError: the client knows no such record, or not in this file.
        CompactionError: the client would go on from something else; what was appended is gone again.
        UnreadableError: a file of it cannot be opened.
        OSError: the disk is full; nothing of it stays.
    """
    session, paths = order.session, order.session.files.paths
    before: dict[Path, os.stat_result] = {}
    meant: list[Growth] = []

    def announce(path: Path, size: int, data: bytes) -> None:
        meant.append(growth_to_be(before, path, size, data))
        intend(meant[-1])

    means = Means(
        FixedClock(time_of(order.at, paths)),
        home,
        ids=ids_of(session.id, order.stamp),
        part_bytes=settings.store.part_bytes,
        fsync=True,
        announce=announce,
    )
    opened = Writers(means).known(found_of(session))
    with held(opened):
        if not paths or content_stamp(paths) != order.stamp:
            raise MovedError(f"session {session.id}: changed since it was planned; the next run looks at it again")
        before.update(sizes_of(paths))
        message = order.write(opened)
        now = files_of(paths[0]) if session.dialect == "cersei" else list(paths)
        grown = growth_of(before, now)
        own = own_part(grown, meant[-1])
        try:
            _check_alone(grown, own)
            _check(order, SessionFiles(session.id, tuple(now)))
        except BaseException:
            take_back(own)
            if isinstance(opened.writer, UlidWriter):
                opened.writer.refresh(opened.target)
            raise
        keep_time(grown)
    return Written(grown, message)


def _check_alone(grown: Growth, own: Growth) -> None:
    if own != grown:
        raise MovedError(f"{grown.path}: a client wrote to it at the same moment; the next run looks at it again")


def found_of(session: StoredSession) -> FoundSession:
    """Return a session as writers look for it, with its files as they are now.

    Raises:
        OSError: a file is gone.
    """
    paths = session.files.paths
    files = [FoundFile(p.name, (at := p.stat()).st_size, at.st_mtime_ns, at.st_dev, at.st_ino) for p in paths]
    source = session.source if session.source in ("archived", "reset", "deleted", "backup") else ""
    return FoundSession(str(paths[0].parent), session.id, files, session.kind == "subagent", source=source)


def _check(order: Order, files: SessionFiles) -> None:
    if wrong := difference(order.session.dialect, files, order.expected):
        raise CompactionError(f"{files.paths[0]}: {wrong}; nothing was changed")
