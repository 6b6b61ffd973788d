"""Bytes to records: one pass over a file, nothing lost, everything odd reported with file, line and offset.

The fast path is one C-level decode a line. Only a line that fails it takes the slow path of :mod:`salvage`, which
knows every kind of damage that real files have (reference: two objects on one line in 7 of 290 real sessions,
torn tails, NUL runs after a crash, a BOM, lone surrogates, bytes that are not UTF-8).
"""

import gc
import os
import stat
from _thread import allocate_lock  # what threading.Lock is, without the rest of that module
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeVar, cast

import msgspec

from slowwave.errors import UnreadableError
from slowwave.formats import REFUSALS, Problem, Span, is_utf8

if TYPE_CHECKING:
    from slowwave.formats.salvage import OddLine


T = TypeVar("T")
# Default buffering (8 KiB) makes line iteration 2.6 to 3.9 times slower.
BUFFER_BYTES = 1 << 20
# Longer lines are measured first and read in one piece: readline would hold them twice.
LONG_LINE_BYTES = 4 << 20
_BLANK = b" \t\r\n"
_OPEN = b"{"[0]


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading.

    Raises UnreadableError: missing, no permission, or not a regular file (reading a pipe would wait for ever).
    """
    try:
        file = open(path, "rb", buffering=BUFFER_BYTES, opener=_open_without_waiting)  # noqa: SIM115
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be opened") from error
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise UnreadableError(path, "not a regular file")
    return file


@contextmanager
def opened(path: Path) -> Generator[BinaryIO]:
    """Open a regular file for reading.

    Raises UnreadableError: as :func:`open_regular`, or the system fails while it is read.
    """
    with open_regular(path) as file:
        try:
            yield file
        except OSError as error:
            raise UnreadableError(path, error.strerror or "cannot be read") from error


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def read_records(
    path: Path,
    decoder: msgspec.json.Decoder[T],
    problems: list[Problem],
    *,
    part: int = 0,
    start: int = 0,
    first_number: int = 1,
) -> Iterator[tuple[Span, T]]:
    """Yield every JSON object in ``path`` from byte ``start`` on, with its exact place.

    The memory needed is that of the longest line, however large the file is; a line longer than 4 MiB is held once.
    The value is decoded from bytes in which everything that strict decoders refuse (bytes that are not UTF-8, lone
    surrogates, NaN) is replaced; ``Span.raw`` always equals the bytes in the file.

    Args:
        path: the file to read; it may grow while it is read: a last line without newline ends the reading.
        decoder: decodes one object; it must ignore unknown fields.
        problems: everything that was not one clean object a line is appended here.
        part: index of the file in its session, copied into each span.
        start: byte offset of the start of a line.
        first_number: the 1-based number of the line at ``start``.

    Raises UnreadableError: the file cannot be opened or read (missing, a folder, no permission).
    """
    decode = decoder.decode
    offset = start
    with _open(path, problems) as file:
        try:
            file.seek(start)
            for number, line in enumerate(iter(partial(file.readline, LONG_LINE_BYTES), b""), first_number):
                begin = offset
                offset += len(line)
                # decoders skip the strings that nobody asked for without looking at their bytes
                if line[0] == _OPEN and line.endswith(b"}\n") and (line.isascii() or is_utf8(line)):
                    raw = line[:-1]
                    try:
                        value = decode(raw)
                    except REFUSALS:
                        pass
                    else:
                        yield Span(part, number, begin, raw), value
                        continue
                odd, offset = odd_line(file, path, part, number, begin, line, problems)
                if odd.raw:
                    yield from _salvage(odd, decoder, problems)
                if odd.torn:
                    return
        except OSError as error:
            raise UnreadableError(path, error.strerror or "cannot be read") from error


def _open(path: Path, problems: list[Problem]) -> BinaryIO:
    """Open a file, also one that its client keeps compressed: offsets are then those of its plain bytes."""
    if not is_compressed(path):
        return open_regular(path)

    return open_plain(path, problems)


def _salvage(odd: "OddLine", decoder: msgspec.json.Decoder[T], problems: list[Problem]) -> Iterator[tuple[Span, T]]:
    """Take the slow path, whose expressions are compiled only when a file needs them."""
    from slowwave.formats.salvage import salvage  # noqa: PLC0415

    return salvage(odd, decoder, problems)


def odd_line(
    file: BinaryIO, path: Path, part: int, number: int, begin: int, line: bytes, problems: list[Problem]
) -> tuple["OddLine", int]:
    """Return a line that is not plainly one object, trimmed, and the offset of the next line.

    ``file``: opened for reading, and read up to the end of ``line``; left where the next line begins. ``path``: its
    name. ``part``: its index in the session. ``number``: of the line. ``begin``: where it begins. ``line``: its first
    :data:`LONG_LINE_BYTES`, with its newline. ``problems``: NUL bytes around a long line are noted here.
    """
    from slowwave.formats.salvage import OddLine  # noqa: PLC0415

    ended = line.endswith(b"\n")
    if ended or len(line) < LONG_LINE_BYTES:
        raw = line.strip(_BLANK)
        lead = len(line) - len(line.lstrip(_BLANK))
        return OddLine(path, part, number, begin + lead, raw, not ended), begin + len(line)
    long = read_long_line(file.fileno(), begin)
    file.seek(long.stop)
    if long.has_nul:
        size = long.stop - begin - len(long.raw)
        problems.append(Problem("nul", path, number, begin, size, "NUL bytes around a record skipped"))
    return OddLine(path, part, number, long.offset, long.raw, not long.ended), long.stop


# Lines too long to be read twice: measured in blocks first, then read in one piece without their padding.
#
# A crash may leave gigabytes of NUL bytes in front of the next record (a preallocated file); they are stepped over
# without being held in memory.

_BLOCK = 1 << 20
# a single read on Linux returns less than 2 GiB
_READ_MAX = 1 << 30
_PADDING = b" \t\r\n\0"


class LongLine(NamedTuple):
    """A long line."""

    offset: int  # byte offset of ``raw``
    raw: bytes  # its bytes without the padding at both ends
    stop: int  # byte offset of the next line
    ended: bool  # whether it has a newline
    has_nul: bool  # whether the padding has NUL bytes


def read_long_line(fd: int, begin: int) -> LongLine:
    """Read the line that begins at byte ``begin``."""
    first, last = -1, begin
    has_nul = ended = False
    at = begin
    while not ended and (block := os.pread(fd, _BLOCK, at)):
        newline = block.find(b"\n")
        ended = newline >= 0
        body = block[:newline] if ended else block
        left = body.rstrip(_PADDING)
        if first < 0:
            lead = len(body) - len(body.lstrip(_PADDING))
            has_nul = has_nul or b"\0" in body[:lead]
            first = at + lead if left else -1
        if left:
            last = at + len(left)
        at += len(body)
    start = max(first, begin)
    has_nul = has_nul or b"\0" in os.pread(fd, min(at - last, _BLOCK), last)
    return LongLine(start, read_range(fd, start, last), at + ended, ended, has_nul)


def read_range(fd: int, start: int, stop: int) -> bytes:
    """Return the bytes of a file from ``start`` to ``stop``, fewer when it has become shorter."""
    raw = os.pread(fd, min(stop - start, _READ_MAX), start) if stop > start else b""
    while raw and start + len(raw) < stop:
        more = os.pread(fd, min(stop - start - len(raw), _READ_MAX), start + len(raw))
        if not more:  # the file shrank
            break
        raw += more
    return raw


# Files that a client keeps compressed (Codex: ``.jsonl.zst``), opened as if they were plain.
#
# Their plain bytes go to a temporary file without a name: readers need to go back in long lines and to read from the
# end, and a transcript may be larger than the memory. Of a file that is damaged or cut short everything before the
# damage is there, and the damage is reported.

PACKED = ".zst"
_MAGIC = b"\x28\xb5\x2f\xfd"
# Frames without data, which some packers put first; their first byte is any of 0x50 to 0x5f.
_SKIPPED = b"\x2a\x4d\x18"
_READ_BYTES = 1 << 16
# What one step may give: four bytes can stand for 128 KiB.
STEP_BYTES = 1 << 10
# A small file that someone made by hand could fill every disk.
MOST_BYTES = 16 << 30


def is_compressed(path: Path) -> bool:
    """Say whether a file's name says that it is compressed."""
    return path.name.endswith(PACKED)


