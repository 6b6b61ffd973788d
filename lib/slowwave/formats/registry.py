"""Which dialects there are, and which one a file is written in, told by its content and never by its path.

The rules of a dialect are imported when a session of it is read.
"""

import importlib
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import msgspec

from slowwave.errors import UnknownDialectError, UnreadableError, UsageError
from slowwave.formats.database import HEADER, tables_of
from slowwave.formats.lines import open_plain
from slowwave.formats.marks import (
    MOST_RECORDS,
    is_bare,
    is_cersei,
    is_claude,
    is_codex,
    is_crabtalk,
    is_openclaw,
    is_openclaw_tables,
    is_opencode,
    is_opencode_tables,
    is_pi,
    is_ulid,
)
from slowwave.formats.model import REFUSALS, Message, SessionFiles, SessionKind, Span, Transcript
from slowwave.formats.salvage import scan_value


class _Row(NamedTuple):
    """What tells a dialect from the others, and where its rules are.

    Attributes:
        rules: what implements :class:`Dialect`, as ``module:name`` below this package.
        mark: tells one of its records by its fields; None where a record of another dialect must be met first.
        shows: what people look for in a file to see that it is of this dialect.
        tables: tells a database of its by the names of the tables, where it has databases.
    """

    rules: str
    mark: Callable[[dict[str, object]], bool] | None
    shows: str
    tables: Callable[[frozenset[str]], bool] | None = None


# In the order in which they are asked: what is one of the first could be taken for one of the last.
_DIALECTS = {
    "cersei": _Row("cersei.dialect:CERSEI", is_cersei, "Cersei (session_id)"),
    "claude": _Row("claude.dialect:CLAUDE", is_claude, "Claude Code (sessionId)"),
    "pi": _Row("pi.dialect:PI", is_pi, "pi (a session header)"),
    "openclaw": _Row(
        "openclaw.dialect:OPENCLAW",
        None,  # pi's, until one of its own records is met
        "Clawdbot or OpenClaw (a session header, or their database)",
        is_openclaw_tables,
    ),
    "crabtalk": _Row("crabtalk:CRABTALK", is_crabtalk, "crabtalk (agent, created_by)"),
    "ulid": _Row("ulid.dialect:ULID", is_ulid, "the ULID specification (recordType)"),
    "cersei-bare": _Row("cersei.dialect:CERSEI_BARE", is_bare, "bare messages (role, content)"),
    "codex": _Row("codex.dialect:CODEX", is_codex, "Codex (payload)"),
    "opencode": _Row(
        "opencode.dialect:OPENCODE",
        is_opencode,
        "opencode (an export, a session file or its database)",
        is_opencode_tables,
    ),
}
NAMES = tuple(_DIALECTS)
# What a file should have been, for those who get the error that it is of no dialect.
EXPECTED = f"expected JSON lines of {', '.join(row.shows for row in _DIALECTS.values())}"
# Past this many bytes a file is none that we know.
_MOST_BYTES = 1 << 20


