"""The dialect of opencode: exports, both JSON storage trees, and the database ``opencode.db`` (read-only).

All are listed, and taken apart into records. The files of a transcript are those that its spans count as parts: of a
tree also the files of messages and parts. In a database ``SessionFiles.id`` names the session; what is no session's id
means its oldest root session. Nothing of opencode is ever written.
"""

import json
import re
import secrets
import sqlite3
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from slowwave.context import Clock
from slowwave.errors import NotFoundError, UnreadableError
from slowwave.formats import Message, Problem, RowSpan, SessionFiles, Span, Transcript, object_in, whole
from slowwave.formats.database import by_column, columns_of, is_database, opened_of, readable, text_of
from slowwave.formats.lines import opened, relaxed_collector
from slowwave.formats.messages import chain
from slowwave.formats.opencode.records import (
    KNOWN_PARTS,
    Record,
    Session,
    Stored,
    filter_compacted,
    messages_of,
    model_name,
    record_of,
    sent_as,
    session_of,
    take_back,
)
from slowwave.formats.salvage import scan_value

# A prompt comes before the first answer.
_MOST_LOOKED_INTO = 6
_NUMBERS = tuple(f"SELECT session_id, count(*) FROM {table} GROUP BY session_id" for table in ("message", "part"))  # noqa: S608 - names of our own


def session_in_file(path: Path) -> Session:
    """Return what is known of a session of a storage tree; one without an id when the file tells nothing."""
    return session_of(whole(file_bytes(path).strip()))


def directory_in(messages: Path) -> str:
    """Return the working folder that the messages of a session in a tree name: the first versions kept it nowhere else.

    Answers name it; only the first few files are looked into.
    """
    try:
        paths = sorted(path for path in messages.iterdir() if path.suffix == ".json")[:_MOST_LOOKED_INTO]
        found = (object_in(whole(file_bytes(path).strip()), "path").get("cwd") for path in paths)
        return next((cwd for cwd in found if cwd and isinstance(cwd, str)), "")
    except (OSError, UnreadableError):
        # The reader of the session reports what cannot be read; without a folder it has no project.
        return ""


class Rows:
    """An open database."""

    def __init__(self, rows: sqlite3.Connection) -> None:
        self._rows = rows

    def changes(self) -> list[tuple[str, int, int]]:
        """Return of every session its id, when it was changed in milliseconds, and how many rows it has.

        Only indexes of messages and parts are looked into.
        """
        numbers: Counter[bytes] = Counter()
        for query in _NUMBERS:
            numbers.update(dict(self._rows.execute(query)))
        known = columns_of(self._rows, "session")
        time = next((name for name in ("time_updated", "time_created") if name in known), "0")
        found = self._rows.execute(f"SELECT id, {time} FROM session ORDER BY id")  # noqa: S608 - a name of our own
        return [(text_of(i), at if isinstance(at, int) else 0, numbers[i]) for i, at in found]

    def session(self, session: str) -> Session:
        """Return what is known of a session; one without an id when there is no such session."""
        return session_of(next(by_column(self._rows.execute(_NAMED, (session,))), None) or {})

    def ids(self) -> set[str]:
        """Return the ids of all sessions."""
        return {text_of(identity) for (identity,) in self._rows.execute("SELECT id FROM session")}

    def size(self, session: str) -> int:
        """Return how many bytes the messages and parts of a session have."""
        query = "SELECT coalesce(sum(length(CAST(data AS BLOB))), 0) FROM {} WHERE session_id = ?"
        return sum(self._rows.execute(query.format(table), (session,)).fetchone()[0] for table in ("message", "part"))


# Sessions in opencode's JSON storage: one file for the session, each message and each part (formats.md §9.1).
#
# * to mid-2025: ``project/<id>/storage/session/{info/<ses>.json, message/<ses>/<msg>.json,
# part/<ses>/<msg>/<prt>.json}``
# * later: ``storage/{session/<project>/<ses>.json, message/<ses>/<msg>.json, part/<msg>/<prt>.json}``

