"""``sessions.json``: which session each conversation of an agent goes on in, and what the client notes of it.

Read as JSON5, as the client reads it, though it writes JSON. Written in the client's form: under ``<store>.lock``, a
temporary file and a rename, mode 0600. Beyond the client: what nobody changed stays byte for byte, the file is synced,
and a store that cannot be read is an error and never overwritten (the client takes it for empty and wipes it).
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import msgspec

from slowwave.errors import MovedError, UnreadableError
from slowwave.files import replacement, write_all
from slowwave.formats import REFUSALS, SessionOrigin, clean
from slowwave.formats.locks import STORE_LOCK, held_lock
from slowwave.formats.salvage import members_of, scan_value

# Session keys: which conversation of an agent a message belongs to, built as the client builds them, and read.
#
# ``agent:<id>:<main key>`` for direct chats by default, ``agent:<id>:<channel>:group:<group>`` and the like for others,
# ``cron:``, ``hook:``, ``node-`` and sub-agents for what nobody typed. Source: ``config/sessions/session-key.ts``,
# ``group.ts`` and ``routing/session-key.ts`` of Clawdbot 2026.1.27.


DEFAULT_MAIN_KEY = "main"
GLOBAL = "global"
KeyKind = Literal[
    "main", "dm", "group", "channel", "room", "cron", "hook", "node", "subagent", "acp", "global", "unknown"
]
_ROOMS = ("group", "channel", "room")
_DIRECT = ("dm", "direct")
_INSIDE = ("thread", "topic")
_ORIGINS: dict[KeyKind, SessionOrigin] = {
    **dict.fromkeys(("main", "dm", "group", "channel", "room", "global"), "interactive"),
    "cron": "cron",
    "hook": "hook",
}
# Kinds that are named by a first word; nobody types into the sessions of most.
_WORDS: dict[str, KeyKind] = {"cron": "cron", "hook": "hook", "subagent": "subagent", "acp": "acp"}


class SessionKey(NamedTuple):
    """A session key taken apart."""

    kind: KeyKind  # what sort of conversation it is
    agent: str = ""  # the agent's id, "" where the key names none
    id: str = ""  # the main key, the peer, the group, the room, the job, the hook, the node or the run
    channel: str = ""  # the channel that it came over
    account: str = ""  # the account of the channel
    thread: str = ""  # the thread in a room
    topic: str = ""  # the topic in a group

    @property
    def is_agents(self) -> bool:
        """Whether it works for another session, a sub-agent's or a node's; a job or a hook has sessions of its own.

        Nobody types into any of these: that says :attr:`origin`.
        """
        return self.kind in ("node", "subagent", "acp")

    @property
    def origin(self) -> SessionOrigin:
        """Who began it: a job, a hook or a person; a sub-agent's key and a node's tell nothing about that."""
        return _ORIGINS.get(self.kind, "")


def parse_key(key: str) -> SessionKey:
    """Take a session key apart; a key of an unknown form is of the kind ``unknown`` and keeps its text as its id."""
    agent, rest = "", key
    if key.startswith("agent:"):
        agent, colon, rest = key.removeprefix("agent:").partition(":")
        if not (agent and colon and rest):
            return SessionKey("unknown", id=key)
    words = rest.split(":")
    if words[0] in _WORDS and len(words) > 1:
        return SessionKey(_WORDS[words[0]], agent, ":".join(words[1:]))
    if rest.startswith("node-"):
        return SessionKey("node", agent, rest.removeprefix("node-"))
    if rest == GLOBAL and not agent:
        return SessionKey("global", id=GLOBAL)
    return _conversation(agent, words)


def _conversation(agent: str, words: list[str]) -> SessionKey:
    words, thread, topic = _without_inside(words)
    for at, word in enumerate(words[:3]):
        named = ":".join(words[at + 1 :])
        if word in _ROOMS and at <= 1 and named:
            kind: KeyKind = "group" if word == "group" else "channel" if word == "channel" else "room"
            return SessionKey(kind, agent, named, words[0] if at else "", "", thread, topic)
        if word in _DIRECT and named:
            channel, account = (words[0] if at else ""), (words[1] if at > 1 else "")
            return SessionKey("dm", agent, named, channel, account, thread, topic)
    own = ":".join(words)
    is_main = len(words) == 1 and (agent or own == DEFAULT_MAIN_KEY)
    return SessionKey("main" if is_main else "unknown", agent, own, thread=thread, topic=topic)


def _without_inside(words: list[str]) -> tuple[list[str], str, str]:
    """Split a thread or a topic off the end of a key."""
    for at in range(len(words) - 2, 0, -1):
        if words[at] in _INSIDE:
            named = ":".join(words[at + 1 :])
            return words[:at], named if words[at] == "thread" else "", named if words[at] == "topic" else ""
    return words, "", ""


NAME = "sessions.json"
_PRIVATE = 0o600
_REMEDY = "repair or move it away by hand; nothing is written over it"


# Entries of ``sessions.json``: every field as the bytes that it was written with.
#
# A field that nobody asks for is never decoded, so what a newer client added comes through a rewrite byte for byte.
# Source: ``src/config/sessions/types.ts`` of Clawdbot 2026.1.27 and the fields that OpenClaw added in mid-2026.


class Origin(msgspec.Struct, rename="camel"):
    """Where the first message of a session came from."""

    chat_type: str | None = None


Fields = dict[str, msgspec.Raw]


class SessionEntry:
    """One entry of a store; never changed after it was made.

    Attributes:
        fields: each field as it was written, in its order, by the new names.
    """

    __slots__ = ("fields",)

    def __init__(self, fields: Fields) -> None:
        self.fields = fields

    def get(self, name: str) -> object:
        """Return a field decoded; None when it is missing or cannot be decoded."""
        raw = self.fields.get(name)
        return None if raw is None else decoded(raw, Origin if name == "origin" else Any)

    def text(self, name: str) -> str:
        """Return a field that should be text without white space at its ends, "" when it is none."""
        value = self.get(name)
        return value.strip() if isinstance(value, str) else ""

    def number(self, name: str) -> float | None:
        """Return a field that should be a number, None when it is none."""
        raw = self.fields.get(name)
        # as it is written: a whole number stays one when it is written again
        value = None if raw is None else decoded(raw, int | float)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    def patched(self, patch: Mapping[str, object]) -> "SessionEntry":
        """Return the entry with some fields set; a field set to None is taken out."""
        fields = {n: raw for n, raw in self.fields.items() if patch.get(n, raw) is not None}
        for name, value in patch.items():
            if value is not None:
                fields[name] = encoded(value)
        return SessionEntry(fields)


class SessionStore(Mapping[str, SessionEntry]):
    """The entries of a store by session key; values that are no entries stay in the file and are not seen here.

    Attributes:
        path: the file.
        raw: its bytes as they were read, b"" when there is no file.
        odd: keys whose values are no objects.
    """

    def __init__(self, path: Path, raw: bytes, values: Fields) -> None:
        self.path = path
        self.raw = raw
        self._values = values
        self._entries: dict[str, SessionEntry] = {}
        self._changed: set[str] = set()
        self.odd: list[str] = []
        for key, value in values.items():
            fields = values_of(value)
            if fields is None:
                self.odd.append(key)
            else:
                self._entries[key] = entry_of(fields)

    def __getitem__(self, key: str) -> SessionEntry:
        """Return the entry of a session key."""
        return self._entries[key]

    def __iter__(self) -> Iterator[str]:
        """Yield the session keys in the order of the file."""
        return iter(self._entries)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)

    @property
    def is_changed(self) -> bool:
        """Whether there is anything to write."""
        return bool(self._changed)

    def put(self, key: str, entry: SessionEntry) -> None:
        """Set an entry."""
        old = self._entries.get(key)
        if old is None or old.fields != entry.fields:
            self._entries[key] = entry
            self._values[key] = msgspec.Raw(b"")
            self._changed.add(key)
            self.odd = [name for name in self.odd if name != key]

    def remove(self, key: str) -> None:
        """Take an entry out; nothing happens when there is none."""
        if self._entries.pop(key, None) is not None:
            del self._values[key]
            self._changed.add(key)

    def encoded(self) -> bytes:
        """Return the file as the client writes it, two spaces a level; what was not changed keeps its bytes."""
        lines = [b"  %b: %b" % (msgspec.json.encode(key), self._written(key)) for key in self._values]
        return b"{\n" + b",\n".join(lines) + b"\n}" if lines else b"{}"

    def _written(self, key: str) -> bytes:
        if key not in self._changed:
            return bytes(self._values[key])
        fields = self._entries[key].fields
        pairs = [b"    %b: %b" % (msgspec.json.encode(name), _indented(raw)) for name, raw in fields.items()]
        return b"{\n" + b",\n".join(pairs) + b"\n  }" if pairs else b"{}"


def _indented(raw: msgspec.Raw) -> bytes:
    """Indent a value that was made here; one from the file stands where it stood."""
    value = bytes(raw)
    return value.replace(b"\n", b"\n    ") if b"\n" in value and value[-2:] in (b"\n}", b"\n]") else value


def read_store(path: Path) -> SessionStore:
    """Read a store; a missing file is an empty one, and so is an empty list, as in the client's own test.

    Raises UnreadableError: it cannot be opened, or is neither JSON nor JSON5, or not an object.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return SessionStore(path, b"", {})
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error
    values = values_of(raw)
    return SessionStore(path, raw, values if values is not None else _values_of_json5(path, raw))


