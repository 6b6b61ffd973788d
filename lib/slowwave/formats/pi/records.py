"""Entries of pi's sessions as they are decoded at load, migrated as pi migrates them, and the tree that they make."""

import math
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from slowwave.formats.lines import read_records
from slowwave.formats.model import REFUSALS, Problem, SessionFiles, Span
from slowwave.formats.salvage import clean, decoded

KNOWN_TYPES = frozenset(
    {
        *("session", "message", "thinking_level_change", "model_change", "compaction", "branch_summary", "custom"),
        *("custom_message", "label", "session_info"),
    }
)
# Roles of ``message`` entries, and who speaks for the model; hookMessage is version 2's name for custom. The two
# summaries exist in pi's memory only, but its converter takes them from a file, too.
ROLES = {
    "user": "user",
    "assistant": "assistant",
    "toolResult": "tool",
    "bashExecution": "user",
    "custom": "user",
    "hookMessage": "user",
    "branchSummary": "user",
    "compactionSummary": "user",
}
_ROLE_STARTS = {role.encode(): role for role in ROLES}
_ROLE_BYTES = 32
# Entries that are messages by themselves; the model gets them in the role of the user.
SPEAKING = frozenset({"compaction", "branch_summary", "custom_message"})


class Head(msgspec.Struct, gc=False):
    """The part of a message that loading needs."""

    role: Any = None


class Envelope(msgspec.Struct, gc=False):
    """What loading needs of every entry; ``version`` stands in the header only."""

    type: Any = None
    id: Any = None
    parent: Any = msgspec.field(default=None, name="parentId")
    timestamp: Any = None
    version: Any = None
    message: msgspec.Raw = msgspec.Raw()


DECODER = msgspec.json.Decoder(Envelope)
_HEADS = msgspec.json.Decoder(Head)


class Entry(msgspec.Struct, gc=False):
    """An entry with its place, and its position in the tree after the migration to version 3.

    Attributes:
        env: the envelope as it stands in the file.
        span: where it stands.
        id: its id; a made one for version 1, which has none.
        parent: the id of the entry before it, None for a root.
        type: its type, or "" when that is not a string.
        role: the role of a ``message`` entry as version 3 names it, else "".
        lost: its line is damaged so that pi's own reader skips it, though the entry itself is whole.
    """

    env: Envelope
    span: Span
    id: str | None
    parent: str | None
    type: str = ""
    role: str = ""
    lost: bool = False

    @property
    def kind(self) -> str:
        """The role, or the type of an entry that is a message by itself, or "" when the entry says nothing."""
        if self.role in ROLES:
            return self.role
        return self.type if self.type in SPEAKING else ""

    def fields(self) -> dict[str, Any]:
        """Return the whole entry, decoded anew from its bytes."""
        value = decoded(msgspec.Raw(clean(self.span.raw)))
        return cast("dict[str, Any]", value) if isinstance(value, dict) else {}

    def message(self) -> dict[str, Any]:
        """Return the message of a ``message`` entry."""
        value = decoded(self.env.message)
        return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def entry_of(env: Envelope, span: Span) -> Entry:
    """Return the entry of a record, before any migration."""
    own = env.id if isinstance(env.id, str) else None
    parent = env.parent if isinstance(env.parent, str) else None
    kind = env.type if isinstance(env.type, str) else ""
    return Entry(env, span, own, parent or None, kind, _role(env.message) if kind == "message" else "")


def _role(message: msgspec.Raw) -> str:
    # pi writes the role first; looking there saves a second pass over the whole message
    start = bytes(memoryview(message)[:_ROLE_BYTES])
    if start.startswith(b'{"role":"') and (known := _ROLE_STARTS.get(start[9:].partition(b'"')[0])) is not None:
        return known
    try:
        return text_or_empty(_HEADS.decode(message).role)
    except REFUSALS:
        return ""


def text_or_empty(value: object) -> str:
    """Return a string as it is, and "" for anything else."""
    return value if isinstance(value, str) else ""


# Bytes of a pi session to entries, migrated to version 3 in memory as pi migrates them on disk.
#
# Version 1 has neither ids nor parents and names the first kept entry by its index over all entries of the file, the
# header being 0; version 2 calls the role ``custom`` ``hookMessage``. A version above 3 is read unchanged, as pi does.

# What pi's line parser gives up: it skips the whole line, also the good objects on it.
_UNREADABLE_LINE = frozenset({"glued", "garbage", "torn", "nul"})
_V2, _V3 = 2, 3


class Loaded(msgspec.Struct):
    """All records of a session in file order, and its version.

    Attributes:
        entries: every record, also headers and what pi itself would not see.
        version: of the header; 1 when it names none.
        kept: for compactions of version 1, the id of the first kept entry by the compaction's own id.
    """

    entries: list[Entry]
    version: float = 1
    kept: dict[str, str] = {}

    @property
    def seen(self) -> list[Entry]:
        """The records that pi's own reader gets; empty when the first is no header (pi then starts a new session)."""
        seen = [e for e in self.entries if not e.lost]
        return seen if seen and seen[0].type == "session" and seen[0].id is not None else []


def load(files: SessionFiles, problems: list[Problem]) -> Loaded:
    """Read every record of a session and bring it to version 3.

    Raises:
        UnreadableError: a file cannot be opened.
    """
    entries: list[Entry] = []
    for part, path in enumerate(files.paths):
        before = len(problems)
        entries += [entry_of(env, span) for span, env in read_records(path, DECODER, problems, part=part)]
        _mark_lost(entries, part, problems[before:])
    return migrated(entries)