def open_plain(path: Path, problems: list[Problem] | None = None, *, most: int = MOST_BYTES) -> BinaryIO:
    """Open a regular file for reading its plain bytes; a file that only has the name of a compressed one is plain.

    ``problems``: damage is appended here; without it, it shows as an end; ``most``: plain bytes behind this many are
    not needed. Raises UnreadableError: missing, no permission, not a regular file, or no room for its plain bytes.
    """
    return plain_of(path, open_regular(path), problems, most=most)


def plain_of(path: Path, file: BinaryIO, problems: list[Problem] | None = None, *, most: int = MOST_BYTES) -> BinaryIO:
    """Return the plain bytes of an open file: itself, or a copy, and then it is closed.

    Args:
        path: what it is called, which says whether it is compressed.
        file: the file.
        problems: as for :func:`open_plain`, as is ``most``.
        most: plain bytes behind this many are not needed.

    Raises UnreadableError: it cannot be read, or there is no room for its plain bytes.
    """
    if not is_compressed(path):
        return file
    try:
        start = file.read(len(_MAGIC))
        file.seek(0)
        if start != _MAGIC and start[1:] != _SKIPPED:
            return file
        with file:
            return _spooled(path, file, [] if problems is None else problems, most)
    except OSError as error:
        file.close()
        raise UnreadableError(path, error.strerror or "cannot be read") from error


