"""Sessions in OpenClaw's ``openclaw-agent.sqlite``, opened read-only and never written (OpenClaw 2026.9.6).

``transcript_events`` has the lines of a session file as rows: the JSON itself, or from about 1 kB on a zstd frame of it
(``event_zstd``, whose plain size is ``event_utf8_bytes``). A row has no place in a file: the span of an event holds its
JSON, and its offset is the row's ``seq``, so that session and offset name the row. Earlier versions have fewer columns.
"""

import sqlite3
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from slowwave.errors import UnreadableError
from slowwave.formats.database import opened_read_only, text_of
from slowwave.formats.model import REFUSALS, Problem, RowSpan, Transcript
from slowwave.formats.openclaw.store import parse_key
from slowwave.formats.pi.records import DECODER, Entry, entry_of, text_or_empty
from slowwave.formats.salvage import clean, whole

# The client compresses nothing larger than 4 MiB; whatever claims more is damage, not worth the memory.
MOST_PLAIN_BYTES = 64 << 20
_OLDEST_ROOT = """
    SELECT e.session_id FROM transcript_events e {join} WHERE {root}
    GROUP BY e.session_id ORDER BY min(e.created_at), e.session_id LIMIT 1
"""


class About(msgspec.Struct):
    """What a database says of a session beside its transcript.

    Attributes:
        key: the session's key (``agent:main:main``).
        title: what a person or the client named it.
        spawned_by: the key of the session that started it, as a sub-agent.
        forked_from: the id of the session that it was forked from.
        parent: the id of the session that started it, where the database still has it.
    """

    key: str = ""
    title: str = ""
    spawned_by: str = ""
    forked_from: str = ""
    parent: str = ""

    def describe(self, transcript: Transcript) -> None:
        """Tell a transcript what the database says of it; that counts more than what its entries say."""
        transcript.title = self.title or transcript.title
        if self.spawned_by or parse_key(self.key).is_agents:
            transcript.kind, transcript.parent = "subagent", self.parent
        elif self.forked_from:
            transcript.kind, transcript.parent = "fork", self.forked_from


class ActivePath(NamedTuple):
    """The client's own index of the entries that it goes on from.

    Attributes:
        sequences: their ``seq``, root first.
        hidden: those of them that it does not send.
    """

    sequences: list[int]
    hidden: frozenset[int]


class Database:
    """One session of a database: the named one, or else its oldest that no other started."""

    def __init__(self, path: Path, name: str, problems: list[Problem]) -> None:
        with opened_session(path, name) as session:
            self.id = session.id
            self.entries = list(session.entries(problems))
            self.about = session.about
            newest = max((e.span.offset for e in self.entries), default=-1)
            self.active = _active_path(session.rows, self.id, newest)


class OpenedSession:
    """A session of a database that is open.

    Attributes:
        rows: the database.
        id: the session's id.
        about: what the database says of it.
    """

    def __init__(self, path: Path, rows: sqlite3.Connection, name: str) -> None:
        self.rows = rows
        self._path = path
        self._columns = columns_of(rows, "transcript_events")
        self.id = _session(rows, name)
        self.about = about(rows, self.id) if self.id else About()

    def header(self) -> Entry | None:
        """Return the first header, usually the first event, None when there is none."""
        return next((entry for entry in self.entries([]) if entry.type == "session"), None)

    def entries(self, problems: list[Problem]) -> Iterator[Entry]:
        """Yield every event in order, and report each row that has none."""
        packed = "event_zstd, event_utf8_bytes" if "event_zstd" in self._columns else "NULL, NULL"
        query = f"SELECT seq, event_json, {packed} FROM transcript_events WHERE session_id = ? ORDER BY seq"  # noqa: S608
        for seq, plain, frame, size in self.rows.execute(query, (self.id,)):
            try:
                yield self._entry(seq, plain if plain is not None else unpacked(frame, size))
            except (ValueError, *REFUSALS) as error:
                length = len(plain or frame or b"")
                detail = f"event {seq} of session {self.id}: {error}"
                problems.append(Problem("garbage", self._path, seq + 1, seq, length, detail))

    def _entry(self, seq: int, raw: bytes) -> Entry:
        if not raw.lstrip().startswith(b"{"):
            raise ValueError("is not a JSON object")
        span = RowSpan(0, seq + 1, seq, raw, f"transcript_events/{self.id}/{seq}")
        return entry_of(DECODER.decode(clean(raw)), span)


@contextmanager
def opened_session(path: Path, name: str) -> Generator[OpenedSession]:
    """Open a database at the session that is meant: the named one, or else its oldest that no other started.

    Raises:
        UnreadableError: it cannot be opened, is damaged, or holds no session.
    """
    try:
        with opened_read_only(path) as rows:
            session = OpenedSession(path, rows, name)
            if not session.id:
                raise UnreadableError(path, "an OpenClaw database without a session")
            yield session
    except (sqlite3.Error, OSError) as error:
        raise UnreadableError(path, f"no readable OpenClaw database: {error}") from error


