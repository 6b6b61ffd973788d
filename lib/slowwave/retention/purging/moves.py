"""Where recorded bytes of a file are after a purge, and putting the new places into what memories rest on.

Written down before a file is rewritten: a run that is killed in between is finished by the next one, which finds the
file with its new bytes. What rested on a record that went keeps its old place; the archived copy still shows it.
"""

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from slowwave.errors import UnreadableError
from slowwave.files import atomic_write, file_bytes, private_folder
from slowwave.memory.names import name_from_json, name_to_json
from slowwave.retention.own import OwnFile, apply_own
from slowwave.retention.purging.plan import Edit, PartPlan
from slowwave.retention.transcripts import plain_bytes

FOLDER = "purge"
_TEXT = rb'"(?:[^"\\]|\\.)*"'


class Moved(msgspec.Struct, frozen=True):
    """A recorded range of a file, and where its bytes are in the new one."""

    start: int
    length: int
    sha256: str
    new_start: int
    new_length: int
    new_sha256: str


class Moves(msgspec.Struct, frozen=True):
    """What a purge of one file means for its readers.

    Attributes:
        path: the file, as :mod:`slowwave.memory.names` spells it.
        size: bytes that it gets.
        sha256: of these bytes.
        session: its session.
        moved: recorded ranges that are elsewhere, or hold other bytes.
    """

    path: str
    size: int
    sha256: str
    session: str
    moved: tuple[Moved, ...]


def moves_of(plan: PartPlan, old: bytes, session: str, recorded: Iterable[tuple[int, int, str]]) -> Moves:
    """Return the moves of one file.

    Args:
        plan: what is to be done with it.
        old: its bytes now.
        session: id of its session.
        recorded: begin, end and hash of what is recorded of it.
    """
    moved: list[Moved] = []
    for start, stop, digest in recorded:
        if sha256(old[start:stop]).hexdigest() != digest:
            continue
        new_start, new_stop = _now(start, plan.edits, is_end=False), _now(stop, plan.edits, is_end=True)
        new = plan.new[new_start:new_stop]
        if new:
            moved.append(Moved(start, stop - start, digest, new_start, len(new), sha256(new).hexdigest()))
    path = name_to_json(str(plan.path))
    return Moves(path, len(plan.new), sha256(plan.new).hexdigest(), session, tuple(moved))


def _now(at: int, edits: Sequence[Edit], *, is_end: bool) -> int:
    """Return where a boundary between bytes is now; one inside a changed line is at the end of what it became."""
    shift = 0
    for edit in edits:
        new = len(edit.new) + 1 if edit.new else 0
        if at <= edit.start:
            break
        if at < edit.stop:
            # evidence ends before the line end, which the new line has, too
            return edit.start + shift + (len(edit.new) if is_end else 0)
        shift += new - (edit.stop - edit.start)
    return at + shift


def write_moves(folder: Path, moves: Moves) -> Path:
    """Note moves before their file is rewritten, and return where.

    Raises:
        OSError: the state folder cannot be written.
    """
    private_folder(folder)
    path = folder / f"{sha256(moves.path.encode()).hexdigest()[:24]}-{moves.sha256[:8]}.json"
    atomic_write(path, msgspec.json.encode(moves))
    return path


def noted_moves(folder: Path) -> list[tuple[Path, Moves]]:
    """Return the moves that a killed run left, those that were not carried out removed."""
    found: list[tuple[Path, Moves]] = []
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        moves = msgspec.json.decode(file_bytes(path), type=Moves)
        if _stands(moves):
            found.append((path, moves))
        else:
            path.unlink()
    return found


def renew(memory: Path, moves: Moves) -> list[str]:
    """Put new places into everything that a memory folder records of a file.

    Returns:
        Files that somebody changed meanwhile; they are left for the next run.

    Raises:
        LockHeldError: another process kept the memory folder locked for too long.
        OSError: the folder cannot be written.
    """
    if not memory.is_dir() or not moves.moved:
        return []
    changed: list[OwnFile] = []
    for path in sorted(found for found in memory.rglob("*.json*") if found.is_file() and not found.is_symlink()):
        old = file_bytes(path)
        new = renewed(old, moves)
        if new != old:
            changed.append(OwnFile(path, old, new, ()))
    return apply_own(memory, changed, is_memory=True) if changed else []


def renewed(data: bytes, moves: Moves) -> bytes:
    """Return lines of slowwave's own with the new places of what they name; all other bytes stay."""
    known = {(one.start, one.length, one.sha256): one for one in moves.moved}
    path = re.escape(msgspec.json.encode(moves.path))

    def evidence(match: re.Match[bytes]) -> bytes:
        one = known.get((int(match[2]), int(match[3]), match[4].decode()))
        if one is None:
            return match[0]
        return b'%b"offset":%d,"length":%d,"sha256":"%b"' % (
            match[1], one.new_start, one.new_length, one.new_sha256.encode()
        )  # fmt: skip

    def read(match: re.Match[bytes]) -> bytes:
        start, stop = int(match[2]), int(match[3])
        one = known.get((start, stop - start, match[4].decode()))
        if one is None:
            return match[0]
        stop = one.new_start + one.new_length
        return b'%b"from":%d,"to":%d,"sha256":"%b"' % (match[1], one.new_start, stop, one.new_sha256.encode())

    digest = rb'"sha256":"([0-9a-f]{64})"'
    pieces = rb'("path":%b,"record":%b,)"offset":(\d+),"length":(\d+),%b' % (path, _TEXT, digest)
    ranges = rb'("path":%b\},)"from":(\d+),"to":(\d+),%b' % (path, digest)
    return re.sub(ranges, read, re.sub(pieces, evidence, data))


def _stands(moves: Moves) -> bool:
    try:
        data = plain_bytes(Path(name_from_json(moves.path)))
    except UnreadableError:
        return False
    return sha256(data[: moves.size]).hexdigest() == moves.sha256