def migrated(entries: list[Entry]) -> Loaded:
    """Return the records of a session, brought to version 3."""
    loaded = Loaded(entries, _version(entries))
    if loaded.version < _V2:
        _give_ids(loaded)
    if loaded.version < _V3:
        for entry in entries:
            entry.role = "custom" if entry.role == "hookMessage" else entry.role
    return loaded


def _version(entries: list[Entry]) -> float:
    """Return the version as JavaScript compares it: a string counts as its number, nonsense is never smaller.

    A file without its header has the version that its entries look like.
    """
    headers = [e for e in entries if e.type == "session"]
    header = next((e for e in headers if not e.lost), headers[0] if headers else None)
    if header is None:
        return _V3 if any(e.id is not None for e in entries) else 1
    value = header.env.version
    if value is None:
        return 1
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _mark_lost(entries: list[Entry], part: int, problems: list[Problem]) -> None:
    """Mark the entries of one file whose lines pi's reader skips."""
    lines = {p.line for p in problems if p.kind in _UNREADABLE_LINE}
    doubtful = {p.line for p in problems if p.kind == "nonstandard"}
    # a byte order mark is white space to JavaScript, but only where the file begins
    own = [e for e in entries if e.span.part == part]
    marks = [p.line for p in problems if p.kind == "bom"]
    if marks and own and problems[0].kind == "bom" and marks[0] == own[0].span.number:
        marks = marks[1:]
    lines |= set(marks)
    for entry in own if lines or doubtful else []:
        number = entry.span.number
        entry.lost = number in lines or (number in doubtful and _has_constant(entry.span))


def loses_entries(problems: Sequence[Problem], spans: Sequence[Span]) -> bool:
    """Say whether pi's reader skips a line behind the first one, by the problems and the records found on it."""
    kinds = {problem.kind for problem in problems}
    is_doubtful = "nonstandard" in kinds and any(map(_has_constant, spans))
    return "bom" in kinds or not _UNREADABLE_LINE.isdisjoint(kinds) or is_doubtful


def _has_constant(span: Span) -> bool:
    """Say whether a record holds NaN or Infinity, which JavaScript does not parse; lone surrogates it does."""
    import json  # noqa: PLC0415  # few records need the slow decoder

    found: list[str] = []
    try:
        json.loads(span.raw.decode("utf-8", "replace"), parse_constant=found.append, strict=False)
    except (ValueError, RecursionError):
        return True
    return bool(found)


def _give_ids(loaded: Loaded) -> None:
    """Chain the entries of a version 1 file in file order and resolve the indexes of its compactions."""
    before: str | None = None
    seen = loaded.seen
    for number, entry in enumerate(loaded.entries):
        if entry.type != "session":
            entry.id = f"{number:08x}"
    for entry in seen:
        if entry.type != "session":
            entry.parent, before = before, entry.id
    for entry in seen:
        if entry.type == "compaction" and entry.id is not None:
            first = _at(seen, entry.fields().get("firstKeptEntryIndex"))
            if first is not None:
                loaded.kept[entry.id] = first


def _at(seen: list[Entry], index: object) -> str | None:
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(seen):
        return None
    return seen[index].id if seen[index].type != "session" else None


# The tree of a pi session: the path that its client goes on from, and the branches that were left behind.
#
# The leaf is the last entry of the file, of whatever type; ``branch`` in the client moves it without a record, the next
# append tells. Parents are followed by id; a cycle, on which pi hangs for ever, ends the walk here.


def path_of(entries: list[Entry]) -> list[Entry]:
    """Return the entries from the root to the leaf, as pi's own ``buildSessionContext`` walks them.

    The walk ends at a parent that the file does not have: what stood before such a hole is not sent.
    """
    inner = [e for e in entries if e.type != "session"]
    if not inner:
        return []
    by_id = {e.id: e for e in inner if e.id is not None}
    at: Entry | None = inner[-1] if inner[-1].id is None else by_id[inner[-1].id]
    path: list[Entry] = []
    seen: set[int] = set()
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        path.append(at)
        at = by_id.get(at.parent) if at.parent is not None else None
    path.reverse()
    return path


def live_entries(loaded: Loaded) -> set[int] | None:
    """Return the identities (``id()``) of the entries that no rewind left behind, or None when that is all of them.

    Unlike :func:`path_of` this bridges damage: where a parent is missing, or an entry has no id at all, the walk goes
    on with the entry that stands before it in the file, since nobody left that one behind.
    """
    entries = [e for e in loaded.entries if e.type != "session"]
    if loaded.version < 2 or _is_chain(entries):  # noqa: PLR2004  # version 1 is linear
        return None
    rank = {id(e): i for i, e in enumerate(entries)}
    by_id = {e.id: e for e in entries if e.id is not None}
    live: set[int] = set()
    at = len(entries) - 1
    while at >= 0 and at not in live:
        live.add(at)
        entry = entries[at]
        if entry.parent in by_id:
            at = rank[id(by_id[entry.parent])]
        elif entry.parent is not None or entry.id is None:
            at -= 1
        else:
            break
    return {id(entries[i]) for i in live}


def _is_chain(entries: list[Entry]) -> bool:
    """Say whether every entry hangs under the one before it, as in most sessions."""
    before: str | None = None
    for entry in entries:
        if entry.id is None or entry.parent != before:
            return False
        before = entry.id
    return True
