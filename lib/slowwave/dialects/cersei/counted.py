"""What was counted before the newest summary of a Cersei session, kept so that only new lines are looked at next time.

It is a cache by the rules of the catalogue: files with the same device, inode, size and time are trusted, one that has
grown by the hash of the bytes before the cursor as well. Throwing it away costs nothing but time.
"""

from typing import NamedTuple

import msgspec

from slowwave.dialects.base import Notes
from slowwave.dialects.cersei.glance import Glance, Seen
from slowwave.dialects.model import SessionFiles
from slowwave.errors import UnreadableError
from slowwave.records.cursor import hash_before
from slowwave.records.lines import open_regular

# Counting what is shorter costs less than a millisecond or two of keeping it.
LEAST_BYTES = 4 << 20


class File(NamedTuple):
    """A part as it was before it was read."""

    dev: int
    ino: int
    size: int
    mtime_ns: int


class _Count(msgspec.Struct, array_like=True, frozen=True):
    """What stands before byte ``cursor`` of the last of some parts, and the hash of the bytes before it."""

    version: int
    files: list[File]
    cursor: int
    check: bytes
    seen: Seen


_VERSION = 2
_DECODER = msgspec.msgpack.Decoder(_Count)


def _files_of(files: SessionFiles) -> list[File]:
    """Return the parts as they are now.

    Raises:
        UnreadableError: a part is missing.
    """
    found: list[File] = []
    for path in files.paths:
        try:
            at = path.stat()
        except OSError as error:
            raise UnreadableError(path, error.strerror or "cannot be read") from error
        found.append(File(at.st_dev, at.st_ino, at.st_size, at.st_mtime_ns))
    return found


class Counted:
    """The counts of one session in some notes.

    Args:
        notes: where they are kept; None to count every time.
        files: the session.

    Raises:
        UnreadableError: a part is missing.
    """

    def __init__(self, notes: Notes | None, files: SessionFiles) -> None:
        self._notes = notes
        self._paths = files.paths
        self._now = _files_of(files) if notes else []
        self._fresh: _Count | None = None

    def glance_before(self, part: int, stop: int) -> Glance:
        """Return what stands before byte ``stop`` of a part, which begins a line; look only at what is new.

        Raises:
            UnreadableError: a part cannot be opened or read.
        """
        known = self._known(part, stop)
        glance, is_plain = self._glanced(part, stop, known)
        if not glance.is_exact:  # something was deleted of which the note has the number only
            known = None
            glance, is_plain = self._glanced(part, stop, None)
        before = self._bytes(len(known.files) - 1, known.cursor) if known else 0
        if self._notes and is_plain and self._bytes(part, stop) - before >= LEAST_BYTES:
            self._fresh = _Count(_VERSION, self._now[: part + 1], stop, self._hash(part, stop), glance.seen())
        return glance

    def _glanced(self, part: int, stop: int, known: _Count | None) -> tuple[Glance, bool]:
        """Look at what a note does not tell; say whether the last line was a plain one, too."""
        glance = Glance(known.seen if known else None)
        first, at = (len(known.files) - 1, known.cursor) if known else (0, 0)
        is_plain = True
        for index in range(first, part + 1):
            is_plain = glance.add_file(self._paths[index], stop if index == part else None, start=at)
            at = 0
        return glance, is_plain

    def keep(self) -> None:
        """Keep what was counted; the caller has made sure that the parts did not change meanwhile."""
        if self._notes and self._fresh:
            self._notes.put(self._name, msgspec.msgpack.encode(self._fresh))

    def _known(self, part: int, stop: int) -> _Count | None:
        """Return what was counted, when all of it stands before byte ``stop`` of a part and has not changed."""
        note = self._notes.get(self._name) if self._notes else None
        if note is None:
            return None
        try:
            known = _DECODER.decode(note)
        except msgspec.MsgspecError:
            return None  # of another version, or damaged: it is counted again and written anew
        last = len(known.files) - 1
        if known.version != _VERSION or not 0 <= last < len(self._now) or (last, known.cursor) > (part, stop):
            return None
        return known if self._holds(known, last) else None

    def _holds(self, known: _Count, last: int) -> bool:
        then, now = known.files[last], self._now[last]
        if known.files[:last] != self._now[:last] or (then.dev, then.ino) != (now.dev, now.ino):
            return False
        return then == now or (then.size < now.size and self._hash(last, known.cursor) == known.check)

    def _bytes(self, part: int, stop: int) -> int:
        return sum(file.size for file in self._now[:part]) + stop

    def _hash(self, part: int, cursor: int) -> bytes:
        with open_regular(self._paths[part]) as file:
            return hash_before(file.fileno(), cursor)

    @property
    def _name(self) -> str:
        """The name of its note: what tells a file from all others, however it is called."""
        return f"cersei-{self._now[0].dev:x}-{self._now[0].ino:x}"
