"""Bytes of a pi session to entries, migrated to version 3 in memory as pi migrates them on disk.

Version 1 has neither ids nor parents and names the first kept entry by its index over all entries of the file, the
header being 0; version 2 calls the role ``custom`` ``hookMessage``. A version above 3 is read unchanged, as pi does.
"""

import math
from collections.abc import Sequence

import msgspec

from slowwave.dialects.model import SessionFiles
from slowwave.dialects.pi.records import DECODER, Entry, entry_of
from slowwave.records.lines import read_records
from slowwave.records.model import Problem, Span

# What pi's line parser gives up: it skips the whole line, also the good objects on it.
_UNREADABLE_LINE = frozenset({"glued", "garbage", "torn", "nul"})
_V2, _V3 = 2, 3


class Loaded(msgspec.Struct):
    """All records of a session in file order, and its version.

    Attributes:
        entries: every record, also headers and what pi itself would not see.
        version: of the header; 1 when it names none.
        kept: for compactions of version 1, the id of the first kept entry by the compaction's own id.
    """

    entries: list[Entry]
    version: float = 1
    kept: dict[str, str] = {}

    @property
    def seen(self) -> list[Entry]:
        """The records that pi's own reader gets; empty when the first is no header (pi then starts a new session)."""
        seen = [e for e in self.entries if not e.lost]
        return seen if seen and seen[0].type == "session" and seen[0].id is not None else []


def load(files: SessionFiles, problems: list[Problem]) -> Loaded:
    """Read every record of a session and bring it to version 3.

    Raises:
        UnreadableError: a file cannot be opened.
    """
    entries: list[Entry] = []
    for part, path in enumerate(files.paths):
        before = len(problems)
        entries += [entry_of(env, span) for span, env in read_records(path, DECODER, problems, part=part)]
        _mark_lost(entries, part, problems[before:])
    return migrated(entries)


def migrated(entries: list[Entry]) -> Loaded:
    """Return the records of a session, brought to version 3."""
    loaded = Loaded(entries, _version(entries))
    if loaded.version < _V2:
        _give_ids(loaded)
    if loaded.version < _V3:
        for entry in entries:
            entry.role = "custom" if entry.role == "hookMessage" else entry.role
    return loaded


def _version(entries: list[Entry]) -> float:
    """Return the version as JavaScript compares it: a string counts as its number, nonsense is never smaller.

    A file without its header has the version that its entries look like.
    """
    headers = [e for e in entries if e.type == "session"]
    header = next((e for e in headers if not e.lost), headers[0] if headers else None)
    if header is None:
        return _V3 if any(e.id is not None for e in entries) else 1
    value = header.env.version
    if value is None:
        return 1
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _mark_lost(entries: list[Entry], part: int, problems: list[Problem]) -> None:
    """Mark the entries of one file whose lines pi's reader skips."""
    lines = {p.line for p in problems if p.kind in _UNREADABLE_LINE}
    doubtful = {p.line for p in problems if p.kind == "nonstandard"}
    # a byte order mark is white space to JavaScript, but only where the file begins
    own = [e for e in entries if e.span.part == part]
    marks = [p.line for p in problems if p.kind == "bom"]
    if marks and own and problems[0].kind == "bom" and marks[0] == own[0].span.number:
        marks = marks[1:]
    lines |= set(marks)
    for entry in own if lines or doubtful else []:
        number = entry.span.number
        entry.lost = number in lines or (number in doubtful and _has_constant(entry.span))


def loses_entries(problems: Sequence[Problem], spans: Sequence[Span]) -> bool:
    """Say whether pi's reader skips a line behind the first one, by the problems and the records found on it."""
    kinds = {problem.kind for problem in problems}
    is_doubtful = "nonstandard" in kinds and any(map(_has_constant, spans))
    return "bom" in kinds or not _UNREADABLE_LINE.isdisjoint(kinds) or is_doubtful


def _has_constant(span: Span) -> bool:
    """Say whether a record holds NaN or Infinity, which JavaScript does not parse; lone surrogates it does."""
    import json  # noqa: PLC0415  # few records need the slow decoder

    found: list[str] = []
    try:
        json.loads(span.raw.decode("utf-8", "replace"), parse_constant=found.append, strict=False)
    except (ValueError, RecursionError):
        return True
    return bool(found)


def _give_ids(loaded: Loaded) -> None:
    """Chain the entries of a version 1 file in file order and resolve the indexes of its compactions."""
    before: str | None = None
    seen = loaded.seen
    for number, entry in enumerate(loaded.entries):
        if entry.type != "session":
            entry.id = f"{number:08x}"
    for entry in seen:
        if entry.type != "session":
            entry.parent, before = before, entry.id
    for entry in seen:
        if entry.type == "compaction" and entry.id is not None:
            first = _at(seen, entry.fields().get("firstKeptEntryIndex"))
            if first is not None:
                loaded.kept[entry.id] = first


def _at(seen: list[Entry], index: object) -> str | None:
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(seen):
        return None
    return seen[index].id if seen[index].type != "session" else None