class Dialect(Protocol):
    """Pure rules of one client's format: bytes to records to messages, and what the client would send again."""

    name: str

    def read(self, files: SessionFiles) -> Transcript:
        """Read all parts of a session.

        Raises:
            UnreadableError: a file cannot be opened at all; damage inside a file is reported as problems instead.
        """
        ...

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return the messages that the client would send if the session were resumed now."""
        ...


def by_name(name: str) -> Dialect:
    """Return the dialect called ``name``.

    Raises:
        UsageError: there is no such dialect; the message lists all.
    """
    row = _DIALECTS.get(name)
    if row is None:
        raise UsageError(f"unknown dialect {name!r}: write one of {', '.join(NAMES)}")
    module, _, name = row.rules.partition(":")
    return cast("Dialect", getattr(importlib.import_module(f"slowwave.formats.{module}"), name))


def detect(path: Path) -> Dialect:
    """Return the dialect that the first records of a file are written in.

    Raises:
        UnknownDialectError: the file is empty or no dialect recognises a record near its start.
        UnreadableError: the file cannot be read.
    """
    found = sniff(path)
    if found is None:
        raise UnknownDialectError(path, "empty, or not a transcript of any known client", EXPECTED)
    return by_name(found)


def sniff(path: Path) -> str | None:
    """Return the name of a file's dialect, or None when it is empty or shows none (listings skip it with a note).

    Raises:
        UnreadableError: the file cannot be read.
    """
    try:
        with open_plain(path, most=_MOST_BYTES + (1 << 16)) as file:
            head = file.read(1 << 16)
            if head.startswith(HEADER):
                return _of_database(path)
            found = _of_records(objects_on_lines(head)) or _of_records(object_over_lines(head))
            if found is None and len(head) == 1 << 16:
                found = _of_records(objects_on_lines(head + file.read(_MOST_BYTES)))
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error
    return found


def _of_records(records: Iterator[dict[str, object]]) -> str | None:
    for record in records:
        for name, row in _DIALECTS.items():
            if row.mark and row.mark(record):
                return _of_pi(record, records) if name == "pi" else name
    return None


def _of_pi(first: dict[str, object], rest: Iterator[dict[str, object]]) -> str:
    """Tell Clawdbot and OpenClaw from pi, whose files they write with entries of their own in them."""
    near = islice(rest, MOST_RECORDS)
    return "openclaw" if is_openclaw(first) or any(map(is_openclaw, near)) else "pi"


def _of_database(path: Path) -> str | None:
    tables = tables_of(path)
    return next((name for name, row in _DIALECTS.items() if row.tables and row.tables(tables)), None)


# The protocol that every dialect implements; a new dialect is one new package, its marks and its samples.


@runtime_checkable
class TailDialect(Protocol):
    """What a dialect has besides when a context can be told from the end of a session."""

    def tail(self, files: SessionFiles) -> Transcript | None:
        """Return the end of a session, when ``context`` surely makes the same of it as of the whole; else None.

        It has what ``context`` needs: no messages, no title, and the problems of the part that was read.

        Raises:
            UnreadableError: a file cannot be opened at all.
        """
        ...


class Notes(Protocol):
    """Where a dialect keeps what was dear to find out of a session; all of it can be gone at any time."""

    def get(self, name: str) -> bytes | None:
        """Return what was kept under a name that is fit for a file."""
        ...

    def put(self, name: str, note: bytes) -> None:
        """Keep something; where that cannot be done it is only found out again."""
        ...


@runtime_checkable
class NotedTailDialect(Protocol):
    """A dialect that has to look at a whole session for its end, and only at what is new when it may keep notes."""

    def noted_tail(self, files: SessionFiles, notes: Notes) -> Transcript | None:
        """Return what ``tail`` returns, with the help of notes.

        Raises:
            UnreadableError: a file cannot be opened at all.
        """
        ...


class Told(NamedTuple):
    """What one record tells of its session without those around it.

    Attributes:
        message: the message that it is; it names neither its parent nor the working folder, and counts as active.
        title: the name that it gives to the session ("" takes it away); None when it is about something else.
        kind: what the session is, when the record is its header.
        cwd: the working folder that a header names.
        parent: id of the session that a header says this one belongs to or was forked from.
        created: when a header says that the session was created, where messages tell no time.
    """

    message: Message | None = None
    title: str | None = None
    kind: SessionKind | None = None
    cwd: str = ""
    parent: str = ""
    created: datetime | None = None


@runtime_checkable
class RecordDialect(Protocol):
    """What a dialect has besides when records tell by themselves: listings and the index read only new ones then."""

    decoder: Any

    def told(self, span: Span, record: Any, *, is_first: bool = False, by_agent: bool = False) -> Told:
        """Return what a record tells.

        Args:
            span: where it stands.
            record: what ``decoder`` made of it.
            is_first: nothing stands before it in its session.
            by_agent: the session is a sub-agent's.
        """
        ...


@runtime_checkable
class RowDialect(Protocol):
    """What a dialect has besides when its client keeps sessions in a database: they can be passed through by rows."""

    def passed(self, files: SessionFiles, about: Transcript) -> Iterator[tuple[Message, bool]]:
        """Yield the messages of a session in a database in their order, none of which is held.

        A message with very many parts comes in pieces. Messages name no parent and count as active.

        Args:
            files: the session.
            about: gets everything but messages, also ``files``: its kind before the first message, records and
                problems meanwhile (the caller may take them out), the rest at the end.

        Yields:
            A message, and False when it goes on with the one before.

        Raises:
            UnreadableError: it is no database with such a session, or it cannot be read.
        """
        ...


def read_for_context(dialect: Dialect, files: SessionFiles, notes: Notes | None = None) -> Transcript:
    """Return what ``dialect.context`` needs of a session: its end where that is surely enough, else all of it.

    ``Transcript.is_tail`` says which of the two it is. Notes change nothing but the time that it takes.

    Raises:
        UnreadableError: a file cannot be opened at all.
    """
    if notes is not None and isinstance(dialect, NotedTailDialect):
        tail = dialect.noted_tail(files, notes)
    else:
        tail = dialect.tail(files) if isinstance(dialect, TailDialect) else None
    return dialect.read(files) if tail is None else tail


# The objects at the beginning of a file, as far as they can be told: lines may be cut short, glued or damaged.

# A dialect shows in its first record; past this many records a file is none that we know.
_MOST_RECORDS = 200
_BOM = b"\xef\xbb\xbf"
_PADDING = b" \t\r\n\0"
_COLON = re.compile(rb"[ \t\r\n]*+:")
_COMMA = re.compile(rb"[ \t\r\n]*+,")


def object_over_lines(head: bytes) -> Iterator[dict[str, object]]:
    """Yield the fields of one object over many lines, as exports are; those of a cut value have none."""
    raw = head.removeprefix(_BOM).lstrip(_PADDING)
    if raw[:1] == b"{" and raw[1:64].lstrip(_PADDING)[:1] == b'"':
        yield _top_fields(raw)


def objects_on_lines(head: bytes) -> Iterator[dict[str, object]]:
    """Yield the objects of the first lines; of a line that is cut short or glued, the fields before the damage."""
    for line in head.removeprefix(_BOM).split(b"\n", _MOST_RECORDS)[:_MOST_RECORDS]:
        raw = line.strip(_PADDING)
        if raw[:1] != b"{":
            continue
        try:
            value: object = msgspec.json.decode(raw)
        except REFUSALS:
            value = _top_fields(raw)
        if isinstance(value, dict):
            yield cast("dict[str, object]", value)


def _top_fields(raw: bytes) -> dict[str, object]:
    """Return the top-level fields that stand before the place where ``raw`` stops being one JSON object.

    Of a last one that is cut short the name is known: its value is None.
    """
    fields: dict[str, object] = {}
    at = 1
    while (name := scan_value(raw, at)).status == "whole" and (colon := _COLON.match(raw, name.at)):
        value = scan_value(raw, colon.end())
        if value.status == "broken":
            break
        try:
            key = msgspec.json.decode(raw[at : name.at], type=str)
            fields[key] = msgspec.json.decode(raw[colon.end() : value.at]) if value.status == "whole" else None
        except REFUSALS:
            break
        comma = _COMMA.match(raw, value.at)
        if comma is None:
            break
        at = comma.end()
    return fields
