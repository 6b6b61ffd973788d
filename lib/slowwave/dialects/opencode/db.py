"""Sessions in opencode's SQLite database, opened read-only and never written (formats.md §9.2).

A row has no place in a file: the span of a message or part holds the JSON of its row, and its offset is the row's rank
in the session (messages first, then parts). Such a span proves what was read, but not where its bytes stand.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from slowwave.dialects.opencode.records import Record, Session, Stored, record_of, session_of
from slowwave.errors import UnreadableError
from slowwave.records.model import Problem, Span

HEADER = b"SQLite format 3\0"
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
            if (info := self._record(identity, data)) is not None:
                self.stored.append(Stored(info, []))
        known = {message.info.id: message for message in self.stored}
        for identity, message, data in rows.execute(_PARTS, (found.id,)):
            owner = known.get(_text(message))
            if (part := self._record(identity, data)) is not None and owner is not None:
                owner.parts.append(part)

    def _record(self, identity: bytes | str, data: bytes | str) -> Record | None:
        raw = data if isinstance(data, bytes) else str(data).encode()
        span = Span(0, self._rank + 1, self._rank, raw)
        self._rank += 1
        record = record_of(span, {"id": _text(identity)})
        if len(record.fields) == 1 and raw.strip() != b"{}":
            detail = f"row {_text(identity)} is no JSON object"
            self._problems.append(Problem("garbage", self.path, span.number, span.offset, len(raw), detail))
            return None
        return record


def is_opencode_database(path: Path) -> bool:
    """Say whether a file is a database with opencode's tables."""
    try:
        with opened_read_only(path) as rows:
            named = {_text(name) for (name,) in rows.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except (sqlite3.Error, OSError):
        # Not a database that anything can be read from, so none of opencode either.
        return False
    return {"session", "message", "part"} <= named


def _session(rows: sqlite3.Connection, name: str) -> Session | None:
    for query, values in ((_NAMED, (name,)), (_ROOT, ())):
        cursor = rows.execute(query, values)
        row = cursor.fetchone()
        if row is not None:
            columns = [column[0] for column in cursor.description]
            return session_of({c: _text(v) if isinstance(v, bytes) else v for c, v in zip(columns, row, strict=True)})
    return None


@contextmanager
def opened_read_only(path: Path) -> Generator[sqlite3.Connection]:
    """Open a database that its client may hold open, without changing anything beside it.

    A log that the client has open is read as any other reader would. A log that nobody has open would have to get its
    index (``-shm``) first, so both files are copied away; without a log the file is opened as unchangeable.

    Raises:
        sqlite3.Error: it is no database.
        OSError: it cannot be copied.
    """
    log, index = Path(f"{path}-wal"), Path(f"{path}-shm")
    if not log.exists() or log.stat().st_size == 0:
        with _connection(path, "mode=ro&immutable=1") as rows:
            yield rows
    elif index.exists():
        with _connection(path, "mode=ro") as rows:
            yield rows
    else:
        with tempfile.TemporaryDirectory(prefix="slowwave-") as folder:
            copy = Path(folder, "copy.db")
            shutil.copyfile(path, copy)
            shutil.copyfile(log, f"{copy}-wal")
            with _connection(copy, "mode=ro") as rows:
                yield rows


@contextmanager
def _connection(path: Path, mode: str) -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?{mode}", uri=True)) as rows:
        # Rows may hold bytes that are not UTF-8; they are decoded where they are looked at.
        rows.text_factory = bytes
        rows.execute("BEGIN")
        yield rows


def _text(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