# Ids become names of folders; anything else could lead out of the storage.
_SAFE = re.compile(r"[A-Za-z0-9_-]{1,200}")


class Tree:
    """A session read from its storage tree; ``paths`` are the files in the order of the spans' part numbers."""

    def __init__(self, path: Path, problems: list[Problem]) -> None:
        self.paths: list[Path] = []
        self._problems = problems
        info = self._record(path)
        self.session = session_of(info.fields) if info else Session()
        self.stored: list[Stored] = []
        if info and _SAFE.fullmatch(self.session.id):
            self._read(*_layout(path, self.session.id))
        elif info:
            problems.append(Problem("garbage", path, 1, 0, len(info.span.raw), f"no session id: {self.session.id!r}"))

    def _read(self, messages: Path, parts_of: Callable[[str], Path]) -> None:
        for record in self._records(messages):
            parts = self._records(parts_of(record.id)) if _SAFE.fullmatch(record.id) else []
            self.stored.append(Stored(record, sorted(parts, key=lambda part: part.id)))
        self.stored.sort(key=_order)

    def _records(self, folder: Path) -> list[Record]:
        try:
            paths = sorted(path for path in folder.iterdir() if path.suffix == ".json")
        except FileNotFoundError:
            return []
        except OSError as error:
            self._problems.append(Problem("unreadable", folder, 0, 0, 0, error.strerror or "cannot be listed"))
            return []
        return [record for path in paths if (record := self._record(path)) is not None]

    def _record(self, path: Path) -> Record | None:
        self.paths.append(path)
        try:
            data = file_bytes(path)
        except UnreadableError as error:
            self._problems.append(Problem("unreadable", path, 0, 0, 0, error.reason))
            return None
        raw = data.strip()
        at = data.find(raw)
        record = record_of(Span(len(self.paths) - 1, 1 + data.count(b"\n", 0, at), at, raw))
        if not record.fields:
            self._problems.append(Problem("torn", path, 1, 0, len(data), "not one whole JSON object"))
            return None
        # The client takes the id from the name where the content has none.
        record.id = record.id or path.stem
        return record


def _layout(path: Path, session: str) -> tuple[Path, Callable[[str], Path]]:
    """Return the folder of a session's messages, and for a message the folder of its parts."""
    if path.parent.name == "info":
        base = path.parents[1]
        return base / "message" / session, lambda message: base / "part" / session / message
    storage = path.parents[2]
    return storage / "message" / session, lambda message: storage / "part" / message


def _order(message: Stored) -> tuple[float, str]:
    created = object_in(message.info.fields, "time").get("created")
    return (created if isinstance(created, int | float) else 0, message.info.id)


# Sessions that ``opencode export`` wrote: one JSON object ``{info, messages: [{info, parts}]}`` over many lines.
#
# Of an export that is cut short everything whole is read, and the tear is reported.


class Export:
    """An export file, read whole, with the exact place of each message and part."""

    def __init__(self, path: Path, part: int, problems: list[Problem]) -> None:
        self.path = path
        self.part = part
        self._problems = problems
        self._data = file_bytes(path)
        self._text = self._data.decode("latin-1")  # in which positions are byte offsets
        self._line = 1
        self._counted = 0
        self.session = Session()
        self.stored: list[Stored] = []
        self.is_export = False
        self._read()

    def _read(self) -> None:
        start = value_start(self._text)
        for key, at, end in members(self._text, start):
            self.is_export = self.is_export or key == "info"
            if key == "info" and end is not None:
                self.session = session_of(self._record(at, end).fields)
            elif key == "messages":
                self.is_export = True
                for element, stop in elements(self._text, at):
                    if (message := self._message(element, stop)) is not None:
                        self.stored.append(message)
            if end is None:
                detail = "the export ends here; what stands before is read"
                self._problems.append(Problem("torn", self.path, self._line, at, len(self._data) - at, detail))

    def _message(self, at: int, stop: int) -> Stored | None:
        """Return a message, as far as it is there: without its ``info`` nobody knows who said it."""
        info: Record | None = None
        parts: list[Record] = []
        for key, start, end in members(self._text, at):
            if key == "info" and end is not None:
                info = self._record(start, end)
            elif key == "parts":
                parts = [self._record(s, e) for s, e in elements(self._text, start) if e >= 0]
        if info is not None:
            return Stored(info, parts)
        if stop >= 0:
            self._problems.append(
                Problem("garbage", self.path, self._line, at, stop - at, "a message without its info")
            )
        return None

    def _record(self, start: int, end: int) -> Record:
        if start >= self._counted:
            self._line += self._data.count(b"\n", self._counted, start)
            self._counted = start
        record = record_of(Span(self.part, self._line, start, self._data[start:end]))
        if not record.fields and end - start > len("{}"):
            detail = "no object that can be read (nested too deeply?)"
            self._problems.append(Problem("garbage", self.path, self._line, start, end - start, detail))
        return record


