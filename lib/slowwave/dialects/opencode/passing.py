"""One pass over a session in opencode's database that holds a single message at a time, whatever it has of them.

Messages and parts come in two streams of the same order, joined by SQLite over its indexes. Answers with many
parts come in pieces; a person's message is needed whole, since its texts are one prompt.
"""

import sqlite3
from collections.abc import Iterator

from slowwave.dialects.model import Message, SessionFiles, Transcript
from slowwave.dialects.opencode.database import MESSAGES, RowRecords, opened_session
from slowwave.dialects.opencode.messages import messages_of
from slowwave.dialects.opencode.records import Session, Stored

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


def passed(files: SessionFiles, about: Transcript) -> Iterator[tuple[Message, bool]]:
    """Yield the messages of a session; see :class:`slowwave.dialects.base.RowDialect`.

    Raises:
        UnreadableError: it is no database with such a session, or it cannot be read.
    """
    path = files.paths[0]
    about.records += 1
    with opened_session(path, files.id) as (rows, session):
        about.files = SessionFiles(session.id, files.paths, files.problems)
        about.title, about.parent = session.title, session.parent
        about.kind = session.kind
        for stored, is_new in _Pass(rows, session, RowRecords(path, about.problems)):
            about.records += is_new + len(stored.parts)
            yield from _messages(stored, session, is_new=is_new)


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
