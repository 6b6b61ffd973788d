"""The dialect of opencode: exports, both JSON storage trees, and the database ``opencode.db`` (read-only).

The files of a transcript are those that its spans count as parts: of a tree also the files of messages and parts. In a
database ``SessionFiles.id`` names the session; what is no session's id means its oldest root session. Nothing of
opencode is ever written.
"""

import json
import secrets
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from slowwave.context import Clock
from slowwave.errors import NotFoundError
from slowwave.formats.database import by_column, is_database, opened_of
from slowwave.formats.lines import relaxed_collector
from slowwave.formats.messages import chain
from slowwave.formats.model import Message, Problem, SessionFiles, Transcript, object_in, whole
from slowwave.formats.opencode.records import (
    KNOWN_PARTS,
    Session,
    Stored,
    filter_compacted,
    messages_of,
    model_name,
    sent_as,
    take_back,
)
from slowwave.formats.opencode.storage import MESSAGES, Export, RowRecords, Tree, opened_session, read_rows

_ROLES = frozenset({"user", "assistant"})


class OpencodeTranscript(Transcript):
    """A session with its stored messages, which the context is rebuilt from."""

    session: Session = msgspec.field(default_factory=Session)
    stored: list[Stored] = msgspec.field(default_factory=list[Stored])


