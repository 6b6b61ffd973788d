"""Taking sessions out of a pack for good: a new pack without them takes its place in one step, or nothing changes.

The frames of what stays are copied as they are. A dictionary holds pieces of the files that it was trained on, so when
one of those goes, it goes, too: the small files that stay are compressed again with one of their own.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import zstandard
from msgspec.structs import replace

from slowwave.errors import CorruptStateError
from slowwave.files import at_fault_point, fsync_folder, replacement, write_all
from slowwave.stores.archive.compressing import compressor, packed_dictionary, train
from slowwave.stores.archive.model import MAGIC, VERSION, PackedFile, PackedSession, Table, digest
from slowwave.stores.archive.reading import Pack
from slowwave.stores.archive.tables import ending

_BLOCK = 4 << 20
# what stays of a session: all of it, less of its files, or nothing
Keep = Callable[[PackedSession], PackedSession | None]


def rewrite(path: Path, keep: Keep) -> None:
    """Leave out of a pack what does not stay; a pack in which nothing stays is removed, one that keeps all untouched.

    Raises:
        CorruptStateError: it is damaged, or what was written is not read back; it is as it was.
        OSError: the new pack cannot be written; the old one is as it was.
    """
    with Pack(path) as old:
        kept = [left for session in old.table.sessions if (left := keep(session)) is not None]
        if tuple(kept) == old.table.sessions:
            return
        if kept:
            with replacement(path) as new:
                _copy(old, kept, new)
        else:
            at_fault_point("unlink", path)
            path.unlink()
            fsync_folder(path.parent)


def _copy(old: Pack, kept: Sequence[PackedSession], new: int) -> None:
    """Write the sessions that stay, read them back and compare."""
    copier = _Copier(old, new, kept)
    sessions = tuple(replace(one, files=tuple(map(copier.file, one.files))) for one in kept)
    copier.put(ending(Table(VERSION, sessions, copier.dictionary), copier.at))
    with Pack(old.path, os.dup(new)) as pack:
        for before, after in zip(kept, pack.table.sessions, strict=True):
            for was, now in zip(before.files, after.files, strict=True):
                _compare(old, was, pack, now, again=copier.again)


class _Copier:
    """One new pack while it is written.

    Attributes:
        at: where the next byte goes.
        dictionary: where the dictionary lies in the new pack.
        again: what shared the old dictionary is compressed again.
    """

    def __init__(self, old: Pack, new: int, kept: Sequence[PackedSession]) -> None:
        self._old = old
        self._new = new
        self.at = 0
        self.put(MAGIC)
        shared = [file for session in kept for file in session.files if file.shared]
        learnt = sum(file.shared for session in old.table.sessions for file in session.files)
        self.again = len(shared) < learnt
        self.dictionary = 0, 0
        self._trained: zstandard.ZstdCompressionDict | None = None
        offset, length = old.table.dictionary
        if self.again:
            self._trained = train([(file, file.size) for file in shared if file.size], old.read)
            if self._trained is not None:
                self.dictionary = self.at, len(data := packed_dictionary(self._trained))
                self.put(data)
        elif length:
            self.dictionary = self.at, length
            self._raw(offset, length)
        self._packer = compressor(self._trained)

    def put(self, data: bytes) -> None:
        """Write bytes."""
        write_all(self._new, data)
        self.at += len(data)

    def file(self, file: PackedFile) -> PackedFile:
        """Copy one file and return where it lies now."""
        start = self.at
        if file.shared and self.again:
            chunks: list[tuple[int, int]] = []
            for block in self._old.blocks(file):
                packed = self._packer.compress(block)
                chunks.append((len(packed), len(block)))
                self.put(packed)
            return replace(file, start=start, chunks=tuple(chunks), shared=self._trained is not None)
        self._raw(file.start, sum(packed for packed, _ in file.chunks))
        return replace(file, start=start)

    def _raw(self, offset: int, length: int) -> None:
        end = offset + length
        for at in range(offset, end, _BLOCK):
            self.put(self._old.raw(at, min(_BLOCK, end - at)))


def _compare(old: Pack, was: PackedFile, new: Pack, now: PackedFile, *, again: bool) -> None:
    """Lay what was copied beside what it was copied from: compressed anew by its hash, else byte for byte."""
    if was.shared and again:
        found = digest()
        for block in new.blocks(now):
            found.update(block)
        same = found.hexdigest() == was.hash
    else:
        length = sum(packed for packed, _ in was.chunks)
        same = now.chunks == was.chunks and all(
            old.raw(was.start + at, min(_BLOCK, length - at)) == new.raw(now.start + at, min(_BLOCK, length - at))
            for at in range(0, length, _BLOCK)
        )
    if not same:
        raise CorruptStateError(old.path, f"{was.path} was not read back as it was packed", "run it again")
