"""The log and the metadata of a session with a ULID: made together, kept in agreement.

Whoever writes holds the lock of the log. The metadata are written after it, so after a kill in between they lag behind
it; the next writer sees that by the time of the last message, and counts anew.
"""

import errno
import os
from pathlib import Path
from typing import NamedTuple

from slowwave.errors import CorruptStateError
from slowwave.files import TEMP_PREFIX, at_fault_point, atomic_write, fsync_folder, private_folder
from slowwave.formats.lines import read_records
from slowwave.formats.model import REFUSALS, Problem
from slowwave.formats.salvage import clean
from slowwave.formats.tail import lines_backward
from slowwave.formats.ulid.dialect import DECODER, Record, integer, is_message
from slowwave.formats.ulid.metadata import METADATA, Counted, checked_ulid, encoded, read_metadata, rebuilt

LOG = "session.jsonl"
# A writer without a lock may have put a smaller number behind a larger one, but not far.
_NEAR_RECORDS = 32
# What is counted in a millisecond is counted every time.
_COUNTED_BYTES = 1 << 20


class End(NamedTuple):
    """What the end of a log says.

    Attributes:
        seq: the largest number, 0 without records.
        last: the timestamp of the last message, "" without one.
        is_distinct: the message before it has another timestamp, so that this one tells where the log ended.
    """

    seq: int
    last: str
    is_distinct: bool


def log_path(folder: Path, session_id: str) -> Path:
    """Return the log of a session in ``folder``; the id is checked before a path is made of it.

    Raises:
        UsageError: the id is no ULID.
    """
    return folder / checked_ulid(session_id) / LOG


def end_of(path: Path) -> End:
    """Return what the end of a log says, without reading the rest.

    Raises:
        UnreadableError: it cannot be read.
    """
    seq = seen = 0
    times: list[str] = []
    for _, raw in lines_backward(path):
        record = _decoded(raw)
        if record is None:
            continue
        seq = max(seq, integer(record.seq) or 0)
        if is_message(record):
            times.append(record.timestamp if isinstance(record.timestamp, str) else "")
        seen += 1
        if seen >= _NEAR_RECORDS and seq and len(times) > 1:
            break
    return End(seq, times[0] if times else "", len(times) == 1 or (len(times) > 1 and times[0] != times[1]))


def counted(path: Path) -> Counted:
    """Return what a whole log says.

    Raises:
        UnreadableError: it cannot be read.
    """
    problems: list[Problem] = []
    messages = 0
    last = ""
    for _, record in read_records(path, DECODER, problems):
        if is_message(record):
            messages += 1
            last = record.timestamp if isinstance(record.timestamp, str) else last
    return Counted(messages, last)


def create(
    folder: Path, session_id: str, metadata: dict[str, object], log: bytes = b"", *, fsync: bool = False
) -> Path:
    """Make the folder of a session with its log and its metadata, whole or not at all; return the log (S7.1).

    Raises:
        FileExistsError: the session exists.
        OSError: the disk is full, or the folder cannot be written to.
    """
    path = log_path(folder, session_id)
    private_folder(folder)
    temp = folder / f"{TEMP_PREFIX}{os.getpid()}-{os.urandom(4).hex()}"
    at_fault_point("mkdir", temp)
    temp.mkdir(mode=0o700)
    try:
        atomic_write(temp / LOG, log)
        atomic_write(temp / METADATA, encoded(metadata))
        at_fault_point("rename", path.parent)
        _take_name(temp, path.parent)
    except BaseException:
        for name in (LOG, METADATA):
            (temp / name).unlink(missing_ok=True)
        temp.rmdir()
        raise
    if fsync:
        fsync_folder(folder)
    return path


def _take_name(temp: Path, folder: Path) -> None:
    # a rename would take the place of an empty folder, which a client may be about to fill
    if os.path.lexists(folder):
        raise FileExistsError(errno.EEXIST, "exists already", os.fspath(folder))
    try:
        temp.rename(folder)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):  # another one was faster
            raise FileExistsError(errno.EEXIST, "exists already", os.fspath(folder)) from error
        raise


def metadata_of(path: Path) -> dict[str, object]:
    """Return the metadata of the log at ``path`` as they should be, whatever the file beside it says.

    Raises:
        UnreadableError: the log cannot be read.
    """
    try:
        known = read_metadata(path.with_name(METADATA))
    except CorruptStateError:
        known = {}  # the log is the truth; reading the session reports the file
    known_count = integer(known.get("messageCount"))
    count = Counted(known_count, end_of(path).last) if known_count and _tells(known, path) else counted(path)
    return rebuilt(known, path.parent.name, count)


def write_metadata(path: Path, metadata: dict[str, object]) -> None:
    """Replace the metadata of the log at ``path`` in one step."""
    atomic_write(path.with_name(METADATA), encoded(metadata))


def _tells(known: dict[str, object], path: Path) -> bool:
    """Say whether the metadata of a large log were written after its last message, so that their count holds."""
    if path.stat().st_size < _COUNTED_BYTES:
        return False
    end = end_of(path)
    return end.is_distinct and bool(end.last) and known.get("lastMessageAt") == end.last


def _decoded(raw: bytes) -> Record | None:
    try:
        return DECODER.decode(clean(raw.strip(b" \t\r\n\0")))
    except REFUSALS:
        return None
