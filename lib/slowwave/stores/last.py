"""The last record of a session, read from its end: what a new record is chained to."""

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from slowwave.formats.lines import open_regular
from slowwave.formats.model import REFUSALS, SessionFiles
from slowwave.formats.tail import lines_backward
from slowwave.formats.times import parse_time


class LastRecord(NamedTuple):
    """Id of the record that the conversation goes on from, its working folder, git branch and client, where known.

    ``newest`` is the time of the last record of the file, which may be another one.
    """

    uuid: str | None
    cwd: str
    branch: str
    version: str = ""
    newest: datetime | None = None


class _Line(msgspec.Struct, gc=False):
    type: object = None
    uuid: object = None
    parent: object = msgspec.field(default=None, name="parentUuid")
    cwd: object = None
    gitBranch: object = None  # noqa: N815 - the client's spelling
    version: object = None
    subtype: object = None
    timestamp: object = None
    leafUuid: object = None  # noqa: N815
    explicit: object = None
    isSidechain: object = None  # noqa: N815
    is_sidechain: object = None


_decoder = msgspec.json.Decoder(_Line)
_CHAINED = ("user", "assistant", "system", "attachment")
# The client notes its leaf at the end of every turn: further back there is no note, or the client writes none.
_LAST_TURN_BYTES = 2 << 20
_NOTHING = LastRecord(None, "", "")


def last_record(files: SessionFiles) -> LastRecord:
    """Return the record that was appended last to the main conversation; damaged lines are passed over.

    The file order is the append order: after a rewind the newest line is on the branch that goes on.
    """
    return next((_record(line, line) for line in _backward(files) if _is_main(line)), _NOTHING)


def leaf_record(files: SessionFiles) -> LastRecord:
    """Return the record that Claude Code would go on from, read from the end of the session.

    That is the last record, unless the last ``last-prompt`` names one that it does not hang under, or exactly the
    named one is meant; a ``last-prompt`` from before the last compaction says nothing any more (client 2.1.330).
    """
    if not any(_has_note(path) for path in files.paths):
        return last_record(files)
    newest: _Line | None = None
    named: object = None
    above: object = None  # the next record on the way from the newest one to the root
    exact = False
    for line in _backward(files):
        if line.type == "last-prompt" and named is None:
            named, exact = line.leafUuid, line.explicit is True
        if not _is_main(line):
            continue
        if newest is None:
            newest, above = line, line.uuid
        if line.uuid == named:
            return _record(newest if line.uuid == above and not exact else line, newest)
        if line.uuid == above:
            above = line.parent
        if line.subtype == "compact_boundary":
            break
    return _NOTHING if newest is None else _record(newest, newest)


def _has_note(path: Path) -> bool:
    """Say whether the client may have noted its leaf in the last turn; a look at bytes that costs next to nothing."""
    with open_regular(path) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _LAST_TURN_BYTES))
        return b'"last-prompt"' in file.read()


def _backward(files: SessionFiles) -> Iterator[_Line]:
    """Yield the lines that can be read from the last to the first."""
    for path in reversed(files.paths):
        for _, raw in lines_backward(path):
            try:
                yield _decoder.decode(raw.strip(b" \t\r\n\0"))
            except REFUSALS:
                continue


def _is_main(line: _Line) -> bool:
    is_side = line.isSidechain is True or line.is_sidechain is True
    return line.type in _CHAINED and isinstance(line.uuid, str) and not is_side


def _record(line: _Line, newest: _Line) -> LastRecord:
    at = parse_time(_text(newest.timestamp))
    return LastRecord(str(line.uuid), _text(line.cwd), _text(line.gitBranch), _text(line.version), at)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
