"""Read a session for the catalogue: all of it, or only the bytes that were appended since the last time."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from slowwave.errors import UnreadableError
from slowwave.formats.lines import open_regular, read_records
from slowwave.formats.model import REFUSALS, Problem
from slowwave.formats.registry import RecordDialect, by_name
from slowwave.formats.tail import find_last, hash_before, line_around
from slowwave.stores.folds import fold_of
from slowwave.stores.summary import Summary, record_decoder
from slowwave.stores.walk import PACKED, FoundSession, Signature, signatures
from slowwave.stores.whole import HARMLESS, summary_of_whole

_BLOCK = 1 << 16


class Mark(msgspec.Struct, frozen=True):
    """How far a session was read, and what to compare before going on from there.

    Attributes:
        files: the parts as they were.
        cursor: offset behind the last newline that was read in the last part.
        check: hash of the bytes before the cursor.
        state: the summary at the cursor.
    """

    files: list[Signature]
    cursor: int
    check: bytes
    state: Summary


class Scanned(msgspec.Struct, frozen=True):
    """A session's mark, and its summary including a last line that has no newline yet."""

    mark: Mark
    summary: Summary


def scan(found: FoundSession, dialect: str, before: Mark | None = None) -> Scanned:
    """Return the summary of a session, read from the end of ``before`` when that still holds.

    Raises:
        UnreadableError: a part cannot be opened or read.
    """
    if fold_of(dialect) is None or found.in_database or found.files[-1].name.endswith(PACKED):
        return Scanned(Mark(signatures(found.files), 0, b"", Summary(dialect)), _anew(found, dialect))
    if before is not None and _continues(found, before):
        known = len(before.state.tombstones)
        scanned = _read(found, _copy(before.state), before)
        if len(scanned.summary.tombstones) == known:
            return _with_leaves(found, scanned, before.state.leaves)
    tombstones: dict[str, bool] = {}
    while True:
        # a tombstone may stand behind what it deletes, so a session that shows new ones is read again knowing them
        scanned = _read(found, Summary(dialect, tombstones=dict(tombstones)), None)
        if len(scanned.summary.tombstones) == len(tombstones):
            return _with_leaves(found, scanned, {})
        tombstones = scanned.summary.tombstones


def _anew(found: FoundSession, dialect: str) -> Summary:
    """Return the summary of a session that no cursor leads into."""
    if found.in_database:
        from slowwave.stores.passing import summary_of_rows  # noqa: PLC0415 - few sessions lie in databases

        return summary_of_rows(found, dialect)
    if not isinstance(by_name(dialect), RecordDialect):
        return summary_of_whole(found, dialect)
    summary = Summary(dialect)
    for index in range(len(found.files)):
        _fold(found, index, 0, summary, None)
    return summary


def _with_leaves(found: FoundSession, scanned: Scanned, known: Mapping[str, str]) -> Scanned:
    """Find the titles of client 1.0 that are about a message before them; one behind them was met while reading."""
    for leaf in scanned.summary.leaves:
        if leaf not in known and any(_has_record(Path(found.folder, file.name), leaf) for file in found.files):
            for state in (scanned.summary, scanned.mark.state):
                if leaf in state.leaves:
                    state.own_leaves[leaf] = True
    return scanned


def _has_record(path: Path, uuid: str) -> bool:
    needle = msgspec.json.encode(uuid)
    end: int | None = None
    while (at := find_last(path, needle, end=end)) is not None:
        end, line = line_around(path, at)
        try:
            if record_decoder.decode(line.strip()).uuid == uuid:
                return True
        except REFUSALS:
            continue  # a damaged line names no record
    return False


def _read(found: FoundSession, state: Summary, before: Mark | None) -> Scanned:
    first = len(before.files) - 1 if before else 0
    start = before.cursor if before else 0
    last = len(found.files) - 1
    for index in range(first, last):
        _fold(found, index, start, state, None)
        start = 0
    path = Path(found.folder, found.files[last].name)
    cursor, check = _checked_end(path, found.files[last].size, start)
    mark = _fold(found, last, start, state, cursor)
    return Scanned(Mark(signatures(found.files), cursor, check, mark), state)


