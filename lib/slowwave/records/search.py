"""Finding the few lines that matter in a large file without decoding the others.

A search in raw bytes only says where to look: JSON may hold the same bytes inside a string, so the caller decodes
every line that is found here.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from slowwave.errors import UnreadableError
from slowwave.records.lines import open_regular

_BLOCK_BYTES = 1 << 20


def raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line with its newline) for every line, undecoded: the least that a pass over a file can cost.

    Raises:
        UnreadableError: the file cannot be opened or read.
    """
    offset = 0
    with open_regular(path) as file:
        try:
            for line in file:
                yield offset, line
                offset += len(line)
        except OSError as error:
            raise UnreadableError(path, error.strerror or "cannot be read") from error


def lines_with(path: Path, needle: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line without its newline) for every line that contains ``needle``.

    Several times faster than a loop over the lines when few have it; memory stays within the longest line and a few
    blocks. A needle with a newline is found nowhere.

    Raises:
        UnreadableError: the file cannot be opened or read.
        ValueError: the needle is empty.
    """
    if not needle:
        raise ValueError("nothing to look for")
    if b"\n" in needle:
        return
    with open_regular(path) as file:
        fd = file.fileno()
        at = 0
        rest = b""
        try:
            while block := os.pread(fd, max(_BLOCK_BYTES, len(rest)), at + len(rest)):
                block = rest + block if rest else block
                stop = block.rfind(b"\n") + 1
                yield from _matching(block, stop, at, needle)
                rest = block[stop:]
                at += stop
        except OSError as error:
            raise UnreadableError(path, error.strerror or "cannot be read") from error
        yield from _matching(rest, len(rest), at, needle)


def _matching(block: bytes, stop: int, at: int, needle: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a block that have the needle; ``stop`` is the end of its last whole line."""
    end = 0
    while (hit := block.find(needle, end, stop)) >= 0:
        begin = block.rfind(b"\n", 0, hit) + 1
        end = block.find(b"\n", hit, stop)
        if end < 0:
            end = stop
        if hit + len(needle) <= end:
            yield at + begin, block[begin:end]
