"""Reading a file from its end: what happened last costs the same whether the file has 1 MB or 200 MB."""

import os
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import msgspec

from slowwave.errors import UnreadableError
from slowwave.files import atomic_write, file_bytes, private_folder, state_folder
from slowwave.formats import Problem, Span
from slowwave.formats.lines import open_regular, opened, read_range, read_records

BLOCK_BYTES = 256 << 10
# for a search in raw bytes, which needs fewer reads with larger ones
_LARGEST_BLOCK_BYTES = 4 << 20


@contextmanager
def _opened(path: Path) -> Generator[tuple[int, int]]:
    """Yield descriptor and size of a regular file."""
    with opened(path) as file:
        yield file.fileno(), os.fstat(file.fileno()).st_size


def lines_backward(path: Path, *, end: int | None = None, words: Collection[bytes] = ()) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line without its newline) from the last line to the first; blank lines are left out.

    ``path``: the file; what is appended while it is read is not seen. ``end``: read only what lies before this byte.
    ``words``: yield only lines that hold one of these bytes, which is faster than to look at each.
    """
    with _opened(path) as (fd, size):
        at = size if end is None else min(end, size)
        block_bytes = BLOCK_BYTES
        rest = b""  # the start of it is not the start of a line unless at == 0
        while at > 0:
            count = min(block_bytes, at)
            at -= count
            block = read_range(fd, at, at + count)
            if len(block) < count:
                raise UnreadableError(path, "became shorter while it was read", "read it again")
            block += rest
            if _holds(block, words):
                yield from (found for found in _split_backward(block, at) if _holds(found[1], words))
            rest = block[: block.find(b"\n") + 1] if b"\n" in block else block
            # larger blocks would only leave the cache, and a line of 100 MB is not copied once a block
            block_bytes = max(BLOCK_BYTES, len(rest))
        first = rest.removesuffix(b"\n")
        if first.strip() and _holds(first, words):
            yield 0, first


def _holds(raw: bytes, words: Collection[bytes]) -> bool:
    return not words or any(word in raw for word in words)


def _split_backward(block: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a block that certainly begin in it: all but the first."""
    stop = len(block)
    if block.endswith(b"\n"):
        stop -= 1
    while (newline := block.rfind(b"\n", 0, stop)) >= 0:
        line = block[newline + 1 : stop]
        if line and not line.isspace():
            yield at + newline + 1, line
        stop = newline


def find_last(path: Path, needle: bytes, *, end: int | None = None) -> int | None:
    """Return the offset of the last occurrence of ``needle`` that ends at or before byte ``end``.

    It is a search in raw bytes: the caller decodes the line (:func:`line_around`) to confirm what was found. ``end``:
    look only before this byte. Raises ValueError: the needle is empty.
    """
    if not needle:
        raise ValueError("nothing to look for")
    overlap = len(needle) - 1
    with _opened(path) as (fd, size):
        stop = size if end is None else min(end, size)
        at = stop
        block_bytes = BLOCK_BYTES
        while at > 0:
            count = min(block_bytes, at)
            at -= count
            block = os.pread(fd, min(count + overlap, stop - at), at)
            found = block.rfind(needle)
            if found >= 0:
                return at + found
            block_bytes = min(block_bytes * 2, _LARGEST_BLOCK_BYTES)
    return None


def line_around(path: Path, offset: int) -> tuple[int, bytes]:
    """Return start and bytes, without the newline, of the line that the byte at ``offset`` belongs to.

    Raises ValueError: the offset lies outside the file.
    """
    with _opened(path) as (_, size):
        if not 0 <= offset < size:
            raise ValueError(f"{path}: byte {offset} lies outside the file of {size} bytes")
    start = _line_start(path, offset)
    with open_regular(path) as file:
        file.seek(start)
        return start, file.readline().removesuffix(b"\n")


# The end of a session as records: a suffix of its bytes that begins at a line and grows backward as far as needed.
#
# Whatever is decided on a suffix may rest on its records alone, never on what stands before them. The records have the
# same bytes and offsets as in a reading of the whole session; the numbers of lines count from where each reading began.

T = TypeVar("T")
# The first growth; each following one doubles what is held.
STEP_BYTES = 256 << 10
# A session of which more than a quarter would be needed is better read as a whole, unless that quarter is small.
_ALWAYS_BYTES = 32 << 20
_SHARE = 4


class FileMark(NamedTuple):
    """What a file is known by again."""

    dev: int
    ino: int
    size: int
    mtime_ns: int

    def may_be(self, older: "FileMark") -> bool:
        """Say whether it is the same file, which may have grown since."""
        return (self.dev, self.ino) == (older.dev, older.ino) and self.size >= older.size


