"""Ways in which a transcript can be damaged or odd, applied to the lines of a sound one."""

import random
import re
from collections.abc import Callable

Lines = list[bytes]
_NAMING = re.compile(rb'("(?:uuid|id|parentUuid|parentId|leafUuid|firstKeptEntryId|headUuid|tailUuid)":)"([^"\\]{4,})"')
_COUNTED = re.compile(rb'("(?:seq|firstKeptSeq|messages_compacted|num_turns)":)(\d+)')
_STAMP = re.compile(rb'("timestamp":)"[^"]*"')
_MARKS = (
    b"compact_boundary",
    b'"compaction"',
    b'"compact"',
    b'"compacted"',
    b'"summary"',
    b"rolled_back",
    b"last-prompt",
)
_GARBAGE = (b"not json", b"\0\0\0", b'{"type":"user","uuid":', b"[1,2]", b'"text"', b"\xff\xfe{}", b"{}", b"")


def _spot(chance: random.Random, lines: Lines) -> int:
    """Return a line, those at the end more often: a context is made of them."""
    near = chance.random() < 0.6
    return chance.randrange(max(0, len(lines) - 12) if near else 0, len(lines))


def cut(chance: random.Random, lines: Lines) -> Lines:
    """Tear the file at some byte."""
    whole = b"\n".join(lines)
    return whole[: chance.randrange(len(whole) // 2, len(whole) + 1)].split(b"\n")


def garbage(chance: random.Random, lines: Lines) -> Lines:
    """Put a line that is no record somewhere."""
    at = _spot(chance, lines)
    return [*lines[:at], chance.choice(_GARBAGE), *lines[at:]]


def mark(chance: random.Random, lines: Lines) -> Lines:
    """Put a byte order mark or NUL bytes in front of a line."""
    at = _spot(chance, lines)
    return [*lines[:at], chance.choice((b"\xef\xbb\xbf", b"\0\0")) + lines[at], *lines[at + 1 :]]


def repeat(chance: random.Random, lines: Lines) -> Lines:
    """Copy a line, with its ids, to another place."""
    at = _spot(chance, lines)
    return [*lines[:at], lines[_spot(chance, lines)], *lines[at:]]


def move(chance: random.Random, lines: Lines) -> Lines:
    """Move a line."""
    lines = list(lines)
    line = lines.pop(_spot(chance, lines))
    lines.insert(chance.randrange(len(lines) + 1), line)
    return lines


def lose(chance: random.Random, lines: Lines) -> Lines:
    """Lose a line, so that its children dangle."""
    at = _spot(chance, lines)
    return lines[:at] + lines[at + 1 :]


def glue(chance: random.Random, lines: Lines) -> Lines:
    """Lose the newline between two lines."""
    at = _spot(chance, lines)
    return [*lines[:at], b"".join(lines[at : at + 2]), *lines[at + 2 :]]


def rename(chance: random.Random, lines: Lines) -> Lines:
    """Give an id, or the name of a parent, the value of another: duplicates, rewinds, circles, dangling ends."""
    known = [m[2] for line in lines for m in _NAMING.finditer(line)] + [b"00000000-nowhere"]
    at = _spot(chance, lines)
    hits = list(_NAMING.finditer(lines[at]))
    if not hits:
        return lines
    hit = chance.choice(hits)
    line = lines[at][: hit.start()] + hit[1] + b'"' + chance.choice(known) + b'"' + lines[at][hit.end() :]
    return [*lines[:at], line, *lines[at + 1 :]]


def unroot(chance: random.Random, lines: Lines) -> Lines:
    """Begin a new tree somewhere."""
    at = _spot(chance, lines)
    line = re.sub(rb'("parent(?:Uuid|Id)":)"[^"]*"', rb"\1null", lines[at], count=1)
    return [*lines[:at], line, *lines[at + 1 :]]


def recount(chance: random.Random, lines: Lines) -> Lines:
    """Change a number that counts or orders."""
    at = _spot(chance, lines)
    line = _COUNTED.sub(lambda m: m[1] + str(chance.randrange(30)).encode(), lines[at], count=1)
    return [*lines[:at], line, *lines[at + 1 :]]


def restamp(chance: random.Random, lines: Lines) -> Lines:
    """Turn a clock back or forward."""
    at = _spot(chance, lines)
    stamp = chance.choice((b"2001-01-01T00:00:00.000Z", b"2099-01-01T00:00:00.000Z", b"nonsense"))
    return [*lines[:at], _STAMP.sub(rb'\1"' + stamp + b'"', lines[at], count=1), *lines[at + 1 :]]


def second_header(chance: random.Random, lines: Lines) -> Lines:
    """Write the first lines a second time."""
    at = _spot(chance, lines)
    return [*lines[:at], *lines[: chance.randint(1, 2)], *lines[at:]]


def second_mark(chance: random.Random, lines: Lines) -> Lines:
    """Write a compaction, a rollback or the name of a leaf a second time, or move it."""
    marked = [i for i, line in enumerate(lines) if any(mark in line for mark in _MARKS)]
    if not marked:
        return lines
    lines = list(lines)
    at = chance.choice(marked)
    line = lines.pop(at) if chance.random() < 0.5 else lines[at]
    lines.insert(_spot(chance, lines) if lines else 0, line)
    return lines


WAYS: tuple[Callable[[random.Random, Lines], Lines], ...] = (
    *(cut, garbage, mark, repeat, move, lose, glue, rename, rename, unroot, recount, restamp, second_header),
    *(second_mark, second_mark),
)


def damaged(raw: bytes, seed: int) -> bytes:
    """Return the file with one to four kinds of damage."""
    chance = random.Random(seed)
    lines = raw.split(b"\n")
    for _ in range(chance.randint(1, 4)):
        if len(lines) > 1:
            lines = chance.choice(WAYS)(chance, lines)
    return b"\n".join(lines)
