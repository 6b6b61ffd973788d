"""Entries of pi's sessions as they are decoded at load, migrated as pi migrates them, and the tree that they make."""

import math
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, cast

import msgspec

from slowwave.formats import (
    REFUSALS,
    Block,
    Content,
    Origin,
    Other,
    Problem,
    Role,
    SessionFiles,
    Span,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    clock_time,
    decoded,
    fields_of,
    parse_time,
    text_in,
    text_or_empty,
    whole,
)
from slowwave.formats.lines import read_records
from slowwave.formats.messages import LazyMessage, Links, parted

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
    """An entry with its place, and its position in the tree after the migration to version 3."""

    env: Envelope  # the envelope as it stands in the file
    span: Span  # where it stands
    id: str | None  # its id; a made one for version 1, which has none
    parent: str | None  # the id of the entry before it, None for a root
    type: str = ""  # its type, or "" when that is not a string
    role: str = ""  # the role of a ``message`` entry as version 3 names it, else ""
    lost: bool = False  # its line is damaged so that pi's own reader skips it, though the entry itself is whole

    @property
    def kind(self) -> str:
        """The role, or the type of an entry that is a message by itself, or "" when the entry says nothing."""
        if self.role in ROLES:
            return self.role
        return self.type if self.type in SPEAKING else ""

    def fields(self) -> dict[str, Any]:
        """Return the whole entry, decoded anew from its bytes."""
        return whole(self.span.raw)

    def message(self) -> dict[str, Any]:
        """Return the message of a ``message`` entry."""
        return fields_of(decoded(self.env.message))


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


# Bytes of a pi session to entries, migrated to version 3 in memory as pi migrates them on disk.
#
# Version 1 has neither ids nor parents and names the first kept entry by its index over all entries of the file, the
# header being 0; version 2 calls the role ``custom`` ``hookMessage``. A version above 3 is read unchanged, as pi does.

# What pi's line parser gives up: it skips the whole line, also the good objects on it.
_UNREADABLE_LINE = frozenset({"glued", "garbage", "torn", "nul"})
_V2, _V3 = 2, 3


class Loaded(msgspec.Struct):
    """All records of a session in file order, and its version."""

    entries: list[Entry]  # every record, also headers and what pi itself would not see
    version: float = 1  # of the header; 1 when it names none
    kept: dict[str, str] = {}  # for compactions of version 1, the id of the first kept entry by the compaction's own id

    @property
    def seen(self) -> list[Entry]:
        """The records that pi's own reader gets; empty when the first is no header (pi then starts a new session)."""
        seen = [e for e in self.entries if not e.lost]
        return seen if seen and seen[0].type == "session" and seen[0].id is not None else []


def load(files: SessionFiles, problems: list[Problem]) -> Loaded:
    """Read every record of a session and bring it to version 3."""
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


def path_of(entries: list[Entry], leaf: str | None = None) -> list[Entry]:
    """Return the entries from the root to the leaf, as pi's own ``buildSessionContext`` walks them.

    The walk ends at a parent that the file does not have: what stood before such a hole is not sent. ``leaf``: the id
    of the entry to walk from, by default the last one; nothing when there is none.
    """
    inner = [e for e in entries if e.type != "session"]
    if not inner:
        return []
    by_id = {e.id: e for e in inner if e.id is not None}
    leaf = inner[-1].id if leaf is None else leaf
    at: Entry | None = inner[-1] if leaf is None else by_id.get(leaf)
    path: list[Entry] = []
    seen: set[int] = set()
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        path.append(at)
        at = by_id.get(at.parent) if at.parent is not None else None
    path.reverse()
    return path


def labels_of(entries: list[Entry]) -> dict[str, tuple[str, str]]:
    """Return label and time by the entry that has it, as pi resolves them: the last one counts, an empty one clears."""
    labels: dict[str, tuple[str, str]] = {}
    for entry in entries:
        if entry.type == "label":
            fields = entry.fields()
            target, label = text_in(fields, "targetId"), text_in(fields, "label")
            if label:
                labels[target] = label, text_in(fields, "timestamp")
            else:
                labels.pop(target, None)
    return labels


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


