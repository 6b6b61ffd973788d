"""The sessions of an agent: what its store or its database tells of them in short, and the names of files beside it."""

import os
import re
import sqlite3
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import msgspec

from slowwave.errors import UnreadableError, UsageError
from slowwave.formats import (
    REFUSALS,
    Problem,
    RowSpan,
    SessionOrigin,
    Transcript,
    clean,
    fields_of,
    text_in,
    text_or_empty,
    whole,
)
from slowwave.formats.database import (
    by_column,
    columns_of,
    opened_of,
    opened_read_only,
    packed_columns,
    text_of,
    unpacked,
)
from slowwave.formats.openclaw.store import NAME as STORE_NAME
from slowwave.formats.openclaw.store import SessionEntry, SessionStore, parse_key, read_store
from slowwave.formats.pi.records import DECODER, Entry, entry_of
from slowwave.formats.sessions import SUFFIX, Source, StoreProblem

# Sessions in OpenClaw's ``openclaw-agent.sqlite``, opened read-only and never written (OpenClaw 2026.9.6).
#
# ``transcript_events`` has the lines of a session file as rows: the JSON itself, or from about 1 kB on a zstd frame of
# it (``event_zstd``, whose plain size is ``event_utf8_bytes``). A row has no place in a file: the span of an event
# holds its JSON, and its offset is the row's ``seq``, so that session and offset name the row. Earlier versions have
# fewer columns.

_OLDEST_ROOT = """
    SELECT e.session_id FROM transcript_events e {join} WHERE {root}
    GROUP BY e.session_id ORDER BY min(e.created_at), e.session_id LIMIT 1
"""


class About(msgspec.Struct):
    """What a database says of a session beside its transcript."""

    key: str = ""  # the session's key (``agent:main:main``)
    title: str = ""  # what a person or the client named it
    spawned_by: str = ""  # the key of the session that started it, as a sub-agent
    forked_from: str = ""  # the id of the session that it was forked from
    parent: str = ""  # the id of the session that started it, where the database still has it

    def describe(self, transcript: Transcript) -> None:
        """Tell a transcript what the database says of it; that counts more than what its entries say."""
        transcript.title = self.title or transcript.title
        if self.spawned_by or parse_key(self.key).is_agents:
            transcript.kind, transcript.parent = "subagent", self.parent
        elif self.forked_from:
            transcript.kind, transcript.parent = "fork", self.forked_from


class ActivePath(NamedTuple):
    """The client's own index of the entries that it goes on from."""

    sequences: list[int]  # their ``seq``, root first
    hidden: frozenset[int]  # those of them that it does not send


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
        self.id = _session(rows, name)
        self.about = about(rows, self.id) if self.id else About()

    def header(self) -> Entry | None:
        """Return the first header, usually the first event, None when there is none."""
        return next((entry for entry in self.entries([]) if entry.type == "session"), None)

    def entries(self, problems: list[Problem]) -> Iterator[Entry]:
        """Yield every event in order, and report each row that has none."""
        packed = packed_columns(self.rows)
        query = f"SELECT seq, event_json, {packed} FROM transcript_events WHERE session_id = ? ORDER BY seq"  # noqa: S608
        for seq, plain, frame, size in self.rows.execute(query, (self.id,)):
            try:
                yield self._entry(seq, plain if plain is not None else unpacked(frame, size))
            except (ValueError, *REFUSALS) as error:
                length = len(plain or frame or b"")
                detail = f"event {seq} of session {self.id}: {error}"
                problems.append(Problem("garbage", self._path, seq + 1, seq, length, detail))

    def active_path(self, newest: int) -> ActivePath | None:
        """Return the client's index of the active path, None when there is none that covers every event.

        ``newest``: the ``seq`` of the last event.
        """
        state = _row(self.rows, "session_transcript_index_state", "session_id", self.id)
        if not state or state.get("needs_rebuild") or state.get("indexed_seq") != newest:
            return None
        columns = columns_of(self.rows, "session_transcript_active_events")
        if not {"active_position", "event_seq"} <= columns:
            return None
        eligible = "context_eligible" if "context_eligible" in columns else "1"
        query = f"""
            SELECT event_seq, {eligible} FROM session_transcript_active_events
            WHERE session_id = ? ORDER BY active_position
        """  # noqa: S608 - no name from outside
        found = self.rows.execute(query, (self.id,)).fetchall()
        return ActivePath([seq for seq, _ in found], frozenset(seq for seq, sent in found if not sent))

    def _entry(self, seq: int, raw: bytes) -> Entry:
        if not raw.lstrip().startswith(b"{"):
            raise ValueError("is not a JSON object")
        span = RowSpan(0, seq + 1, seq, raw, f"transcript_events/{self.id}/{seq}")
        return entry_of(DECODER.decode(clean(raw)), span)


