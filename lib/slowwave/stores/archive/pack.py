"""A pack: compressed files of archived sessions, and a table that says what they are.

:class:`Pack` reads its table, single files, and a few bytes of a file. Large files are compressed by themselves, small
ones with a dictionary that was trained on them (perf.md J8). What is written is read back and compared before the pack
gets its name, so a pack that is there is whole.
"""

import hashlib
import json
import os
import stat
import struct
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeVar, cast

import msgspec
import zstandard
from msgspec.structs import replace

from slowwave.errors import CorruptStateError, MovedError, RefusedError, UnreadableError
from slowwave.files import at_fault_point, fsync_folder, open_file, private_folder, replacement, walked, write_all
from slowwave.formats.notes import Note

if TYPE_CHECKING:
    import io

# What a pack holds, in the words of its table.
#
# A pack is one file: a magic number, compressed frames, a table of what they are, and a trailer that says where the
# table lies. It needs no other file to be read. A file of a session is cut into chunks, each a zstd frame of its own,
# so that a few bytes of it are read without the rest; small files share a dictionary that was trained on them (perf.md
# J8).


class PackedFile(msgspec.Struct, frozen=True):
    """A file, folder or link of a session as it was in its place."""

    path: str  # its absolute path; bytes that are no UTF-8 stand as surrogates
    kind: Literal["file", "folder", "link"]  # what it is
    mode: int  # permission bits
    mtime_ns: int  # time of its last change
    size: int = 0  # bytes; of a link and a folder 0
    hash: str = ""  # blake2b of its bytes, in hex; of a link its target
    start: int = 0  # where its first frame begins in the pack
    chunks: tuple[tuple[int, int], ...] = ()  # of every frame the bytes it takes and the bytes it stands for
    shared: bool = False  # its frames need the dictionary of the pack


class PackedSession(msgspec.Struct, frozen=True):
    """A session in a pack."""

    id: str  # its id
    dialect: str  # of its files
    project: str  # key of the project that it worked in
    root: str  # the working folder of that project
    at: str  # when it was archived
    last: float  # its last activity, in seconds since 1970
    files: tuple[PackedFile, ...]  # everything of it, folders before what is in them
    row: dict[str, Any] = {}  # what a listing shows of it
    inside: tuple[dict[str, Any], ...] = ()  # what a listing shows of the sub-agents whose files are among its own
    notes: tuple[Note, ...] = ()  # what its client noted of it in indexes, which a restore puts back

    @property
    def size(self) -> int:
        """Bytes of its files as they were in their place."""
        return sum(file.size for file in self.files)


class Table(msgspec.Struct, frozen=True):
    """All that a pack holds."""

    v: int  # version of the form
    sessions: tuple[PackedSession, ...]  # what was packed
    # where the dictionary lies, compressed, as offset and length; (0, 0) without one
    dictionary: tuple[int, int] = (0, 0)