def _spooled(path: Path, file: BinaryIO, problems: list[Problem], most: int) -> BinaryIO:
    import tempfile  # noqa: PLC0415 - few files are compressed

    plain = cast("BinaryIO", tempfile.TemporaryFile(prefix="slowwave-", buffering=BUFFER_BYTES))  # noqa: SIM115
    try:
        size = lines = 0
        stream = _Stream(file)
        for block in stream:
            plain.write(block)
            size += len(block)
            lines += block.count(b"\n")
            if size >= most:
                break
        if stream.damage:
            problems.append(Problem("torn", path, lines + 1, size, 0, stream.damage))
        elif most == MOST_BYTES and size >= most:
            problems.append(Problem("too-large", path, lines + 1, size, 0, f"more than {most} plain bytes"))
        plain.seek(0)
    except BaseException:
        plain.close()
        raise
    return plain


class _Stream:
    """The plain blocks of all frames of a file, up to its end or its damage."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.damage = ""

    def __iter__(self) -> Iterator[bytes]:
        import zstandard  # noqa: PLC0415 - few files are compressed

        start = at = 0  # of the frame, and of what is fed next
        frame = zstandard.ZstdDecompressor().decompressobj()
        while data := memoryview(self._read(at, _READ_BYTES)):
            end = at + len(data)
            while at < end:
                step = data[at - end :][:STEP_BYTES]
                try:
                    block = frame.decompress(step)
                except zstandard.ZstdError as error:
                    yield from self._rescued(start, at)
                    self.damage = f"the compressed data is damaged in its frame at byte {start} ({error})"
                    return
                yield block
                at += len(step) - len(frame.unused_data)
                if frame.eof:
                    start = at
                    frame = zstandard.ZstdDecompressor().decompressobj()
        if at > start:
            self.damage = f"the compressed data ends within its frame at byte {start}"

    def _read(self, at: int, size: int) -> bytes:
        self._file.seek(at)
        return self._file.read(size)

    def _rescued(self, start: int, stop: int) -> Iterator[bytes]:
        """Yield what the block that starts at ``stop`` gives before its damage: fed byte by byte, nothing is lost."""
        import zstandard  # noqa: PLC0415 - as above

        frame = zstandard.ZstdDecompressor().decompressobj()
        while start < stop:
            data = self._read(start, min(stop - start, STEP_BYTES))
            frame.decompress(data)
            start += len(data)
        for byte in self._read(stop, STEP_BYTES):
            try:
                yield frame.decompress(bytes((byte,)))
            except zstandard.ZstdError:
                return


# Finding the few lines that matter in a large file without decoding the others.
#
# A search in raw bytes only says where to look: JSON may hold the same bytes inside a string, so the caller decodes
# every line that is found here.


def raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line with its newline) for every line, undecoded: the least that a pass over a file can cost."""
    offset = 0
    with opened(path) as file:
        for line in file:
            yield offset, line
            offset += len(line)


# Bulk loads without the collector's cost: holding many decoded records makes Python walk them again and again.
#
# Measured: decoded dicts kept with default thresholds cost 1.7 to 2.2 times the time; raised thresholds remove all of
# it, and reference cycles are still found in the end.

_THRESHOLDS = (200_000, 20, 100)
_guard = allocate_lock()
_depth = 0
_before = (0, 0, 0)


@contextmanager
def relaxed_collector() -> Generator[None]:
    """Raise the collector's thresholds for the time of a bulk load; nested and concurrent loads share it.

    It acts on the whole process, so it belongs around bulk loads only.
    """
    global _depth, _before  # noqa: PLW0603 - the collector is one for the process
    with _guard:
        if _depth == 0:
            _before = gc.get_threshold()
            gc.set_threshold(*_THRESHOLDS)
        _depth += 1
    try:
        yield
    finally:
        with _guard:
            _depth -= 1
            if _depth == 0:
                gc.set_threshold(*_before)


# The hash of what stands before a cursor: it must still hold before anything behind the cursor is trusted.

_CHECK_BYTES = 4096


def hash_before(fd: int, cursor: int) -> bytes:
    """Return the hash of the last bytes before an offset of a file. Raises OSError: they cannot be read."""
    import hashlib  # noqa: PLC0415 - a listing of unchanged sessions needs none

    begin = max(0, cursor - _CHECK_BYTES)
    return hashlib.blake2b(os.pread(fd, cursor - begin, begin), digest_size=16).digest()