class Opencode:
    """Rules of opencode's sessions."""

    name = "opencode"

    def read(self, files: SessionFiles) -> OpencodeTranscript:
        """Read a session, all messages in the order of their creation; those that a revert took back are not active.

        Raises UnreadableError: the file cannot be opened, or is a database without sessions.
        """
        result = OpencodeTranscript(self.name, files, problems=list(files.problems))
        with relaxed_collector():
            _load(files, result)
            take_back(result.stored, result.session.revert)
            for stored in result.stored:
                result.messages += messages_of(stored, result.session)
            chain(result.messages)
        result.records = 1 + sum(1 + len(stored.parts) for stored in result.stored)
        result.unknown_types = _unknown(result.stored)
        result.title, result.parent = result.session.title, result.session.parent
        result.kind = result.session.kind
        return result

    def passed(self, files: SessionFiles, about: Transcript) -> Iterator[tuple[Message, bool]]:
        """Yield the messages of a session in a database, of which no more than one is held.

        Raises UnreadableError: it is no database with such a session, or it cannot be read.
        """
        path = files.paths[0]
        about.records += 1
        with opened_session(path, files.id) as (rows, session):
            about.files = SessionFiles(session.id, files.paths, files.problems)
            about.title, about.parent, about.kind = session.title, session.parent, session.kind
            for stored, is_new in _Pass(rows, session, RowRecords(path, about.problems)):
                about.records += is_new + len(stored.parts)
                yield from _messages(stored, session, is_new=is_new)

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return what opencode would send if the session were resumed now."""
        whole = transcript if isinstance(transcript, OpencodeTranscript) else self.read(transcript.files)
        live = [stored for stored in whole.stored if stored.live]
        model = _model(whole.session, live)
        return [message for stored in filter_compacted(live) for message in sent_as(stored, whole.session, model)]


def _model(session: Session, live: Sequence[Stored]) -> str:
    """Return the model that a resumed session would ask: its own, else that of the last prompt which names one."""
    prompts = (m.info.fields for m in reversed(live) if m.info.kind == "user")
    named = (model_name(object_in(fields, "model"), "modelID") for fields in prompts)
    return session.model or next(filter(None, named), "")


def _load(files: SessionFiles, result: OpencodeTranscript) -> None:
    path = files.paths[0]
    if is_database(path):
        result.session, result.stored = read_rows(path, files.id, result.problems)
        result.files = SessionFiles(result.session.id, files.paths, files.problems)
        return
    damage: list[Problem] = []
    export = Export(path, 0, damage)
    if export.is_export:
        result.problems += damage
        result.session, result.stored = export.session, export.stored
        return
    tree = Tree(path, result.problems)
    result.session, result.stored = tree.session, tree.stored
    result.files = SessionFiles(files.id, tuple(tree.paths), files.problems)


def _unknown(stored: Sequence[Stored]) -> dict[str, int]:
    kinds = Counter(f"part {part.kind}" for message in stored for part in message.parts if part.kind not in KNOWN_PARTS)
    kinds += Counter(f"role {m.info.kind}" for m in stored if m.info.kind not in _ROLES)
    return dict(kinds)


# One pass over a session in opencode's database that holds a single message at a time, whatever it has of them.
#
# Messages and parts come in two streams of the same order, joined by SQLite over its indexes. Answers with many parts
# come in pieces; a person's message is needed whole, since its texts are one prompt.

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


OPENCODE = Opencode()


# A session of opencode as the file that ``opencode import`` takes, with more messages at its end.
#
# Its database is written by opencode alone. Its own import adds the messages of a file that the session does not have
# yet and leaves the others (tried with 1.18.33, which then went on from all of them), so a session is continued through
# it.

_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM_LETTERS = 14
_TIME_BITS = 48
_COUNTER_BITS = 12
# how far an id's time is counted on where messages of one millisecond follow each other
_STEP_MS = 1
_DIRECT = ("id", "slug", "directory", "path", "title", "version", "agent", "cost")
_RENAMED = {"project_id": "projectID", "parent_id": "parentID", "workspace_id": "workspaceID"}
_JSON = ("model", "permission", "metadata")


class Said(NamedTuple):
    """A message that is added."""

    role: Literal["user", "assistant"]
    text: str


def exported(database: Path, session: str, more: Sequence[Said], clock: Clock) -> dict[str, Any]:
    """Return a session in the form of ``opencode export``, with messages added behind its last one.

    Raises NotFoundError: the database has no such session, or nobody has asked anything in it yet.
    """
    with opened_of(database, "opencode") as rows:
        info = next(iter(_rows(rows, "session", "id", session)), None)
        messages = [_message(rows, row) for row in _rows(rows, "message", "session_id", session)]
    if info is None:
        raise NotFoundError(f"{database} holds no session {session!r}")
    messages.sort(key=lambda message: (message["info"].get("time", {}).get("created", 0), message["info"]["id"]))
    asked = next((m["info"] for m in reversed(messages) if m["info"].get("role") == "user"), None)
    answered = next((m["info"] for m in reversed(messages) if m["info"].get("role") == "assistant"), None)
    if more and asked is None:
        raise NotFoundError(f"session {session}: nobody has asked anything in it yet; begin it in opencode")
    known = [m["info"].get("time", {}).get("created", 0) + _STEP_MS for m in messages]
    at = max(int(clock.now().timestamp() * 1000), *known, 0)
    for number, said in enumerate(more):
        added = _added(said, session, at + number * _STEP_MS, asked or {}, answered or {})
        asked = added["info"] if said.role == "user" else asked
        messages.append(added)
    return {"info": _info(info), "messages": messages}


def _rows(rows: sqlite3.Connection, table: str, column: str, value: str) -> list[dict[str, Any]]:
    query = f"SELECT * FROM {table} WHERE {column} = ? ORDER BY id"  # noqa: S608 - names of ours
    return list(by_column(rows.execute(query, (value,))))


def _message(rows: sqlite3.Connection, row: Mapping[str, Any]) -> dict[str, Any]:
    own = {"id": row["id"], "sessionID": row["session_id"]}
    parts = [
        _data(part) | {"id": part["id"], "sessionID": row["session_id"], "messageID": row["id"]}
        for part in _rows(rows, "part", "message_id", row["id"])
    ]
    return {"info": _data(row) | own, "parts": parts}


def _data(row: Mapping[str, Any]) -> dict[str, Any]:
    return whole(str(row["data"]).encode("utf-8", "replace"))


def _info(row: Mapping[str, Any]) -> dict[str, Any]:
    info: dict[str, Any] = {name: row[name] for name in _DIRECT if row.get(name) is not None}
    info |= {new: row[old] for old, new in _RENAMED.items() if row.get(old) is not None}
    info |= {name: json.loads(row[name]) for name in _JSON if row.get(name) is not None}
    if row.get("summary_additions") is not None:
        info["summary"] = {name: row.get(f"summary_{name}") or 0 for name in ("additions", "deletions", "files")}
    times = {name: row.get(f"time_{name}") for name in ("created", "updated", "compacting", "archived")}
    return info | {"time": {name: value for name, value in times.items() if value is not None}}


def _added(said: Said, session: str, at: int, asked: Mapping[str, Any], answered: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message with one part; what it needs besides its words is that of the last message of its role."""
    own = _id("msg", at)
    info: dict[str, Any] = {"role": said.role, "id": own, "sessionID": session}
    if said.role == "user":
        info |= {name: asked[name] for name in ("agent", "model") if name in asked} | {"time": {"created": at}}
    else:
        model = object_in(asked, "model")
        named = {"modelID": model.get("modelID", ""), "providerID": model.get("providerID", "")}
        kept = {name: answered[name] for name in ("mode", "agent", "path") if name in answered}
        nothing = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        info |= {"mode": asked.get("agent", "build"), "path": {"cwd": "/", "root": "/"}} | kept | named
        info |= {"parentID": asked["id"], "cost": 0, "tokens": nothing, "finish": "stop"}
        info |= {"time": {"created": at, "completed": at}}
    part = {"type": "text", "text": said.text, "id": _id("prt", at), "sessionID": session, "messageID": own}
    return {"info": info, "parts": [part]}


def _id(kind: str, at: int) -> str:
    """Return an id that sorts by time, as the client makes them: 48 bits of milliseconds and a count, then chance."""
    stamp = (at << _COUNTER_BITS | 1) & ((1 << _TIME_BITS) - 1)
    return f"{kind}_{stamp:012x}" + "".join(secrets.choice(_LETTERS) for _ in range(_RANDOM_LETTERS))
