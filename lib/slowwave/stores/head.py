"""What the first records of a session show, without reading the rest: dialect, sub-agent or not, working folder."""

import os
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from slowwave.errors import UnreadableError
from slowwave.formats.lines import read_records
from slowwave.formats.registry import NAMES, RecordDialect, by_name, sniff
from slowwave.stores.model import StoreProblem
from slowwave.stores.walk import FoundSession

# The first message of real sessions stands within the first 30 records (copies of requests come before it).
_MOST_RECORDS = 60
# A header is the first record, unless damage or a note of the client stands before it.
_HEADER_WITHIN = 8
DIALECTS = f"{', '.join(NAMES[:-1])} or {NAMES[-1]}"


class Head(NamedTuple):
    """What is known of a session before its content is read; parent and messages only where it was read before."""

    dialect: str
    side: bool
    cwd: str
    parent: str = ""
    messages: int = -1


class _Record(msgspec.Struct, gc=False):
    """The few fields that tell; anything may stand in them."""

    type: object = None
    cwd: object = None
    isSidechain: object = None  # noqa: N815 - the client's spelling
    is_sidechain: object = None


_decoder = msgspec.json.Decoder(_Record)
# Every record of these names the working folder; other clients have a header for it, if they say it at all.
_ON_EVERY_RECORD = ("claude", "cersei")


def read_head(found: FoundSession) -> Head | StoreProblem:
    """Return what the beginning of a session shows, or why it is none.

    The dialect is told by content, unless the place tells it; the first part that shows one decides, since a first
    part may be damaged.
    """
    side = found.side or found.kind == "subagent"
    if found.in_database:
        return Head(found.dialect, side, found.cwd)
    if not found.size and found.dialect == "ulid":
        return Head(found.dialect, side, found.cwd)  # a new session has an empty log (S7.1)
    if not found.size:
        return StoreProblem("empty", found.path, "holds not a single byte")
    for file in found.files:
        path = Path(found.folder, file.name)
        if not file.size:
            continue
        try:
            dialect = found.dialect or sniff(path)
            if dialect is not None:
                is_side, cwd = _beginning(path, dialect)
                return Head(dialect, side or is_side, found.cwd or cwd)
        except UnreadableError as error:
            return StoreProblem("unreadable", os.fspath(path), error.reason)
    return StoreProblem("unknown-dialect", found.path, f"no record of a known dialect ({DIALECTS})")


def _beginning(path: Path, dialect: str) -> tuple[bool, str]:
    """Return whether the first records are a sub-agent's, and the first working folder that is named."""
    if dialect in _ON_EVERY_RECORD:
        return _first_message(path)
    rules = by_name(dialect)
    if isinstance(rules, RecordDialect):
        for span, record in islice(read_records(path, rules.decoder, []), _HEADER_WITHIN):
            told = rules.told(span, record)
            if told.kind is not None:
                return told.kind == "subagent", told.cwd
    return False, ""


def _first_message(path: Path) -> tuple[bool, str]:
    side: bool | None = None
    cwd = ""
    for _, record in islice(read_records(path, _decoder, []), _MOST_RECORDS):
        if not cwd and isinstance(record.cwd, str):
            cwd = record.cwd
        if record.type in ("user", "assistant") and side is not False:
            # client 1.0 keeps sub-agents in the main file: one message of the main conversation decides
            side = record.isSidechain is True or record.is_sidechain is True
        if cwd and side is False:
            break
    return side is True, cwd