def _values_of_json5(path: Path, raw: bytes) -> Fields:
    value = json5_of(path, raw)
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return {str(key): msgspec.Raw(bytes(encoded(item)).replace(b"\n", b"\n  ")) for key, item in items}
    if value == []:
        return {}
    raise UnreadableError(path, f"holds a {type(value).__name__} where session keys are expected", _REMEDY)


def json5_of(path: Path, raw: bytes) -> object:
    """Return what a file holds that a person may have written. Raises UnreadableError: it is neither JSON nor JSON5."""
    import pyjson5  # noqa: PLC0415 - clients write plain JSON; only people write JSON5

    try:
        return pyjson5.decode_utf8(raw)
    except (pyjson5.Json5Exception, ValueError, RecursionError) as error:
        reason = error.args[0] if error.args else type(error).__name__
        raise UnreadableError(path, f"is neither JSON nor JSON5: {reason}", _REMEDY) from error


def update_store(path: Path, change: Callable[[SessionStore], None]) -> SessionStore:
    """Change a store under its lock: read, change, write; nothing is written when nothing changed.

    Raises UnreadableError: the store cannot be read; it is left as it is; LockHeldError: another process held the lock
    all the time; LockLostError: the lock was taken over meanwhile; the store is left as it was; MovedError: somebody
    wrote without the lock meanwhile; the store is left as they wrote it.
    """
    with held_lock(path, STORE_LOCK) as lock:
        store = read_store(path)
        change(store)
        if not store.is_changed:
            return store

        def check() -> None:
            lock.check()
            if (path.read_bytes() if path.exists() else b"") != store.raw:
                raise MovedError(f"{path}: its client wrote to it meanwhile; try again")

        with replacement(path, mode=_PRIVATE, check=check) as fd:
            write_all(fd, store.encoded())
    return store


