"""What a purge takes out of one session of Cersei: records that tombstones hide, and the tombstones.

A record that names a hidden one as its parent is linked to the nearest one above that stays. Damaged sessions are
refused: what a torn line hides, or would show, cannot be told.
"""

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from slowwave.errors import RefusedError, UnreadableError
from slowwave.files import atomic_write, file_bytes, private_folder
from slowwave.formats.cersei.dialect import Cersei, Mode
from slowwave.formats.changes import FileState, file_state
from slowwave.formats.lines import read_records
from slowwave.formats.messages import normal_form
from slowwave.formats.model import Problem, SessionFiles, Span
from slowwave.formats.writing import with_value
from slowwave.journal import Form, Journal, name_for
from slowwave.memory.model import name_to_json
from slowwave.retention.erase.memory import OwnFile, apply_own
from slowwave.retention.erase.transcripts import stands

# what a tombstone can hide (``session_storage.rs``, second pass of the loader)
_HIDEABLE = frozenset({"user", "assistant", "system", "summary"})


class _Line(msgspec.Struct, gc=False):
    type: object = None
    uuid: object = None
    parent_uuid: object = None
    deleted_uuid: object = None


_DECODER = msgspec.json.Decoder(_Line)


class Edit(NamedTuple):
    """A line from its first byte to the one behind its line end; ``new`` takes its place, b"" when it goes."""

    start: int
    stop: int
    new: bytes = b""


class PartPlan(NamedTuple):
    """What is to be done with one file.

    Attributes:
        path: the file.
        state: what it was like when it was read.
        edits: lines that go or change, in order.
        new: all that it is to hold.
    """

    path: Path
    state: FileState
    edits: tuple[Edit, ...]
    new: bytes


class PurgePlan(NamedTuple):
    """What is to be done with a session.

    Attributes:
        steps: files to rewrite now; the plan that is made when they are done has the rest. First links between parts
            are mended, then hidden records go, last the tombstones that hid something in another part: a killed purge
            shows nothing again and loses no link.
        records: how many hidden records go.
        size: bytes that go with this plan and those after it.
        refused: why nothing may be done, or "".
    """

    steps: tuple[PartPlan, ...] = ()
    records: int = 0
    size: int = 0
    refused: str = ""


class _Part(NamedTuple):
    path: Path
    state: FileState
    data: bytes
    lines: list[tuple[Span, _Line]]


def plan_purge(files: SessionFiles) -> PurgePlan | None:
    """Return what a purge of a session does; None when nothing is hidden in it.

    Raises:
        UnreadableError: a part cannot be opened.
    """
    problems: list[Problem] = list(files.problems)
    parts = [_read(path, number, problems) for number, path in enumerate(files.paths)]
    hidden = {line.deleted_uuid for part in parts for _, line in part.lines if line.type == "tombstone"}
    if not any(line.type == "tombstone" for part in parts for _, line in part.lines):
        return None
    if problems:
        return PurgePlan(refused=f"damaged: {problems[0].detail or problems[0].kind}")
    if any(not _is_alone(part.data, span) for part in parts for span, _ in part.lines):
        return PurgePlan(refused="damaged: several records on one line")
    above = {line.uuid: line.parent_uuid for part in parts for _, line in part.lines if _is_hidden(line, hidden)}
    goes = [[_edit(part, span, line, hidden, above) for span, line in part.lines] for part in parts]
    lying: dict[object, set[Path]] = {}
    for part in parts:
        for _, line in part.lines:
            lying.setdefault(line.uuid, set()).add(part.path)
    whole = [_stepped(part, [one for one in edits if one]) for part, edits in zip(parts, goes, strict=True)]
    if not any(step.new for step in whole):
        return PurgePlan(refused="empty: nothing of it would be left; remove the session instead")
    steps = [_stepped(part, _first(edits, part, lying, above)) for part, edits in zip(parts, goes, strict=True)]
    if any(_links_across(part, above, lying) for part in parts):
        # a link can be mended only as long as the record that it leads to is there
        steps = [
            _stepped(part, [one for one in edits if one and one.new]) for part, edits in zip(parts, goes, strict=True)
        ]
    records = sum(_is_hidden(line, hidden) for part in parts for _, line in part.lines)
    size = sum(len(part.data) - len(step.new) for part, step in zip(parts, whole, strict=True))
    return PurgePlan(tuple(step for step in steps if step.edits), records, size)


def _read(path: Path, number: int, problems: list[Problem]) -> _Part:
    state = file_state(path)
    lines = list(read_records(path, _DECODER, problems, part=number))
    for _, line in lines:
        _clean(line)
    return _Part(path, state, path.read_bytes(), lines)


def _clean(line: _Line) -> None:
    """Leave only names that can lead somewhere: anything may stand in a record."""
    line.uuid = line.uuid if isinstance(line.uuid, str) else None
    line.parent_uuid = line.parent_uuid if isinstance(line.parent_uuid, str) else None
    line.type = line.type if isinstance(line.type, str) else None
    if line.type == "tombstone" and not isinstance(line.deleted_uuid, str):
        line.type = None
    line.deleted_uuid = line.deleted_uuid if line.type == "tombstone" else None


