"""What stands before the newest summary of a Cersei session, looked at without decoding what its messages say.

Whatever this cannot read as exactly one entry of a known type (damage, glued lines, types of tomorrow) is read as
everywhere else, so that messages, tombstones and summaries are those that the whole session has.
"""

from bisect import bisect_left
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from slowwave.dialects.cersei.records import MESSAGE_TYPES, Body, Entry
from slowwave.errors import UnreadableError
from slowwave.records.lines import open_regular, read_records
from slowwave.records.model import REFUSALS, Problem

# Oddities come in groups, and every one by itself would open the file again.
_ODD_LINES = 100
# Small enough to stay in the processor's cache from reading to decoding.
_BLOCK_BYTES = 128 << 10
# So many uuids are packed at a time: as objects they would be most of the memory that a context needs.
_PACKED = 4096


class _Fields(msgspec.Struct, tag_field="type", gc=False):
    """All fields of an entry: a value of another type makes it none, as in :class:`Entry`."""

    uuid: str | None = None
    parent_uuid: str | None = None
    timestamp: str | None = None
    session_id: str | None = None
    cwd: str | None = None
    is_sidechain: bool | None = None
    message: Body | None = None
    summary: str | None = None
    messages_compacted: int | None = None
    deleted_uuid: str | None = None


class _Message(_Fields, gc=False):
    pass


class _User(_Message, tag="user", gc=False):
    pass


class _Assistant(_Message, tag="assistant", gc=False):
    pass


class _System(_Message, tag="system", gc=False):
    pass


class _Marker(_Fields, gc=False):
    pass


class _Tombstone(_Marker, tag="tombstone", gc=False):
    pass


class _Summary(_Marker, tag="summary", gc=False):
    pass


_Lean = _User | _Assistant | _System | _Tombstone | _Summary
_LEAN: msgspec.json.Decoder[_Lean] = msgspec.json.Decoder(_Lean)
_WHOLE = msgspec.json.Decoder(Entry)
_PACK = msgspec.msgpack.Encoder()
_UNPACK = msgspec.msgpack.Decoder(list[str | None])


class Seen(NamedTuple):
    """All that counts of what was looked at; of the messages, how many they are and which of them are deleted.

    A tombstone that comes later may delete more of them. Then there are fewer than are counted here, never more.
    """

    messages: int
    gone: list[int]
    summaries: list[tuple[int, int, str | None]]
    deleted: list[str]


class Glance:
    """Tombstones, summaries and the number of messages, in the order in which they were added.

    Args:
        before: what was seen of the same session before the first thing that is added.

    Attributes:
        deleted: what tombstones delete.
    """

    def __init__(self, before: Seen | None = None) -> None:
        self._before = before or Seen(0, [], [], [])
        self.deleted: set[str] = set(self._before.deleted)
        self._count = self._before.messages
        self._summaries: list[tuple[int, int, str | None]] = [*self._before.summaries]
        self._uuids: list[str | None] = []
        self._packed: list[bytes] = []

    def seen(self) -> Seen:
        """Return what was seen so far, with which another one can go on."""
        return Seen(self._count, self._gone(), self._summaries.copy(), sorted(self.deleted))

    def add_file(self, path: Path, stop: int | None, *, start: int = 0) -> bool:
        """Look at the lines of a file from byte ``start`` on, or at those before byte ``stop``; each begins a line.

        Returns:
            Whether the last line was a plain one, so that the next one surely begins with a record of its own.

        Raises:
            UnreadableError: the file cannot be opened or read.
        """
        at = start
        while at >= 0 and (stop is None or at < stop):
            at = self._plain(path, at, stop)
            if at >= 0:
                at = self._odd(path, at, stop)
            else:
                return True
        return at == start

    def add(self, entry: Entry) -> None:
        """Count one entry."""
        if entry.type == "tombstone":
            self._mark(entry, deletes=True)
        elif entry.type == "summary":
            self._mark(entry, deletes=False)
        elif entry.type in MESSAGE_TYPES and entry.message is not None:
            self._say([entry.uuid])

    @property
    def is_exact(self) -> bool:
        """Whether no message is deleted of which only the number is known."""
        return self._before.messages == 0 or self.deleted <= set(self._before.deleted)

    def kept(self) -> int:
        """Return how many messages before the last summary stay; each summary hides the oldest that are left."""
        gone = self._gone()
        hidden = total = 0
        for count, number, uuid in self._summaries:
            if uuid not in self.deleted:
                total = count - bisect_left(gone, count)
                hidden = min(hidden + max(0, number), total)
        return total - hidden

    def _gone(self) -> list[int]:
        """Return which messages tombstones delete."""
        if not self.deleted:
            return []
        packs = [*map(_UNPACK.decode, self._packed), self._uuids]
        gone = self._before.gone.copy()
        before = self._before.messages
        for uuids in packs:
            if not self.deleted.isdisjoint(uuids):
                gone += [before + index for index, uuid in enumerate(uuids) if uuid in self.deleted]
            before += len(uuids)
        return gone

    def _say(self, uuids: list[str | None]) -> None:
        self._count += len(uuids)
        self._uuids += uuids
        if len(self._uuids) >= _PACKED:
            self._packed.append(_PACK.encode(self._uuids))
            self._uuids.clear()

    def _mark(self, entry: "Entry | _Marker", *, deletes: bool) -> None:
        if not deletes:
            self._summaries.append((self._count, entry.messages_compacted or 0, entry.uuid))
        elif entry.deleted_uuid is not None:
            self.deleted.add(entry.deleted_uuid)

    def _plain(self, path: Path, at: int, stop: int | None) -> int:
        """Look at plain lines from byte ``at`` on; return where the first other one begins, -1 behind the last line."""
        with open_regular(path) as file:
            try:
                file.seek(at)
                while stop is None or at < stop:
                    lines = file.readlines(_BLOCK_BYTES)
                    if not lines:
                        break
                    if stop is not None:
                        _cut(lines, stop - at)
                    read = self._take(lines)
                    at += sum(map(len, lines[:read]))
                    if read < len(lines):
                        return at
            except OSError as error:
                raise UnreadableError(path, error.strerror or "cannot be read") from error
        return -1

    def _take(self, lines: list[bytes]) -> int:
        """Count what plain lines say; return how many there are before the first other one."""
        entries: list[_Lean] = []
        with suppress(*REFUSALS):
            entries.extend(map(_LEAN.decode, lines))
        begin = 0
        for index, entry in enumerate(entries):
            if isinstance(entry, _Marker):
                self._say(_uuids(entries[begin:index]))
                self._mark(entry, deletes=isinstance(entry, _Tombstone))
                begin = index + 1
        self._say(_uuids(entries[begin:]))
        return len(entries)

    def _odd(self, path: Path, at: int, stop: int | None) -> int:
        """Look at some lines as every reading does; return where the next record begins, or -1."""
        ignored: list[Problem] = []
        for span, entry in read_records(path, _WHOLE, ignored, start=at):
            if (stop is not None and span.offset >= stop) or span.number > _ODD_LINES:
                return span.offset
            self.add(entry)
        return -1


def _uuids(entries: list[_Lean]) -> list[str | None]:
    return [entry.uuid for entry in entries if entry.message is not None]


def _cut(lines: list[bytes], most: int) -> None:
    """Drop the lines at the end that lie behind the first ``most`` bytes."""
    size = sum(map(len, lines))
    while size > most:
        size -= len(lines.pop())