@contextmanager
def opened_session(path: Path, name: str) -> Generator[OpenedSession]:
    """Open a database at the session that is meant: the named one, or else its oldest that no other started.

    Raises UnreadableError: it cannot be opened, is damaged, or holds no session.
    """
    with opened_of(path, "OpenClaw") as rows:
        session = OpenedSession(path, rows, name)
        if not session.id:
            raise UnreadableError(path, "an OpenClaw database without a session")
        yield session


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
    key = text_in(window, "session_key") or text_in(node, "session_key")
    if not node and key:
        node = _row(rows, "session_nodes", "session_key", key)
    entry = whole(text_in(node, "entry_json").encode())
    title = next((t for t in _titles(node, window, entry) if t), "")
    spawned = next((s for s in (window.get("spawned_by"), node.get("spawned_by"), entry.get("spawnedBy")) if s), "")
    forked = text_in(node, "fork_source_session_id") if node.get("current_session_id") == session else ""
    return About(key, title, text_or_empty(spawned), forked, _current(rows, text_or_empty(spawned)))


def _current(rows: sqlite3.Connection, key: str) -> str:
    """Return the id of the session that a key leads to now, "" when there is none."""
    if not key:
        return ""
    node = _row(rows, "session_nodes", "session_key", key)
    window = {} if node else _row(rows, "session_windows", "session_key", key)
    return text_in(node, "current_session_id") or text_in(window, "session_id")


def _titles(node: dict[str, Any], window: dict[str, Any], entry: dict[str, Any]) -> list[str]:
    """Return the names of a session, a person's own first."""
    names = (node.get("label"), entry.get("label"), node.get("display_name"), window.get("display_name"))
    return [text_or_empty(n).strip() for n in (*names, entry.get("displayName"), entry.get("subject"))]


def _row(rows: sqlite3.Connection, table: str, column: str, value: str) -> dict[str, Any]:
    if column not in columns_of(rows, table):
        return {}
    query = f"SELECT * FROM {table} WHERE {column} = ? LIMIT 1"  # noqa: S608 - names from here
    return next(by_column(rows.execute(query, (value,))), None) or {}


_MOST_STORES = 64


class Facts(NamedTuple):
    """One entry of a store."""

    key: str  # the session key
    title: str  # the label that a person gave, else the client's name for it
    is_side: bool  # another session started it, and it belongs to that one; a job's or a hook's belongs to none
    parent: str = ""  # the id of the session that started it, where the store still knows that one
    origin: SessionOrigin = ""  # who began it, as far as its key tells

    @property
    def told(self) -> str:
        """What the kind of its session rests on; not the parent, whose key names another session after a reset."""
        return f"{'side' if self.is_side else 'main'} {self.origin}"


class StoreFacts(NamedTuple):
    """All entries of a store by the stem of their transcript's name, and what was odd about them."""

    by_stem: Mapping[str, Facts]
    problems: tuple[StoreProblem, ...]


_NOTHING = StoreFacts({}, ())
_known: dict[str, tuple[tuple[int, int, int], StoreFacts]] = {}


def facts_beside(folder: str) -> StoreFacts:
    """Return what the store in a folder tells; a store that cannot be read is a problem, and tells nothing."""
    path = Path(folder, STORE_NAME)
    try:
        at = path.stat()
    except FileNotFoundError:
        return _NOTHING
    except OSError as error:
        return StoreFacts({}, (StoreProblem("unreadable", os.fspath(path), error.strerror or "no stat"),))
    seen = (at.st_ino, at.st_size, at.st_mtime_ns)
    known = _known.get(folder)
    if known is not None and known[0] == seen:
        return known[1]
    if len(_known) >= _MOST_STORES:
        _known.clear()
    facts = _read(path)
    _known[folder] = (seen, facts)
    return facts


