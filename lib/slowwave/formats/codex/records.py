"""Lines of a Codex rollout as they are decoded at load, in all three forms that the client has written.

* bare (to early September 2025): a header without a type, then the items themselves, and ``record_type`` states;
* wrapped (since 0.34): ``{"timestamp", "type", "payload"}``;
* paginated (0.14x): the same with an ``ordinal``.

Only a small envelope is decoded of every line; an item's content stays bytes until somebody looks at it.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, cast

import msgspec

from slowwave.formats.model import REFUSALS, Span, clean, fields_of, object_in, objects_of, whole

CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
# Items that stand in a conversation without words of their own that could be quoted.
OPAQUE = frozenset(
    {
        *("web_search_call", "image_generation_call", "compaction", "context_compaction", "additional_tools"),
        *("ghost_snapshot", "compaction_trigger", "configuration_update"),
    }
)
KNOWN_ITEMS = CALLS | OUTPUTS | OPAQUE | {"message", "reasoning", "agent_message"}


class Envelope(msgspec.Struct, gc=False):
    """What loading needs of every line; fields are ``Any`` where a foreign value must not cost the whole line."""

    type: Any = None
    timestamp: Any = None
    ordinal: Any = None
    record_type: Any = None
    payload: msgspec.Raw = msgspec.Raw()


class Item(msgspec.Struct, gc=False):
    """One item of the conversation as the Responses API knows it; also an element of ``replacement_history``."""

    type: str | None = None
    role: str | None = None
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    execution: str | None = None
    content: msgspec.Raw = msgspec.Raw()
    arguments: msgspec.Raw = msgspec.Raw()
    input: msgspec.Raw = msgspec.Raw()
    action: msgspec.Raw = msgspec.Raw()
    output: msgspec.Raw = msgspec.Raw()
    summary: msgspec.Raw = msgspec.Raw()

    @property
    def kind(self) -> str:
        """The type; an item with a role and content and no type is a message."""
        return self.type or ("message" if self.role and self.content else "")


# Damage that costs the client the whole line, also the good objects on it.
UNREADABLE_LINE = frozenset({"glued", "garbage", "torn", "nul", "nonstandard", "not-utf8"})
DECODER = msgspec.json.Decoder(Envelope)
_ITEM = msgspec.json.Decoder(Item)
_TEXTS = ("type", "role", "id", "call_id", "name", "execution")
_RAWS = ("content", "arguments", "input", "action", "output", "summary")


class Line(msgspec.Struct, gc=False):
    """A line with its place."""

    kind: str  # the line's type; items of bare rollouts are ``response_item``, their header is ``session_meta``
    # the payload, or the whole line in a bare rollout; where it can be, a view of bytes that are held anyway
    body: msgspec.Raw
    span: Span
    timestamp: str | None
    ordinal: int | None
    lost: bool = False  # the client cannot parse the line that it stands on, so no context has it

    def fields(self) -> dict[str, Any]:
        """Return the payload as a dictionary, empty when it is none."""
        return whole(bytes(self.body))

    def mentions(self, word: bytes) -> bool:
        """Say whether a word stands anywhere in the line: a cheap look before its fields are decoded."""
        return word in self.span.raw


def line_of(span: Span, env: Envelope) -> Line:
    """Return the line that an envelope stands for."""
    stamp = env.timestamp if isinstance(env.timestamp, str) else None
    ordinal = env.ordinal if isinstance(env.ordinal, int) else None
    if len(env.payload):
        return Line(env.type if isinstance(env.type, str) else "", env.payload, span, stamp, ordinal)
    return Line(_bare_kind(env), msgspec.Raw(clean(span.raw)), span, stamp, ordinal)


def _bare_kind(env: Envelope) -> str:
    if env.record_type is not None:
        return "session_state" if env.record_type == "state" else f"record_type {env.record_type}"
    if env.type is None:
        return "session_meta" if env.timestamp is not None else "response_item"
    return "response_item" if isinstance(env.type, str) and env.type in KNOWN_ITEMS else str(env.type)


def item_of(raw: bytes | msgspec.Raw) -> Item:
    """Return an item of the conversation; of a field with a foreign type only that field is lost."""
    try:
        return _ITEM.decode(raw)
    except REFUSALS:
        fields = whole(bytes(raw))
    kept = {k: v for k, v in fields.items() if k in _RAWS or (k in _TEXTS and isinstance(v, str))}
    return _ITEM.decode(msgspec.json.encode(kept))


def replacement_items(line: Line) -> list[Item] | None:
    """Return the items of ``replacement_history``, or None for a compaction that has none."""
    found = line.fields().get("replacement_history")
    items = [item_of(msgspec.json.encode(element)) for element in objects_of(found)]
    return items if isinstance(found, list) else None


# What the header of a Codex rollout tells of it: a sub-agent's or not, how its client reads it, and whose it is.


def is_of_sub_agent(meta: dict[str, Any]) -> bool:
    """Say whether a header is that of a sub-agent's own rollout, in any of the forms that the client has written."""
    return _started(meta) is not None or meta.get("thread_source") == "subagent" or bool(meta.get("parent_thread_id"))


