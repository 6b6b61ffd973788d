"""One compaction of one session: appended under its lock, then read back.

It is taken away again when the client would not go on from exactly the summary and what was to stay.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from slowwave.clock import FixedClock
from slowwave.compaction.file_operations import FileOperations
from slowwave.compaction.job.derived import content_stamp, ids_of, time_of
from slowwave.compaction.job.growth import Growth, files_of, growth_of, keep_time, sizes_of, take_back
from slowwave.compaction.job.planning import tokens_after
from slowwave.compaction.job.reading import Reading, read_session, same_messages
from slowwave.compaction.plan import Plan
from slowwave.dialects.model import SessionFiles
from slowwave.errors import MovedError, SlowwaveError
from slowwave.settings import Settings
from slowwave.stores.model import StoredSession
from slowwave.stores.walk import FoundFile, FoundSession
from slowwave.stores.writing.base import Compaction, Means, checked
from slowwave.stores.writing.opened import Writers, held
from slowwave.stores.writing.ulid import UlidWriter


class CompactionError(SlowwaveError):
    """A compaction that would not have done what its plan says; the session is as it was."""


class Written(NamedTuple):
    """What was appended, and what the client calls the summary."""

    growth: Growth
    message: str


class Order(NamedTuple):
    """What is to be appended to a session.

    Attributes:
        session: the session.
        stamp: its content when the plan was made.
        reading: what was read of it then.
        plan: the plan.
        summary: the text that stands in the place of what goes away.
        files: files that were read and changed up to the kept range.
        tokens: the size of the context before.
        by_hand: a person asked for it.
        proof: how well the summary was proven.
    """

    session: StoredSession
    stamp: str
    reading: Reading
    plan: Plan
    summary: str
    files: FileOperations
    tokens: int
    by_hand: bool = False
    proof: Mapping[str, object] = {}


def append(order: Order, settings: Settings, home: Path) -> Written:
    """Append a compaction and look at what the client goes on from.

    Raises:
        MovedError: the session changed since it was planned; nothing was appended, or nobody can tell what was.
        RefusedError: a client has it open, or another process holds its lock.
        UsageError: the client knows no such record, or not in this file.
        CompactionError: the client would go on from something else; what was appended is gone again.
        UnreadableError: a file of it cannot be opened.
        OSError: the disk is full; nothing of it stays.
    """
    session, paths = order.session, order.session.files.paths
    means = Means(
        FixedClock(time_of(order.reading.at, paths)),
        home,
        ids=ids_of(session.id, order.stamp),
        part_bytes=settings.store.part_bytes,
        fsync=True,
    )
    compaction = _compaction(order)
    checked(compaction)
    opened = Writers(means).known(found_of(session))
    with held(opened):
        if not paths or content_stamp(paths) != order.stamp:
            raise MovedError(f"session {session.id}: changed since it was planned; the next run looks at it again")
        before = sizes_of(paths)
        message = opened.writer.compaction(opened.target, compaction)
        now = files_of(paths[0]) if session.dialect == "cersei" else list(paths)
        grown = growth_of(before, now)
        try:
            _check(order, now)
        except BaseException:
            take_back(grown)
            if isinstance(opened.writer, UlidWriter):
                opened.writer.refresh(opened.target)
            raise
        keep_time(grown)
    return Written(grown, message)


def found_of(session: StoredSession) -> FoundSession:
    """Return a session as writers look for it, with its files as they are now.

    Raises:
        OSError: a file is gone.
    """
    paths = session.files.paths
    files = [FoundFile(p.name, (at := p.stat()).st_size, at.st_mtime_ns, at.st_dev, at.st_ino) for p in paths]
    source = session.source if session.source in ("archived", "reset", "deleted", "backup") else ""
    return FoundSession(str(paths[0].parent), session.id, files, session.kind == "subagent", source=source)


def _compaction(order: Order) -> Compaction:
    plan, files = order.plan, order.files
    return Compaction(
        order.summary,
        plan.first_kept,
        order.tokens,
        tuple(files.read_files),
        tuple(files.modified_files),
        "manual" if order.by_hand else "auto",
        tokens_summarised=plan.tokens_summarised,
        proof=order.proof,
    )


def _check(order: Order, paths: Sequence[Path]) -> None:
    """Read the session again and compare what its client would send with the plan.

    Raises:
        CompactionError: it is something else.
    """
    plan = order.plan
    after = read_session(order.session.dialect, SessionFiles(order.session.id, tuple(paths)))
    at = next((i for i in range(len(after.items) - 1, -1, -1) if after.items[i].kind == "compaction"), None)
    message = after.items[at].message if at is not None else None
    if at is None or message is None or order.summary.strip() not in message.text:
        raise CompactionError(f"{paths[0]}: the client would not send the summary; nothing was changed")
    # Codex shows what a person asked in front of the summary
    stays = [item for item in (after.items[at + 1 :]) if item.speaks]
    if not same_messages(stays, [item for item in plan.kept if item.speaks]):
        raise CompactionError(
            f"{paths[0]}: the client would send {len(stays)} messages behind the summary, not the"
            f" {sum(item.speaks for item in plan.kept)} of the plan; nothing was changed"
        )
    if after.guess >= order.reading.guess:
        raise CompactionError(
            f"{paths[0]}: {order.reading.guess:,} tokens would become {after.guess:,},"
            f" {tokens_after(order.reading, plan, order.summary):,} were planned; nothing was changed"
        )
