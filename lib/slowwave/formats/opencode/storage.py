"""What opencode keeps sessions in: its database, both JSON trees, and exports; listed, and taken apart into records."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from slowwave.errors import UnreadableError
from slowwave.formats.database import by_column, columns_of, opened_of, readable, text_of
from slowwave.formats.lines import opened
from slowwave.formats.model import Problem, RowSpan, Span, object_in, whole
from slowwave.formats.opencode.records import Record, Session, Stored, record_of, session_of
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
