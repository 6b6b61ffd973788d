"""Which bytes of a file stay when lines go and come: the arithmetic of :mod:`rewrite`."""

import os
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

_BLANK = b" \t\r"
_LOOK_BYTES = 4096


class Kept(NamedTuple):
    """A byte range of the old file that survives, and where it begins in the new one."""

    start: int
    stop: int
    new_start: int


def whole_lines(fd: int, size: int, drop: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return (start, stop) of what goes, in order: a range that fills its line takes the line's newline along.

    Raises:
        ValueError: a range lies outside the file, or ranges overlap.
    """
    joined: list[tuple[int, int]] = []
    for offset, length in sorted(set(drop)):
        start, stop = offset, offset + length
        if start < 0 or length <= 0 or stop > size:
            raise ValueError(f"range {offset}+{length} lies outside the file of {size} bytes")
        if joined and start < joined[-1][1]:
            raise ValueError(f"range {offset}+{length} overlaps the one before")
        if joined and _is_blank(fd, joined[-1][1], start):
            start = joined.pop()[0]
        joined.append((start, stop))
    return [_widened(fd, size, start, stop) for start, stop in joined]


def _is_blank(fd: int, start: int, stop: int) -> bool:
    """Say whether only white space within one line lies between two ranges."""
    return stop - start <= _LOOK_BYTES and not os.pread(fd, stop - start, start).strip(_BLANK)


def _widened(fd: int, size: int, start: int, stop: int) -> tuple[int, int]:
    """Return the range with the rest of its line when that is blank."""
    look = max(0, start - _LOOK_BYTES)
    lead = os.pread(fd, start - look, look)
    blank = len(lead) - len(lead.rstrip(_BLANK))
    first = start - blank
    if first > 0 and lead[: len(lead) - blank][-1:] != b"\n":
        return start, stop
    trail = os.pread(fd, _LOOK_BYTES, stop)
    rest = trail.lstrip(_BLANK)
    end = stop + len(trail) - len(rest)
    if rest.startswith(b"\n"):
        return first, end + 1
    return (first, end) if end == size else (start, stop)


def kept_ranges(
    fd: int, size: int, gone: Sequence[tuple[int, int]], insert: Sequence[tuple[int, bytes]]
) -> tuple[list[Kept], list[tuple[int, bytes]]]:
    """Return what stays and, with their places in the new file, the bytes that come.

    Raises:
        ValueError: an insert is not one line, or not at the start of a line or the end of the file.
    """
    kept: list[Kept] = []
    texts: list[tuple[int, bytes]] = []
    new = at = 0
    cuts: list[tuple[int, int, bytes]] = [(start, stop, b"") for start, stop in gone]
    cuts += [(*_place(fd, size, offset, gone), _line(line)) for offset, line in insert]
    for start, stop, line in sorted(cuts, key=lambda cut: cut[0]):
        if at < start:
            kept.append(Kept(at, start, new))
            new += start - at
        at = max(at, stop)
        if line:
            is_behind_kept = bool(kept) and kept[-1].new_start + kept[-1].stop - kept[-1].start == new
            heal = b"\n" if is_behind_kept and os.pread(fd, 1, kept[-1].stop - 1) != b"\n" else b""
            texts.append((new, heal + line))
            new += len(texts[-1][1])
    if at < size:
        kept.append(Kept(at, size, new))
    return kept, texts


def _line(line: bytes) -> bytes:
    if not line or b"\n" in line:
        raise ValueError("an inserted record is one non-empty line without a newline")
    return line + b"\n"


def _place(fd: int, size: int, offset: int, gone: Sequence[tuple[int, int]]) -> tuple[int, int]:
    near = bisect_right(gone, offset, key=lambda cut: cut[0]) - 1
    if near >= 0 and gone[near][0] <= offset < gone[near][1]:
        return gone[near][0], gone[near][0]
    if offset < 0 or offset > size or (0 < offset < size and os.pread(fd, 1, offset - 1) != b"\n"):
        raise ValueError(f"offset {offset} is neither the start of a line nor the end of the file")
    return offset, offset