def _read(path: Path) -> StoreFacts:
    try:
        store = read_store(path)
    except UnreadableError as error:
        return StoreFacts({}, (StoreProblem("damaged", os.fspath(path), error.reason),))
    problems: list[StoreProblem] = []
    if store.odd:
        problems.append(StoreProblem("damaged", os.fspath(path), f"{len(store.odd)} keys without an entry"))
    stems = {key: _stem(path.parent, entry, problems) for key, entry in store.items()}
    facts = {stem: _facts(key, entry, stems) for key, entry in store.items() if (stem := stems[key])}
    return StoreFacts(facts, tuple(problems))


def stems_beside(store: SessionStore) -> dict[str, str]:
    """Return for every session key the name that its transcript has beside the store, "" where there is none."""
    return {key: _stem(store.path.parent, entry, []) for key, entry in store.items()}


def _stem(folder: Path, entry: SessionEntry, problems: list[StoreProblem]) -> str:
    """Return the name that the transcript of an entry has here, "" when it has none."""
    named, own = entry.text("sessionFile"), entry.text("sessionId")
    if not named and is_safe_id(own):
        return own
    # most stores name each file in full; looking up every link in it would be most of the work of a listing
    beside, _, name = named.rpartition("/")
    if not (name and beside in ("", os.fspath(folder))):
        transcript = transcript_path(folder, entry, problems)
        name = transcript.name if transcript is not None else ""
    found = artifact_of(name)
    return f"{found.session}-topic-{found.topic}" if found.topic else found.session


def _facts(key: str, entry: SessionEntry, stems: Mapping[str, str]) -> Facts:
    title = next((t for name in ("label", "displayName", "subject") if (t := entry.text(name))), "")
    spawned = entry.text("spawnedBy")
    parsed = parse_key(key)
    origin = "" if spawned else parsed.origin
    return Facts(key, title, bool(spawned) or parsed.is_agents, stems.get(spawned, ""), origin)


# Names of files beside ``sessions.json``: which are transcripts, what became of them, and where an entry's one lies.
#
# Source: ``config/sessions/paths.ts`` and ``artifacts.ts`` of Clawdbot and OpenClaw, and real homes (corpus.md 20).

ArtifactKind = Literal["transcript", "trajectory", "store", "lock", "other"]
# Letters and digits first, so that no id leads out of its folder or hides its file.
_SAFE_ID = re.compile(r"[^\W_][\w.-]{0,127}")
_MOST_NAME_BYTES = 255
_UNESCAPED = "!~*'()-_."
_TOPIC = re.compile(r"(.+)-topic-([^/]+)\Z", re.DOTALL)
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_CHECKPOINT = re.compile(rf"(.+)\.checkpoint\.{_UUID}\Z", re.DOTALL | re.IGNORECASE)
# `<id>.jsonl.reset.2026-01-24T10-00-00.000Z`, `<id>.jsonl.bak-<pid>-<ms>`; archives may be compressed.
_PUT_ASIDE = re.compile(r"(.+)\.jsonl\.(?:(reset|deleted|bak)[.-])(.+?)(\.zst)?\Z", re.DOTALL)
_SOURCES: dict[str, Source] = {"reset": "reset", "deleted": "deleted", "bak": "backup"}
_TRAJECTORIES = (".trajectory.jsonl", ".trajectory-path.json")
_IN_DATABASE = "sqlite:"


class Artifact(NamedTuple):
    """What a file name says."""

    kind: ArtifactKind  # transcript, trajectory (another record of the same run), store, lock or other
    session: str = ""  # the session's id
    topic: str = ""  # the topic of a group, as it stands in the name
    source: Source = ""  # what became of a transcript


def artifact_of(name: str) -> Artifact:
    """Say what a file beside a store is."""
    if name.startswith(".") or name.endswith(".tmp"):
        return Artifact("other")
    if name.endswith(_TRAJECTORIES) or ".trajectory.jsonl" in name:
        return Artifact("trajectory", name.partition(".trajectory")[0])
    if name.endswith(".lock"):
        return Artifact("lock")
    if aside := _PUT_ASIDE.match(name):
        return _named(aside[1], _SOURCES[aside[2]])
    if name.endswith(SUFFIX):
        stem = name.removesuffix(SUFFIX)
        checkpoint = _CHECKPOINT.match(stem)
        return _named(checkpoint[1], "backup") if checkpoint else _named(stem, "")
    return Artifact("store" if name.startswith("sessions.json") else "other")


def _named(stem: str, source: Source) -> Artifact:
    topic = _TOPIC.match(stem)
    return Artifact("transcript", topic[1], topic[2], source) if topic else Artifact("transcript", stem, "", source)


