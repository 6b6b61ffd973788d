"""Lines of a Codex rollout as they are decoded at load, in all three forms that the client has written.

* bare (to early September 2025): a header without a type, then the items themselves, and ``record_type`` states;
* wrapped (since 0.34): ``{"timestamp", "type", "payload"}``;
* paginated (0.14x): the same with an ``ordinal``.

Only a small envelope is decoded of every line; an item's content stays bytes until somebody looks at it.
"""

from typing import Any, cast

import msgspec

from slowwave.records.lenient import decoded, whole
from slowwave.records.model import REFUSALS, Span
from slowwave.records.values import clean

# Line types of every era (formats.md §8.2); all but the first three carry nothing that the model sees.
KNOWN_TYPES = frozenset(
    {
        *("session_meta", "response_item", "compacted", "turn_context", "event_msg", "world_state"),
        *("inter_agent_communication", "inter_agent_communication_metadata", "token_usage_record", "session_state"),
    }
)
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
    """A line with its place.

    Attributes:
        kind: the line's type; items of bare rollouts are ``response_item``, their header is ``session_meta``.
        body: the payload, or the whole line in a bare rollout; where it can be, a view of bytes that are held anyway.
        lost: the client cannot parse the line that it stands on, so no context has it.
    """

    kind: str
    body: msgspec.Raw
    span: Span
    timestamp: str | None
    ordinal: int | None
    lost: bool = False

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
    if not isinstance(found, list):
        return None
    elements = cast("list[object]", found)
    return [item_of(msgspec.json.encode(e)) for e in elements if isinstance(e, dict)]


def value_of(raw: msgspec.Raw) -> object:
    """Return the decoded value of a field that was left as bytes."""
    return decoded(raw)


def value_in(text: str) -> object:
    """Return the value of JSON that stands in a string, None when it is none."""
    return decoded(msgspec.Raw(clean(text.encode("utf-8", "replace"))))
