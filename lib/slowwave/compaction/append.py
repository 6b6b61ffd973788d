"""One append to one session: a compaction or a pruning, under its lock, then read back, and taken back again.

It is taken away at once when the client would not go on from exactly the summary and what was to stay. It is noted
before the transcript is touched and again when it stands; what a killed run left is settled by what the one tells of
the other; and the last compaction can be cut off again, byte for byte.
"""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from slowwave.compaction.book import (
    Appended,
    Book,
    Compacting,
    Expected,
    Pending,
    alone,
    content_stamp,
    ids_of,
    note_compaction,
    noted,
    read_book,
    time_of,
    write_book,
)
from slowwave.compaction.items import Item, Reading, read_session
from slowwave.compaction.plan import Plan, tokens_after
from slowwave.context import FixedClock, SystemClock
from slowwave.errors import MovedError, NotFoundError, SlowwaveError
from slowwave.files import at_fault_point, fsync_folder
from slowwave.formats import Block, SessionFiles, ToolResult
from slowwave.formats.lines import open_regular
from slowwave.formats.registry import by_name, client_of, read_for_context
from slowwave.formats.sessions import SUFFIX, FoundFile, FoundSession, StoredSession, numbered_parts, session_stem
from slowwave.formats.writing import Means
from slowwave.journal import Outcome, outcome
from slowwave.locks import locked_file
from slowwave.settings import Settings
from slowwave.stores.roots import Opened, Writers, held


class CompactionError(SlowwaveError):
    """A compaction that would not have done what its plan says; the session is as it was."""


class Growth(NamedTuple):
    """The one file that grew, or was made (``before`` is None)."""

    path: Path
    before: int | None
    after: int
    sha256: str
    mtime_ns: int


class Written(NamedTuple):
    """What was appended, and what the client calls the summary."""

    growth: Growth
    message: str


Intend = Callable[[Growth], None]


class Order(NamedTuple):
    """What is to be appended to a session."""

    session: StoredSession  # the session
    stamp: str  # its content when it was planned
    at: datetime | None  # when its last message was written, where messages tell
    write: Callable[[Opened], str]  # has the writer append it, and returns what the client calls it
    expected: Expected  # what the client has to go on from