def is_safe_id(session_id: str) -> bool:
    """Say whether an id can be the name of a file in its folder, and of nothing else."""
    return bool(_SAFE_ID.fullmatch(session_id)) and not _CHECKPOINT.match(session_id)


def transcript_name(session_id: str, topic: str | int | None = None) -> str:
    """Return the file name of a session's transcript, with the topic as the client writes it in an URL.

    Raises UsageError: the id could lead out of the folder or hide the file, or the name is longer than systems allow.
    """
    own = session_id.strip()
    if not is_safe_id(own):
        raise UsageError(f"session id {session_id!r}: use up to 128 letters, digits, '.', '_' and '-', a letter first")
    suffix = "" if topic is None else f"-topic-{quote(str(topic), safe=_UNESCAPED)}"
    name = f"{own}{suffix}{SUFFIX}"
    if len(name.encode()) > _MOST_NAME_BYTES:
        raise UsageError(f"session id {session_id!r} and its topic make a name of over {_MOST_NAME_BYTES} bytes")
    return name


def transcript_path(
    folder: Path, entry: SessionEntry, problems: list[StoreProblem], topic: str | int | None = None
) -> Path | None:
    """Return where the transcript of an entry lies, surely inside ``folder``; None when there is none in a file.

    ``sessionFile`` goes before the name that the id gives. One that leads out of the folder is reported and not
    followed, but for the path of a store that was moved: then the file of that name here is meant.
    """
    named = entry.text("sessionFile")
    if named.startswith(_IN_DATABASE):
        return None
    if named:
        path = _inside(folder, named)
        if path is not None:
            return path
        detail = f"sessionFile {named!r} leads out of the folder and is not followed"
        problems.append(StoreProblem("ignored", os.fspath(folder), detail))
    own = entry.text("sessionId")
    if not own:
        return None
    try:
        return _inside(folder, transcript_name(own, topic))
    except UsageError as error:
        problems.append(StoreProblem("ignored", os.fspath(folder), str(error)))
        return None


def transcript_of(folder: Path, key: str, entry: SessionEntry) -> Path | None:
    """Return the transcript that an entry leads to; one of a topic has a name of its own where it is there."""
    plain = transcript_path(folder, entry, [])
    topic = parse_key(key).topic
    if topic and plain is not None and not plain.exists():
        own = transcript_path(folder, entry, [], topic)
        return own if own is not None and own.exists() else plain
    return plain


def _inside(folder: Path, named: str) -> Path | None:
    """Return a path that is inside the folder, also behind links; None when it is not."""
    if "\0" in named:
        return None
    real = folder.resolve()
    path = folder / named
    if path.resolve().is_relative_to(real) and path.resolve() != real:
        return folder / path.resolve().relative_to(real)
    moved = folder / Path(named).name
    is_of_agent = Path(named).parent.name == "sessions" and Path(named).parents[2:3] and Path(named).is_absolute()
    if is_of_agent and Path(named).parents[2].name == "agents" and moved.is_file() and moved.resolve().parent == real:
        return moved
    return None


# The sessions of OpenClaw's database as a listing needs them: without their transcripts, in one look.

NAME = "openclaw-agent.sqlite"
_MS = 1_000_000
_NONE = "''"


class Listed(NamedTuple):
    """A session without its transcript."""

    id: str  # its id
    # when it was last written to; its last digits are those of its newest event, since a millisecond is long
    mtime_ns: int
    title: str  # the label that a person gave, else the client's name for it
    is_side: bool  # another session started it, and it belongs to that one; a job's or a hook's belongs to none
    is_fork: bool  # it was forked from another one
    origin: SessionOrigin = ""  # who began it, as far as its key tells


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
        packed = packed_columns(self._rows)
        query = f"SELECT event_json, {packed} FROM transcript_events WHERE session_id = ? ORDER BY seq LIMIT 1"  # noqa: S608
        plain, frame, size = self._rows.execute(query, (session,)).fetchone()
        try:
            header: object = msgspec.json.decode(plain if plain is not None else unpacked(frame, size))
        except (ValueError, *REFUSALS):
            return ""  # the reading of the session reports it
        return text_in(fields_of(header), "cwd")

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

    Raises sqlite3.Error, OSError: nothing can be read from it.
    """
    with opened_read_only(path) as rows:
        return {found.id: found.title for found in AgentSessions(rows).listed() if found.title}
