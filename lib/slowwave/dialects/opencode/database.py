"""Sessions in opencode's SQLite database, opened read-only and never written (formats.md §9.2).

A row has no place in a file: the span of a message or part holds the JSON of its row and the row's name
(:mod:`slowwave.dialects.rows`), and its offset is the row's rank in the session (messages first, then parts).
"""

import sqlite3
from pathlib import Path

from slowwave.dialects.opencode.records import Record, Session, Stored, record_of, session_of
from slowwave.errors import UnreadableError
from slowwave.records.database import opened_read_only
from slowwave.records.model import Problem, RowSpan

# Every session's id begins so.
_PREFIX = "ses_"
_ROOT = "SELECT * FROM session WHERE parent_id IS NULL ORDER BY time_created, id LIMIT 1"
_NAMED = "SELECT * FROM session WHERE id = ?"
_MESSAGES = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY message_id, id"


class Database:
    """One session of a database: the named one, or else its oldest root session, as the client's own tools take it."""

    def __init__(self, path: Path, name: str, problems: list[Problem]) -> None:
        self.path = path
        self._problems = problems
        self._rank = 0
        self.session = Session()
        self.stored: list[Stored] = []
        try:
            with opened_read_only(path) as rows:
                self._read(rows, name)
        except (sqlite3.Error, OSError) as error:
            raise UnreadableError(path, f"no readable opencode database: {error}") from error

    def _read(self, rows: sqlite3.Connection, name: str) -> None:
        found = _session(rows, name)
        if found is None:
            return
        self.session = found
        for identity, data in rows.execute(_MESSAGES, (found.id,)):
            if (info := self._record("message", identity, data)) is not None:
                self.stored.append(Stored(info, []))
        known = {message.info.id: message for message in self.stored}
        for identity, message, data in rows.execute(_PARTS, (found.id,)):
            owner = known.get(_text(message))
            part = self._record("part", identity, data)
            if owner is None:
                detail = f"part {_text(identity)} belongs to message {_text(message)}, which is not there"
                self._problems.append(Problem("gap", self.path, self._rank, self._rank - 1, 0, detail))
            elif part is not None:
                owner.parts.append(part)

    def _record(self, table: str, identity: bytes | str, data: bytes | str) -> Record | None:
        raw = data if isinstance(data, bytes) else str(data).encode()
        name = f"{table}/{_text(identity)}"
        span = RowSpan(0, self._rank + 1, self._rank, raw, name)
        self._rank += 1
        record = record_of(span, {"id": _text(identity)})
        if len(record.fields) == 1 and raw.strip() != b"{}":
            detail = f"row {name} is no JSON object"
            self._problems.append(Problem("garbage", self.path, span.number, span.offset, len(raw), detail))
            return None
        return record


def _session(rows: sqlite3.Connection, name: str) -> Session | None:
    """Return the session that is meant; a name that no session can have, as that of the file, means the oldest root."""
    for query, values in ((_NAMED, (name,)), (_ROOT, ())):
        cursor = rows.execute(query, values)
        row = cursor.fetchone()
        if row is not None:
            columns = [column[0] for column in cursor.description]
            return session_of({c: _text(v) if isinstance(v, bytes) else v for c, v in zip(columns, row, strict=True)})
        if name.startswith(_PREFIX):
            return None
    return None


def _text(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