class Suffix(Generic[T]):
    """Records from some line to the end of a session of one or several files.

    Attributes:
        records: what was read so far, in the order of the session.
        problems: what was not a clean record in the part that was read.
    """

    def __init__(self, paths: tuple[Path, ...], decoder: msgspec.json.Decoder[T]) -> None:
        """Begin behind the last byte."""
        self.records: list[tuple[Span, T]] = []
        self.problems: list[Problem] = []
        self._paths = paths
        self._decoder = decoder
        self._part = len(paths)  # where the suffix begins: before the first byte of this file but `_start`
        self._start = 0
        self._seen = [mark_of(path) for path in paths]
        total = sum(mark.size for mark in self._seen)
        self._room = max(_ALWAYS_BYTES, total // _SHARE)

    @property
    def begin(self) -> tuple[int, int]:
        """The number of the file, and the byte in it, where it begins."""
        return self._part, self._start

    @property
    def is_whole(self) -> bool:
        """Whether nothing stands before it."""
        return self._part == 0 and self._start == 0

    def back_to(self, needle: bytes) -> bool:
        """Grow back to the line with the last occurrence of ``needle`` before the suffix; False when there is none.

        The bytes may stand inside of a string: the caller looks at the records.
        """
        end: int | None = self._start
        for part in range(self._part, -1, -1):
            if part == len(self._paths):
                end = None
                continue
            hit = find_last(self._paths[part], needle, end=end)
            end = None
            if hit is not None:
                return self._reach(part, _line_start(self._paths[part], hit))
        return False

    def grow(self) -> bool:
        """Grow to twice the size; False when nothing stands before it, or too much is held already."""
        step = max(STEP_BYTES, self._held())
        part, at = self._part, self._start
        while at == 0:
            if part == 0:
                return False
            part -= 1
            at = self._seen[part].size
        return self._reach(part, _line_start(self._paths[part], max(0, at - step)))

    def is_steady(self) -> bool:
        """Say whether the files are still those that were found at first; growth at the end does no harm."""
        return all(mark_of(path).may_be(mark) for path, mark in zip(self._paths, self._seen, strict=True))

    def _held(self) -> int:
        return sum(mark.size for mark in self._seen[self._part :]) - self._start

    def _reach(self, part: int, offset: int) -> bool:
        """Read what stands between the line at ``offset`` of a part and what is held; False when that is too much."""
        if sum(mark.size for mark in self._seen[part:]) - offset > self._room:
            return False
        found: list[tuple[Span, T]] = []
        problems: list[Problem] = []
        for index in range(part, min(self._part + 1, len(self._paths))):
            begin = offset if index == part else 0
            stop = self._start if index == self._part else None
            if stop is None or begin < stop:
                found += self._between(index, begin, stop, problems)
        self.records[:0] = found
        self.problems[:0] = problems
        self._part, self._start = part, offset
        return True

    def _between(self, part: int, begin: int, stop: int | None, problems: list[Problem]) -> list[tuple[Span, T]]:
        found: list[tuple[Span, T]] = []
        for span, value in read_records(self._paths[part], self._decoder, problems, part=part, start=begin):
            if stop is not None and span.offset >= stop:
                break
            found.append((span, value))
        return found


def mark_of(path: Path) -> FileMark:
    """Return what a file is known by now. Raises UnreadableError: it is not there."""
    try:
        at = path.stat()
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error
    return FileMark(at.st_dev, at.st_ino, at.st_size, at.st_mtime_ns)


def _line_start(path: Path, offset: int) -> int:
    """Return where the line begins that the byte at ``offset`` belongs to."""
    if offset == 0:
        return 0
    before = find_last(path, b"\n", end=offset)
    return 0 if before is None else before + 1


def first_record(path: Path, decoder: msgspec.json.Decoder[T]) -> tuple[Span, T] | None:
    """Return the first record of a file, None when there is none or its line, or one before it, has any damage."""
    problems: list[Problem] = []
    records = read_records(path, decoder, problems)
    first, second = next(records, None), next(records, None)  # damage behind a record is told once its line was left
    if first is None or (second is not None and second[0].number == first[0].number):
        return None
    return None if any(problem.line <= first[0].number for problem in problems) else first


# Small files that keep what was dear to find out before the end of single sessions. A cache; delete it any time.
#
# They are no rows of the catalogue of sessions, since a context is told in a tenth of a second, and the database alone
# would take a tenth of that to open.

# The oldest give way: of a session that is gone nobody asks again.
MOST = 500


class FileNotes:
    """Notes in a folder, one file each.

    Args:
        folder: made when the first note is kept.

    Attributes:
        warnings: what could not be kept, and why.
    """

    def __init__(self, folder: Path) -> None:
        self.warnings: list[str] = []
        self._folder = folder

    def get(self, name: str) -> bytes | None:
        """Return what was kept under a name; None when there is nothing, or nothing that can be read."""
        try:
            return file_bytes(self._folder / name)
        except FileNotFoundError:
            return None
        except OSError as error:
            self.warnings.append(f"{self._folder / name}: cannot be read ({error.strerror}), so it is counted again")
            return None

    def put(self, name: str, note: bytes) -> None:
        """Keep something under a name, and as many of the newest other notes as there may be."""
        try:
            private_folder(self._folder)
            atomic_write(self._folder / name, note)
            self._forget_oldest()
        except OSError as error:
            self.warnings.append(
                f"{self._folder / name}: cannot be kept ({error.strerror}), so it is counted each time"
            )

    def _forget_oldest(self) -> None:
        with os.scandir(self._folder) as entries:
            notes = sorted((entry.stat().st_mtime_ns, entry.path) for entry in entries)
        for _, path in notes[:-MOST]:
            Path(path).unlink(missing_ok=True)


def context_notes(environ: Mapping[str, str]) -> FileNotes:
    """Return the notes of this user's contexts."""
    return FileNotes(state_folder(environ) / "contexts")