def _is_hidden(line: _Line, hidden: set[object]) -> bool:
    return line.type in _HIDEABLE and isinstance(line.uuid, str) and line.uuid in hidden


def _is_alone(data: bytes, span: Span) -> bool:
    start, stop = _extent(data, span)
    return data[start:stop].strip() == span.raw.strip()


def _extent(data: bytes, span: Span) -> tuple[int, int]:
    """Return the line that a record stands on, with its line end."""
    end = data.find(b"\n", span.offset + len(span.raw))
    return data.rfind(b"\n", 0, span.offset) + 1, len(data) if end < 0 else end + 1


def _edit(part: _Part, span: Span, line: _Line, hidden: set[object], above: Mapping[object, object]) -> Edit | None:
    if line.type == "tombstone" or _is_hidden(line, hidden):
        return Edit(*_extent(part.data, span))
    if line.parent_uuid not in above or not isinstance(line.parent_uuid, str):
        return None
    start, stop = _extent(part.data, span)
    new = with_value(span.raw, "parent_uuid", line.parent_uuid, _nearest(line.parent_uuid, above))
    return Edit(start, stop, new)


def _nearest(parent: object, above: Mapping[object, object]) -> str | None:
    """Return the nearest record above that stays, None when none does."""
    seen: set[object] = set()
    while parent in above and parent not in seen:
        seen.add(parent)
        parent = above[parent]
    return parent if isinstance(parent, str) and parent not in above else None


def _links_across(part: _Part, above: Mapping[object, object], lying: Mapping[object, set[Path]]) -> bool:
    """Say whether a record that stays leads, maybe over other hidden ones, to one in another part."""
    for _, line in part.lines:
        parent = None if line.uuid in above else line.parent_uuid
        seen: set[object] = set()
        while parent in above and parent not in seen:
            if lying[parent] - {part.path}:
                return True
            seen.add(parent)
            parent = above[parent]
    return False


def _first(
    edits: Iterable[Edit | None], part: _Part, lying: Mapping[object, set[Path]], above: Mapping[object, object]
) -> list[Edit]:
    """Return the edits of a part without tombstones that still hide something in another part."""
    found: list[Edit] = []
    for edit, (_, line) in zip(edits, part.lines, strict=True):
        hides = line.type == "tombstone" and line.deleted_uuid in above
        if edit is not None and not (hides and lying.get(line.deleted_uuid, set()) - {part.path}):
            found.append(edit)
    return found


def _stepped(part: _Part, edits: list[Edit]) -> PartPlan:
    pieces: list[bytes] = []
    at = 0
    for edit in edits:
        pieces += [part.data[at : edit.start], edit.new + b"\n" if edit.new else b""]
        at = edit.stop
    return PartPlan(part.path, part.state, tuple(edits), b"".join([*pieces, part.data[at:]]))


# The proof before a purge: with the new files the client sends what it sends with the old ones.

_MODES: tuple[Mode, ...] = ("seed", "code")


def compare(files: SessionFiles, steps: Sequence[PartPlan], folder: Path) -> None:
    """Make sure that the client sends the same with the new files as with the old ones.

    Raises:
        RefusedError: it would not.
    """
    by_path = {step.path: step.new for step in steps}
    private_folder(folder)
    try:
        new: list[Path] = []
        for path in files.paths:
            new.append(folder / path.name)
            atomic_write(new[-1], by_path[path] if path in by_path else path.read_bytes(), mode=0o600)
        for before, after in zip(_contexts(files), _contexts(SessionFiles(files.id, tuple(new))), strict=True):
            if before != after:
                raise RefusedError("context: its client would send something else afterwards")
    finally:
        shutil.rmtree(folder)


def _contexts(files: SessionFiles) -> Iterator[object]:
    for mode in _MODES:
        dialect = Cersei(mode)
        try:
            yield normal_form(dialect.context(dialect.read(files)))
        except UnreadableError as error:
            yield error.reason.partition(":")[0]  # what its loader refuses it refuses in both


# Where recorded bytes of a file are after a purge, and putting the new places into what memories rest on.
#
# Written down before a file is rewritten: a run that is killed in between is finished by the next one, which finds the
# file with its new bytes. What rested on a record that went keeps its old place; the archived copy still shows it.

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
        path: the file, as :mod:`slowwave.memory.model` spells it.
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


_MOVES = Form(Moves, "is no note of a purge", "remove it: memories may name places that hold something else now")


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
    return Journal(folder, _MOVES).intend(f"{name_for(moves.path)}-{moves.sha256[:8]}", moves)


def noted_moves(folder: Path) -> list[tuple[Path, Moves]]:
    """Return the moves that a killed run left, those that were not carried out removed."""
    found: list[tuple[Path, Moves]] = []
    for path, moves in Journal(folder, _MOVES).left():
        if stands(moves.path, moves.size, moves.sha256):
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