def append(order: Order, settings: Settings, home: Path, intend: Intend) -> Written:
    """Append to a session and look at what the client goes on from.

    ``home``: the home folder of the person whose session it is; ``intend``: is told what will have grown, right before
    it does; what it notes outlives a kill. Raises MovedError: the session changed since it was planned; nothing was
    appended, or nobody can tell what was; RefusedError: a client has it open, or another process holds its lock;
    UsageError: the client knows no such record, or not in this file; CompactionError: the client would go on from
    something else; what was appended is gone again; OSError: the disk is full; nothing of it stays.
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
        now = files_now(session)
        grown = growth_of(before, now)
        own = own_part(grown, meant[-1])
        try:
            _check(order, SessionFiles(session.id, tuple(now)), grown, own)
        except BaseException:
            take_back(own)
            opened.writer.refresh(opened.target)
            raise
        keep_time(grown)
    return Written(grown, message)


def _check(order: Order, files: SessionFiles, grown: Growth, own: Growth) -> None:
    if own != grown:
        raise MovedError(f"{grown.path}: a client wrote to it at the same moment; the next run looks at it again")
    if wrong := difference(order.session.dialect, files, order.expected):
        raise CompactionError(f"{files.paths[0]}: {wrong}; nothing was changed")


def found_of(session: StoredSession) -> FoundSession:
    """Return a session as writers look for it, with its files as they are now. Raises OSError: a file is gone."""
    paths = session.files.paths
    files = [FoundFile(p.name, (at := p.stat()).st_size, at.st_mtime_ns, at.st_dev, at.st_ino) for p in paths]
    source = session.source if session.source in ("archived", "reset", "deleted", "backup") else ""
    return FoundSession(str(paths[0].parent), session.id, files, session.kind == "subagent", source=source)


# What an append left in the files of a session, and how exactly that is taken away again.


def files_of(path: Path) -> list[Path]:
    """Return the files of a session as they lie there now, parts in order: an append may begin a new part."""
    if path.suffix != SUFFIX:
        return [path]
    base = path.with_name(session_stem(path.name)[0] + SUFFIX)
    numbers = numbered_parts(base)
    return [base.with_name(numbers[n]) for n in sorted(numbers)] if set(numbers) - {1} else [path]


def sizes_of(paths: Sequence[Path]) -> dict[Path, os.stat_result]:
    """Return what is known of files before an append."""
    return {path: path.stat() for path in paths}


def growth_to_be(before: Mapping[Path, os.stat_result], path: Path, size: int, data: bytes) -> Growth:
    """Return what an append of ``data`` behind ``size`` bytes of a file will leave."""
    old = before.get(path)
    start = None if old is None else size
    return Growth(path, start, size + len(data), hashlib.sha256(data).hexdigest(), _time_of(before, path))


def growth_of(before: Mapping[Path, os.stat_result], paths: Sequence[Path]) -> Growth:
    """Return what grew.

    Raises MovedError: nothing or several files did, or one shrank: somebody else wrote to them meanwhile.
    """
    changed = [path for path in paths if path not in before or path.stat().st_size != before[path].st_size]
    if len(changed) != 1:
        raise MovedError(f"{paths[0]}: {len(changed)} files changed instead of one; somebody else wrote to them")
    path = changed[0]
    old = before.get(path)
    start, after = 0 if old is None else old.st_size, path.stat().st_size
    if after < start:
        raise MovedError(f"{path}: became shorter while it was written to")
    digest = _digest(path, start, after)
    return Growth(path, None if old is None else start, after, digest, _time_of(before, path))


def _time_of(before: Mapping[Path, os.stat_result], path: Path) -> int:
    """Return the time that a file had, of a new part that of the newest one before it."""
    old = before.get(path)
    return (old or max(before.values(), key=lambda stat: stat.st_mtime_ns)).st_mtime_ns


def own_part(grown: Growth, meant: Growth) -> Growth:
    """Return what of a growth is the append that was meant: all of it, but where a client wrote right before it."""
    if (grown.before, grown.after, grown.sha256) == (meant.before, meant.after, meant.sha256):
        return grown
    start = grown.after - (meant.after - (meant.before or 0))
    # its time is that of the client's words now
    return Growth(grown.path, max(start, 0), grown.after, meant.sha256, grown.path.stat().st_mtime_ns)


def state_of(grown: Growth) -> Outcome:
    """Say, under the lock of the file, what became of an append that was begun.

    Raises LockHeldError: another process held the lock all the time.
    """
    if not os.path.lexists(grown.path):
        return "absent"
    with locked_file(grown.path) as fd, os.fdopen(fd, "rb", closefd=False) as file:
        return outcome(file, grown.before or 0, grown.after, grown.sha256)


def keep_time(grown: Growth) -> None:
    """Give the file the time that it had: a compaction is no work of a person's.

    Clients go on with the session that changed last, and count the age of a session from its file's time.
    """
    stat = grown.path.stat()
    if stat.st_size == grown.after:
        os.utime(grown.path, ns=(stat.st_atime_ns, grown.mtime_ns))


def take_back(grown: Growth) -> None:
    """Cut off exactly what was appended, under the lock of the file.

    Raises MovedError: something was appended behind it, or it is not what was appended, nothing was changed;
    LockHeldError: another process held the lock all the time.
    """
    with locked_file(grown.path) as fd:
        size = os.fstat(fd).st_size
        if size != grown.after:
            what = "was appended behind it" if size > grown.after else "is missing at its end"
            raise MovedError(f"{grown.path}: something {what}, so the compaction stays; fork the session before it")
        if _digest(grown.path, grown.before or 0, grown.after) != grown.sha256:
            raise MovedError(f"{grown.path}: its end is not what was appended; nothing was changed")
        at_fault_point("write", grown.path)
        if grown.before is None:
            grown.path.unlink()
            fsync_folder(grown.path.parent)
            return
        os.ftruncate(fd, grown.before)
        os.fsync(fd)
        stat = os.fstat(fd)
        os.utime(fd, ns=(stat.st_atime_ns, grown.mtime_ns))


def _digest(path: Path, start: int, stop: int) -> str:
    with open_regular(path) as file:
        file.seek(start)
        return hashlib.sha256(file.read(stop - start)).hexdigest()


# What a client has to go on from after a compaction, noted before it is appended, and whether it does.
#
# The note can be kept: after a kill between the append and its check the next run looks with other eyes, and must not
# need the plan for it.


def expected_of(reading: Reading, plan: Plan, summary: str) -> Expected:
    """Return what a client goes on from once a plan is carried out."""
    stays = [item for item in plan.kept if item.speaks]
    after = tokens_after(reading, plan, summary)
    return Expected(summary.strip(), digest_of(stays), len(stays), reading.guess, after)


def difference(dialect: str, files: SessionFiles, expected: Expected) -> str:
    """Read a session again and say what its client would do other than expected; "" where it does exactly that.

    Raises UnreadableError, UsageError: as :func:`slowwave.compaction.items.read_session`.
    """
    after = read_session(dialect, files)
    at = -1
    if not expected.is_whole:
        at = next((i for i in range(len(after.items) - 1, -1, -1) if after.items[i].kind == "compaction"), -1)
        message = after.items[at].message if at >= 0 else None
        if message is None or expected.summary not in message.text:
            return "the client would not send the summary"
    # Codex shows what a person asked in front of the summary
    stays = [item for item in after.items[at + 1 :] if item.speaks]
    if digest_of(stays) != expected.stays:
        return (
            f"the client would send {len(stays)} messages{'' if expected.is_whole else ' behind the summary'},"
            f" not the {expected.messages} of the plan"
        )
    if after.guess >= expected.guess:
        return f"{expected.guess:,} tokens would become {after.guess:,}, {expected.planned:,} were planned"
    return ""


def digest_of(items: Sequence[Item]) -> str:
    """Return what is the same for two ranges that show the model the same."""
    digest = hashlib.sha256()
    for item in items:
        if item.message is not None:
            shown = (item.message.role, tuple(map(_shown, item.message.blocks)))
            digest.update(repr(shown).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _shown(block: Block) -> object:
    """Return what the model sees of a block: whether a tool failed, some dialects tell by the text alone."""
    return ("result", block.id, block.text) if isinstance(block, ToolResult) else block


# What a kill leaves between a transcript and its book, and how nothing of it is lost.


def growth_in(done: Appended) -> Growth:
    """Return what a noted compaction let grow."""
    return Growth(Path(done.path), done.before, done.after, done.sha256, done.mtime_ns)


def is_open(book: Book) -> bool:
    """Say whether a run was killed while it wrote."""
    return book.pending is not None or book.is_undoing


def settle(book: Book, folder: Path, session: StoredSession, means: Means) -> str:
    """Finish what a killed run began, and return in a sentence what that was; "" when there is nothing to finish.

    A compaction that stands at the end of the file is read back as its own run would have done, and taken away again
    when its client would not go on from it. One that somebody has gone on from stands. Raises RefusedError: a client
    has the session open, or another process holds its lock; SlowwaveError: the session cannot be read; OSError: the
    state folder cannot be written.
    """
    told = ""
    if book.pending is not None:
        told = _settle_append(book, book.pending, session, means)
    elif book.is_undoing:
        told = _settle_undo(book, session)
    else:
        return ""
    write_book(folder, book)
    return told


def as_it_stands(book: Book, session: StoredSession) -> None:
    """Count a compaction that was noted and stands, for who only looks; nothing is written.

    Raises SlowwaveError: the session cannot be read, or its lock is held.
    """
    pending = book.pending
    if pending is not None and state_of(growth_in(pending.done)) in ("written", "followed"):
        book.succeed(_named(pending.done, session))
    if book.is_undoing and state_of(growth_in(book.compactions[-1])) == "absent":
        book.compactions = book.compactions[:-1]


def finish_undo(book: Book, session: StoredSession) -> Appended:
    """Take the last compaction out of a book once its bytes are gone."""
    last = book.compactions[-1]
    book.compactions, book.is_undoing = book.compactions[:-1], False
    book.undone_at = content_stamp([path for path in files_now(session) if path.exists()])
    return last


def files_now(session: StoredSession) -> list[Path]:
    """Return the files of a session as they lie there now."""
    paths = session.files.paths
    return files_of(paths[0]) if client_of(session.dialect).has_parts else list(paths)


def _settle_append(book: Book, pending: Pending, session: StoredSession, means: Means) -> str:
    grown = growth_in(pending.done)
    book.pending = None
    state = state_of(grown)
    if state not in ("written", "followed"):
        return _dropped(grown, state)
    if state == "written":
        opened = Writers(means).known(found_of(session))
        with held(opened):
            now = SessionFiles(session.id, tuple(files_now(session)))
            wrong = difference(session.dialect, now, pending.expected)
            if wrong:
                take_back(grown)
            opened.writer.refresh(opened.target)
            if wrong:
                return f"a run was interrupted while it compacted; {wrong}, so the compaction is gone again"
            keep_time(grown)
    book.succeed(_named(pending.done, session))
    return f"a run was interrupted while it compacted; the compaction {pending.done.id} stands and is noted now"


def _dropped(grown: Growth, state: Outcome) -> str:
    if state == "absent":
        if grown.before is None and grown.path.exists():
            grown.path.unlink()  # a part that was made, and nothing written to it
        return "a run was interrupted before it appended its compaction; nothing was changed"
    return f"a run was interrupted while it compacted; {grown.path} is incomplete from byte {grown.before or 0} on"


def _settle_undo(book: Book, session: StoredSession) -> str:
    last = book.compactions[-1]
    if state_of(growth_in(last)) == "absent":
        finish_undo(book, session)
        return f"a run was interrupted while it took {last.id} back; it is gone, and that is noted now"
    book.is_undoing = False
    return f"a run was interrupted before it took {last.id} back; the compaction stands"


def _named(done: Appended, session: StoredSession) -> Appended:
    """Return a note with what the client calls the summary, which only the append itself tells."""
    if done.source == "prune":
        return done
    dialect = by_name(session.dialect)
    files = SessionFiles(session.id, tuple(files_now(session)))
    part = files.paths.index(Path(done.path)) if Path(done.path) in files.paths else 0
    start = (part, done.before or 0)
    for message in dialect.context(read_for_context(dialect, files)):
        if message.origin == "summary" and any((s.part, s.offset) >= start for s in message.sources):
            return replace(done, message=message.id or "")
    return done


# An append that is noted before the transcript is touched and again when it stands, so that no kill hides it.


def noted_append(order: Order, note: Appended, book: Book, run: Compacting) -> Appended:
    """Append what was ordered, and return the note of it.

    ``note``: what is known of it already. Raises SlowwaveError: as :func:`append`; OSError: the disk is full.
    """

    def intend(grown: Growth) -> None:
        book.pending = Pending(with_growth(note, grown), order.expected)
        write_book(run.folder, book)

    try:
        grown, message = append(order, run.settings, run.home, intend)
    except Exception:
        # where something else stands now, a client wrote it, and what failed says so
        if book.pending is not None and state_of(growth_in(book.pending.done)) in ("absent", "other"):
            book.pending = None
            write_book(run.folder, book)
        raise
    done = with_growth(note, grown, message)
    book.succeed(done)
    write_book(run.folder, book)
    return done


def settled_book(session: StoredSession, run: Compacting) -> Book:
    """Return what is known of a session, with whatever a killed run left unfinished finished first.

    Raises CorruptStateError: the book is damaged; SlowwaveError, OSError: as :func:`settle`.
    """
    book = read_book(run.folder, session.id, session.dialect, session.files.paths[0])
    if run.dry_run:
        if is_open(book):
            as_it_stands(book, session)
        return book
    known = len(book.compactions)
    if told := settle(book, run.folder, session, Means(run.clock, run.home)):
        run.report.warnings.append(f"session {session.id}: {told}")
    if len(book.compactions) > known:
        count_compaction(session, run)
    return book


def count_compaction(session: StoredSession, run: Compacting) -> None:
    """Count a compaction where its client counts them, too."""
    if client_of(session.dialect).compacting.has_counters:
        noted(session, run, lambda: note_compaction(session.files.paths[0], session.id))


def with_growth(note: Appended, grown: Growth, message: str = "") -> Appended:
    """Return a note with what was written."""
    return replace(
        note,
        id=grown.sha256[:12],
        path=str(grown.path),
        before=grown.before,
        after=grown.after,
        sha256=grown.sha256,
        mtime_ns=grown.mtime_ns,
        message=message,
    )


# Undo: the last compaction that slowwave appended is cut off again, byte for byte, as long as nothing follows it.


def undo(session: StoredSession, folder: Path, home: Path) -> Appended:
    """Take back the last compaction of a session, and do not compact it again by itself until it has changed.

    Raises NotFoundError: slowwave knows of no compaction that it appended; MovedError: something was appended behind
    it, nothing was changed; RefusedError: a client has the session open, or another run is at it.
    """
    with alone(session, folder):
        return _undone(session, folder, home)


def _undone(session: StoredSession, folder: Path, home: Path) -> Appended:
    means = Means(SystemClock(), home)
    book = read_book(folder, session.id, session.dialect, session.files.paths[0])
    settle(book, folder, session, means)
    if not book.compactions:
        raise NotFoundError(f"session {session.id}: slowwave has appended no compaction to it that could be taken back")
    opened = Writers(means).known(found_of(session))
    with held(opened):
        book.is_undoing = True
        write_book(folder, book)
        try:
            take_back(growth_in(book.compactions[-1]))
        except Exception:
            book.is_undoing = False
            write_book(folder, book)
            raise
        opened.writer.refresh(opened.target)
    last = finish_undo(book, session)
    write_book(folder, book)
    return last
