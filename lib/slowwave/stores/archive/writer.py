"""Writing packs: compressed, read back and compared before the pack gets its name, so a pack that is there is whole."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import zstandard
from msgspec.structs import replace

from slowwave.errors import CorruptStateError, MovedError, RefusedError
from slowwave.files import at_fault_point, fsync_folder, private_folder, replacement, write_all
from slowwave.formats.notes import Note
from slowwave.stores.archive.pack import (
    CHUNK,
    MAGIC,
    SMALL,
    VERSION,
    Pack,
    PackedFile,
    PackedSession,
    Table,
    buffer_for,
    compressor,
    digest,
    ending,
    packed_dictionary,
    train,
)


class Wanted(NamedTuple):
    """A session that is to be packed: what is known of it (without files), and everything of it in the file system."""

    session: PackedSession
    paths: Sequence[Path]


def write_pack(path: Path, wanted: Sequence[Wanted]) -> Table:
    """Pack sessions into a new file, read it back, and return its table.

    Raises:
        MovedError: a file changed while it was read; there is no pack.
        CorruptStateError: what was read back is not what was packed; there is no pack.
        RefusedError: the pack exists, or something of a session is neither a file nor a folder nor a link.
        OSError: a file cannot be read, or the disk is full; there is no pack.
    """
    if os.path.lexists(path):
        raise RefusedError(f"{path}: exists already")
    private_folder(path.parent)
    try:
        # the hash of a chunk is taken while the chunk is compressed: both let other threads run
        with replacement(path, mode=0o600) as new, ThreadPoolExecutor(1) as pool:
            table = _Writer(new, pool).write(wanted)
            with Pack(path, os.dup(new)) as pack:
                _compare(pack)
    except BaseException:
        path.unlink(missing_ok=True)  # it has its name, but may not have it after a power cut
        raise
    return table


class _Writer:
    """One pack while it is written."""

    def __init__(self, fd: int, pool: Executor) -> None:
        self._fd = fd
        self._pool = pool
        self._at = 0
        self._plain = compressor()
        # for every chunk the same: memory that the kernel has to clear first costs a tenth of all time
        self._buffer = memoryview(bytearray(CHUNK))
        self._shared: zstandard.ZstdCompressor | None = None

    def write(self, wanted: Sequence[Wanted]) -> Table:
        self._put(MAGIC)
        found = [(one.session, [entry for path in one.paths for entry in _entries(path)]) for one in wanted]
        dictionary = self._dictionary([entry for _, entries in found for entry in entries])
        sessions = tuple(
            msgspec.structs.replace(session, files=tuple(self._entry(path, at) for path, at in entries))
            for session, entries in found
        )
        table = Table(VERSION, sessions, dictionary)
        self._put(ending(table, self._at))
        return table

    def _put(self, data: bytes) -> None:
        write_all(self._fd, data)
        self._at += len(data)

    def _dictionary(self, entries: Sequence[tuple[Path, os.stat_result]]) -> tuple[int, int]:
        """Train a dictionary on the small files, write it, and return where it lies."""
        small = [(path, at.st_size) for path, at in entries if stat.S_ISREG(at.st_mode) and 0 < at.st_size <= SMALL]
        trained = train(small, Path.read_bytes)
        if trained is None:
            return 0, 0
        data = packed_dictionary(trained)
        place = self._at, len(data)
        self._put(data)
        self._shared = compressor(trained)
        return place

    def _entry(self, path: Path, at: os.stat_result) -> PackedFile:
        name, mode, when = os.fspath(path), stat.S_IMODE(at.st_mode), at.st_mtime_ns
        if stat.S_ISDIR(at.st_mode):
            return PackedFile(name, "folder", mode, when)
        if stat.S_ISLNK(at.st_mode):
            return PackedFile(name, "link", mode, when, hash=os.fspath(path.readlink()))
        return self._file(path, at)

    def _file(self, path: Path, at: os.stat_result) -> PackedFile:
        shared = self._shared is not None and at.st_size <= SMALL
        packer = self._shared if self._shared is not None and shared else self._plain
        start = self._at
        check = digest()
        chunks: list[tuple[int, int]] = []
        with path.open("rb", buffering=0) as file:
            size = 0
            while number := _read(file.fileno(), self._buffer[: at.st_size - size]):
                data = self._buffer[:number]
                size += number
                hashed = self._pool.submit(check.update, data) if not shared else check.update(data)
                packed = packer.compress(data)
                if hashed is not None:
                    hashed.result()
                chunks.append((len(packed), number))
                self._put(packed)
            now = os.fstat(file.fileno())
        if (now.st_size, now.st_mtime_ns, now.st_ino, size) != (at.st_size, at.st_mtime_ns, at.st_ino, at.st_size):
            raise MovedError(f"{path}: somebody wrote to it while it was archived")
        mode = stat.S_IMODE(at.st_mode)
        return PackedFile(
            os.fspath(path), "file", mode, at.st_mtime_ns, size, check.hexdigest(), start, tuple(chunks), shared
        )


def _compare(pack: Pack) -> None:
    """Lay what the pack gives back beside what still lies in its place."""
    there, packed = (buffer_for(*pack.table.sessions) for _ in range(2))
    with memoryview(there) as into, memoryview(packed) as read:
        for file in (file for session in pack.table.sessions for file in session.files if file.kind == "file"):
            with Path(file.path).open("rb", buffering=0) as original:
                for number in pack.fill(file, packed):
                    # two memoryviews would be compared item by item
                    if _read(original.fileno(), into[:number]) != number or not there.startswith(read[:number]):
                        raise CorruptStateError(pack.path, f"{file.path} was not read back as it is", "run it again")


def _entries(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield ``path`` and, when it is a folder, everything in it, folders before their content."""
    at = path.lstat()
    if not (stat.S_ISREG(at.st_mode) or stat.S_ISDIR(at.st_mode) or stat.S_ISLNK(at.st_mode)):
        raise RefusedError(f"{path}: is neither a file nor a folder nor a link, so it cannot be archived")
    yield path, at
    if stat.S_ISDIR(at.st_mode):
        for child in sorted(path.iterdir()):
            yield from _entries(child)