def file_bytes(path: Path) -> bytes:
    """Return the content of a regular file."""
    with opened(path) as file:
        return file.read()


# Places of values in a JSON text, also in one that is cut short: a file that holds one object over many lines.
#
# The bytes are looked at as Latin-1, in which every byte is one character: JSON's own marks are ASCII, so positions in
# the text are byte offsets in the file.

_DECODER = json.JSONDecoder(strict=False)
_WINDOW = 1 << 16
_SPACE = re.compile(r"[ \t\r\n]*")


class Member(NamedTuple):
    """A member of an object: its key, where its value begins, and where it ends (None when it is cut short)."""

    key: str
    start: int
    end: int | None


def value_start(text: str, at: int = 0) -> int:
    """Return where the next value begins, behind white space and a byte order mark."""
    if at == 0 and text.startswith("\xef\xbb\xbf"):
        at = 3
    match = _SPACE.match(text, at)
    return match.end() if match else at


def members(text: str, at: int) -> Iterator[Member]:
    """Yield the members of the object at ``at``; ends where the text ends or is no JSON."""
    if text[at : at + 1] != "{":
        return
    at = value_start(text, at + 1)
    while text[at : at + 1] == '"':
        key_end = _end(text, at)
        if key_end is None:
            return
        key: object = json.loads(text[at:key_end], strict=False)
        colon = value_start(text, key_end)
        if text[colon : colon + 1] != ":":
            return
        start = value_start(text, colon + 1)
        end = _end(text, start)
        yield Member(str(key), start, end)
        comma = -1 if end is None else value_start(text, end)
        if comma < 0 or text[comma : comma + 1] != ",":
            return
        at = value_start(text, comma + 1)


