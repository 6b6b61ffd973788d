"""What a purge takes out of one session of Cersei: records that tombstones hide, and the tombstones.

A record that names a hidden one as its parent is linked to the nearest one above that stays. Damaged sessions are
refused: what a torn line hides, or would show, cannot be told.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from slowwave.formats.lines import read_records
from slowwave.formats.model import Problem, SessionFiles, Span
from slowwave.formats.rewrite import FileState, file_state
from slowwave.stores.fork import with_value

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