def is_paginated(meta: dict[str, Any]) -> bool:
    """Say whether the client reads a rollout with this header from its end, window by window."""
    return meta.get("history_mode") == "paginated"


def parent_of(meta: dict[str, Any]) -> str:
    """Return the id of the thread that a header belongs to: that which started a sub-agent, or a fork's origin."""
    if is_of_sub_agent(meta):
        nested = object_in(fields_of(_started(meta)), "thread_spawn").get("parent_thread_id")
        # client 0.145 also repeats it as the id of the whole session
        named = (meta.get("parent_thread_id"), nested, meta.get("session_id"))
    else:
        named = (meta.get("forked_from_id"), object_in(meta, "history_base").get("thread_id"))
    own = meta.get("id")
    return next((name for name in named if isinstance(name, str) and name and name != own), "")


def _started(meta: dict[str, Any]) -> object:
    """Return how a sub-agent was started, None for what is no sub-agent's; older clients give it as a word."""
    return object_in(meta, "source").get("subagent")


# Ordinals of paginated rollouts, as they should be: counting up by one, whatever a crash or an old version left.
#
# The client resumes after a torn line with an ordinal that it has used already, and after a line without one it refuses
# the rollout (formats.md §8.3; clients.md §5.3 variants 22 to 24). In memory every line gets a number of its own; the
# bytes stay as they are.


def renumber(lines: Sequence[Line]) -> int:
    """Number the lines of one rollout and return how many had no number, or one that was used before.

    A number that is greater than the one before stays, so gaps remain gaps. A rollout in which no line has a number is
    of an older version and gets none.
    """
    first = next((index for index, line in enumerate(lines) if line.ordinal is not None), None)
    if first is None:
        return 0
    mended = 0
    last = max(-1, (lines[first].ordinal or 0) - first - 1)
    for line in lines:
        if line.ordinal is None or line.ordinal <= last:
            line.ordinal = last + 1
            mended += 1
        last = line.ordinal
    return mended


# Which items Codex itself can parse: of one with a field missing or of another type it drops the whole line.
#
# Source: tried on client 0.169. Items of a type that the client does not know are no such error, nor are fields that it
# does not know.

_Id = str | None
_Count = Annotated[int, msgspec.Meta(ge=0)]


class _Words(msgspec.Struct, tag_field="type", gc=False):
    text: str
    annotations: list[Any] | None = None
    logprobs: list[Any] | None = None


class _Input(_Words, tag="input_text", gc=False):
    """Words of a person or of the harness."""


class _Output(_Words, tag="output_text", gc=False):
    """Words of the model."""


class _Image(msgspec.Struct, tag_field="type", tag="input_image", gc=False):
    image_url: str


_Part = _Input | _Output | _Image


class _Passed(msgspec.Struct, gc=False):
    turn_id: str | None = None
    create_time: float | None = None


class _Item(msgspec.Struct, kw_only=True, gc=False):
    id: _Id = None
    passed: _Passed | None = msgspec.field(default=None, name="internal_chat_message_metadata_passthrough")


class _Message(_Item, kw_only=True, gc=False):
    type: Literal["message"]
    role: str
    content: list[_Part]
    status: str | None = None
    phase: Literal["commentary", "final_answer"] | None = None
    encrypted_content: str | None = None


