"""Putting own lines into a file that people write in too, without touching a byte of theirs.

A file is a list of lines with newlines *between* them (a file that ends with a newline has an empty last line). In
this view taking own lines out of a file gives back exactly what it was before they were put in, whatever its line
ends are and whether or not it ends with a newline.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from slowwave.memory.ledger import line_hash

_BLANK = line_hash(b"")
_SECTION = b"## Auto-extracted memories"


def split(data: bytes) -> list[bytes]:
    """Return the lines of a file, each without its newline, with its carriage return."""
    return data.split(b"\n")


def own_lines(data: bytes, hashes: Iterable[str]) -> dict[int, str]:
    """Return which lines are own ones: line number -> hash, in file order.

    Each hash stands for one line. When a person has copied an own line, the first one is ours. The blank line between
    one of ours and a heading of ours is ours, too.
    """
    wanted = Counter(iter(hashes))
    found: dict[int, str] = {}
    if wanted:
        for number, line in enumerate(split(data)):
            digest = line_hash(line)
            if wanted[digest]:
                wanted[digest] -= 1
                found[number] = digest
        lines = split(data)
        gaps = [n - 1 for n in found if lines[n].startswith(b"## ") and n - 2 in found and not lines[n - 1].strip()]
        found |= dict.fromkeys(gaps, _BLANK)
    return dict(sorted(found.items()))


def without_own(data: bytes, hashes: Iterable[str]) -> bytes:
    """Return what people wrote: the file without its own lines."""
    own = own_lines(data, hashes)
    return b"\n".join(line for number, line in enumerate(split(data)) if number not in own)


def weave(data: bytes, old: Iterable[str], new: Sequence[str]) -> bytes:
    """Return the file with its own lines replaced by the lines ``new``, which form one block.

    Args:
        data: the file as it is.
        old: hashes of the lines that may be ours.
        new: the lines that shall be there, without line ends.

    The block stands where the first own line stood, else at the end. Lines of people keep their bytes and order. A
    file that has exactly these own lines in this order already stays as it is, also when a person has put lines of
    their own between them.
    """
    own = own_lines(data, old)
    if list(own.values()) == [line_hash(line) for line in new]:
        return data
    lines = split(data)
    kept = [line for number, line in enumerate(lines) if number not in own]
    at = min(own) if own else _end(lines)
    end = b"\r" if _is_crlf(kept) else b""
    block = [line.encode("utf-8", "surrogateescape") + end for line in new]
    return b"\n".join([*kept[:at], *block, *kept[at:]])


def _end(lines: Sequence[bytes]) -> int:
    """Return where a first block goes: at the end, but above a section of Cersei's."""
    end = len(lines) - (lines[-1] == b"")
    section = next((n for n, line in enumerate(lines) if line.rstrip() == _SECTION), end)
    # a blank line above the section stays there
    return section - (0 < section < end and not lines[section - 1].strip())


def line_count(data: bytes) -> int:
    """Return the number of lines as a client counts them: a final newline ends a line and starts none."""
    return len(split(data)) - (split(data)[-1] == b"")


def line_cost(line: str, data: bytes) -> int:
    """Return how many bytes an own line adds to a file."""
    return len(line.encode("utf-8", "surrogateescape")) + (2 if _is_crlf(split(data)) else 1)


def _is_crlf(lines: Sequence[bytes]) -> bool:
    return len(lines) > 1 and lines[0].endswith(b"\r")