def elements(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of each whole element of the array at ``at``, and last of one that is cut short (end -1)."""
    if text[at : at + 1] != "[":
        return
    at = value_start(text, at + 1)
    while at < len(text) and text[at] != "]":
        end = _end(text, at)
        if end is None:
            yield at, -1
            return
        yield at, end
        comma = value_start(text, end)
        if text[comma : comma + 1] != ",":
            return
        at = value_start(text, comma + 1)


def _end(text: str, at: int) -> int | None:
    try:
        return _DECODER.raw_decode(text, at)[1]
    except json.JSONDecodeError:
        return None
    except (ValueError, RecursionError):  # a number with too many digits, or nested too deeply, for Python
        return _scanned_end(text, at)


def _scanned_end(text: str, at: int) -> int | None:
    """Return the end of a value that no decoder takes, looking no further than twice its length."""
    window = _WINDOW
    while True:
        scan = scan_value(text[at : at + window].encode("latin-1"))
        if scan.status == "whole" and (scan.at < window or at + window >= len(text)):
            return at + scan.at
        if scan.status == "broken" or at + window >= len(text):
            return None
        window *= 2


# Sessions in opencode's SQLite database, opened read-only and never written (formats.md §9.2).
#
# A row has no place in a file: the span of a message or part holds the JSON of its row and the row's name
# (:mod:`slowwave.formats.database`), and its offset is the row's rank in the session (messages first, then parts).

# Every session's id begins so.
_PREFIX = "ses_"
_ROOT = "SELECT * FROM session WHERE parent_id IS NULL ORDER BY time_created, id LIMIT 1"
_NAMED = "SELECT * FROM session WHERE id = ?"
MESSAGES = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
# Places are sorted and not what stands there: a row may be large. The LIMIT keeps the inner query apart.
_PARTS = """
    SELECT own.id, own.message_id, own.data FROM (
        SELECT rowid AS place FROM part WHERE session_id = ? ORDER BY message_id, id LIMIT -1
    ) CROSS JOIN part own ON own.rowid = place
"""


class RowRecords:
    """Makes records of the rows of one session, in the order in which they come."""

    def __init__(self, path: Path, problems: list[Problem]) -> None:
        self.path = path
        self.problems = problems
        self.rank = 0

    def take(self, table: str, identity: bytes | str, data: bytes | str) -> Record | None:
        """Return the record of a row, None when it is not a JSON object, which is reported."""
        raw = data if isinstance(data, bytes) else str(data).encode()
        name = f"{table}/{readable(identity)}"
        span = RowSpan(0, self.rank + 1, self.rank, raw, name)
        self.rank += 1
        record = record_of(span, {"id": readable(identity)})
        if len(record.fields) == 1 and raw.strip() != b"{}":
            detail = f"row {name} is not a JSON object"
            self.problems.append(Problem("garbage", self.path, span.number, span.offset, len(raw), detail))
            return None
        return record

    def gap(self, identity: bytes | str, message: bytes | str) -> None:
        """Report that the last row is a part of no message."""
        detail = f"part {readable(identity)} belongs to message {readable(message)}, which is not there"
        self.problems.append(Problem("gap", self.path, self.rank, self.rank - 1, 0, detail))


def read_rows(path: Path, name: str, problems: list[Problem]) -> tuple[Session, list[Stored]]:
    """Return one session of a database with its messages, as :func:`opened_session` opens it."""
    stored: list[Stored] = []
    records = RowRecords(path, problems)
    with opened_session(path, name) as (rows, session):
        for identity, data in rows.execute(MESSAGES, (session.id,)):
            if (info := records.take("message", identity, data)) is not None:
                stored.append(Stored(info, []))
        known = {message.info.id: message for message in stored}
        for identity, message, data in rows.execute(_PARTS, (session.id,)):
            owner = known.get(readable(message))
            part = records.take("part", identity, data)
            if owner is None:
                records.gap(identity, message)
            elif part is not None:
                owner.parts.append(part)
    return session, stored


@contextmanager
def opened_session(path: Path, name: str) -> Generator[tuple[sqlite3.Connection, Session]]:
    """Open a database at the session that is meant: the named one, or else its oldest root, as the client's tools do.

    Raises UnreadableError: it cannot be opened, is damaged, or holds no such session.
    """
    with opened_of(path, "opencode") as rows:
        found = _session(rows, name)
        if found is None or not found.id:
            raise UnreadableError(path, f"an opencode database without a session {name}")
        yield rows, found


def _session(rows: sqlite3.Connection, name: str) -> Session | None:
    """Return the session that is meant; a name that no session can have, as that of the file, means the oldest root."""
    found = next(by_column(rows.execute(_NAMED, (name,))), None)
    if found is None and not name.startswith(_PREFIX):
        found = next(by_column(rows.execute(_ROOT)), None)
    return None if found is None else session_of(found)


_ROLES = frozenset({"user", "assistant"})


class OpencodeTranscript(Transcript):
    """A session with its stored messages, which the context is rebuilt from."""

    session: Session = msgspec.field(default_factory=Session)
    stored: list[Stored] = msgspec.field(default_factory=list[Stored])


class Opencode:
    """Rules of opencode's sessions."""

    name = "opencode"

    def read(self, files: SessionFiles) -> OpencodeTranscript:
        """Read a session, all messages in the order of their creation; those that a revert took back are not active.

        Raises UnreadableError: the file cannot be opened, or is a database without sessions.
        """
        result = OpencodeTranscript(self.name, files, problems=list(files.problems))
        with relaxed_collector():
            _load(files, result)
            take_back(result.stored, result.session.revert)
            for stored in result.stored:
                result.messages += messages_of(stored, result.session)
            chain(result.messages)
        result.records = 1 + sum(1 + len(stored.parts) for stored in result.stored)
        result.unknown_types = _unknown(result.stored)
        result.title, result.parent = result.session.title, result.session.parent
        result.kind = result.session.kind
        return result

    def passed(self, files: SessionFiles, about: Transcript) -> Iterator[tuple[Message, bool]]:
        """Yield the messages of a session in a database, of which no more than one is held.

        Raises UnreadableError: it is no database with such a session, or it cannot be read.
        """
        path = files.paths[0]
        about.records += 1
        with opened_session(path, files.id) as (rows, session):
            about.files = SessionFiles(session.id, files.paths, files.problems)
            about.title, about.parent, about.kind = session.title, session.parent, session.kind
            for stored, is_new in _Pass(rows, session, RowRecords(path, about.problems)):
                about.records += is_new + len(stored.parts)
                yield from _messages(stored, session, is_new=is_new)

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return what opencode would send if the session were resumed now."""
        whole = transcript if isinstance(transcript, OpencodeTranscript) else self.read(transcript.files)
        live = [stored for stored in whole.stored if stored.live]
        model = _model(whole.session, live)
        return [message for stored in filter_compacted(live) for message in sent_as(stored, whole.session, model)]


def _model(session: Session, live: Sequence[Stored]) -> str:
    """Return the model that a resumed session would ask: its own, else that of the last prompt which names one."""
    prompts = (m.info.fields for m in reversed(live) if m.info.kind == "user")
    named = (model_name(object_in(fields, "model"), "modelID") for fields in prompts)
    return session.model or next(filter(None, named), "")


def _load(files: SessionFiles, result: OpencodeTranscript) -> None:
    path = files.paths[0]
    if is_database(path):
        result.session, result.stored = read_rows(path, files.id, result.problems)
        result.files = SessionFiles(result.session.id, files.paths, files.problems)
        return
    damage: list[Problem] = []
    export = Export(path, 0, damage)
    if export.is_export:
        result.problems += damage
        result.session, result.stored = export.session, export.stored
        return
    tree = Tree(path, result.problems)
    result.session, result.stored = tree.session, tree.stored
    result.files = SessionFiles(files.id, tuple(tree.paths), files.problems)


def _unknown(stored: Sequence[Stored]) -> dict[str, int]:
    kinds = Counter(f"part {part.kind}" for message in stored for part in message.parts if part.kind not in KNOWN_PARTS)
    kinds += Counter(f"role {m.info.kind}" for m in stored if m.info.kind not in _ROLES)
    return dict(kinds)


# One pass over a session in opencode's database that holds a single message at a time, whatever it has of them.
#
# Messages and parts come in two streams of the same order, joined by SQLite over its indexes. Answers with many parts
# come in pieces; a person's message is needed whole, since its texts are one prompt.

PIECE_BYTES = 1 << 20
# Each message in the order of MESSAGES, its parts by their ids. CROSS JOIN keeps SQLite from another order of the
# tables; the plus keeps it from looking through all parts of the session for those of each message.
# Where no index has that order, places are sorted and not what stands there: the LIMIT keeps the inner query apart.
_PARTS_IN_ORDER = """
    SELECT own.id, own.message_id, own.data FROM (
        SELECT p.rowid AS place FROM message m CROSS JOIN part p
        ON p.message_id = m.id AND +p.session_id = m.session_id
        WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.id LIMIT -1
    ) CROSS JOIN part own ON own.rowid = place
"""
_COUNT = "SELECT count(*) FROM part WHERE session_id = ?"
_LEFT_OVER = """
    SELECT p.id, p.message_id, p.data FROM part p
    LEFT JOIN message m ON m.id = p.message_id AND +m.session_id = p.session_id
    WHERE p.session_id = ? AND m.id IS NULL
"""
Row = tuple[bytes, bytes, bytes]


def _messages(stored: Stored, session: Session, *, is_new: bool) -> Iterator[tuple[Message, bool]]:
    first, *results = messages_of(stored, session)
    yield first, is_new
    for result in results:
        yield result, True


class _Pass:
    """Yields messages with their parts; of an answer the parts behind the first pieces come with the same info."""

    def __init__(self, rows: sqlite3.Connection, session: Session, records: RowRecords) -> None:
        self._rows, self._session, self._records = rows, session.id, records
        self._parts: Iterator[Row] = rows.execute(_PARTS_IN_ORDER, (session.id,))
        self._next = next(self._parts, None)
        self._seen = 0

    def __iter__(self) -> Iterator[tuple[Stored, bool]]:
        for identity, data in self._rows.execute(MESSAGES, (self._session,)):
            info = self._records.take("message", identity, data)
            if info is None:
                self._skip(identity)
                continue
            may_part = info.kind == "assistant"
            yield self._piece(Stored(info, []), identity, may_part=may_part), True
            while self._next is not None and self._next[1] == identity:
                yield self._piece(Stored(info, []), identity, may_part=may_part), False
        (count,) = self._rows.execute(_COUNT, (self._session,)).fetchone()
        if count != self._seen:
            for row in self._rows.execute(_LEFT_OVER, (self._session,)):
                self._gap(row)

    def _piece(self, stored: Stored, identity: bytes, *, may_part: bool) -> Stored:
        size = 0
        while (row := self._next) is not None and row[1] == identity and not (may_part and size >= PIECE_BYTES):
            size += len(row[2] or b"")
            part = self._records.take("part", row[0], row[2])
            del row  # before the next one comes: a row may be as large as the memory allows
            self._step()
            if part is not None:
                stored.parts.append(part)
        return stored

    def _skip(self, identity: bytes) -> None:
        """Pass over the parts of a message that cannot be read."""
        while (row := self._next) is not None and row[1] == identity:
            self._step()
            self._gap(row)

    def _gap(self, row: Row) -> None:
        self._records.take("part", row[0], row[2])
        self._records.gap(row[0], row[1])

    def _step(self) -> None:
        self._seen += 1
        self._next = None
        self._next = next(self._parts, None)


OPENCODE = Opencode()


# A session of opencode as the file that ``opencode import`` takes, with more messages at its end.
#
# Its database is written by opencode alone. Its own import adds the messages of a file that the session does not have
# yet and leaves the others (tried with 1.18.33, which then went on from all of them), so a session is continued through
# it.

_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM_LETTERS = 14
_TIME_BITS = 48
_COUNTER_BITS = 12
# how far an id's time is counted on where messages of one millisecond follow each other
_STEP_MS = 1
_DIRECT = ("id", "slug", "directory", "path", "title", "version", "agent", "cost")
_RENAMED = {"project_id": "projectID", "parent_id": "parentID", "workspace_id": "workspaceID"}
_JSON = ("model", "permission", "metadata")


class Said(NamedTuple):
    """A message that is added."""

    role: Literal["user", "assistant"]
    text: str


def exported(database: Path, session: str, more: Sequence[Said], clock: Clock) -> dict[str, Any]:
    """Return a session in the form of ``opencode export``, with messages added behind its last one.

    Raises NotFoundError: the database has no such session, or nobody has asked anything in it yet.
    """
    with opened_of(database, "opencode") as rows:
        info = next(iter(_rows(rows, "session", "id", session)), None)
        messages = [_message(rows, row) for row in _rows(rows, "message", "session_id", session)]
    if info is None:
        raise NotFoundError(f"{database} holds no session {session!r}")
    messages.sort(key=lambda message: (message["info"].get("time", {}).get("created", 0), message["info"]["id"]))
    asked = next((m["info"] for m in reversed(messages) if m["info"].get("role") == "user"), None)
    answered = next((m["info"] for m in reversed(messages) if m["info"].get("role") == "assistant"), None)
    if more and asked is None:
        raise NotFoundError(f"session {session}: nobody has asked anything in it yet; begin it in opencode")
    known = [m["info"].get("time", {}).get("created", 0) + _STEP_MS for m in messages]
    at = max(int(clock.now().timestamp() * 1000), *known, 0)
    for number, said in enumerate(more):
        added = _added(said, session, at + number * _STEP_MS, asked or {}, answered or {})
        asked = added["info"] if said.role == "user" else asked
        messages.append(added)
    return {"info": _info(info), "messages": messages}


def _rows(rows: sqlite3.Connection, table: str, column: str, value: str) -> list[dict[str, Any]]:
    query = f"SELECT * FROM {table} WHERE {column} = ? ORDER BY id"  # noqa: S608 - names of ours
    return list(by_column(rows.execute(query, (value,))))


def _message(rows: sqlite3.Connection, row: Mapping[str, Any]) -> dict[str, Any]:
    own = {"id": row["id"], "sessionID": row["session_id"]}
    parts = [
        _data(part) | {"id": part["id"], "sessionID": row["session_id"], "messageID": row["id"]}
        for part in _rows(rows, "part", "message_id", row["id"])
    ]
    return {"info": _data(row) | own, "parts": parts}


def _data(row: Mapping[str, Any]) -> dict[str, Any]:
    return whole(str(row["data"]).encode("utf-8", "replace"))


def _info(row: Mapping[str, Any]) -> dict[str, Any]:
    info: dict[str, Any] = {name: row[name] for name in _DIRECT if row.get(name) is not None}
    info |= {new: row[old] for old, new in _RENAMED.items() if row.get(old) is not None}
    info |= {name: json.loads(row[name]) for name in _JSON if row.get(name) is not None}
    if row.get("summary_additions") is not None:
        info["summary"] = {name: row.get(f"summary_{name}") or 0 for name in ("additions", "deletions", "files")}
    times = {name: row.get(f"time_{name}") for name in ("created", "updated", "compacting", "archived")}
    return info | {"time": {name: value for name, value in times.items() if value is not None}}


def _added(said: Said, session: str, at: int, asked: Mapping[str, Any], answered: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message with one part; what it needs besides its words is that of the last message of its role."""
    own = _id("msg", at)
    info: dict[str, Any] = {"role": said.role, "id": own, "sessionID": session}
    if said.role == "user":
        info |= {name: asked[name] for name in ("agent", "model") if name in asked} | {"time": {"created": at}}
    else:
        model = object_in(asked, "model")
        named = {"modelID": model.get("modelID", ""), "providerID": model.get("providerID", "")}
        kept = {name: answered[name] for name in ("mode", "agent", "path") if name in answered}
        nothing = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        info |= {"mode": asked.get("agent", "build"), "path": {"cwd": "/", "root": "/"}} | kept | named
        info |= {"parentID": asked["id"], "cost": 0, "tokens": nothing, "finish": "stop"}
        info |= {"time": {"created": at, "completed": at}}
    part = {"type": "text", "text": said.text, "id": _id("prt", at), "sessionID": session, "messageID": own}
    return {"info": info, "parts": [part]}


def _id(kind: str, at: int) -> str:
    """Return an id that sorts by time, as the client makes them: 48 bits of milliseconds and a count, then chance."""
    stamp = (at << _COUNTER_BITS | 1) & ((1 << _TIME_BITS) - 1)
    return f"{kind}_{stamp:012x}" + "".join(secrets.choice(_LETTERS) for _ in range(_RANDOM_LETTERS))
