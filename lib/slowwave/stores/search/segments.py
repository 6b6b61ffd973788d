"""The search index as a file beside the catalogue; damaged or of another version, it is built anew: a cache as well.

``words`` has no content of its own: FTS5 keeps only which word stands where, ``segments`` keeps what was said. A
segment is a stretch of one session, so that a session that grows has its last stretch indexed anew and not all of it.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from slowwave.errors import UnreadableError
from slowwave.files import private_folder
from slowwave.formats.messages import without_reminders
from slowwave.formats.model import REFUSALS, Injected, Message, Text
from slowwave.places import state_folder
from slowwave.secrets.blocklist import ERASED, Blocked
from slowwave.secrets.redactor import NAMELESS
from slowwave.stores.search.words import plain, spaced

VERSION = 2
_WAIT_S = 10.0
# Only these say that the file itself is no good; a lock or a full disk passes.
DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_ERROR)

# The columns of the index and their weights (RFC 0185 of crabtalk).
WEIGHTS = {"summary": 3.0, "title": 2.0, "user": 1.5, "assistant": 1.0, "tool": 1.3}

_SCHEMA = f"""
BEGIN;
CREATE TABLE sessions (number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, stamp BLOB NOT NULL, title TEXT NOT NULL,
  mark BLOB NOT NULL);
CREATE TABLE segments (number INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE VIRTUAL TABLE words USING fts5({", ".join(WEIGHTS)}, content='', tokenize='unicode61 remove_diacritics 2');
PRAGMA user_version = {VERSION};
COMMIT;
"""


def index_path(environ: Mapping[str, str]) -> Path:
    """Return where the search index of this user lies."""
    return state_folder(environ) / "search.sqlite"


def open_index(path: Path, warnings: list[str]) -> sqlite3.Connection:
    """Return the open index at ``path``; the folder is the user's alone, and so is the file.

    Raises:
        UnreadableError: no index can be kept there.
    """
    try:
        private_folder(path.parent)
        path.touch(mode=0o600)
        try:
            return _opened(path)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            warnings.append(f"{path}: the search index is damaged or of another version ({error}) and is built anew")
            remove_index(path)
            path.touch(mode=0o600)
            return _opened(path)
    except (OSError, sqlite3.Error) as error:
        raise UnreadableError(path, f"no search index can be kept ({error})", "see to its folder") from error


class DamagedIndexError(UnreadableError):
    """The index is no good any more; it has to be built anew."""


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Say whether an error means that the file itself is no good."""
    return (error.sqlite_errorcode & 0xFF) in DAMAGE


def remove_index(path: Path) -> None:
    """Remove the index, which is only a cache."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


class _WrongVersionError(sqlite3.DatabaseError):
    """The file is an index, but not one of this version."""

    sqlite_errorcode = sqlite3.SQLITE_SCHEMA


def _opened(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        # what was said and is deleted must not stay readable in free pages
        database.execute("PRAGMA secure_delete = ON")
        version = int(database.execute("PRAGMA user_version").fetchone()[0])
        if not version:
            _prepare(database)
        _check(version or VERSION)
        database.execute("SELECT number FROM segments LIMIT 1")
        database.execute("SELECT rowid FROM words LIMIT 1")
    except BaseException:
        database.close()
        raise
    return database


class _NewerError(sqlite3.OperationalError):
    """A newer slowwave wrote the file: it is left to that one, and not built anew again and again by both."""

    sqlite_errorcode = sqlite3.SQLITE_CANTOPEN


def _check(version: int) -> None:
    if version > VERSION:
        raise _NewerError(
            f"a newer slowwave wrote it, in form {version}, and this one knows {VERSION}: update slowwave"
        )
    if version != VERSION:
        raise _WrongVersionError(f"version {version}, this is {VERSION}")


def _prepare(database: sqlite3.Connection) -> None:
    try:
        database.executescript(_SCHEMA)
    except sqlite3.OperationalError:
        if database.in_transaction:
            database.execute("ROLLBACK")
        # another search made it in the same moment
        if int(database.execute("PRAGMA user_version").fetchone()[0]) != VERSION:
            raise


# What of a message is searched: what people typed, what the model answered, summaries, and the names of tools called.
#
# Results and arguments of tools are never part of the index (crabtalk's RFC 0185), nor what the harness put in.

# Of a longer message the beginning is searched: it is a pasted file, not talk.
MOST_CHARS = 100_000
# Of a secret that the cut parts in two, the first half would not be known.
_BEHIND_CHARS = 5_000


class Said(msgspec.Struct, gc=False, array_like=True, frozen=True):
    """One message as the index keeps it.

    Attributes:
        field: the column that its text belongs to.
        id: the client's id of it, or None.
        role: who speaks.
        at: when, ISO 8601, or "".
        text: the words.
        tools: names of the tools that it calls.
    """

    field: str
    id: str | None
    role: str
    at: str
    text: str
    tools: tuple[str, ...] = ()


def said_in(
    messages: Iterable[Message], *, by_agent: bool, blocked: Blocked | None = None
) -> Iterator[tuple[bool, Said]]:
    """Yield what messages say, each with whether it belongs to a sub-agent inside a main session.

    Args:
        messages: messages of one session.
        by_agent: the session is a sub-agent's, so that what its user says was written by another agent.
        blocked: what was erased, and is found by no search where it is there again.
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
    """Return the messages in what the index kept.

    Raises:
        CorruptSegmentError: it is damaged.
    """
    import zlib  # noqa: PLC0415 - a listing needs no compression

    try:
        return _decoder.decode(zlib.decompress(body))
    except (zlib.error, TypeError, *REFUSALS) as error:
        raise CorruptSegmentError(f"a segment cannot be unpacked: {error}") from error


class CorruptSegmentError(sqlite3.DatabaseError):
    """What the index kept of a session cannot be unpacked."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT
