"""Files that a client keeps compressed (Codex: ``.jsonl.zst``), opened as if they were plain.

Their plain bytes go to a temporary file without a name: readers need to go back in long lines and to read from the
end, and a transcript may be larger than the memory. Of a file that is damaged or cut short everything before the damage
is there, and the damage is reported.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from slowwave.errors import UnreadableError
from slowwave.records.lines import BUFFER_BYTES, open_regular
from slowwave.records.model import Problem

SUFFIX = ".zst"
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
    return path.name.endswith(SUFFIX)


def open_plain(path: Path, problems: list[Problem] | None = None, *, most: int = MOST_BYTES) -> BinaryIO:
    """Open a regular file for reading its plain bytes; a file that only has the name of a compressed one is plain.

    Args:
        path: the file.
        problems: damage is appended here; without it, it shows as an end.
        most: plain bytes behind this many are not needed.

    Raises:
        UnreadableError: missing, no permission, not a regular file, or no room for its plain bytes.
    """
    return plain_of(path, open_regular(path), problems, most=most)


def plain_of(path: Path, file: BinaryIO, problems: list[Problem] | None = None, *, most: int = MOST_BYTES) -> BinaryIO:
    """Return the plain bytes of an open file: itself, or a copy, and then it is closed.

    Args:
        path: what it is called, which says whether it is compressed.
        file: the file.
        problems: as for :func:`open_plain`, as is ``most``.
        most: plain bytes behind this many are not needed.

    Raises:
        UnreadableError: it cannot be read, or there is no room for its plain bytes.
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
