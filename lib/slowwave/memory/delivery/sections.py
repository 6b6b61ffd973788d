"""One project's memory as a section of a file that agents read and people write: ``AGENTS.md``, ``CLAUDE.local.md``.

The section stands between two markers. Everything outside of them is other people's and keeps its bytes.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from slowwave.errors import MovedError, RefusedError
from slowwave.files import at_fault_point, atomic_write, fsync_folder, private_folder
from slowwave.memory.book import Memory, Standing
from slowwave.memory.delivery import Block
from slowwave.memory.folder import TOPICS, memory_line, read_or_none
from slowwave.memory.team import OtherLine

_TITLE = "## What earlier sessions taught"
EXPORTED = "Written by slowwave from transcripts; what is changed between the markers is lost with the next export."
_OF_OTHERS = (
    "",
    "### What others in this repository accepted",
    "",
    "Each has its author's name. Where one differs from what stands above, or from what the person says, that holds.",
    "",
)
# An at sign that no word ends before: Claude Code takes what follows for a file, and puts that file into its prompt.
_IMPORT = re.compile(r"(?<![^\W_])@")


class Marks(NamedTuple):
    """The lines that a section stands between, in the comments of the file that it stands in."""

    begin: str
    end: str


MARKDOWN = Marks("<!-- slowwave memory: begin -->", "<!-- slowwave memory: end -->")
BEGIN, END = MARKDOWN


def section_of(
    memories: Iterable[Memory],
    standing: Standing,
    warned: Mapping[str, str] | None = None,
    *,
    note: str = EXPORTED,
    most: int | None = None,
    as_comment: bool = False,
    others: Iterable[OtherLine] = (),
) -> list[str]:
    """Return the lines of the section, markers included: by category, in each what counts most first.

    ``memories``: what stands in it. ``standing``: what each is worth today. ``warned``: what has to be said beside a
    memory, by its id. ``note``: who writes it, for those who read the file. ``most``: bytes that it may have; what
    counts least is left out, and a line says how to find it. ``as_comment``: what is between the markers stands in a
    comment of Markdown. ``others``: what others shared; it takes what room is left, behind everything else.
    """
    warned = warned or {}
    every = sorted(memories, key=lambda m: (-standing.worth(m), m.text, m.id))
    texts = [(m, _line(m, warned.get(m.id, ""))) for m in every]
    theirs = [memory_line(_harmless(f"{one.text} ({one.who})")) for one in others if not one.held]
    whole = _rendered(texts, 0, note, as_comment=as_comment)
    if most is None or size_of(whole) <= most:
        kept = theirs
        while kept and most is not None and size_of([*whole, *_OF_OTHERS, *kept]) > most:
            kept = kept[:-1]
        return _rendered(texts, len(theirs) - len(kept), note, as_comment=as_comment, theirs=kept)
    room = most - size_of(_rendered([], len(texts) + len(theirs), note, as_comment=as_comment))
    taken: list[tuple[Memory, str]] = []
    for memory, text in texts:
        headings = {m.category for m, _ in taken}
        cost = size_of([text]) + (0 if memory.category in headings else size_of(_heading(memory)))
        if cost <= room:
            taken.append((memory, text))
            room -= cost
    return _rendered(taken, len(texts) - len(taken) + len(theirs), note, as_comment=as_comment)


def shown_in(memories: Iterable[Memory], lines: Sequence[str]) -> list[Memory]:
    """Return those of some memories that a section shows."""
    there = set(lines)
    return [memory for memory in memories if _line(memory, "") in there]


def size_of(lines: Iterable[str]) -> int:
    """Return how many bytes lines take, each with its end."""
    return sum(len(line.encode("utf-8", "surrogateescape")) + 1 for line in lines)


def with_section(data: bytes, lines: Sequence[str], path: Path, marks: Marks = MARKDOWN) -> bytes:
    """Return a file with the section in it: in place of the one it has, else at its end.

    ``data``: the file as it is, any bytes. ``lines``: the section, markers included. ``path``: named in errors.
    ``marks``: the markers. Raises RefusedError: the markers do not stand there in pairs, so it is unclear what is ours.
    """
    place = place_of(data, path, marks)
    # a section keeps the line ends that it has; a new one takes those of the file
    newline = b"\r\n" if b"\r\n" in (data[place[0] : place[1]] if place else data) else b"\n"
    block = newline.join(line.encode("utf-8", "surrogateescape") for line in lines)
    if place:
        return data[: place[0]] + block + data[place[1] :]
    return data + gap_before(data) + block + newline


def without_section(data: bytes, gap: bytes, path: Path, marks: Marks = MARKDOWN) -> bytes:
    """Return a file as it was before :func:`with_section` put a section at its end.

    ``data``: the file as it is. ``gap``: what :func:`gap_before` said of the file without it. ``path``: named in
    errors. ``marks``: the markers. Raises RefusedError: the markers do not stand there in pairs, so it is unclear what
    is ours.
    """
    place = place_of(data, path, marks)
    if not place:
        return data
    before, behind = data[: place[0]], data[place[1] :]
    behind = behind.removeprefix(b"\r\n") if behind.startswith(b"\r\n") else behind.removeprefix(b"\n")
    # where somebody wrote on behind it, their lines are not joined to those before
    return before.removesuffix(gap) + behind if not behind else before + behind


def gap_before(data: bytes) -> bytes:
    """Return what parts a new section from the file that it is put behind."""
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    return b"" if not data else newline if data.endswith(b"\n") else newline * 2


def place_of(data: bytes, path: Path, marks: Marks = MARKDOWN) -> tuple[int, int] | None:
    """Return where the section of a file begins and ends, markers included; None when it has none.

    Raises RefusedError: the markers do not stand there in pairs, so it is unclear what is ours.
    """
    begin, end = marks.begin.encode(), marks.end.encode()
    numbers = data.count(begin), data.count(end)
    start, stop = data.find(begin), data.find(end)
    if numbers not in {(0, 0), (1, 1)} or stop < start:
        raise RefusedError(
            f"{path}: has {numbers[0]} begin and {numbers[1]} end markers of slowwave; put one pair right"
        )
    return None if start < 0 else (start, stop + len(end))


def _rendered(
    texts: Sequence[tuple[Memory, str]], left_out: int, note: str, *, as_comment: bool, theirs: Sequence[str] = ()
) -> list[str]:
    lines = [_TITLE, "", note]
    for category in TOPICS:
        of = [(memory, text) for memory, text in texts if memory.category == category]
        if of:
            lines += [*_heading(of[0][0]), *dict.fromkeys(text for _, text in of)]
    lines += [*_OF_OTHERS, *dict.fromkeys(theirs)] if theirs else []
    if left_out:
        lines += ["", f"{left_out} more are not shown here: `slowwave memory search WORDS` finds them."]
    elif not texts and not theirs:
        lines += ["", "Nothing is remembered yet."]
    return [BEGIN, *(["<!--", *lines, "-->"] if as_comment else lines), END]


def _heading(memory: Memory) -> list[str]:
    return ["", f"### {TOPICS[memory.category].title}", ""]


def _line(memory: Memory, warning: str) -> str:
    return memory_line(_harmless(f"{memory.text} ({warning})" if warning else memory.text))


def _harmless(text: str) -> str:
    """Return a text in which no marker and no comment begins or ends, and that no client takes for an import."""
    text = text.replace("<!--", "<!\u200b--").replace("-->", "--\u200b>")
    return _IMPORT.sub("\u200b@", text)


# A section of slowwave's in somebody's file: what becomes of the file, and writing it so that a kill loses nothing.


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of a file."""

    path: Path  # the file
    old: bytes | None  # its bytes; None when it is not there
    new: bytes | None  # what they are to be; None when it goes
    before: tuple[str, ...]  # the hash of its section as it is, in a list of none or one
    block: Block | None  # what is to be noted of its section; None when it is to have none
    action: str  # "write", "renew", "remove", or "" when nothing changes