class _Call(_Item, kw_only=True, gc=False):
    name: str
    arguments: str
    call_id: str
    namespace: str | None = None


class _CustomCall(_Item, kw_only=True, gc=False):
    name: str
    input: str
    call_id: str
    status: str | None = None


class _Exec(msgspec.Struct, tag_field="type", tag="exec", gc=False):
    command: list[str]


class _ShellCall(_Item, kw_only=True, gc=False):
    status: str
    action: _Exec
    call_id: str | None = None


class _SearchCall(_Item, kw_only=True, gc=False):
    execution: str
    arguments: Any
    call_id: str | None = None


class _SearchResult(_Item, kw_only=True, gc=False):
    execution: str
    status: str
    tools: list[Any]
    call_id: str | None = None


class _Result(_Item, kw_only=True, gc=False):
    call_id: str
    output: str | list[dict[str, Any]]


class _SourceId(msgspec.Struct, gc=False):
    turn_id: str
    role: str


class _Source(msgspec.Struct, gc=False):
    id: _SourceId
    revision: str | None = None
    complete: bool = False


class Beside(msgspec.Struct, gc=False):
    """What the client keeps beside an item."""

    client_authored: bool = False
    compaction_output: bool = False
    history_sequence: _Count | None = None
    sampled_through_sequence: _Count | None = None
    user_input_order: _Count | None = None
    token_limit: _Count | None = msgspec.field(default=None, name="fallback_token_limit_override")
    retained_source: _Source | None = None


class _Envelope(msgspec.Struct, gc=False):
    metadata: Beside | list[Any] | None = None


_NOTHING = Beside()
_ENVELOPE = msgspec.json.Decoder(_Envelope)
_KINDS = {
    "message": msgspec.json.Decoder(_Message),
    "function_call": msgspec.json.Decoder(_Call),
    "custom_tool_call": msgspec.json.Decoder(_CustomCall),
    "local_shell_call": msgspec.json.Decoder(_ShellCall),
    "tool_search_call": msgspec.json.Decoder(_SearchCall),
    "tool_search_output": msgspec.json.Decoder(_SearchResult),
    "function_call_output": msgspec.json.Decoder(_Result),
    "custom_tool_call_output": msgspec.json.Decoder(_Result),
}


def parsed(lines: Sequence[Line]) -> list[Line]:
    """Return the lines without those that the client drops for their damage, or for an item of a compaction."""
    timed = (line for line in lines if not line.lost and _is_timed(line))
    return [line for line in timed if line.kind != "compacted" or _is_whole(line)]


def _is_timed(line: Line) -> bool:
    """Say whether a line has the time that every line in an envelope needs."""
    return line.timestamp is not None or not line.mentions(b'"payload"')


def _is_whole(compaction: Line) -> bool:
    fields = compaction.fields()
    found = fields.get("replacement_history")
    if not isinstance(fields.get("message"), str):
        return False
    beside = fields.get("replacement_history_metadata")
    if beside is not None and not (isinstance(found, list) and _are_beside(beside, cast("list[object]", found))):
        return False
    if found is None:
        return True
    raws = [msgspec.json.encode(e) for e in cast("list[object]", found)] if isinstance(found, list) else [b"0"]
    return all(raw.startswith(b"{") and b'"type":' in raw and is_sound(item_of(raw), raw) for raw in raws)


def _are_beside(beside: object, history: list[object]) -> bool:
    """Say whether every item of a history has one entry of what the client keeps beside items."""
    try:
        return len(msgspec.convert(beside, list[Beside])) == len(history)
    except msgspec.ValidationError:
        return False


def beside_of(line: Line) -> Beside | None:
    """Return what the client keeps beside the item of a line, None when it cannot parse that."""
    if not line.mentions(b'"metadata"'):
        return _NOTHING
    try:
        found = _ENVELOPE.decode(clean(line.span.raw)).metadata
    except REFUSALS:
        return None
    return found if isinstance(found, Beside) else _NOTHING


def is_sound(item: Item, raw: bytes | msgspec.Raw) -> bool:
    """Say whether the client can parse an item, given as it was decoded and as it stands in the file."""
    decoder = _KINDS.get(item.kind)
    if decoder is None:
        return True
    try:
        decoder.decode(raw)
    except REFUSALS:
        return False
    return True
