"""Items of a Codex conversation as messages; each item is one message, as the client sends it.

Everything is said twice in most rollouts, as an item and as an event for the screen; only items are read (corpus.md
14: 2,524 of 2,526 texts of events are items, too).
"""

from datetime import datetime
from typing import cast

import msgspec

from slowwave.dialects.codex.injected import is_picture_mark, is_summary, split_typed
from slowwave.dialects.codex.outcome import is_failure
from slowwave.dialects.codex.records import CALLS, OUTPUTS, Item, value_in, value_of
from slowwave.dialects.codex.truncate import Limit, shortened, shortened_parts
from slowwave.dialects.model import Block, Content, Injected, Message, Origin, Other, Role, Text, Thinking, ToolCall
from slowwave.dialects.normal import Verbatim
from slowwave.dialects.times import parse_time
from slowwave.records.model import Span

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "developer": "system", "system": "system"}
_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")

# Calls that are sent in a form of their own, not as that of a function.
_UNNAMED = ("local_shell_call", "tool_search_call")


class Place(msgspec.Struct, frozen=True, gc=False):
    """What the lines before an item say about it."""

    cwd: str = ""
    branch: str = ""
    own_agent: bool = False


class CodexMessage(Message, msgspec.Struct, gc=False, eq=False):
    """An item with its place; the content is decoded when it is first looked at.

    Attributes:
        as_sent: arguments of calls stay the JSON text that the client sends, as in a context.
        live: False once a rollback took the message out of the conversation.
        limit: how much of an output the client sends, None for all of it.
    """

    item: Item
    span: Span
    stamp: str | None
    place: Place
    as_sent: bool = False
    live: bool = True
    limit: Limit | None = None
    opened: Content | None = None
    parent: str | None = None  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]

    @property
    def role(self) -> Role:
        """Who speaks; developer messages are the harness's own (``system``)."""
        kind = self.item.kind
        if kind == "message":
            return _ROLES.get(self.item.role or "", "user")
        if kind in OUTPUTS:
            return "tool"
        return "user" if kind == "agent_message" else "assistant"

    @property
    def id(self) -> str | None:
        """The API's id of the item; older rollouts have none."""
        return self.item.id

    @property
    def cwd(self) -> str:
        """The working folder of the turn, or ""."""
        return self.place.cwd

    @property
    def branch(self) -> str:
        """The git branch that the header names, or ""."""
        return self.place.branch

    @property
    def timestamp(self) -> datetime | None:
        """When the line was written; bare rollouts have no times."""
        return parse_time(self.stamp)

    @property
    def active(self) -> bool:
        """False for turns that were rolled back."""
        return self.live

    def _opened(self) -> Content:
        if self.opened is None:
            blocks, origin = self._content()
            self.opened = Content(tuple(blocks), (self.span,) * len(blocks), origin)
        return self.opened

    def _content(self) -> tuple[list[Block], Origin]:
        item, kind = self.item, self.item.kind
        if kind in OUTPUTS:
            return [_result(item, self.limit)], "tool"
        if kind == "message":
            return _said(item, self.role, own_agent=self.place.own_agent)
        if kind == "agent_message" and not self.as_sent:
            return [Injected(part) for part in _parts(value_of(item.content))], "injected"
        return self._made(kind), "model"

    def _made(self, kind: str) -> list[Block]:
        """Return what the model made that is no message."""
        if kind in CALLS and not (self.as_sent and kind in _UNNAMED):
            return [_call(self.item, as_sent=self.as_sent)]
        if kind == "reasoning":
            return [Thinking(part) for part in _parts(value_of(self.item.summary))]
        return [Other(kind)]


def _said(item: Item, role: Role, *, own_agent: bool) -> tuple[list[Block], Origin]:
    blocks = [_block(part) for part in _content_list(item)]
    if role == "assistant":
        return blocks, "model"
    if role == "system" or own_agent:
        # The task of a sub-agent was written by the agent that started it.
        return [Injected(b.text) if isinstance(b, Text) else b for b in blocks], "injected"
    if any(isinstance(b, Text) and is_summary(b.text) for b in blocks):
        return blocks, "summary"
    split: list[Block] = []
    for block in blocks:
        split += split_typed(block.text) if isinstance(block, Text) else [block]
    return split, "typed" if any(isinstance(b, Text) for b in split) else "injected"


def _content_list(item: Item) -> list[object]:
    content = value_of(item.content)
    return cast("list[object]", content) if isinstance(content, list) else [content] if content else []


def _block(part: object) -> Block:
    text = _text(part)
    return Other(_type(part)) if text is None else Text(text)


def _text(part: object) -> str | None:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return None
    fields = cast("dict[str, object]", part)
    text = fields.get("text")
    return text if isinstance(text, str) and fields.get("type", "text") in _TEXTS else None


def _type(part: object) -> str:
    if not isinstance(part, dict):
        return type(part).__name__
    kind = cast("dict[str, object]", part).get("type")
    return kind if isinstance(kind, str) else "dict"


def _parts(value: object) -> list[str]:
    parts = cast("list[object]", value) if isinstance(value, list) else [value]
    return [text for part in parts if (text := _text(part)) is not None]


def texts_of(item: Item) -> list[str]:
    """Return the texts of an item's content, without pictures and the like."""
    return _parts(value_of(item.content))


def words_of(item: Item) -> list[str]:
    """Return the texts of an item without the marks that the client puts around pictures."""
    return [text for text in texts_of(item) if not is_picture_mark(text)]


def _call(item: Item, *, as_sent: bool) -> ToolCall:
    """Return a call; functions have arguments as JSON text, custom tools free text, others an object."""
    kind = item.kind
    name = item.name or kind.removesuffix("_call")
    given = value_of(item.arguments or item.input or item.action)
    if isinstance(given, str) and kind == "function_call" and not as_sent:
        given = _object_in(given)
    return ToolCall(item.call_id or item.id or "", name, given)


def _object_in(text: str) -> object:
    value = value_in(text)
    return cast("dict[str, object]", value) if isinstance(value, dict) else text


def _result(item: Item, limit: Limit | None) -> Verbatim:
    """Return an output: a text, a list of parts, or in older versions an object with ``content`` and ``success``."""
    output = value_of(item.output)
    failed = False
    if isinstance(output, dict):
        fields = cast("dict[str, object]", output)
        failed = fields.get("success") is False
        output = fields.get("content", fields.get("text"))
    if isinstance(output, list):
        text = _parts_text(cast("list[object]", output), limit)
    else:
        text = output if isinstance(output, str) else ""
        text = text if limit is None else shortened(text, limit)
    return Verbatim(item.call_id or "", text, failed or is_failure(text))


def _parts_text(parts: list[object], limit: Limit | None) -> str:
    texts = [_text(part) for part in parts]
    if limit is not None:
        texts = shortened_parts(texts, limit)
    marks = iter([f"[{_type(part)}]" for part in parts if _text(part) is None])
    return "\n".join(next(marks) if text is None else text for text in texts)