class Pack:
    """A pack that is open for reading; close it, or use it in a ``with`` block."""

    def __init__(self, path: Path, fd: int | None = None, table: Table | None = None) -> None:
        """Open a pack and read its table.

        ``fd``: a descriptor of it, which is closed with the pack; opened by its path without one; ``table``: its table,
        when it was read before.
        """
        self.path = path
        try:
            self._fd = open_file(path) if fd is None else fd
        except OSError as error:
            raise UnreadableError(path, error.strerror or "cannot be opened") from error
        try:
            self.table = table_of(path, table_bytes(path, self._fd)) if table is None else table
        except BaseException:
            os.close(self._fd)
            raise
        self._shared: zstandard.ZstdDecompressor | None = None

    def __enter__(self) -> Self:
        """Return the pack itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def blocks(self, file: PackedFile, start: int = 0) -> Iterator[bytes]:
        """Yield the plain bytes of a file from ``start`` on.

        Raises CorruptStateError: a frame is not what was written.
        """
        at, place = 0, file.start
        decompressor = self._decompressor(shared=file.shared)
        for packed, plain in file.chunks:
            if at + plain > start:
                data = self._frame(decompressor, place, packed, plain)
                yield data[max(start - at, 0) :]
            at, place = at + plain, place + packed

    def read(self, file: PackedFile, start: int = 0, size: int | None = None) -> bytes:
        """Return ``size`` plain bytes of a file from ``start`` on, all of them without one.

        Raises CorruptStateError: a frame is not what was written.
        """
        found = bytearray()
        for block in self.blocks(file, start):
            found += block
            if size is not None and len(found) >= size:
                break
        return bytes(found[:size])

    def fill(self, file: PackedFile, buffer: bytearray) -> Iterator[int]:
        """Put the plain bytes of a file into ``buffer``, chunk after chunk, and yield how many they are.

        It is for reading much: blocks that are new for every chunk take a fifth longer, since the kernel clears them.
        ``buffer``: as ``buffer_for`` makes it; the next chunk overwrites it. Raises CorruptStateError: a frame is not
        what was written.
        """
        place = file.start
        decompressor = self._decompressor(shared=file.shared)
        with memoryview(buffer) as view:
            for packed, plain in file.chunks:
                self._fill(decompressor, place, packed, view[:plain])
                yield plain
                place += packed

    def raw(self, offset: int, length: int) -> bytes:
        """Return bytes of the pack as they are. Raises CorruptStateError: it ends before."""
        data = os.pread(self._fd, length, offset)
        if len(data) != length:
            raise CorruptStateError(self.path, f"ends within the bytes at {offset}", REMEDY)
        return data

    def dictionary(self) -> bytes:
        """Return the dictionary that small files share. Raises CorruptStateError: it is damaged."""
        offset, length = self.table.dictionary
        try:
            return zstandard.ZstdDecompressor().decompress(self.raw(offset, length))
        except zstandard.ZstdError as error:
            raise CorruptStateError(self.path, f"its dictionary is damaged ({error})", REMEDY) from error

    def check(self, session: PackedSession) -> None:
        """Read all files of a session back and compare their hashes.

        Raises CorruptStateError: one of them is not what was packed.
        """
        buffer = buffer_for(session)
        view = memoryview(buffer)
        for file in session.files:
            if file.kind != "file":
                continue
            found = digest()
            for number in self.fill(file, buffer):
                found.update(view[:number])
            if found.hexdigest() != file.hash:
                raise CorruptStateError(self.path, f"{file.path} is not what was packed", REMEDY)

    def _decompressor(self, *, shared: bool) -> zstandard.ZstdDecompressor:
        if not shared:
            return zstandard.ZstdDecompressor()
        if self._shared is None:
            self._shared = zstandard.ZstdDecompressor(dict_data=zstandard.ZstdCompressionDict(self.dictionary()))
        return self._shared

    def _frame(self, decompressor: zstandard.ZstdDecompressor, place: int, packed: int, plain: int) -> bytes:
        with self._frame_at(place):
            data = decompressor.decompress(os.pread(self._fd, packed, place), max_output_size=plain)
        if len(data) != plain:
            raise self._other_frame(place)
        return data

    def _fill(self, decompressor: zstandard.ZstdDecompressor, place: int, packed: int, into: memoryview) -> None:
        frame = os.pread(self._fd, packed, place)
        with self._frame_at(place), decompressor.stream_reader(frame, read_across_frames=True) as reader:
            filled, more = cast("io.RawIOBase", reader).readinto(into), reader.read(1)
        if filled != len(into) or more:
            raise self._other_frame(place)

    @contextmanager
    def _frame_at(self, place: int) -> Generator[None]:
        try:
            yield
        except zstandard.ZstdError as error:
            raise CorruptStateError(self.path, f"the frame at byte {place} is damaged ({error})", REMEDY) from error

    def _other_frame(self, place: int) -> CorruptStateError:
        return CorruptStateError(self.path, f"the frame at byte {place} is not what was packed", REMEDY)


def buffer_for(*sessions: PackedSession) -> bytearray:
    """Return room for any chunk of these sessions."""
    chunks = (chunk for session in sessions for file in session.files for chunk in file.chunks)
    return bytearray(max((plain for _, plain in chunks), default=0))


MAGIC = b"SWPACK1\n"
SUFFIX = ".swpack"
VERSION = 1
# offset and length of the table, its hash, and the magic number again
TRAILER = struct.Struct("<QQ32s8s")
CHUNK = 8 << 20
# files up to this size gain from a dictionary; above it they have learnt enough by themselves
SMALL = 128 << 10
# The fast strategy with long matches over a whole chunk: nearly as small as level 3 on transcripts, at half its time. A
# table of 256 KiB stays in the cache of a core; one of 512 KiB takes a fifth more time for 1 % of real ones.
LEVEL, WINDOW_LOG, HASH_LOG, MIN_MATCH = 2, 23, 16, 7
# small files are few bytes in all, and gain by a closer look
LEVEL_OF_SMALL = 12
# what only a table of this form begins with
_BEGIN = b'{"v":%d,' % VERSION


def digest() -> hashlib.blake2b:
    """Return a new hash of the kind that packs use: as strong as SHA-256, and twice as fast."""
    return hashlib.blake2b(digest_size=32)


class NewerError(ValueError):
    """A table has a form that this version does not know."""


def encoded(table: Table) -> bytes:
    """Return a table as JSON; the standard library writes names that are not UTF-8 as escapes and reads them back."""
    return json.dumps(msgspec.to_builtins(table), separators=(",", ":")).encode("ascii")


def may_name(data: bytes, text: str) -> bool:
    """Say whether what ``encoded`` wrote may have a text in it, which takes a fraction of decoding all of it."""
    return not data.startswith(_BEGIN) or json.dumps(text)[1:-1].encode("ascii") in data


def decoded(data: bytes) -> Table:
    """Return the table that ``encoded`` wrote. Raises NewerError: a newer version wrote it; ValueError: it is none."""
    try:
        # many times as fast; names that are not UTF-8, and what a newer version wrote, it leaves to the other reader
        table = msgspec.json.decode(data, type=Table)
        if table.v == VERSION:
            return table
    except msgspec.DecodeError:
        pass
    tree = cast("dict[str, Any]", json.loads(data))
    if tree.get("v") != VERSION:
        raise NewerError(f"has the form {tree.get('v')}, which a newer version of slowwave wrote")
    return msgspec.convert(tree, Table)


# What stands behind the frames of a pack: its table, and a trailer that says where the table lies.

REMEDY = "the sessions in it cannot be read; put the file back from a copy"


def ending(table: Table, offset: int) -> bytes:
    """Return what stands behind the frames of a pack, from ``offset`` on: its table and its trailer."""
    packed = compressor().compress(encoded(table))
    check = digest()
    check.update(packed)
    return packed + TRAILER.pack(offset, len(packed), check.digest(), MAGIC)


def table_bytes(path: Path, fd: int) -> bytes:
    """Return the table of a pack as it was encoded.

    Raises CorruptStateError: it was cut short or changed, or it is no pack.
    """
    size = os.fstat(fd).st_size
    tail = os.pread(fd, TRAILER.size, max(size - TRAILER.size, 0))
    if len(tail) != TRAILER.size or os.pread(fd, len(MAGIC), 0) != MAGIC:
        raise CorruptStateError(path, "is not a pack", REMEDY)
    offset, length, expected, magic = TRAILER.unpack(tail)
    packed = os.pread(fd, length, offset) if magic == MAGIC and offset + length < size else b""
    found = digest()
    found.update(packed)
    if found.digest() != expected:
        raise CorruptStateError(path, "was cut short or changed: its table is damaged", REMEDY)
    return zstandard.ZstdDecompressor().decompress(packed)


def table_of(path: Path, data: bytes) -> Table:
    """Return a table of which these are the bytes.

    Raises UnreadableError: a newer version of slowwave wrote the pack.
    """
    try:
        return decoded(data)
    except NewerError as error:
        raise UnreadableError(path, str(error), "use that version") from error


# How packs compress: large files by themselves, small ones with a dictionary that was trained on them (perf.md J8).

# a dictionary pays when so many times its size is packed with it
_PAYS = 15
_LARGEST_DICTIONARY = 112 << 10
_SMALLEST_DICTIONARY = 4 << 10
# training looks at so many times its size at most
_SAMPLES = 100
# It is put together of pieces this long, chosen by runs of so many bytes that many files share. To let the trainer try
# several lengths at this level takes three times as long, and what it finds on real sessions differs by 0.3 %.
_PIECE, _RUN = 500, 8
_PLAIN = cast("Any", zstandard.ZstdCompressionParameters).from_level(
    LEVEL, source_size=CHUNK, window_log=WINDOW_LOG, hash_log=HASH_LOG, min_match=MIN_MATCH, write_checksum=True
)
T = TypeVar("T")


def compressor(trained: zstandard.ZstdCompressionDict | None = None) -> zstandard.ZstdCompressor:
    """Return what compresses files, small ones with the dictionary that was trained on them."""
    if trained is None:
        return zstandard.ZstdCompressor(compression_params=_PLAIN)
    # the number of the dictionary would be one byte in a hundred; the table says what needs it, a checksum that it fits
    return zstandard.ZstdCompressor(level=LEVEL_OF_SMALL, write_checksum=True, write_dict_id=False, dict_data=trained)


def packed_dictionary(trained: zstandard.ZstdCompressionDict) -> bytes:
    """Return a dictionary as packs hold it: most of it is text, too."""
    return zstandard.ZstdCompressor(level=LEVEL_OF_SMALL, write_checksum=True).compress(trained.as_bytes())


def train(small: Sequence[tuple[T, int]], read: Callable[[T], bytes]) -> zstandard.ZstdCompressionDict | None:
    """Return a dictionary for small files, None where one would not pay."""
    size = min(_LARGEST_DICTIONARY, sum(size for _, size in small) // _PAYS)
    if size < _SMALLEST_DICTIONARY:
        return None
    every = max(1, sum(size for _, size in small) // (size * _SAMPLES))
    samples = [read(one) for one, _ in small[::every]]
    try:
        # what is to be frequent in it depends on the level that it is used at
        return zstandard.train_dictionary(size, cast("list[Any]", samples), k=_PIECE, d=_RUN, level=LEVEL_OF_SMALL)
    except zstandard.ZstdError:
        return None  # the files have too little in common; they are packed without one


class Wanted(NamedTuple):
    """A session that is to be packed: what is known of it (without files), and everything of it in the file system."""

    session: PackedSession
    paths: Sequence[Path]


def write_pack(path: Path, wanted: Sequence[Wanted]) -> Table:
    """Pack sessions into a new file, read it back, and return its table.

    Raises MovedError: a file changed while it was read; there is no pack; CorruptStateError: what was read back is not
    what was packed; there is no pack; RefusedError: the pack exists, or something of a session is neither a file nor a
    folder nor a link; OSError: a file cannot be read, or the disk is full; there is no pack.
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
        found = [(one.session, [entry for path in one.paths for entry in walked(path)]) for one in wanted]
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
        if not stat.S_ISREG(at.st_mode):
            raise RefusedError(f"{path}: is neither a file nor a folder nor a link, so it cannot be archived")
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


