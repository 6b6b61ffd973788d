"""A section of slowwave's in somebody's file: what becomes of the file, and writing it so that a kill loses nothing."""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from slowwave.errors import MovedError, RefusedError
from slowwave.files import at_fault_point, atomic_write, fsync_folder, private_folder
from slowwave.memory.delivery.register import Block
from slowwave.memory.folder import read_or_none
from slowwave.memory.section import Marks, gap_before, place_of, with_section, without_section


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of a file.

    Attributes:
        path: the file.
        old: its bytes; None when it is not there.
        new: what they are to be; None when it goes.
        before: the hash of its section as it is, in a list of none or one.
        block: what is to be noted of its section; None when it is to have none.
        action: "write", "renew", "remove", or "" when nothing changes.
    """

    path: Path
    old: bytes | None
    new: bytes | None
    before: tuple[str, ...]
    block: Block | None
    action: str


def section_in(path: Path, marks: Marks) -> bytes | None:
    """Return the section of a file, markers included, None when there is none.

    Raises:
        RefusedError: the markers do not stand there in pairs.
        UnreadableError: it cannot be read.
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

    Args:
        path: the file.
        block: what is noted of its section.
        lines: what it is to be; None when there is to be none.
        marks: its markers.
        overwrite: also write over, or take out, what somebody changed.
        again: also put back what somebody took out.

    Raises:
        RefusedError: somebody changed the section or took it out, or the file cannot be replaced.
        UnreadableError: it cannot be read.
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

    Args:
        change: what becomes of it.
        note: writes down what is known of its section.
        mode: of a new file.

    Raises:
        MovedError: somebody wrote to it meanwhile.
        OSError: it cannot be written.
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
