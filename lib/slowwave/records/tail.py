"""Reading a file from its end: what happened last costs the same whether the file has 1 MB or 200 MB."""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from slowwave.errors import UnreadableError
from slowwave.records.lines import open_regular
from slowwave.records.longline import read_range

BLOCK_BYTES = 256 << 10
# for a search in raw bytes, which needs fewer reads with larger ones
_LARGEST_BLOCK_BYTES = 4 << 20


@contextmanager
def _opened(path: Path) -> Generator[tuple[int, int]]:
    """Yield descriptor and size of a regular file."""
    with open_regular(path) as file:
        try:
            yield file.fileno(), os.fstat(file.fileno()).st_size
        except OSError as error:
            raise UnreadableError(path, error.strerror or "cannot be read") from error


def lines_backward(path: Path, *, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line without its newline) from the last line to the first; blank lines are left out.

    Args:
        path: the file; what is appended while it is read is not seen.
        end: read only what lies before this byte.

    Raises:
        UnreadableError: the file cannot be opened or read.
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
            yield from _split_backward(block, at)
            rest = block[: block.find(b"\n") + 1] if b"\n" in block else block
            # larger blocks would only leave the cache, and a line of 100 MB is not copied once a block
            block_bytes = max(BLOCK_BYTES, len(rest))
        first = rest.removesuffix(b"\n")
        if first.strip():
            yield 0, first


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


def last_lines(path: Path, count: int, *, end: int | None = None) -> list[tuple[int, bytes]]:
    """Return the last ``count`` lines that are not blank, in the order of the file, with their offsets.

    Raises:
        UnreadableError: the file cannot be opened or read.
    """
    found: list[tuple[int, bytes]] = []
    for line in lines_backward(path, end=end):
        if len(found) == count:
            break
        found.append(line)
    return found[::-1]


def find_last(path: Path, needle: bytes, *, end: int | None = None, most: int | None = None) -> int | None:
    """Return the offset of the last occurrence of ``needle`` that ends at or before byte ``end``.

    It is a search in raw bytes: the caller decodes the line (:func:`line_around`) to confirm what was found.

    Args:
        path: the file.
        needle: what is looked for.
        end: look only before this byte.
        most: look at no more than about so many bytes.

    Raises:
        UnreadableError: the file cannot be opened or read.
        ValueError: the needle is empty.
    """
    if not needle:
        raise ValueError("nothing to look for")
    overlap = len(needle) - 1
    with _opened(path) as (fd, size):
        stop = size if end is None else min(end, size)
        at = stop
        first = 0 if most is None else max(0, stop - most)
        block_bytes = BLOCK_BYTES
        while at > first:
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

    Raises:
        UnreadableError: the file cannot be opened or read.
        ValueError: the offset lies outside the file.
    """
    with _opened(path) as (_, size):
        if not 0 <= offset < size:
            raise ValueError(f"{path}: byte {offset} lies outside the file of {size} bytes")
    before = find_last(path, b"\n", end=offset)
    start = 0 if before is None else before + 1
    with open_regular(path) as file:
        file.seek(start)
        return start, file.readline().removesuffix(b"\n")