def update_entry(
    path: Path, key: str, patch: Callable[[SessionEntry], Mapping[str, object] | None], now_ms: int
) -> SessionEntry | None:
    """Lay a patch over one entry under the store's lock; return the entry, None when there is none.

    ``patch``: makes the fields to set from the entry as it is now; None leaves it. ``now_ms``: the current time in
    milliseconds. Raises UnreadableError, LockHeldError, LockLostError, MovedError: as :func:`update_store`.
    """

    def change(store: SessionStore) -> None:
        entry = store.get(key)
        fields = patch(entry) if entry is not None else None
        if fields:
            store.put(key, merged(entry, fields, now_ms, ""))

    return update_store(path, change).get(key)


# Old names and the new ones that take their place on load, unless the new one is there (seed 004 has the old ones).
_RENAMED = (("provider", "channel"), ("lastProvider", "lastChannel"), ("room", "groupChannel"))


def encoded(value: object) -> msgspec.Raw:
    """Return a value in the client's form: JSON over lines, indented by two."""
    import orjson  # noqa: PLC0415 - only writing needs it

    return msgspec.Raw(orjson.dumps(value, option=orjson.OPT_INDENT_2))


def entry_of(fields: Fields) -> SessionEntry:
    """Return an entry with its old field names brought to the new ones, in place, as the client does on load."""
    if not any(old in fields for old, _ in _RENAMED):
        return SessionEntry(fields)
    names = {old: new for old, new in _RENAMED if _is_text(fields, old) and not _is_text(fields, new)}
    kept = {names.get(name, name): raw for name, raw in fields.items() if name not in names.values()}
    if "room" not in names:
        kept.pop("room", None)  # the client drops what is left of it
    return SessionEntry(kept)


