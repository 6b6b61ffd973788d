"""What every session says, in a file beside the catalogue, so that a search reads no transcript.

Only what changed since the last one is read. It is a cache: damaged or of another version, it is built anew. ``words``
has no content of its own: FTS5 keeps only which word stands where, ``segments`` keeps what was said. A segment is a
stretch of one session, so that a session that grows has its last stretch indexed anew and not all of it.
"""

import os
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from zlib import crc32

import msgspec
from msgspec.structs import replace

from slowwave.errors import UnreadableError
from slowwave.files import archive_folder, state_folder
from slowwave.formats import REFUSALS, Injected, Message, SessionFiles, Text
from slowwave.formats.client import LaterDialect, RecordDialect
from slowwave.formats.lines import hash_before, read_records, relaxed_collector
from slowwave.formats.messages import without_reminders
from slowwave.formats.registry import by_name, client_of
from slowwave.formats.sessions import SUFFIX
from slowwave.secrets import NAMELESS
from slowwave.secrets.blocklist import ERASED, Blocked
from slowwave.stores.archive import laid_out
from slowwave.stores.archive.shelf import Shelf, Shelved
from slowwave.stores.catalogue import Cache, is_damage, remove_cache
from slowwave.stores.roots import session_of_path
from slowwave.stores.search.words import plain, spaced
from slowwave.stores.summary import SessionRow, kept_title

VERSION = 2
# The columns of the index and their weights (RFC 0185 of crabtalk).
WEIGHTS = {"summary": 3.0, "title": 2.0, "user": 1.5, "assistant": 1.0, "tool": 1.3}

_CACHE = Cache(
    "the search index",
    VERSION,
    f"""
    CREATE TABLE IF NOT EXISTS sessions (number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, stamp BLOB NOT NULL,
      title TEXT NOT NULL, mark BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS segments (number INTEGER PRIMARY KEY, body BLOB NOT NULL);
    CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
      {", ".join(WEIGHTS)}, content='', tokenize='unicode61 remove_diacritics 2');
    """,
    # what was said and is deleted must not stay readable in free pages
    settings="PRAGMA secure_delete = ON;",
    look="SELECT number FROM segments LIMIT 1; SELECT rowid FROM words LIMIT 1",
)


def index_path(environ: Mapping[str, str]) -> Path:
    """Return where the search index of this user lies."""
    return state_folder(environ) / "search.sqlite"


def open_index(path: Path, warnings: list[str]) -> sqlite3.Connection:
    """Return the open index at ``path``. Raises UnreadableError: no index can be kept there."""
    try:
        database = _CACHE.open(path, warnings)
    except (OSError, sqlite3.Error) as error:
        raise UnreadableError(path, f"no search index can be kept ({error})", "see to its folder") from error
    database.isolation_level = None
    return database


class DamagedIndexError(UnreadableError):
    """The index is no good any more; it has to be built anew."""


# What of a message is searched: what people typed, what the model answered, summaries, and the names of tools called.
#
# Results and arguments of tools are never part of the index (crabtalk's RFC 0185), nor what the harness put in.

# Of a longer message the beginning is searched: it is a pasted file, not talk.
MOST_CHARS = 100_000
# Of a secret that the cut parts in two, the first half would not be known.
_BEHIND_CHARS = 5_000


class Said(msgspec.Struct, gc=False, array_like=True, frozen=True):
    """One message as the index keeps it."""

    field: str  # the column that its text belongs to
    id: str | None  # the client's id of it, or None
    role: str  # who speaks
    at: str  # when, ISO 8601, or ""
    text: str  # the words
    tools: tuple[str, ...] = ()  # names of the tools that it calls


def said_in(
    messages: Iterable[Message], *, by_agent: bool, blocked: Blocked | None = None
) -> Iterator[tuple[bool, Said]]:
    """Yield what messages say, each with whether it belongs to a sub-agent inside a main session.

    ``by_agent``: the session is a sub-agent's, so that what its user says was written by another agent; ``blocked``:
    what was erased, and is found by no search where it is there again.
    """
    for message in messages:
        if message.is_result:
            continue
        side = message.sidechain and not by_agent
        field, text = _words(message, is_agent=by_agent or side, blocked=blocked)
        tools = tuple(plain(call.name) for call in message.calls) if field == "assistant" else ()
        if text or tools:
            at = message.timestamp
            own = None if message.id is None else plain(message.id)
            yield side, Said(field, own, message.role, at.isoformat() if at else "", text, tools)