def unpacked(frame: bytes | None, size: int | None) -> bytes:
    """Return the JSON in a compressed event.

    Raises:
        ValueError: there is none, the frame is damaged, or it does not hold what its row says.
    """
    import zstandard  # noqa: PLC0415 - few sessions are packed

    if frame is None:
        raise ValueError("has neither JSON nor a compressed event")
    try:
        told = zstandard.frame_content_size(frame)
        expected = size if size is not None else told
        if not 0 < expected <= MOST_PLAIN_BYTES or told > MOST_PLAIN_BYTES:
            raise ValueError(f"says that it unpacks to {max(expected, told)} bytes")
        raw = zstandard.ZstdDecompressor().decompress(frame, max_output_size=expected, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise ValueError(f"cannot be unpacked: {error}") from error
    if len(raw) != expected:
        raise ValueError(f"unpacks to {len(raw)} bytes where its row says {expected}")
    return raw


def columns_of(rows: sqlite3.Connection, table: str) -> frozenset[str]:
    """Return the names of a table's columns; none when there is no such table."""
    return frozenset(text_of(row[0]) for row in rows.execute("SELECT name FROM pragma_table_info(?)", (table,)))


def _session(rows: sqlite3.Connection, name: str) -> str:
    """Return the id of the session that is meant, "" when the database holds none."""
    if rows.execute("SELECT 1 FROM transcript_events WHERE session_id = ? LIMIT 1", (name,)).fetchone():
        return name
    join = "LEFT JOIN session_windows w ON w.session_id = e.session_id"
    queries = [_OLDEST_ROOT.format(join="", root="1")]
    if "spawned_by" in columns_of(rows, "session_windows"):
        queries.insert(0, _OLDEST_ROOT.format(join=join, root="w.spawned_by IS NULL"))
    for query in queries:
        if row := rows.execute(query).fetchone():
            return text_of(row[0])
    return ""


def about(rows: sqlite3.Connection, session: str) -> About:
    """Return what a database says of a session beside its transcript; tables and columns may be missing."""
    window = _row(rows, "session_windows", "session_id", session)
    node = _row(rows, "session_nodes", "current_session_id", session)
    key = text_or_empty(window.get("session_key")) or text_or_empty(node.get("session_key"))
    if not node and key:
        node = _row(rows, "session_nodes", "session_key", key)
    entry = whole(text_or_empty(node.get("entry_json")).encode())
    title = next((t for t in _titles(node, window, entry) if t), "")
    spawned = next((s for s in (window.get("spawned_by"), node.get("spawned_by"), entry.get("spawnedBy")) if s), "")
    forked = text_or_empty(node.get("fork_source_session_id")) if node.get("current_session_id") == session else ""
    return About(key, title, text_or_empty(spawned), forked, _current(rows, text_or_empty(spawned)))


def _current(rows: sqlite3.Connection, key: str) -> str:
    """Return the id of the session that a key leads to now, "" when there is none."""
    if not key:
        return ""
    node = _row(rows, "session_nodes", "session_key", key)
    window = {} if node else _row(rows, "session_windows", "session_key", key)
    return text_or_empty(node.get("current_session_id")) or text_or_empty(window.get("session_id"))


def _titles(node: dict[str, Any], window: dict[str, Any], entry: dict[str, Any]) -> list[str]:
    """Return the names of a session, a person's own first."""
    names = (node.get("label"), entry.get("label"), node.get("display_name"), window.get("display_name"))
    return [text_or_empty(n).strip() for n in (*names, entry.get("displayName"), entry.get("subject"))]


def _row(rows: sqlite3.Connection, table: str, column: str, value: str) -> dict[str, Any]:
    if column not in columns_of(rows, table):
        return {}
    cursor = rows.execute(f"SELECT * FROM {table} WHERE {column} = ? LIMIT 1", (value,))  # noqa: S608 - names from here
    row = cursor.fetchone()
    if row is None:
        return {}
    names = [column[0] for column in cursor.description]
    return {
        n: text_of(v) if isinstance(v, bytes) else v for n, v in zip(names, cast("tuple[Any, ...]", row), strict=True)
    }


def _active_path(rows: sqlite3.Connection, session: str, newest: int) -> ActivePath | None:
    """Return the client's index of the active path, None when there is none that covers every event."""
    state = _row(rows, "session_transcript_index_state", "session_id", session)
    if not state or state.get("needs_rebuild") or state.get("indexed_seq") != newest:
        return None
    columns = columns_of(rows, "session_transcript_active_events")
    if not {"active_position", "event_seq"} <= columns:
        return None
    eligible = "context_eligible" if "context_eligible" in columns else "1"
    query = f"""
        SELECT event_seq, {eligible} FROM session_transcript_active_events
        WHERE session_id = ? ORDER BY active_position
    """  # noqa: S608 - no name from outside
    found = rows.execute(query, (session,)).fetchall()
    return ActivePath([seq for seq, _ in found], frozenset(seq for seq, sent in found if not sent))