def _is_text(fields: Fields, name: str) -> bool:
    return name in fields and bytes(memoryview(fields[name])[:1]) == b'"'


def merged(existing: SessionEntry | None, patch: Mapping[str, object], now_ms: int, new_id: str) -> SessionEntry:
    """Return an entry with a patch laid over it.

    The time is the newest of old, patch and now; the id that of the patch, else the old one, else ``new_id``.
    """
    base = existing if existing is not None else SessionEntry({})
    told = patch.get("updatedAt")
    times = [base.number("updatedAt"), told if isinstance(told, int | float) else None, now_ms]
    own = patch.get("sessionId") or base.text("sessionId") or new_id
    newest = max(cast("list[float]", [t for t in times if t is not None]))
    return base.patched({**patch, "sessionId": own, "updatedAt": newest})


# Objects taken apart into the bytes of their values, also where a strict decoder refuses what a client wrote.
#
# JavaScript writes half of a character that was cut in two as an escape, which is no text that could be encoded.

_SPACE = b" \t\r\n"


def values_of(raw: bytes | msgspec.Raw) -> Fields | None:
    """Return the values of an object by their keys, each as it stands; None when it is not a JSON object."""
    try:
        return msgspec.json.decode(raw, type=Fields)
    except REFUSALS:
        return _scanned(bytes(raw))


def decoded(raw: msgspec.Raw, kind: Any = Any) -> Any:
    """Return a value decoded, with halves of characters replaced; None when it is not of this kind."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except REFUSALS:
        pass
    try:
        return msgspec.json.decode(clean(bytes(raw)), type=kind)
    except REFUSALS:
        return None


def _scanned(raw: bytes) -> Fields | None:
    """Cut an object at its own commas; the values are not looked into."""
    text = raw.strip(_SPACE)
    whole = scan_value(text)
    if text[:1] != b"{" or (whole.status, whole.at) != ("whole", len(text)):
        return None
    fields: Fields = {}
    for member in members_of(text):
        key = decoded(msgspec.Raw(member.key), str)
        if key is None:
            return None
        fields[key] = msgspec.Raw(text[member.start : member.value.at])
    return fields


# What a person set in the client's own configuration, a JSON5 file in its state folder.

# the client's names for it, newest first
_FILES = ("openclaw.json", "moltbot.json", "clawdbot.json")
_PATH = ("agents", "defaults", "compaction")


def config_file(transcript: Path) -> Path | None:
    """Return the configuration that holds for a session under ``STATE/agents/AGENT/sessions/``, None without one."""
    sessions, agents = transcript.parent, transcript.parent.parent.parent
    if sessions.name != "sessions" or agents.name != "agents":
        return None
    return next((path for name in _FILES if (path := agents.parent / name).is_file()), None)


def compaction_config(transcript: Path) -> Mapping[str, object]:
    """Return ``agents.defaults.compaction`` of what holds for a session; empty without a configuration."""
    file = config_file(transcript)
    if file is None:
        return {}
    try:
        found = json5_of(file, file.read_bytes())
    except OSError as error:
        raise UnreadableError(file, error.strerror or "cannot be read") from error
    for name in _PATH:
        found = cast("Mapping[str, object]", found).get(name) if isinstance(found, Mapping) else None
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}
