"""Writing packs: compressed, read back and compared before the pack gets its name, so a pack that is there is whole."""

import os
import stat
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import msgspec
import zstandard

from slowwave.errors import CorruptStateError, MovedError, RefusedError
from slowwave.files import private_folder, replacement, write_all
from slowwave.stores.archive.compressing import compressor, packed_dictionary, train
from slowwave.stores.archive.model import (
    CHUNK,
    MAGIC,
    SMALL,
    VERSION,
    PackedFile,
    PackedSession,
    Table,
    digest,
)
from slowwave.stores.archive.reading import Pack, buffer_for
from slowwave.stores.archive.tables import ending


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