# Entries of pi to messages, with who is really behind them; the content is decoded when it is first looked at.


# Who is behind each kind of entry; a user's message can turn out to be the harness's alone.
ORIGINS: dict[str, Origin] = {
    "user": "typed",
    "assistant": "model",
    "toolResult": "tool",
    **dict.fromkeys(("compaction", "compactionSummary", "branch_summary", "branchSummary"), "summary"),
}


class PiMessage(LazyMessage, gc=False, eq=False):
    """A message entry, a message of an extension, or a summary."""

    entry: Entry
    _cwd: str
    _active: bool
    links: Links[Entry] | None = None

    @property
    def role(self) -> Role:
        """Who speaks; summaries, shell commands and extensions speak as the user."""
        return cast("Role", ROLES.get(self.entry.role, "user"))

    @property
    def id(self) -> str | None:
        """The entry's id as the file has it; version 1 has none."""
        own = self.entry.env.id
        return own if isinstance(own, str) else None

    @property
    def parent(self) -> str | None:
        """The id of the message before it on its branch, over entries that say nothing."""
        return None if self.links is None else self.links.before(self.entry, self.id)

    @property
    def cwd(self) -> str:
        """The working folder of the session's header, or ""."""
        return self._cwd

    @property
    def timestamp(self) -> datetime | None:
        """When the entry was written, or else the time of the message in it."""
        return parse_time(text_or_empty(self.entry.env.timestamp)) or clock_time(self.entry.message().get("timestamp"))

    @property
    def active(self) -> bool:
        """False on branches that a person went back from."""
        return self._active

    def _content(self) -> Content:
        return content_of(self.entry)


def links_of(entries: list[Entry]) -> Links[Entry]:
    """Return what finds the message above an entry; version 1 has no ids that could name it."""
    return Links(entries, lambda e: e.id, lambda e: e.parent, _said_as)


def _said_as(entry: Entry) -> str | None:
    own = entry.env.id
    return own if entry.kind and isinstance(own, str) else None


def content_of(entry: Entry) -> Content:
    """Return the blocks of an entry and who is behind them."""
    kind = entry.kind
    body = entry.message() if entry.role else entry.fields()
    origin = ORIGINS.get(kind, "injected")
    match kind:
        case "user":
            blocks = _typed(body)
            origin = "typed" if any(isinstance(b, Text) for b in blocks) or not blocks else "injected"
        case "toolResult":
            blocks = [result_of(body)]
        case "bashExecution":
            blocks = [Text(shell_text(body))]
        case "compaction" | "compactionSummary":
            blocks = [Text(compaction_text(body))]
        case "branch_summary" | "branchSummary":
            blocks = [Text(branch_text(body))]
        case _:
            blocks = [block_of(part) for part in parts_of(body.get("content"))]
    return Content(tuple(blocks), (entry.span,) * len(blocks), origin)


def _typed(body: dict[str, Any]) -> list[Block]:
    blocks: list[Block] = []
    for block in map(block_of, parts_of(body.get("content"))):
        blocks += split_typed(block.text) if isinstance(block, Text) else [block]
    return blocks


# Content of pi's messages as blocks: text, thinking, tool calls with their arguments as an object, images.


def parts_of(content: object) -> list[dict[str, Any]]:
    """Return ``content`` as a list of typed objects; a bare string is one text."""
    match content:
        case str():
            return [{"type": "text", "text": content}]
        case list():
            return [_part(item) for item in cast("list[object]", content)]
        case None:
            return []
        case _:
            return [{"type": type(content).__name__}]


def _part(item: object) -> dict[str, Any]:
    if isinstance(item, dict):
        return cast("dict[str, Any]", item)
    return {"type": "text", "text": item} if isinstance(item, str) else {"type": type(item).__name__}


