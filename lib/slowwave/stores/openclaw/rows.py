"""The sessions of OpenClaw's database as a listing needs them: without their transcripts, in one look."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from slowwave.formats.database import opened_read_only, text_of
from slowwave.formats.model import REFUSALS, SessionOrigin
from slowwave.formats.openclaw.database import columns_of, unpacked
from slowwave.formats.openclaw.keys import parse_key

NAME = "openclaw-agent.sqlite"
_MS = 1_000_000
_NONE = "''"


class Listed(NamedTuple):
    """A session without its transcript.

    Attributes:
        id: its id.
        mtime_ns: when it was last written to; its last digits are those of its newest event, since a millisecond is
            long.
        title: the label that a person gave, else the client's name for it.
        is_side: another session started it, and it belongs to that one; a job's or a hook's belongs to none.
        is_fork: it was forked from another one.
        origin: who began it, as far as its key tells.
    """

    id: str
    mtime_ns: int
    title: str
    is_side: bool
    is_fork: bool
    origin: SessionOrigin = ""


class AgentSessions:
    """The sessions of one database, which stays open while they are asked for."""

    def __init__(self, rows: sqlite3.Connection) -> None:
        self._rows = rows
        self._windows = columns_of(rows, "session_windows")
        self._nodes = columns_of(rows, "session_nodes")
        self._events = columns_of(rows, "transcript_events")
        self._marks = columns_of(rows, "transcript_rewrite_watermarks")

    def listed(self) -> Iterator[Listed]:
        """Yield every session that has a transcript, by its id."""
        query = f"""
            SELECT e.session_id, e.newest, max(coalesce(last.created_at, 0), {self._times()}, 0), {self._titles()},
                   {self._filled("w", self._windows, "spawned_by")} OR {self._filled("n", self._nodes, "spawned_by")},
                   {self._filled("n", self._nodes, "fork_source_session_id")}, {self._key()}
            FROM (SELECT session_id, max(seq) AS newest FROM transcript_events GROUP BY session_id) e
            JOIN transcript_events last ON last.session_id = e.session_id AND last.seq = e.newest
            {self._joins()}
            GROUP BY e.session_id ORDER BY e.session_id
        """  # noqa: S608 - no name from outside
        for identity, newest, at, title, side, fork, key in self._rows.execute(query):
            written = int(at) * _MS + int(newest) % _MS
            parsed = parse_key(text_of(key))
            origin = "" if side else parsed.origin
            name = text_of(title).strip()
            yield Listed(text_of(identity), written, name, bool(side) or parsed.is_agents, bool(fork), origin)

    def size(self, session: str) -> int:
        """Return the bytes of a session's events, unpacked."""
        packed = "event_utf8_bytes, length(event_zstd)" if "event_utf8_bytes" in self._events else "NULL"
        query = f"""
            SELECT sum(coalesce({packed}, length(CAST(event_json AS BLOB)), 0)) FROM transcript_events
            WHERE session_id = ?
        """  # noqa: S608 - as above
        return int(self._rows.execute(query, (session,)).fetchone()[0] or 0)

    def cwd(self, session: str) -> str:
        """Return the working folder of a session's header, "" when it has none."""
        packed = "event_zstd, event_utf8_bytes" if "event_zstd" in self._events else "NULL, NULL"
        query = f"SELECT event_json, {packed} FROM transcript_events WHERE session_id = ? ORDER BY seq LIMIT 1"  # noqa: S608
        plain, frame, size = self._rows.execute(query, (session,)).fetchone()
        try:
            header: object = msgspec.json.decode(plain if plain is not None else unpacked(frame, size))
        except (ValueError, *REFUSALS):
            return ""  # the reading of the session reports it
        cwd = header.get("cwd") if isinstance(header, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return cwd if isinstance(cwd, str) else ""

    def _times(self) -> str:
        times = [f"coalesce(w.{c}, 0)" for c in ("updated_at", "transcript_updated_at") if c in self._windows]
        times += ["coalesce(m.updated_at, 0)"] if "updated_at" in self._marks else []
        return ", ".join(times) or "0"

    def _titles(self) -> str:
        names = [f"nullif(trim(n.{c}), '')" for c in ("label", "display_name") if c in self._nodes]
        names += ["nullif(trim(w.display_name), '')"] if "display_name" in self._windows else []
        return f"coalesce({', '.join(names)}, '')" if names else "''"

    def _key(self) -> str:
        keys = ["w.session_key"] if "session_key" in self._windows else []
        keys += ["n.session_key"] if "session_key" in self._nodes else []
        return f"coalesce({', '.join([*keys, _NONE, _NONE])})"

    @staticmethod
    def _filled(alias: str, columns: frozenset[str], column: str) -> str:
        return f"coalesce({alias}.{column}, '') != ''" if column in columns else "0"

    def _joins(self) -> str:
        joins: list[str] = []
        if "session_id" in self._windows:
            joins.append("LEFT JOIN session_windows w ON w.session_id = e.session_id")
        if "current_session_id" in self._nodes:
            joins.append("LEFT JOIN session_nodes n ON n.current_session_id = e.session_id")
        if "updated_at" in self._marks:
            joins.append("LEFT JOIN transcript_rewrite_watermarks m ON m.session_id = e.session_id")
        return " ".join(joins)


def titles_in(path: Path) -> dict[str, str]:
    """Return the titles of a database's sessions by their ids.

    Raises:
        sqlite3.Error, OSError: nothing can be read from it.
    """
    with opened_read_only(path) as rows:
        return {found.id: found.title for found in AgentSessions(rows).listed() if found.title}