def section_in(path: Path, marks: Marks) -> bytes | None:
    """Return the section of a file, markers included, None when there is none.

    Raises RefusedError: the markers do not stand there in pairs; UnreadableError: it cannot be read.
    """
    data = read_or_none(path) or b""
    place = place_of(data, path, marks)
    return data[place[0] : place[1]] if place else None


def is_changed(section: bytes, block: Block) -> bool:
    """Say whether a section is not what was written."""
    return _hash(section) not in block.hashes


def changed(
    path: Path, block: Block, lines: Sequence[str] | None, marks: Marks, *, overwrite: bool, again: bool
) -> Change:
    """Return what becomes of a file.

    ``path``: the file. ``block``: what is noted of its section. ``lines``: what it is to be; None when there is to be
    none. ``marks``: its markers. ``overwrite``: also write over, or take out, what somebody changed. ``again``: also
    put back what somebody took out. Raises RefusedError: somebody changed the section or took it out, or the file
    cannot be replaced; UnreadableError: it cannot be read.
    """
    old, section = read_or_none(path), section_in(path, marks)
    if section is not None and is_changed(section, block) and not overwrite:
        if block.hashes:
            raise RefusedError(f"{path}: somebody changed what is between the markers, so it stays; see --overwrite")
        raise RefusedError(f"{path}: has a section already, by slowwave memory export; --overwrite takes it over")
    if old is not None and path.stat().st_nlink > 1:
        raise RefusedError(f"{path}: has a second name (a hard link), so it cannot be replaced")
    before = () if section is None else (_hash(section),)
    if lines is None:
        new = None if old is None else without_section(old, os.fsencode(block.gap), path, marks)
        new = None if not new and block.made else new
        return Change(path, old, new, before, None, "" if new == old else "remove")
    if section is None and block.hashes and not block.pending and not again:
        raise RefusedError(f"{path}: somebody took the section out, so it stays out; slowwave install puts it back")
    new = with_section(old or b"", lines, path, marks)
    if section is None:
        block = Block(gap=os.fsdecode(gap_before(old or b"")), made=old is None)
    place = place_of(new, path, marks)
    assert place
    noted = Block((_hash(new[place[0] : place[1]]),), block.gap, block.made)
    return Change(path, old, new, before, noted, "" if new == old else "write" if section is None else "renew")