def _words(message: Message, *, is_agent: bool, blocked: Blocked | None) -> tuple[str, str]:
    """Return the column of a message and its words, "" when there is nothing to search."""
    match message.origin:
        case "typed":
            return "assistant" if is_agent else "user", _kept(message.text, blocked)
        case "model":
            return "assistant", _kept(message.text, blocked)
        case "summary":
            return "summary", _kept(message.text, blocked)
        case "injected" if is_agent and message.role == "user":
            texts = (without_reminders(b.text) for b in message.blocks if isinstance(b, Text | Injected))
            return "assistant", _kept("\n".join(text for text in texts if text), blocked)
        case _:
            return "", ""


def _kept(text: str, blocked: Blocked | None) -> str:
    # the index is a file of slowwave's own: no secret is kept in it
    left = NAMELESS(text[: MOST_CHARS + _BEHIND_CHARS])
    return plain((_without(left, blocked) if blocked else left)[:MOST_CHARS])


def _without(text: str, blocked: Blocked) -> str:
    """Leave out the lines that name what was erased: beside a name it may stand in base64, too."""
    if not blocked.masked(text)[1]:
        return text
    lines = [ERASED if blocked.masked(line)[1] else line for line in text.split("\n")]
    # a phrase may stand on two lines
    return blocked.masked("\n".join(lines))[0]


def columns(said: Iterable[Said], title: str) -> list[str]:
    """Return the text of each column of the index for some messages; the same messages always give the same."""
    texts: dict[str, list[str]] = {name: [] for name in WEIGHTS}
    texts["title"].append(title)
    for one in said:
        texts[one.field].append(one.text)
        texts["tool"] += one.tools
    return [spaced("\n".join(lines)) for lines in texts.values()]


_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[list[Said]] = msgspec.msgpack.Decoder(list[Said])


def packed(said: list[Said]) -> bytes:
    """Return messages as the index keeps them."""
    import zlib  # noqa: PLC0415 - a listing needs no compression

    return zlib.compress(_encoder.encode(said), 1)


def unpacked(body: Any) -> list[Said]:
    """Return the messages in what the index kept. Raises CorruptSegmentError: it is damaged."""
    import zlib  # noqa: PLC0415 - a listing needs no compression

    try:
        return _decoder.decode(zlib.decompress(body))
    except (zlib.error, TypeError, *REFUSALS) as error:
        raise CorruptSegmentError(f"a segment cannot be unpacked: {error}") from error


class CorruptSegmentError(sqlite3.DatabaseError):
    """What the index kept of a session cannot be unpacked."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


# A segment is one document of the index; most sessions are a single one.
SEGMENT_CHARS = 48_000
# rowid = session number, whether it is what sub-agents said in a main session, rank of the segment
SESSION_SHIFT = 32
SIDE_BIT = 1 << 31
_BATCH_BYTES = 64 << 20


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """How far a session's only file was indexed."""

    dev: int  # device of the file
    ino: int  # its inode
    cursor: int  # offset behind the last message that is in the index
    check: bytes  # hash of the bytes before it
    by_agent: bool  # the session is a sub-agent's


_marks = msgspec.msgpack.Decoder(Mark | None)
_names = ", ".join(WEIGHTS)
_holes = ", ".join("?" * len(WEIGHTS))
_ADD = f"INSERT INTO words(rowid, {_names}) VALUES (?, {_holes})"  # noqa: S608 - fixed names
_TAKE = f"INSERT INTO words(words, rowid, {_names}) VALUES ('delete', ?, {_holes})"  # noqa: S608 - fixed names


@dataclass(slots=True)
class Refreshed:
    """What one update of the index did."""

    read: int = 0  # sessions that were read as a whole
    continued: int = 0  # sessions of which only the new bytes were read
    removed: int = 0  # sessions that are gone
    bytes: int = 0  # of the files that were read as a whole