def block_of(part: dict[str, Any]) -> Block:
    """Return one part of a message as a block; what is of no known type stays visible as :class:`Other`."""
    match part.get("type"):
        case "text":
            return Text(text_in(part, "text"))
        case "thinking":
            return Thinking(text_in(part, "thinking"))
        case "toolCall":
            return ToolCall(text_in(part, "id"), text_in(part, "name"), part.get("arguments"))
        case kind:
            return Other(text_or_empty(kind))


def result_of(message: dict[str, Any]) -> ToolResult:
    """Return a ``toolResult`` message as the block that it is; images stand as ``[image]``."""
    parts = parts_of(message.get("content"))
    lines = [text_in(p, "text") if p.get("type") == "text" else f"[{p.get('type')}]" for p in parts]
    return ToolResult(text_in(message, "toolCallId"), "\n".join(lines), message.get("isError") is True)


# The words that pi itself puts around summaries, shell commands, skills and files before a model sees them.
#
# Source: ``core/messages.ts``, ``cli/file-processor.ts`` and ``agent-session.ts`` of pi 0.73.1; the prefixes are the
# same in 0.58.3 and are part of the format: a model was trained by them to tell a summary from a person.

_COMPACTED = (
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n",
    "\n</summary>",
)
_BRANCH = ("The following is a summary of a branch that this conversation came back from:\n\n<summary>\n", "</summary>")
# A skill that was called by name, and files named with @ on the command line; a person typed neither.
_HARNESS = re.compile(
    r'<skill name="[^"\n]+" location="[^"\n]+">\n.*?\n</skill>|<file name="[^"\n]+">.*?</file>\n?', re.DOTALL
)


def as_written(value: object) -> str:
    """Return a value as JavaScript puts it into a text, where another type than text stands in a file."""
    match value:
        case str():
            return value
        case bool() | None:
            return {True: "true", False: "false", None: "null"}[value]
        case int() | float():
            return _number(value)
        case list():
            return ",".join("" if v is None else as_written(v) for v in _leaves(cast("list[object]", value)))
        case _:
            return "[object Object]"


def _number(value: float) -> str:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    # from here on JavaScript writes an exponent, as Python does
    return str(int(number)) if abs(number) < 1e21 and number.is_integer() else repr(number)  # noqa: PLR2004


def _leaves(values: list[object]) -> Iterator[object]:
    """Yield what stands in lists in lists, however deep; an empty one stands for an empty text."""
    waiting: list[object] = [values]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list) and item:
            waiting += cast("list[object]", item)[::-1]
        else:
            yield None if isinstance(item, list) else item


def compaction_text(body: dict[str, Any]) -> str:
    """Return the text that stands for what a compaction hides; pi prints what is not there, too."""
    return _COMPACTED[0] + as_written(body.get("summary", "undefined")) + _COMPACTED[1]


def branch_text(body: dict[str, Any]) -> str:
    """Return the text that stands for a branch that was left."""
    return _BRANCH[0] + as_written(body.get("summary", "undefined")) + _BRANCH[1]


def shell_text(message: dict[str, Any]) -> str:
    """Return what a model is told of a command that a person ran with ``!``."""
    output = as_written(message["output"]) if message.get("output") else ""
    text = f"Ran `{as_written(message.get('command', 'undefined'))}`\n" + (
        f"```\n{output}\n```" if output else "(no output)"
    )
    code = message.get("exitCode")
    if message.get("cancelled"):
        text += "\n\n(command cancelled)"
    elif code is not None and code != 0:
        text += f"\n\nCommand exited with code {as_written(code)}"
    if message.get("truncated") and message.get("fullOutputPath"):
        text += f"\n\n[Output truncated. Full output: {message['fullOutputPath']}]"
    return text


def split_typed(text: str) -> list[Block]:
    """Return what a person typed and what the client put beside it, in order."""
    if "<skill name=" not in text and "<file name=" not in text:
        return [Text(text)]
    return parted(text, _HARNESS.finditer(text)) or [Text(text)]
