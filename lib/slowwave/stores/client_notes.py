"""What clients note of a session beside its messages.

In files and databases of their own: conversation keys, token counters, statistics and permissions are read
(:class:`ClientFacts`); entries of an index are taken out together with the session and put back with it.
"""

import os
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from slowwave.errors import MovedError, UnreadableError
from slowwave.formats.codex.home import INDEX
from slowwave.formats.database import opened_read_only, text_of
from slowwave.formats.opencode.records import object_in
from slowwave.formats.rewrite import file_state, rewrite_without
from slowwave.formats.salvage import whole
from slowwave.stores.openclaw.sessions import stems_beside
from slowwave.stores.openclaw.store import (
    NAME,
    SessionEntry,
    SessionStore,
    entry_of,
    read_store,
    update_store,
    values_of,
)
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


# A note that a client keeps of a session in an index of its own, taken out and put back below.


class Note(msgspec.Struct, frozen=True):
    """An entry of an index.

    Attributes:
        path: the index.
        kind: entry (an object of ``sessions.json``) or line (lines of ``session_index.jsonl``).
        key: the session key, or the id of the thread.
        text: what stands there, byte for byte; bytes that are no UTF-8 stand as surrogates.
    """

    path: str
    kind: Literal["entry", "line"]
    key: str
    text: str


# What clients note of a session in an index of theirs: taken out together with the session, put back with it.
#
# OpenClaw and Clawdbot name the transcript of each conversation in ``sessions.json``, Codex the names of threads in
# ``session_index.jsonl``. A note holds what stood there as it was written, so that it comes back byte for byte.


def entry_note(path: Path, key: str, entry: SessionEntry) -> Note:
    """Return the note of an entry of ``sessions.json``."""
    return Note(str(path), "entry", key, _text(msgspec.json.encode(entry.fields)))


def thread_notes(home: Path, thread: str) -> tuple[Note, ...]:
    """Return the note of a thread in the index of a Codex home, none when nobody named it."""
    path = home / INDEX
    lines = [line for _, line, own in _lines(path) if own == thread] if path.is_file() else []
    return (Note(str(path), "line", thread, _text(b"\n".join(lines))),) if lines else ()


def take_out(notes: Iterable[Note]) -> None:
    """Take notes out of their indexes; one that is gone already counts as taken out.

    Raises:
        MovedError: the client has changed one since it was looked at; nothing of that index was taken out.
        LockHeldError: a client held the lock of its index all the time.
        UnreadableError: an index cannot be read; it is left as it is.
        OSError: an index cannot be written; it is left as it is.
    """
    for path, mine in _by_index(notes):
        if not path.exists():
            continue
        if mine[0].kind == "entry":
            update_store(path, lambda store, mine=mine: _take_entries(store, mine))
        else:
            _take_lines(path, {note.key: note for note in mine})


def any_stands(notes: Iterable[Note]) -> bool:
    """Say whether one of the notes still stands in its index, as it is or changed.

    Raises:
        UnreadableError: an index cannot be read.
    """
    return any(_stands(path, {note.key for note in mine}, mine[0].kind) for path, mine in _by_index(notes))


def _stands(path: Path, keys: Collection[str], kind: str) -> bool:
    if not path.exists():
        return False
    there = read_store(path) if kind == "entry" else (thread for _, _, thread in _lines(path))
    return any(key in keys for key in there)


def put_back(notes: Iterable[Note]) -> list[str]:
    """Put notes back where they were, and return warnings: what the client noted meanwhile stays.

    Raises:
        LockHeldError, MovedError, UnreadableError, OSError: an index cannot be written; call it again.
    """
    warnings: list[str] = []
    for path, mine in _by_index(notes):
        if mine[0].kind == "entry":
            update_store(path, lambda store, mine=mine: _put_entries(store, mine, warnings))
        else:
            _put_lines(path, mine, warnings)
    return warnings


def _by_index(notes: Iterable[Note]) -> Iterator[tuple[Path, list[Note]]]:
    found: dict[str, list[Note]] = defaultdict(list)
    for note in notes:
        found[note.path].append(note)
    for path, mine in found.items():
        yield Path(path), mine


def _take_entries(store: SessionStore, notes: list[Note]) -> None:
    for note in notes:
        entry = store.get(note.key)
        if entry is not None and entry.fields != _fields(note):
            raise MovedError(f"{store.path}: {note.key} changed since it was looked at, so nothing was removed")
    for note in notes:
        store.remove(note.key)


def _put_entries(store: SessionStore, notes: list[Note], warnings: list[str]) -> None:
    for note in notes:
        entry = store.get(note.key)
        if entry is None:
            store.put(note.key, entry_of(dict(_fields(note))))
        elif entry.fields != _fields(note):
            warnings.append(f"{store.path}: {note.key} goes on in another session by now; that stays so")


def _fields(note: Note) -> Mapping[str, msgspec.Raw]:
    return values_of(_bytes(note.text)) or {}


def _take_lines(path: Path, notes: Mapping[str, Note]) -> None:
    state = file_state(path)
    found: dict[str, list[bytes]] = defaultdict(list)
    drop: list[tuple[int, int]] = []
    for offset, line, thread in _lines(path):
        if thread in notes:
            found[thread].append(line)
            drop.append((offset, len(line)))
    for thread, lines in found.items():
        if _text(b"\n".join(lines)) != notes[thread].text:
            raise MovedError(f"{path}: {thread} was named again since it was looked at, so nothing was removed")
    if drop:
        rewrite_without(path, drop, expect=state)


def _put_lines(path: Path, notes: list[Note], warnings: list[str]) -> None:
    if not path.exists():
        warnings.append(f"{path}: is gone, so {len(notes)} names of threads could not be put back")
        return
    state = file_state(path)
    lines = [(offset, line, thread) for offset, line, thread in _lines(path)]
    named = {thread for _, _, thread in lines}
    insert: list[tuple[int, bytes]] = []
    for note in notes:
        if note.key in named:
            if _text(b"\n".join(line for _, line, thread in lines if thread == note.key)) != note.text:
                warnings.append(f"{path}: {note.key} was named again meanwhile; that name stays")
            continue
        insert += [(_place(lines, line, state.size), line) for line in _bytes(note.text).split(b"\n")]
    if insert:
        rewrite_without(path, (), insert, expect=state)


def _place(lines: list[tuple[int, bytes, str]], line: bytes, end: int) -> int:
    """Return where a line belongs: a name counts as given when its line was written, and the last one wins."""
    own = str(whole(line).get("updated_at", ""))
    return next((offset for offset, other, _ in lines if str(whole(other).get("updated_at", "")) > own), end)


def _lines(path: Path) -> Iterator[tuple[int, bytes, str]]:
    """Yield offset, bytes and thread of every line of an index of Codex."""
    offset = 0
    for raw in path.read_bytes().split(b"\n"):
        if raw.strip():
            yield offset, raw, str(whole(raw).get("id", ""))
        offset += len(raw) + 1


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