class SearchIndex:
    """The words of every session on this machine.

    ``path``: the database; its folder is made when it is missing. ``warnings``: what went wrong with the index itself,
    or with a session, is appended here. ``environ``: names the archive, when archived sessions are searched, too.
    ``blocked``: what was erased, and is not found where it is there again. Raises UnreadableError: no index can be kept
    there.
    """

    def __init__(
        self,
        path: Path,
        warnings: list[str] | None = None,
        environ: Mapping[str, str] | None = None,
        blocked: Blocked | None = None,
    ) -> None:
        self.warnings: list[str] = [] if warnings is None else warnings
        self.path = path
        self._archived: ArchivedSources | None = None
        if environ is not None and archive_folder(environ).is_dir():
            self._archived = ArchivedSources(environ)
        self._blocked = blocked
        self.database = open_index(path, self.warnings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.database.close()

    def _stale(self, rows: Iterable[SessionRow]) -> list[tuple[SessionRow, bytes]]:
        """Return the sessions that changed since they were indexed, or never were, each with its stamp now."""
        known: dict[bytes, bytes] = dict(self.database.execute("SELECT key, stamp FROM sessions"))
        found: list[tuple[SessionRow, bytes]] = []
        for row in rows:
            try:
                stamp = self._archived.stamp_of(row) if row.archive and self._archived else stamp_of(row)
            except UnreadableError as error:
                self.warnings.append(f"not searched: {error}")
                continue
            old = known.get(key_of(row))
            if old != stamp and not (row.archive and self._archived and self._archived.is_same(old, stamp)):
                found.append((row, stamp))
        return found

    def refresh(self, rows: Sequence[SessionRow], waiting: Callable[[int], None] | None = None) -> Refreshed:
        """Bring the index up to these sessions; those that are no more leave it.

        ``rows``: a listing without filters, so that everything in the folders of its sessions is in it; ``waiting``:
        told how many bytes belong to sessions that must be looked into, before that is done. Raises UnreadableError:
        the index cannot be written, for example since the disk is full.
        """
        try:
            return self._refresh(rows, waiting)
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                self.warnings.append("another search brings the index up to date: what is new may not be found yet")
                return Refreshed()
            if not is_damage(error):
                raise UnreadableError(self.path, f"the search index cannot be used ({error})") from error
            return self.rebuild(rows, str(error), waiting)

    def rebuild(
        self, rows: Sequence[SessionRow], reason: str, waiting: Callable[[int], None] | None = None
    ) -> Refreshed:
        """Make the index anew after it proved to be damaged, and say so.

        Raises UnreadableError: no index can be kept there.
        """
        self.warnings.append(f"{self.path}: the search index is damaged ({reason}) and is built anew")
        self.database.close()
        remove_cache(self.path)
        self.database = open_index(self.path, self.warnings)
        return self._refresh(rows, waiting)

    def numbers(self, rows: Iterable[SessionRow]) -> dict[int, SessionRow]:
        """Return sessions by the numbers that the index knows them by; those that it does not hold are left out."""
        known: dict[bytes, int] = dict(self.database.execute("SELECT key, number FROM sessions"))
        return {known[key]: row for row in rows if (key := key_of(row)) in known}

    def _refresh(self, rows: Sequence[SessionRow], waiting: Callable[[int], None] | None) -> Refreshed:
        done = Refreshed()
        stale = self._stale(rows)
        gone = self._gone(rows)
        if not stale and not gone:
            return done
        if waiting is not None:
            waiting(sum(row.bytes for row, _ in stale))
        self._begin()
        try:
            for key in gone:
                self._remove(key)
                done.removed += 1
            since_commit = 0
            with relaxed_collector():
                for row, stamp in stale:
                    self._take(row, stamp, done)
                    since_commit += row.bytes
                    if since_commit > _BATCH_BYTES:
                        # what is done so far outlives a kill
                        self.database.execute("COMMIT")
                        self._begin()
                        since_commit = 0
            self.database.execute("COMMIT")
        except BaseException:
            if self.database.in_transaction:
                self.database.execute("ROLLBACK")
            raise
        return done

    def _begin(self) -> None:
        # one search at a time writes, and each sees what the one before it wrote
        self.database.execute("BEGIN IMMEDIATE")

    def _gone(self, rows: Iterable[SessionRow]) -> list[bytes]:
        """Return the sessions that are no more; those of stores that were not listed now stay."""
        present = set(map(key_of, rows))
        folders = set(map(folder_of, present))
        keys: list[tuple[bytes]] = self.database.execute("SELECT key FROM sessions").fetchall()
        others = [key for (key,) in keys if key not in present]
        gone = [key for key in others if folder_of(key) in folders or not is_there(key)]
        return gone if self._archived is None else [key for key in gone if key not in self._archived]

    def _take(self, row: SessionRow, stamp: bytes, done: Refreshed) -> None:
        """Index one session as it is now; one that cannot be read leaves the index, with a warning."""
        key = key_of(row)
        old = self.database.execute("SELECT number, stamp, title, mark FROM sessions WHERE key = ?", (key,)).fetchone()
        if old is not None and old[1] == stamp:
            return  # another search was faster
        if row.archive and self._archived is not None:
            try:
                with self._archived.in_place(row) as there:
                    self._read_whole(key, there, stamp, done)
            except UnreadableError as error:
                self._leave_out(key, error)
            return
        try:
            files = files_of(row)
            if old is not None and (mark := _mark(old[3])) is not None:
                more = later_messages(row.dialect, files.paths[0], mark)
                if more is not None and mark.by_agent == (row.kind == "subagent"):
                    self._continue(old[0], old[2], row, stamp, *more)
                    done.continued += 1
                    return
            self._read_whole(key, row, stamp, done)
        except UnreadableError as error:
            self._leave_out(key, error)

    def _leave_out(self, key: bytes, error: UnreadableError) -> None:
        self.warnings.append(f"not searched: {error}")
        self._remove(key)

    def _read_whole(self, key: bytes, row: SessionRow, stamp: bytes, done: Refreshed) -> None:
        """Read a session and put it in the place of what the index had of it."""
        files = files_of(row)
        # those of its ancestors are found where they were said
        transcript = client_of(row.dialect).read_own(files)
        by_agent = transcript.kind == "subagent" or row.kind == "subagent"
        mark = mark_of(files.paths, transcript.messages, by_agent=by_agent)
        said = list(said_in(transcript.messages, by_agent=by_agent, blocked=self._blocked))
        self._remove(key)
        title = _title(row)
        values = (key, stamp, title, msgspec.msgpack.encode(mark))
        cursor = self.database.execute("INSERT INTO sessions (key, stamp, title, mark) VALUES (?, ?, ?, ?)", values)
        number = cursor.lastrowid or 0
        self._append(number, title, [one for side, one in said if not side], 0)
        self._append(number, "", [one for side, one in said if side], SIDE_BIT)
        done.read += 1
        done.bytes += row.bytes

    def _continue(
        self, number: int, title: str, row: SessionRow, stamp: bytes, messages: list[Message], mark: Mark
    ) -> None:
        said = list(said_in(messages, by_agent=mark.by_agent, blocked=self._blocked))
        if title != _title(row):
            self._rename(number, title, _title(row))
            title = _title(row)
        self._append(number, title, [one for side, one in said if not side], 0)
        self._append(number, "", [one for side, one in said if side], SIDE_BIT)
        values = (stamp, msgspec.msgpack.encode(mark), number)
        self.database.execute("UPDATE sessions SET stamp = ?, mark = ? WHERE number = ?", values)

    def _append(self, number: int, title: str, said: list[Said], side: int) -> None:
        """Add messages behind those that a session has; its last segment is filled up first."""
        first = number << SESSION_SHIFT | side
        rank, old = self._last_segment(first)
        if not said and (old is not None or side or not title):
            return
        head = title if rank == first else ""
        if old is not None and said:
            self.database.execute(_TAKE, (rank, *columns(old, head)))
        for segment in _segments([*(old or []), *said]):
            self.database.execute(_ADD, (rank, *columns(segment, head)))
            self.database.execute(
                "INSERT OR REPLACE INTO segments (number, body) VALUES (?, ?)", (rank, packed(segment))
            )
            rank, head = rank + 1, ""

    def _last_segment(self, first: int) -> tuple[int, list[Said] | None]:
        row = self.database.execute(
            "SELECT number, body FROM segments WHERE number >= ? AND number < ? ORDER BY number DESC LIMIT 1",
            (first, first + SIDE_BIT),
        ).fetchone()
        return (first, None) if row is None else (row[0], unpacked(row[1]))

    def _rename(self, number: int, old: str, new: str) -> None:
        first = number << SESSION_SHIFT
        row = self.database.execute("SELECT body FROM segments WHERE number = ?", (first,)).fetchone()
        said: list[Said] = [] if row is None else unpacked(row[0])
        if row is not None:
            self.database.execute(_TAKE, (first, *columns(said, old)))
        self.database.execute(_ADD, (first, *columns(said, new)))
        self.database.execute("INSERT OR REPLACE INTO segments (number, body) VALUES (?, ?)", (first, packed(said)))
        self.database.execute("UPDATE sessions SET title = ? WHERE number = ?", (new, number))

    def _remove(self, key: bytes) -> None:
        row = self.database.execute("SELECT number, title FROM sessions WHERE key = ?", (key,)).fetchone()
        if row is None:
            return
        number, title = row
        first, after = number << SESSION_SHIFT, (number + 1) << SESSION_SHIFT
        query = "SELECT number, body FROM segments WHERE number >= ? AND number < ?"
        for rank, body in self.database.execute(query, (first, after)).fetchall():
            head = title if rank == first else ""
            self.database.execute(_TAKE, (rank, *columns(unpacked(body), head)))
        self.database.execute("DELETE FROM segments WHERE number >= ? AND number < ?", (first, after))
        self.database.execute("DELETE FROM sessions WHERE number = ?", (number,))


def _segments(said: list[Said]) -> Iterable[list[Said]]:
    """Part messages so that each part has about as much text as a segment may have; there is at least one part."""
    segment: list[Said] = []
    size = 0
    for one in said:
        if segment and size + len(one.text) > SEGMENT_CHARS:
            yield segment
            segment, size = [], 0
        segment.append(one)
        size += len(one.text) + sum(map(len, one.tools)) + 1
    yield segment


def _mark(raw: bytes) -> Mark | None:
    """Return the mark that was kept; what cannot be decoded is none, and the session is read as a whole."""
    try:
        return _marks.decode(raw)
    except msgspec.MsgspecError:
        return None


def _title(row: SessionRow) -> str:
    # a title that a client keeps beside its sessions was in no catalogue yet
    return plain(kept_title(row.title))


# Only what was appended to a session since it was indexed, for the dialects whose files only ever grow.
#
# A file that was rewritten, or whose new records change what older ones mean, is read as a whole again.


def mark_of(paths: Sequence[Path], messages: Sequence[Message], *, by_agent: bool) -> Mark | None:
    """Return the mark of a session that was read as a whole; None unless it is one file of plain lines."""
    if len(paths) != 1 or paths[0].suffix != SUFFIX or not paths[0].is_file():
        return None
    ends = (span.offset + len(span.raw) for message in messages for span in message.sources)
    return _mark_at(paths[0], max(ends, default=0), by_agent=by_agent)


def _mark_at(path: Path, cursor: int, *, by_agent: bool) -> Mark:
    with path.open("rb", buffering=0) as file:
        at = os.fstat(file.fileno())
        return Mark(at.st_dev, at.st_ino, cursor, hash_before(file.fileno(), cursor), by_agent)


def later_messages(dialect: str, path: Path, mark: Mark) -> tuple[list[Message], Mark] | None:
    """Return the messages behind a mark and the mark behind them; None when the session must be read as a whole.

    Raises UnreadableError: the file cannot be read.
    """
    if mark.cursor == 0:
        return None
    try:
        with path.open("rb", buffering=0) as file:
            at = os.fstat(file.fileno())
            if (at.st_dev, at.st_ino) != (mark.dev, mark.ino) or at.st_size < mark.cursor:
                return None
            if hash_before(file.fileno(), mark.cursor) != mark.check:
                return None
        messages = _behind(dialect, path, mark)
        if messages is None:
            return None
        ends = (span.offset + len(span.raw) for message in messages for span in message.sources)
        return messages, _mark_at(path, max(ends, default=mark.cursor), by_agent=mark.by_agent)
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error


def _behind(dialect: str, path: Path, mark: Mark) -> list[Message] | None:
    """Return the messages behind a mark, where the records of a dialect tell them without those before."""
    rules = by_name(dialect)
    if isinstance(rules, LaterDialect):
        return rules.later(path, mark.cursor, by_agent=mark.by_agent)
    if not isinstance(rules, RecordDialect):
        return None
    records = read_records(path, rules.decoder, [], start=mark.cursor)
    told = (rules.told(span, record, by_agent=mark.by_agent) for span, record in records)
    return [one.message for one in told if one.message is not None]


# The sessions that the index holds: their files, and a stamp that changes when they do.

# Databases hold many sessions; no transcript has such a name.
_DATABASES = (".db", ".sqlite", ".sqlite3")


def key_of(row: SessionRow) -> bytes:
    """Return what the index knows a session by: its path, which need not be UTF-8, and its id in there."""
    return f"{row.path}\0{row.id}".encode("utf-8", "surrogateescape")


def folder_of(key: bytes) -> bytes:
    """Return the folder of a session's first file."""
    return key.partition(b"\0")[0].rpartition(b"/")[0]


def is_there(key: bytes) -> bool:
    """Say whether the file of a session still exists; a database is there for all of its sessions."""
    return os.path.lexists(key.partition(b"\0")[0])


def stamp_of(row: SessionRow) -> bytes:
    """Return a value that is another one after every change that the catalogue sees.

    Raises UnreadableError: its file is gone.
    """
    try:
        at = os.stat(row.path)  # noqa: PTH116 - ten thousand of them
    except OSError as error:
        raise UnreadableError(row.path, error.strerror or "cannot be read") from error
    return stamp(row, (at.st_size, at.st_mtime_ns, at.st_dev, at.st_ino))


def stamp(row: SessionRow, at: tuple[int, int, int, int]) -> bytes:
    """Return the stamp of a session whose first file has this size, time, device and inode."""
    # a database changes all the time, and its file says nothing about one session in it
    file = () if row.path.endswith(_DATABASES) else at
    numbers = (row.bytes, row.parts, row.records, row.messages, row.bad_lines, row.kind == "subagent")
    # of a title as it was typed no more than a checksum is kept
    title = crc32(row.title.encode("utf-8", "surrogatepass"))
    texts = (row.dialect, row.last_activity)
    return msgspec.msgpack.encode((*numbers, *file, title, *(t.encode("utf-8", "surrogateescape") for t in texts)))


def files_of(row: SessionRow) -> SessionFiles:
    """Return the files of a session in reading order. Raises UnreadableError: its file is gone."""
    if row.parts < 2 or not row.path.endswith(SUFFIX):  # noqa: PLR2004 - one file
        return SessionFiles(row.id, (Path(row.path),))
    found = session_of_path(Path(row.path))
    return SessionFiles(found.id, tuple(Path(found.folder, file.name) for file in found.files))


# The archived sessions that the index holds: what it read of them in their place stays, and else the pack is read.

# device and inode in a stamp: a file in a pack has neither
_PLACE = slice(8, 10)


class ArchivedSources:
    """The archive of one user, as the index reads it."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Read the tables of all packs."""
        self._environ = environ
        self._shelf = Shelf(archive_folder(environ))
        self._known: dict[bytes, tuple[Shelved, SessionRow]] = {
            key_of(row): (one, row) for one, row in self._shelf.rows()
        }

    def __contains__(self, key: object) -> bool:
        """Say whether a session is archived, by its key in the index."""
        return key in self._known

    def stamp_of(self, row: SessionRow) -> bytes:
        """Return the stamp of a session in the archive. Raises UnreadableError: it is there no longer."""
        one, _ = self._found(row)
        first = next((file for file in one.session.files if file.path == row.path), None)
        return stamp(row, (first.size, first.mtime_ns, 0, 0) if first else (0, 0, 0, 0))

    def is_same(self, known: bytes | None, now: bytes) -> bool:
        """Say whether what was indexed is what is archived: all but the place of its file is the same."""
        return known is not None and _placeless(known) == _placeless(now)

    @contextmanager
    def in_place(self, row: SessionRow) -> Generator[SessionRow]:
        """Yield the row as if the session lay in its place, where it can be read as long as the block runs.

        Raises UnreadableError: its pack is damaged, or it is there no longer.
        """
        one, own = self._found(row)
        with laid_out(one, own, self._environ, shelf=self._shelf) as (found, _):
            yield replace(row, path=found.path, archive="")

    def _found(self, row: SessionRow) -> tuple[Shelved, SessionRow]:
        found = self._known.get(key_of(row))
        if found is None:
            raise UnreadableError(row.path, "is archived no longer")
        return found


def _placeless(stamp_: bytes) -> list[object]:
    fields = msgspec.msgpack.decode(stamp_, type=list[object])
    fields[_PLACE] = []
    return fields