def _read(fd: int, into: memoryview) -> int:
    """Fill ``into`` and return how many bytes there were, less than it holds only at the end of the file."""
    done = 0
    while done < len(into) and (number := os.readv(fd, [into[done:]])):
        done += number
    return done


# Taking sessions out of a pack for good, or changing bytes in it: a new pack takes its place in one step, or nothing
# changes.
#
# The frames of what stays as it is are copied as they are. A dictionary holds pieces of the files that it was trained
# on, so when one of those goes or changes, it goes, too: the small files are compressed again with one of their own.

_BLOCK = 4 << 20
# what a session becomes: the same, less of its files, other rows, or nothing
Keep = Callable[[PackedSession], PackedSession | None]
# the file's path and its bytes to its new bytes
ChangeFile = Callable[[str, bytes], bytes]


def rewrite(path: Path, keep: Keep, change: ChangeFile | None = None) -> None:
    """Leave out of a pack what does not stay, and change its files where that is asked for.

    A pack in which nothing stays is removed, one that keeps all untouched. Places, modes and times stay. Raises
    CorruptStateError: it is damaged, or what was written is not read back; it is as it was; OSError: the new pack
    cannot be written; the old one is as it was.
    """
    with Pack(path) as old:
        kept = [left for session in old.table.sessions if (left := keep(session)) is not None]
        if change is None and tuple(kept) == old.table.sessions:
            return
        if kept:
            with replacement(path) as new:
                _copy(old, kept, new, change)
        else:
            at_fault_point("unlink", path)
            path.unlink()
            fsync_folder(path.parent)


