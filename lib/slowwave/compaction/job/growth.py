"""What an append left in the files of a session, and how exactly that is taken away again."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from slowwave.errors import MovedError
from slowwave.files import at_fault_point, fsync_folder
from slowwave.formats.append import SUFFIX, locked_file, numbered_parts, session_stem
from slowwave.formats.lines import open_regular

# Of an append: nothing of it is there; it is the end of the file; something follows it; what is there is not it.
State = Literal["absent", "written", "followed", "other"]


class Growth(NamedTuple):
    """The one file that grew, or was made (``before`` is None)."""

    path: Path
    before: int | None
    after: int
    sha256: str
    mtime_ns: int


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

    Raises:
        MovedError: nothing or several files did, or one shrank: somebody else wrote to them meanwhile.
    """
    changed = [path for path in paths if path not in before or path.stat().st_size != before[path].st_size]
    if len(changed) != 1:
        raise MovedError(f"{paths[0]}: {len(changed)} files changed where one was to; somebody else wrote to them")
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


def state_of(grown: Growth) -> State:
    """Say, under the lock of the file, what became of an append that was begun.

    Raises:
        LockHeldError: another process held the lock all the time.
        UnreadableError: the file cannot be opened.
    """
    if not os.path.lexists(grown.path):
        return "absent"
    with locked_file(grown.path) as fd:
        size = os.fstat(fd).st_size
        if size <= (grown.before or 0):
            return "absent"
        if size < grown.after or _digest(grown.path, grown.before or 0, grown.after) != grown.sha256:
            return "other"
        return "written" if size == grown.after else "followed"


def keep_time(grown: Growth) -> None:
    """Give the file the time that it had: a compaction is no work of a person's.

    Clients go on with the session that changed last, and count the age of a session from its file's time.
    """
    stat = grown.path.stat()
    if stat.st_size == grown.after:
        os.utime(grown.path, ns=(stat.st_atime_ns, grown.mtime_ns))


def take_back(grown: Growth) -> None:
    """Cut off exactly what was appended, under the lock of the file.

    Raises:
        MovedError: something was appended behind it, or it is not what was appended; nothing was changed.
        LockHeldError: another process held the lock all the time.
        UnreadableError: the file cannot be opened.
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