def _read(fd: int, into: memoryview) -> int:
    """Fill ``into`` and return how many bytes there were, less than it holds only at the end of the file."""
    done = 0
    while done < len(into) and (number := os.readv(fd, [into[done:]])):
        done += number
    return done


# Taking sessions out of a pack for good: a new pack without them takes its place in one step, or nothing changes.
#
# The frames of what stays are copied as they are. A dictionary holds pieces of the files that it was trained on, so
# when one of those goes, it goes, too: the small files that stay are compressed again with one of their own.

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
                _compare_packs(old, was, pack, now, again=copier.again)


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


def _compare_packs(old: Pack, was: PackedFile, new: Pack, now: PackedFile, *, again: bool) -> None:
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


# Changing what lies in a pack, byte for byte: a new pack takes its place in one step, or nothing changes.
#
# All is compressed anew and without a dictionary, which would hold pieces of what was changed.

# the file's path and its bytes to its new bytes
ChangeFile = Callable[[str, bytes], bytes]
ChangeRow = Callable[[dict[str, Any]], dict[str, Any]]


def change_pack(path: Path, change: ChangeFile, change_row: ChangeRow) -> None:
    """Write a pack with changed contents in the place of one; places, modes and times stay.

    Raises:
        CorruptStateError: it is damaged, or what was written is not read back; it is as it was.
        OSError: the new pack cannot be written; the old one is as it was.
    """
    with Pack(path) as old, replacement(path) as new:
        write_all(new, MAGIC)
        at = len(MAGIC)
        sessions: list[PackedSession] = []
        for session in old.table.sessions:
            files: list[PackedFile] = []
            for file in session.files:
                data = b""
                if file.kind == "file":
                    file, data = _packed(file, change(file.path, old.read(file)), at)  # noqa: PLW2901 - as it is now
                    write_all(new, data)
                    at += len(data)
                files.append(file)
            inside = tuple(map(change_row, session.inside))
            notes = tuple(msgspec.convert(change_row(msgspec.to_builtins(note)), Note) for note in session.notes)
            row = change_row(session.row)
            sessions.append(replace(session, files=tuple(files), row=row, inside=inside, notes=notes))
        write_all(new, ending(Table(VERSION, tuple(sessions)), at))
        with Pack(path, os.dup(new)) as pack:
            if len(pack.table.sessions) != len(sessions):
                raise CorruptStateError(path, "was not read back as it was written", "run it again")
            for session in pack.table.sessions:
                pack.check(session)


def _packed(file: PackedFile, plain: bytes, at: int) -> tuple[PackedFile, bytes]:
    packer = compressor()
    pieces = [plain[start : start + CHUNK] for start in range(0, len(plain), CHUNK)]
    frames = [packer.compress(piece) for piece in pieces]
    check = digest()
    check.update(plain)
    chunks = tuple((len(frame), len(piece)) for frame, piece in zip(frames, pieces, strict=True))
    new = replace(file, size=len(plain), hash=check.hexdigest(), start=at, chunks=chunks, shared=False)
    return new, b"".join(frames)
