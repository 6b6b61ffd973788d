"""Read a session for the catalogue: all of it, or only the bytes that were appended since the last time."""

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from slowwave.errors import UnreadableError
from slowwave.formats.client import RecordDialect, RowDialect, Told
from slowwave.formats.lines import open_regular, read_records
from slowwave.formats.model import REFUSALS, Message, Problem, SessionFiles, Span, Transcript
from slowwave.formats.registry import by_name, client_of
from slowwave.formats.sessions import FoundSession, Signature, signatures
from slowwave.formats.tail import find_last, hash_before, line_around
from slowwave.formats.walk import PACKED_SUFFIX
from slowwave.stores.summary import ListedRecord, Summary, first_words, kept_title, record_decoder

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
    if fold_of(dialect) is None or found.in_database or found.files[-1].name.endswith(PACKED_SUFFIX):
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


# How the records of each dialect are folded into what a listing shows, one by one, so that only new bytes are read.
#
# Claude Code's and Cersei's records go into the summary as they are; those of the other clients tell what they are by
# the same rules as when the session is read.


class Fold(NamedTuple):
    """What a dialect's records are decoded with, and what adds one to a summary."""

    decoder: Any
    add: Callable[[Summary, Span, Any], None]


@cache
def fold_of(dialect: str) -> Fold | None:
    """Return how records of a dialect are folded, None for one whose sessions must be read as a whole."""
    if client_of(dialect).is_folded:
        return Fold(record_decoder, _add_record)
    rules = by_name(dialect)
    return _fold_by(rules) if isinstance(rules, RecordDialect) else None


def _add_record(summary: Summary, _: Span, record: ListedRecord) -> None:
    summary.add(record)


def _fold_by(rules: RecordDialect) -> Fold:
    told_by = rules.told

    def add(summary: Summary, span: Span, record: object) -> None:
        summary.records += 1
        told = told_by(span, record, is_first=summary.records == 1)
        if told.message is not None:
            add_message(summary, told.message)
        else:
            _add_about(summary, told)

    return Fold(rules.decoder, add)


def _add_about(summary: Summary, told: Told) -> None:
    """Take what a record says of the session: the newest title, and the first header; later ones are copies."""
    if told.title is not None:
        summary.titles["custom-title"] = kept_title(told.title)
    if told.kind is not None and not summary.has_header:
        summary.has_header = True
        summary.cwd = told.cwd
        summary.is_sub_agent = told.kind == "subagent"
        summary.is_fork = told.kind == "fork"
        summary.parent = told.parent
    if told.created is not None:
        saw_creation(summary, told.created)


def add_message(summary: Summary, message: Message) -> None:
    """Count a message, its calls, its time, and the first prompt that a person typed."""
    side = summary.is_sub_agent or message.sidechain
    if side:
        summary.side_messages += 1
    else:
        summary.messages += 1
    if message.role == "assistant":
        summary.tool_calls += len(message.calls)
    elif not summary.first_prompt and message.role == "user" and message.origin == "typed":
        text = first_words(message.text)
        if side:
            summary.side_prompt = summary.side_prompt or text
        else:
            summary.first_prompt = text
    at = message.timestamp
    if at is not None:
        stamp = _stamp(at)
        summary.created = min(summary.created or stamp, stamp)
        summary.last_activity = max(summary.last_activity, stamp)


def saw_creation(summary: Summary, at: datetime) -> None:
    """Take the time at which a session says that it was created; nothing was said then."""
    stamp = _stamp(at)
    summary.created = min(summary.created or stamp, stamp)


def _stamp(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"


# What a listing shows of a session that is read as a whole: its summary is made anew when it changes.
#
# So are storage trees of opencode. Other files are folded in record by record (:func:`fold_of`), and of sessions in
# databases the rows (:func:`summary_of_rows`).

# Reported by the reader, but nothing is missing: the record was read all the same.
HARMLESS = ("bom", "glued", "not-utf8", "gap", "too-large", "nonstandard")


def files_of(found: FoundSession) -> SessionFiles:
    """Return the files of a session as its dialect takes them."""
    return SessionFiles(found.id, tuple(Path(found.folder, file.name) for file in found.files))


def summary_of_whole(found: FoundSession, dialect: str) -> Summary:
    """Return the summary of a session by reading all of it.

    Raises:
        UnreadableError: a file of it cannot be read.
    """
    transcript = by_name(dialect).read(files_of(found))
    summary = Summary(
        dialect,
        records=transcript.records,
        bad_lines=sum(p.lines for p in transcript.problems if p.kind not in HARMLESS),
        titles={"ai-title": kept_title(transcript.title)} if transcript.title else {},
        is_fork=transcript.kind == "fork",
        is_sub_agent=transcript.kind == "subagent",
        parent=transcript.parent,
        cwd=next((m.cwd for m in transcript.messages if m.cwd), ""),
    )
    for message in transcript.messages:
        add_message(summary, message)
    if transcript.created is not None:
        saw_creation(summary, transcript.created)
    return summary


# What a listing shows of a session that lies in a database, from one pass over its rows that holds none of them.


def summary_of_rows(found: FoundSession, dialect: str) -> Summary:
    """Return the summary of a session in a database: that of reading all of it, without its memory.

    Raises:
        UnreadableError: the database cannot be read, or the session is gone.
    """
    rules = by_name(dialect)
    return (
        _passed(rules, files_of(found), dialect) if isinstance(rules, RowDialect) else summary_of_whole(found, dialect)
    )


def _passed(rules: RowDialect, files: SessionFiles, dialect: str) -> Summary:
    summary = Summary(dialect)
    about = Transcript(dialect, files)
    for message, is_new in rules.passed(files, about):
        summary.is_sub_agent = about.kind == "subagent"
        _add(summary, message, is_new=is_new)
        _settle(summary, about)
    _settle(summary, about)
    summary.records = about.records
    summary.is_sub_agent, summary.is_fork = about.kind == "subagent", about.kind == "fork"
    summary.parent = about.parent
    if about.title:
        summary.titles["ai-title"] = kept_title(about.title)
    if about.created is not None:
        saw_creation(summary, about.created)
    return summary


def _add(summary: Summary, message: Message, *, is_new: bool) -> None:
    summary.cwd = summary.cwd or message.cwd
    if is_new:
        add_message(summary, message)
    else:
        summary.tool_calls += len(message.calls)  # of an answer that comes in pieces nothing else is new


def _settle(summary: Summary, about: Transcript) -> None:
    """Count what could not be read so far and forget it: a database may hold nothing else."""
    if about.problems:
        summary.bad_lines += sum(p.lines for p in about.problems if p.kind not in HARMLESS)
        about.problems.clear()
