"""Lines too long to be read twice: measured in blocks first, then read in one piece without their padding.

A crash may leave gigabytes of NUL bytes in front of the next record (a preallocated file); they are stepped over
without being held in memory.
"""

import os
from typing import NamedTuple

_BLOCK = 1 << 20
# a single read on Linux returns less than 2 GiB
_READ_MAX = 1 << 30
_PADDING = b" \t\r\n\0"


class LongLine(NamedTuple):
    """A long line.

    Attributes:
        offset: byte offset of ``raw``.
        raw: its bytes without the padding at both ends.
        stop: byte offset of the next line.
        ended: whether it has a newline.
        has_nul: whether the padding has NUL bytes.
    """

    offset: int
    raw: bytes
    stop: int
    ended: bool
    has_nul: bool


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