def carry_out(change: Change, note: Callable[[Block | None], None], mode: int) -> None:
    """Write a file as planned; whatever kills it in between, the next one knows what is slowwave's.

    ``change``: what becomes of it. ``note``: writes down what is known of its section. ``mode``: of a new file. Raises
    MovedError: somebody wrote to it meanwhile; OSError: it cannot be written.
    """
    path = change.path
    if change.action:
        if change.block is not None:
            note(replace(change.block, hashes=(*change.before, *change.block.hashes), pending=True))
        if read_or_none(path) != change.old:
            raise MovedError(f"{path}: somebody wrote to it meanwhile; run it again")
        if change.new is None:
            at_fault_point("unlink", path)
            path.unlink()
            fsync_folder(path.parent)
        else:
            private_folder(path.parent)
            atomic_write(path, change.new, mode=mode if change.old is None else None)
            _give_to_owner(path)
    note(change.block)


def _give_to_owner(path: Path) -> None:
    """Give a file that root made to the owner of its folder, whose agents are to read it."""
    owner, own = path.parent.stat(), path.stat()
    if os.geteuid() == 0 and own.st_uid == 0 and owner.st_uid != 0:
        os.chown(path, owner.st_uid, owner.st_gid)


def _hash(section: bytes) -> str:
    return hashlib.sha256(section).hexdigest()
