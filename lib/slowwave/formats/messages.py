"""Messages as all formats share them: plain ones, blocks of the Anthropic API, the form to compare, and their order."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar, cast

import msgspec
from msgspec.structs import force_setattr

from slowwave.formats import (
    REFUSALS,
    Block,
    Content,
    Injected,
    Message,
    Origin,
    Other,
    Problem,
    Role,
    Span,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    objects_of,
    text_in,
)
from slowwave.formats.lines import opened, read_records, relaxed_collector

# pyright: reportIncompatibleMethodOverride=false, reportIncompatibleVariableOverride=false
# (fields in the place of read-only properties: both are only read)


class PlainMessage(Message, msgspec.Struct, frozen=True, gc=False, eq=False):
    """A message that was decoded already; the fields are those of :class:`Message`."""

    role: Role
    blocks: tuple[Block, ...]
    sources: tuple[Span, ...]
    origin: Origin
    id: str | None = None
    timestamp: datetime | None = None
    cwd: str = ""
    active: bool = True
    sidechain: bool = False
    branch: str = ""
    parent: str | None = None


class LazyMessage(Message, msgspec.Struct, gc=False, eq=False, kw_only=True):
    """A message that is decoded when somebody first looks at what it says."""

    opened: Content | None = None

    def _content(self) -> Content:
        raise NotImplementedError

    def _opened(self) -> Content:
        if self.opened is None:
            self.opened = self._content()
        return self.opened


# Content blocks in the form of the Anthropic API, which Claude Code and Cersei both write.


def blocks_of(content: object) -> list[Block]:
    """Return the blocks of a message's ``content``: a string, or a list of typed objects.

    Anything of another shape is kept as :class:`Other`, so that its presence stays visible.
    """
    match content:
        case str():
            return [Text(content)]
        case list():
            return [_block(item) for item in cast("list[object]", content)]
        case None:
            return []
        case _:
            return [Other(type(content).__name__)]


def _block(item: object) -> Block:
    if not isinstance(item, dict):
        return Text(item) if isinstance(item, str) else Other(type(item).__name__)
    data = cast("dict[str, Any]", item)
    match data.get("type"):
        case "text":
            block = Text(_string(data.get("text")))
        case "tool_use":
            block = ToolCall(_string(data.get("id")), _string(data.get("name")), data.get("input"))
        case "tool_result":
            content = _result_text(data.get("content"))
            block = ToolResult(_string(data.get("tool_use_id")), content, data.get("is_error") is True)
        case "thinking":
            block = Thinking(_string(data.get("thinking")))
        case kind:
            block = Other(_string(kind))
    return block


def _result_text(content: object) -> str:
    """Join the text blocks of a tool result by newlines; other blocks stand as ``[type]``."""
    if isinstance(content, list):
        return "\n".join(_result_part(part) for part in cast("list[object]", content))
    return _string(content)


def _result_part(part: object) -> str:
    if not isinstance(part, dict):
        return _string(part)
    data = cast("dict[str, Any]", part)
    return data["text"] if isinstance(data.get("text"), str) else f"[{data.get('type')}]"


def parted(text: str, notes: Iterable[re.Match[str]]) -> list[Block]:
    """Return what a person typed of a text, and the notes of the harness that were found in it, in order."""
    found: list[Block] = []
    at = 0
    for note in notes:
        found += _typed(text[at : note.start()])
        found.append(Injected(note[0]))
        at = note.end()
    return found + _typed(text[at:])


def _typed(text: str) -> list[Block]:
    return [Text(text.strip())] if text.strip() else []


def _string(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else str(value)


# Messages in the form in which contexts of different clients are compared, and which ``sessions context`` prints.

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


class Verbatim(ToolResult, frozen=True, gc=False):
    """A result that is compared as it stands: its client puts no reminders into results and trims nothing."""


def without_reminders(text: str) -> str:
    """Return ``text`` without the reminders of the harness and without white space at its ends."""
    return (_REMINDER.sub("", text) if "<system-reminder>" in text else text).strip()


def normal_form(messages: Iterable[Message]) -> list[dict[str, object]]:
    """Return each message as ``role``, ``text``, ``calls`` and ``results``, without what is empty.

    Reminders and reasoning are left out; a message of which nothing is left does not appear.
    """
    return [form for m in messages if (form := _one(m)).keys() - {"role"}]


def _one(message: Message) -> dict[str, object]:
    form: dict[str, object] = {"role": message.role}
    texts = [without_reminders(b.text) for b in message.blocks if isinstance(b, Text | Injected)]
    if text := "\n".join(t for t in texts if t):
        form["text"] = text
    if message.calls:
        form["calls"] = [{"id": c.id, "name": c.name, "args": c.args} for c in message.calls]
    if message.results:
        form["results"] = [{"id": r.id, "text": _compared_text(r)} for r in message.results]
    return form


def _compared_text(result: ToolResult) -> str:
    return result.text if isinstance(result, Verbatim) else without_reminders(result.text)


# Reading sessions without a tree: their records stand one after the other, and each is told by itself.

R = TypeVar("R")
T = TypeVar("T", bound=Transcript)


def read_linear(result: T, decoder: msgspec.json.Decoder[R], take: Callable[[Span, R], str | None]) -> T:
    """Fill a transcript from its files and return it.

    ``result``: the transcript, still empty; its files are read, its records and unknown types counted. ``take``: keeps
    what a record says; returns None, or the name of what it is when this version does not know it.
    """
    unknown: Counter[str] = Counter()
    with relaxed_collector():
        for part, path in enumerate(result.files.paths):
            for span, record in read_records(path, decoder, result.problems, part=part):
                result.records += 1
                if (kind := take(span, record)) is not None:
                    unknown[kind] += 1
    result.unknown_types = unknown
    return result


# Which message stands before which, where a session is one line of messages or ids lead from record to record.


def chain(messages: Iterable[Message]) -> None:
    """Give each message of a session without branches the id of the one before it; only while it is being read."""
    before: str | None = None
    put = force_setattr  # a call less a message is a twentieth of the time of a load
    for message in cast("Iterable[Any]", messages):
        put(message, "parent", before)
        before = message.id


def set_parent(message: Message, parent: str | None) -> None:
    """Give one message the id of the one before it; only while it is being read."""
    force_setattr(cast("msgspec.Struct", message), "parent", parent)


class Links(Generic[R]):
    """Finds the message above a record over records that say nothing; looked up when somebody first asks.

    ``records``: all records of a session. ``key``: the id that other records name as their parent. ``above``: the
    parent that a record names. ``message``: the id of the message that a record belongs to, None for a record that says
    nothing.
    """

    def __init__(
        self,
        records: Iterable[R],
        key: Callable[[R], str | None],
        above: Callable[[R], str | None],
        message: Callable[[R], str | None],
    ) -> None:
        self._records = records
        self._key, self._above, self._message = key, above, message
        self._by_key: dict[str, R] | None = None
        self._known: dict[str, str | None] = {}

    def before(self, record: R, own: str | None) -> str | None:
        """Return the id of the message above ``record`` that is not ``own``, or None."""
        if self._by_key is None:
            self._by_key = {key: one for one in self._records if (key := self._key(one)) is not None}
        passed: list[str] = []
        seen: set[str] = set()
        at, found = self._above(record), None
        while at is not None and at not in seen and (node := self._by_key.get(at)) is not None:
            found = self._message(node)
            if found is not None and found != own:
                break
            if found is None:
                if at in self._known:
                    found = self._known[at]
                    break
                passed.append(at)
            seen.add(at)
            at, found = self._above(node), None
        # a long stretch of records that say nothing is walked once, whoever hangs below it
        self._known.update(dict.fromkeys(passed, found))
        return found


# The branches of a session: under which message each one hangs, and in which order a person reads them.
#
# Nothing here recurses: a session may be a chain of a hundred thousand messages.

State = Literal["active", "abandoned", "sub-agent"]
NO_PARENT = -1


def state_of(message: Message, transcript: Transcript) -> State:
    """Say what became of a message: sent again on a resume, left behind, or said by or to a sub-agent."""
    if message.sidechain and transcript.kind != "subagent":
        return "sub-agent"
    return "active" if message.active else "abandoned"


def parents_of(messages: Sequence[Message]) -> list[int]:
    """Return for each message the index of the one it hangs under, always an earlier one, or ``NO_PARENT``.

    What is active is one line, whatever the records say: results of parallel calls hang beside each other there. A
    parent that the session does not have, or only later, is none. Messages without ids follow each other.
    """
    found: list[int] = []
    latest: dict[str, int] = {}
    main = last = NO_PARENT
    for index, message in enumerate(messages):
        own, parent = message.id, message.parent
        if message.active and not message.sidechain:
            found.append(main)
        elif parent is not None:
            found.append(latest.get(parent, NO_PARENT))
        elif own is None or (last != NO_PARENT and messages[last].id is None):
            found.append(last)
        elif message.sidechain and main != NO_PARENT:
            # the task of a sub-agent begins a chain of its own; it was given by what was said last
            found.append(main)
        else:
            found.append(NO_PARENT)
        if own is not None:
            latest[own] = index
        if not message.sidechain:
            last = index
            main = index if message.active else main
    return found


def children_of(parents: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """Return the roots, and for each message those that hang under it, both in file order."""
    roots: list[int] = []
    below: list[list[int]] = [[] for _ in parents]
    for index, parent in enumerate(parents):
        (roots if parent == NO_PARENT else below[parent]).append(index)
    return roots, below


# The words of sessions, and nothing else of them, at the speed of one lean decode a line.
#
# All line-based clients keep a message's words in ``content``, a string or blocks of which those of type text (Codex:
# input_text, output_text) count, beside or below a role: in the line itself (bare messages, crabtalk, ULID), in
# ``message`` (Claude Code, Cersei, pi, OpenClaw) or in ``payload`` (Codex). Every line is decoded, by a type that skips
# all other values unread: a search for keys in raw bytes would lose words or find them inside of others. A line that
# this type does not fit takes the slow path of every other reader.

TEXT_TYPES = ("text", "input_text", "output_text")
# Who speaks; results of tools are no words of a conversation.
SPEAKERS = frozenset({"user", "assistant", "system", "developer"})


class Words(NamedTuple):
    """The words of one message."""

    role: str
    text: str


class _Block(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""


class _Said(msgspec.Struct, gc=False):
    role: str = ""
    content: str | list[_Block] | None = None


class _Line(msgspec.Struct, gc=False):
    role: str = ""
    content: str | list[_Block] | None = None
    message: _Said | None = None
    payload: _Said | None = None


_DECODER = msgspec.json.Decoder(_Line)
_ANY = msgspec.json.Decoder(dict[str, Any])
_BLANK = b" \t\r\n"


def words_in(path: Path, problems: list[Problem]) -> Iterator[Words]:
    """Yield the words of every message in a transcript, in file order; messages without words are left out.

    ``path``: a transcript of any client that writes lines. ``problems``: everything that was not one clean object a
    line is appended here.
    """
    decode, speakers = _DECODER.decode, SPEAKERS
    offset = 0
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            try:
                said = decode(line)
            except REFUSALS:
                yield from _slowly(path, number, offset, line, problems)
            else:
                one = said.message or said.payload or said
                content = one.content
                if content and one.role in speakers:
                    text = content if isinstance(content, str) else _joined(content)
                    if text:
                        yield Words(one.role, text)
            offset += len(line)


def _joined(blocks: list[_Block]) -> str:
    if len(blocks) == 1:
        return blocks[0].text if blocks[0].type in TEXT_TYPES else ""
    return "\n".join([b.text for b in blocks if b.text and b.type in TEXT_TYPES])


def _slowly(path: Path, number: int, offset: int, line: bytes, problems: list[Problem]) -> Iterator[Words]:
    """Yield the words of a line that is not plainly one object of the usual shape."""
    from slowwave.formats.salvage import OddLine, salvage  # noqa: PLC0415  # few files need it

    raw = line.strip(_BLANK)
    if not raw:
        return
    lead = len(line) - len(line.lstrip(_BLANK))
    odd = OddLine(path, 0, number, offset + lead, raw, not line.endswith(b"\n"))
    for _, fields in salvage(odd, _ANY, problems):
        inner = (fields.get(name) for name in ("message", "payload"))
        one = next((cast("dict[str, Any]", value) for value in inner if isinstance(value, dict)), fields)
        role, text = one.get("role"), _text_of(one.get("content"))
        if isinstance(role, str) and role in SPEAKERS and text:
            yield Words(role, text)


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    texts = (text_in(block, "text") for block in objects_of(content) if block.get("type") in TEXT_TYPES)
    return "\n".join(filter(None, texts))