def _fold(found: FoundSession, index: int, start: int, state: Summary, cursor: int | None) -> Summary:
    """Fold one part into ``state``; return a copy of the state as it was at ``cursor``."""
    path = Path(found.folder, found.files[index].name)
    problems: list[Problem] = []
    at_cursor: Summary | None = None
    bad = _BadLines(state)
    fold = fold_of(state.dialect)
    if fold is None:
        raise ValueError(f"sessions of {state.dialect} are read as a whole")
    for span, record in read_records(path, fold.decoder, problems, part=index, start=start):
        bad.yields(span.number, len(problems))
        if cursor is not None and at_cursor is None and span.offset >= cursor:
            bad.settle(_before(path, problems, cursor))
            at_cursor = _copy(state)
        fold.add(state, span, record)
    bad.yields(0, len(problems))
    if cursor is not None and at_cursor is None:
        bad.settle(_before(path, problems, cursor))
        at_cursor = _copy(state)
    bad.settle(problems)
    return at_cursor or state


class _BadLines:
    """Counts lines of which something could not be read, each once."""

    def __init__(self, state: Summary) -> None:
        self.state = state
        self.yielded: set[int] = set()
        self._last = self._problems = 0
        self.counted = 0  # all bad lines up to this one

    def yields(self, line: int, problems: int) -> None:
        """Note a line that gave a record (0 at the end); padding behind a record is reported only after it."""
        if problems != self._problems:
            self.yielded |= {self._last, line}
        self._last, self._problems = line, problems

    def settle(self, problems: list[Problem]) -> None:
        for problem in problems:
            if problem.kind in HARMLESS or (problem.kind == "nul" and problem.line in self.yielded):
                continue
            end = problem.line + problem.lines
            self.state.bad_lines += max(0, end - max(problem.line, self.counted + 1))
            self.counted = max(self.counted, end - 1)


def _before(path: Path, problems: list[Problem], cursor: int) -> list[Problem]:
    """Return what is wrong with lines before ``cursor``; a run of bad lines that goes on behind it is cut there."""
    found = [p for p in problems if p.offset < cursor]
    if found and found[-1].lines > 1 and found[-1].offset + found[-1].length > cursor:
        found[-1] = msgspec.structs.replace(found[-1], lines=_newlines(path, found[-1].offset, cursor))
    return found


def _newlines(path: Path, start: int, stop: int) -> int:
    with open_regular(path) as file:
        fd = file.fileno()
        return sum(os.pread(fd, min(_BLOCK, stop - at), at).count(b"\n") for at in range(start, stop, _BLOCK))


def _copy(state: Summary) -> Summary:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=Summary)


def _continues(found: FoundSession, before: Mark) -> bool:
    """Say whether the parts are those of ``before`` with bytes added at the end, and nothing else."""
    old = before.files
    new = signatures(found.files)
    if len(old) > len(new) or new[: len(old) - 1] != old[:-1]:
        return False
    now, then = new[len(old) - 1], old[-1]
    if (now[0], now[3:]) != (then[0], then[3:]) or now[1] < then[1]:
        return False
    try:
        return _check(Path(found.folder, found.files[len(old) - 1].name), before.cursor) == before.check
    except (OSError, UnreadableError):
        return False


def _check(path: Path, cursor: int) -> bytes:
    with open_regular(path) as file:
        return hash_before(file.fileno(), cursor)


def _checked_end(path: Path, size: int, start: int) -> tuple[int, bytes]:
    """Return the offset behind the last newline within ``size`` bytes, at least ``start``, and its hash."""
    with open_regular(path) as file:
        fd = file.fileno()
        end = size
        while end > start:
            begin = max(start, end - _BLOCK)
            newline = os.pread(fd, end - begin, begin).rfind(b"\n")
            if newline >= 0:
                return begin + newline + 1, hash_before(fd, begin + newline + 1)
            end = begin
        return start, hash_before(fd, start)
