"""Reading packs: their table, single files, and a few bytes of a file."""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

import zstandard

from slowwave.errors import CorruptStateError, UnreadableError
from slowwave.files import open_file
from slowwave.stores.archive.model import (
    PackedFile,
    PackedSession,
    Table,
    digest,
)
from slowwave.stores.archive.tables import REMEDY, table_bytes, table_of

if TYPE_CHECKING:
    import io


class Pack:
    """A pack that is open for reading; close it, or use it in a ``with`` block."""

    def __init__(self, path: Path, fd: int | None = None, table: Table | None = None) -> None:
        """Open a pack and read its table.

        Args:
            path: the pack.
            fd: a descriptor of it, which is closed with the pack; opened by its path without one.
            table: its table, when it was read before.

        Raises:
            CorruptStateError: it was cut short or changed, or it is no pack.
            UnreadableError: it cannot be opened, or a newer version of slowwave wrote it.
        """
        self.path = path
        try:
            self._fd = open_file(path) if fd is None else fd
        except OSError as error:
            raise UnreadableError(path, error.strerror or "cannot be opened") from error
        try:
            self.table = self._table() if table is None else table
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

        Raises:
            CorruptStateError: a frame is not what was written.
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

        Raises:
            CorruptStateError: a frame is not what was written.
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

        Args:
            file: what to read.
            buffer: as ``buffer_for`` makes it; the next chunk overwrites it.

        Raises:
            CorruptStateError: a frame is not what was written.
        """
        place = file.start
        decompressor = self._decompressor(shared=file.shared)
        with memoryview(buffer) as view:
            for packed, plain in file.chunks:
                self._fill(decompressor, place, packed, view[:plain])
                yield plain
                place += packed

    def raw(self, offset: int, length: int) -> bytes:
        """Return bytes of the pack as they are.

        Raises:
            CorruptStateError: it ends before.
        """
        data = os.pread(self._fd, length, offset)
        if len(data) != length:
            raise CorruptStateError(self.path, f"ends within the bytes at {offset}", REMEDY)
        return data

    def dictionary(self) -> bytes:
        """Return the dictionary that small files share.

        Raises:
            CorruptStateError: it is damaged.
        """
        offset, length = self.table.dictionary
        try:
            return zstandard.ZstdDecompressor().decompress(self.raw(offset, length))
        except zstandard.ZstdError as error:
            raise CorruptStateError(self.path, f"its dictionary is damaged ({error})", REMEDY) from error

    def check(self, session: PackedSession) -> None:
        """Read all files of a session back and compare their hashes.

        Raises:
            CorruptStateError: one of them is not what was packed.
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

    def _table(self) -> Table:
        return table_of(self.path, table_bytes(self.path, self._fd))

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
