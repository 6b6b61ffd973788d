"""What a client notes of a session beside its messages: conversation keys and token counters, statistics, permissions.

It is asked for when a session is shown, and read where the client keeps it at that moment: none of it is in the
catalogue, since clients change it without touching a transcript.
"""

import os
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from slowwave.errors import UnreadableError
from slowwave.formats.database import opened_read_only, text_of
from slowwave.formats.opencode.records import object_in
from slowwave.formats.salvage import whole
from slowwave.stores.openclaw.entries import SessionEntry, entry_of
from slowwave.stores.openclaw.facts import stems_beside
from slowwave.stores.openclaw.store import NAME, read_store
from slowwave.stores.openclaw.values import values_of
from slowwave.stores.walk import FoundSession

Told = Mapping[str, Any]

# fields of OpenClaw's entries, and what they are called here
_TEXTS = {
    "sessionId": "session_id",
    "chatType": "chat_type",
    "channel": "channel",
    "subject": "subject",
    "groupChannel": "group_channel",
    "space": "space",
    "displayName": "display_name",
    "model": "model",
}
_NUMBERS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "totalTokens": "total_tokens",
    "contextTokens": "context_tokens",
    "compactionCount": "compaction_count",
    "memoryFlushAt": "memory_flush_at",
}
_STATISTICS = ("additions", "deletions", "files")
# columns of opencode's table of sessions
_COLUMNS = ("share_url", "cost", "tokens_input", "tokens_output", "tokens_cache_read", "time_archived")


class ClientFacts:
    """What clients note of sessions; each of their files is read once."""

    def __init__(self) -> None:
        self._by_place: dict[str, Mapping[str, Told]] = {}

    def of(self, dialect: str, path: str, session: str) -> Told:
        """Return what is noted of a session, nothing where its client notes nothing or that cannot be read.

        Args:
            dialect: name of its dialect.
            path: its first file, or its database.
            session: its id.
        """
        if dialect not in ("openclaw", "opencode"):
            return {}
        is_shared = dialect == "openclaw" and path.endswith(".jsonl")
        place = os.path.dirname(path) if is_shared else path  # noqa: PTH120 - once a row of a listing
        if place not in self._by_place:
            self._by_place[place] = _read(dialect, Path(place))
        return self._by_place[place].get(session, {})


def known_by(name: str, sessions: Iterable[FoundSession]) -> FoundSession | None:
    """Return the session of OpenClaw with a session key, or with an id that its transcript's name does not show.

    Several agents may have one key, such as that of a job; then it names none.
    """
    facts = ClientFacts()
    found: list[FoundSession] = []
    for session in sessions:
        if session.dialect == "openclaw" and not session.source:
            told = facts.of("openclaw", session.path, session.id)
            found += [session] if name in (told.get("key"), told.get("session_id")) else []
    return found[0] if len(found) == 1 else None


def _read(dialect: str, place: Path) -> Mapping[str, Told]:
    try:
        if place.is_dir():
            return _of_store(place)
        if place.suffix == ".json":
            fields = whole(place.read_bytes())
            return {str(fields.get("id")): _of_opencode(fields)}
        if dialect == "openclaw":
            return _of_agent(place)
        return _of_opencode_rows(place)
    except (UnreadableError, OSError, sqlite3.Error):
        return {}  # the listing of the sessions themselves reports it


def _of_store(folder: Path) -> Mapping[str, Told]:
    store = read_store(folder / NAME)
    stems = stems_beside(store)
    return {stem: _of_entry(key, store[key]) for key, stem in stems.items() if stem}


def _of_agent(database: Path) -> Mapping[str, Told]:
    query = "SELECT session_key, current_session_id, entry_json FROM session_nodes"
    with opened_read_only(database) as rows:
        found = list(rows.execute(query))
    entries = ((text_of(key), text_of(own), values_of(text_of(entry).encode()) or {}) for key, own, entry in found)
    return {own: _of_entry(key, entry_of(fields)) for key, own, fields in entries}


def _of_entry(key: str, entry: SessionEntry) -> Told:
    told: dict[str, Any] = {"key": key}
    told |= {own: text for name, own in _TEXTS.items() if (text := entry.text(name))}
    return told | {own: number for name, own in _NUMBERS.items() if (number := entry.number(name)) is not None}


def _of_opencode_rows(database: Path) -> Mapping[str, Told]:
    with opened_read_only(database) as rows:
        cursor = rows.execute("SELECT * FROM session")
        names = [column[0] for column in cursor.description]
        found = [{name: _plain(value) for name, value in zip(names, row, strict=True)} for row in cursor]
    return {text_of(fields.get("id")): _of_opencode(fields) for fields in found}


def _plain(value: object) -> object:
    """Return a value of a row; text comes as bytes."""
    return text_of(value) if isinstance(value, bytes) else value


def _of_opencode(fields: Mapping[str, Any]) -> Told:
    given = object_in(dict(fields), "summary")
    counts: dict[str, Any] = {name: given.get(name, fields.get(f"summary_{name}")) for name in _STATISTICS}
    told: dict[str, Any] = {name: value for name in _COLUMNS if (value := fields.get(name)) is not None}
    if any(value is not None for value in counts.values()):
        told["summary"] = counts
    permission = fields.get("permission")
    if isinstance(permission, str):
        permission = whole(b'{"rules":' + permission.encode("utf-8", "replace") + b"}").get("rules")
    return told | ({"permission": permission} if permission else {})