def _copy(old: Pack, kept: Sequence[PackedSession], new: int, change: ChangeFile | None) -> None:
    """Write the sessions that stay, read them back and compare."""
    copier = _Copier(old, new, kept, change)
    sessions = tuple(replace(one, files=tuple(map(copier.file, one.files))) for one in kept)
    copier.put(ending(Table(VERSION, sessions, copier.dictionary), copier.at))
    with Pack(old.path, os.dup(new)) as pack:
        if len(pack.table.sessions) != len(kept):
            raise CorruptStateError(old.path, "was not read back as it was written", "run it again")
        for before, after in zip(kept, pack.table.sessions, strict=True):
            for was, now in zip(before.files, after.files, strict=True):
                copier.compare(was, pack, now)


class _Copier:
    """One new pack while it is written.

    Attributes:
        at: where the next byte goes.
        dictionary: where the dictionary lies in the new pack.
    """

    def __init__(self, old: Pack, new: int, kept: Sequence[PackedSession], change: ChangeFile | None) -> None:
        self._old = old
        self._new = new
        self._change = change
        self.at = 0
        self.put(MAGIC)
        shared = [file for session in kept for file in session.files if file.shared]
        learnt = sum(file.shared for session in old.table.sessions for file in session.files)
        # what shared the old dictionary is compressed again
        self._again = change is not None or len(shared) < learnt
        self.dictionary = 0, 0
        self._trained: zstandard.ZstdCompressionDict | None = None
        offset, length = old.table.dictionary
        if self._again:
            self._trained = train([(file, file.size) for file in shared if file.size], self._plain)
            if self._trained is not None:
                self.dictionary = self.at, len(data := packed_dictionary(self._trained))
                self.put(data)
        elif length:
            self.dictionary = self.at, length
            self._raw(offset, length)

    def put(self, data: bytes) -> None:
        """Write bytes."""
        write_all(self._new, data)
        self.at += len(data)

    def file(self, file: PackedFile) -> PackedFile:
        """Write one file and return where it lies now."""
        start = self.at
        if file.kind != "file" or not self._is_anew(file):
            self._raw(file.start, sum(packed for packed, _ in file.chunks))
            return replace(file, start=start)
        plain = self._plain(file)
        is_shared = file.shared and self._trained is not None
        packer = compressor(self._trained if is_shared else None)
        chunks: list[tuple[int, int]] = []
        for at in range(0, len(plain), CHUNK):
            packed = packer.compress(plain[at : at + CHUNK])
            chunks.append((len(packed), min(CHUNK, len(plain) - at)))
            self.put(packed)
        check = digest()
        check.update(plain)
        return replace(
            file, size=len(plain), hash=check.hexdigest(), start=start, chunks=tuple(chunks), shared=is_shared
        )

    def compare(self, was: PackedFile, new: Pack, now: PackedFile) -> None:
        """Lay what was written beside what it was made of: compressed anew by its hash, else byte for byte."""
        if was.kind == "file" and self._is_anew(was):
            found = digest()
            for block in new.blocks(now):
                found.update(block)
            same = found.hexdigest() == now.hash
        else:
            length = sum(packed for packed, _ in was.chunks)
            same = now.chunks == was.chunks and all(
                self._old.raw(was.start + at, size) == new.raw(now.start + at, size)
                for at in range(0, length, _BLOCK)
                for size in [min(_BLOCK, length - at)]
            )
        if not same:
            raise CorruptStateError(self._old.path, f"{was.path} was not read back as it was packed", "run it again")

    def _is_anew(self, file: PackedFile) -> bool:
        return self._change is not None or (file.shared and self._again)

    def _plain(self, file: PackedFile) -> bytes:
        data = self._old.read(file)
        return data if self._change is None else self._change(file.path, data)

    def _raw(self, offset: int, length: int) -> None:
        end = offset + length
        for at in range(offset, end, _BLOCK):
            self.put(self._old.raw(at, min(_BLOCK, end - at)))
