"""Sessions in opencode's SQLite database, opened read-only and never written (formats.md §9.2).

A row has no place in a file: the span of a message or part holds the JSON of its row and the row's name
(:mod:`slowwave.dialects.rows`), and its offset is the row's rank in the session (messages first, then parts).
"""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from slowwave.dialects.opencode.records import Record, Session, Stored, record_of, session_of
from slowwave.errors import UnreadableError
from slowwave.records.database import opened_read_only
from slowwave.records.model import Problem, RowSpan

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
        """Return the record of a row, None when it is no JSON object, which is reported."""
        raw = data if isinstance(data, bytes) else str(data).encode()
        name = f"{table}/{text_or_str(identity)}"
        span = RowSpan(0, self.rank + 1, self.rank, raw, name)
        self.rank += 1
        record = record_of(span, {"id": text_or_str(identity)})
        if len(record.fields) == 1 and raw.strip() != b"{}":
            detail = f"row {name} is no JSON object"
            self.problems.append(Problem("garbage", self.path, span.number, span.offset, len(raw), detail))
            return None
        return record

    def gap(self, identity: bytes | str, message: bytes | str) -> None:
        """Report that the last row is a part of no message."""
        detail = f"part {text_or_str(identity)} belongs to message {text_or_str(message)}, which is not there"
        self.problems.append(Problem("gap", self.path, self.rank, self.rank - 1, 0, detail))


class Database:
    """One session of a database: the named one, or else its oldest root session, as the client's own tools take it."""

    def __init__(self, path: Path, name: str, problems: list[Problem]) -> None:
        self.session = Session()
        self.stored: list[Stored] = []
        with opened_session(path, name) as (rows, session):
            self.session = session
            self._read(rows, RowRecords(path, problems))

    def _read(self, rows: sqlite3.Connection, records: RowRecords) -> None:
        session = self.session.id
        for identity, data in rows.execute(MESSAGES, (session,)):
            if (info := records.take("message", identity, data)) is not None:
                self.stored.append(Stored(info, []))
        known = {message.info.id: message for message in self.stored}
        for identity, message, data in rows.execute(_PARTS, (session,)):
            owner = known.get(text_or_str(message))
            part = records.take("part", identity, data)
            if owner is None:
                records.gap(identity, message)
            elif part is not None:
                owner.parts.append(part)


@contextmanager
def opened_session(path: Path, name: str) -> Generator[tuple[sqlite3.Connection, Session]]:
    """Open a database at the session that is meant: the named one, or else its oldest root.

    Raises:
        UnreadableError: it cannot be opened, is damaged, or holds no such session.
    """
    try:
        with opened_read_only(path) as rows:
            found = _session(rows, name)
            if found is None or not found.id:
                raise UnreadableError(path, f"an opencode database without a session {name}")
            yield rows, found
    except (sqlite3.Error, OSError) as error:
        raise UnreadableError(path, f"no readable opencode database: {error}") from error


def _session(rows: sqlite3.Connection, name: str) -> Session | None:
    """Return the session that is meant; a name that no session can have, as that of the file, means the oldest root."""
    for query, values in ((_NAMED, (name,)), (_ROOT, ())):
        cursor = rows.execute(query, values)
        row = cursor.fetchone()
        if row is not None:
            columns = [column[0] for column in cursor.description]
            return session_of(
                {c: text_or_str(v) if isinstance(v, bytes) else v for c, v in zip(columns, row, strict=True)}
            )
        if name.startswith(_PREFIX):
            return None
    return None


def text_or_str(value: bytes | str) -> str:
    """Return a column of text as text; another value as it is."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
