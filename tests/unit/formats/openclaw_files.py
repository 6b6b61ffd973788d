"""Builds sessions of OpenClaw: files of pi with its entries, and the database of an agent."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import zstandard

from slowwave.formats import SessionFiles
from slowwave.formats.messages import normal_form
from slowwave.formats.openclaw.dialect import OPENCLAW, OpenclawTranscript
from tests.unit.formats.pi_files import HEADER, Session, told

SCHEMA = """
CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT, entry_json TEXT, updated_at INTEGER,
  spawned_by TEXT, fork_source_session_id TEXT, label TEXT, display_name TEXT);
CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT NOT NULL, created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL, spawned_by TEXT, display_name TEXT);
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT, created_at INTEGER,
  event_zstd BLOB, event_utf8_bytes INTEGER, navigation_json TEXT, PRIMARY KEY (session_id, seq));
CREATE TABLE session_transcript_index_state (session_id TEXT PRIMARY KEY, indexed_seq INTEGER, leaf_event_id TEXT,
  needs_rebuild INTEGER, active_event_count INTEGER, active_message_count INTEGER, updated_at INTEGER);
CREATE TABLE session_transcript_active_events (session_id TEXT, active_position INTEGER, event_seq INTEGER,
  message_position INTEGER, context_eligible INTEGER, PRIMARY KEY (session_id, active_position));
"""
START = 1_795_295_000_000


def session(identity: str = "s1", **header: Any) -> Session:
    """Return a session in the making whose header is OpenClaw's."""
    return Session(HEADER | {"version": 4, "id": identity} | header)


class Agent:
    """The database of an agent in the making."""

    def __init__(self, folder: Path, schema: str = SCHEMA) -> None:
        self.path = folder / "openclaw-agent.sqlite"
        with closing(sqlite3.connect(self.path)) as rows:
            rows.executescript("PRAGMA journal_mode=wal; PRAGMA synchronous=off;" + schema)

    def run(self, query: str, *values: object) -> None:
        self._run([(query, values)])

    def _run(self, steps: list[tuple[str, tuple[object, ...]]]) -> None:
        with closing(sqlite3.connect(self.path)) as rows:
            rows.execute("PRAGMA synchronous=off")
            for query, values in steps:
                rows.execute(query, values)
            rows.commit()

    def add(self, made: Session, *, key: str = "agent:main:main", at: int = START, packed: bool = False) -> None:
        """Add a session's events, its window and its node."""
        lines = made.data().splitlines()
        identity = json.loads(lines[0])["id"]
        window = "INSERT INTO session_windows(session_id, session_key, created_at, updated_at) VALUES (?, ?, ?, ?)"
        node = "INSERT OR REPLACE INTO session_nodes(session_key, current_session_id, updated_at) VALUES (?, ?, ?)"
        end = at + len(lines)
        events = [_event(identity, seq, line, at + seq, packed=packed) for seq, line in enumerate(lines)]
        self._run([(window, (identity, key, at, end)), (node, (key, identity, end)), *events])

    def event(self, identity: str, seq: int, line: bytes, *, at: int = START, packed: bool = False) -> None:
        self._run([_event(identity, seq, line, at, packed=packed)])

    def node(self, identity: str, **columns: Any) -> None:
        """Set columns of the node whose current session this is, and of its window where that has them."""
        for column, value in columns.items():
            self.run(f"UPDATE session_nodes SET {column} = ? WHERE current_session_id = ?", value, identity)
            if column in ("spawned_by", "display_name"):
                self.run(f"UPDATE session_windows SET {column} = ? WHERE session_id = ?", value, identity)

    def index(self, identity: str, sequences: list[int], newest: int, hidden: tuple[int, ...] = ()) -> None:
        """Write the client's index of the active path."""
        self.run("INSERT INTO session_transcript_index_state VALUES (?, ?, '', 0, 0, 0, 0)", identity, newest)
        for position, seq in enumerate(sequences):
            row = (identity, position, seq, seq not in hidden)
            self.run("INSERT INTO session_transcript_active_events VALUES (?, ?, ?, NULL, ?)", *row)

    def read(self, identity: str = "") -> OpenclawTranscript:
        return OPENCLAW.read(SessionFiles(identity, (self.path,)))


def _event(identity: str, seq: int, line: bytes, at: int, *, packed: bool) -> tuple[str, tuple[object, ...]]:
    frame = zstandard.ZstdCompressor(level=1).compress(line) if packed and seq else None
    row = (identity, seq, line.decode() if frame is None else None, at, frame, len(line))
    return "INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?, ?, NULL)", row


def read(folder: Path, made: Session) -> OpenclawTranscript:
    path = folder / "session.jsonl"
    path.write_bytes(made.data())
    return OPENCLAW.read(SessionFiles("s1", (path,)))


def shape(transcript: OpenclawTranscript) -> list[str]:
    """Return each message of the context as ``user: text``."""
    return [f"{m['role']}: {told(m)}" for m in normal_form(OPENCLAW.context(transcript))]
