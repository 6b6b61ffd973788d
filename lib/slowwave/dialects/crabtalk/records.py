"""Lines of crabtalk's sessions and the messages made of them: OpenAI's shapes, without ids or times of their own."""

from datetime import datetime
from typing import Any, cast

import msgspec

from slowwave.dialects.model import Block, Content, Message, Origin, Role, Text, Thinking, ToolCall, ToolResult
from slowwave.dialects.times import parse_time
from slowwave.records.lenient import decoded
from slowwave.records.model import REFUSALS, Span
from slowwave.records.values import clean

ROLES = frozenset({"system", "user", "assistant", "tool"})
_ORIGINS: dict[str, Origin] = {"system": "injected", "user": "typed", "assistant": "model", "tool": "tool"}


class Meta(msgspec.Struct, frozen=True, gc=False):
    """The first line; identity is (agent, created_by), a title changes nothing about it."""

    agent: str
    created_by: str
    created_at: str = ""
    title: str = ""
    uptime_secs: float = 0


class Line(msgspec.Struct, gc=False):
    """What loading needs of any line; it is told by its keys, since none has a type.

    ``agent`` on a message, and ``title`` and ``archived_at`` on a marker, are RFC 0135's.
    """

    role: Any = None
    compact: Any = msgspec.UNSET
    agent: Any = None
    created_by: Any = None
    archived_at: Any = None
    event: Any = msgspec.UNSET
    auto_injected: Any = None
    content: msgspec.Raw = msgspec.Raw()


class Call(msgspec.Struct, gc=False):
    """The function of a tool call; ``arguments`` is JSON in a string."""

    name: str = ""
    arguments: Any = ""


class ToolCallLine(msgspec.Struct, gc=False):
    """An element of ``tool_calls``."""

    id: str = ""
    function: Call = msgspec.field(default_factory=Call)


class Body(msgspec.Struct, gc=False):
    """The rest of a message, decoded when somebody looks at it."""

    reasoning: str | None = msgspec.field(default=None, name="reasoning_content")
    call_id: str | None = msgspec.field(default=None, name="tool_call_id")
    calls: list[ToolCallLine] | None = msgspec.field(default=None, name="tool_calls")


DECODER = msgspec.json.Decoder(Line)
# What of :func:`kind_of` is said to the model.
SPEAKING = frozenset({"compact", "message"})
# Lines that crabtalk's parser refuses as a whole and skips, also where we read records on them.
SKIPPED = frozenset({"glued", "garbage", "torn", "nul", "bom", "nonstandard"})
_METAS = msgspec.json.Decoder(Meta)
_BODIES = msgspec.json.Decoder(Body)


class CrabtalkMessage(Message, msgspec.Struct, gc=False, eq=False):
    """A message line, or a compact marker as the user message that stands for what it covers."""

    line: Line
    span: Span
    opened: Content | None = None

    @property
    def role(self) -> Role:
        """The role of the line; a marker's summary is the user's."""
        return "user" if self.is_summary else cast("Role", self.line.role)

    @property
    def is_summary(self) -> bool:
        """True for a compact marker."""
        return isinstance(self.line.compact, str)

    @property
    def is_injected(self) -> bool:
        """True for what crabtalk puts in anew before every run; it strips such lines, and nobody typed them."""
        return self.line.auto_injected is True

    @property
    def timestamp(self) -> datetime | None:
        """When a marker was archived (RFC 0135); messages have no time."""
        at = self.line.archived_at
        return parse_time(at) if isinstance(at, str) else None

    def _opened(self) -> Content:
        if self.opened is None:
            blocks = self._summary() if self.is_summary else self._blocks()
            self.opened = Content(tuple(blocks), (self.span,) * len(blocks), self._origin())
        return self.opened

    def _origin(self) -> Origin:
        if self.is_summary:
            return "summary"
        return "injected" if self.is_injected else _ORIGINS[self.line.role]

    def _summary(self) -> list[Block]:
        return [Text(self.line.compact)]

    def _blocks(self) -> list[Block]:
        body = _body(self.span)
        value = decoded(self.line.content)
        text = value if isinstance(value, str) else ""
        if self.line.role == "tool":
            return [ToolResult(body.call_id or "", text)]
        blocks: list[Block] = [Thinking(body.reasoning)] if body.reasoning else []
        blocks += [Text(text)] if text else []
        calls = body.calls or []
        return blocks + [ToolCall(c.id, c.function.name, _arguments(c.function.arguments)) for c in calls]


def meta_of(line: Line, span: Span) -> Meta | None:
    """Return the metadata that a line is, or None."""
    if line.role is not None or line.agent is None or line.created_by is None:
        return None
    try:
        return _METAS.decode(clean(span.raw))
    except REFUSALS:
        return None


def kind_of(line: Line) -> str:
    """Return ``compact``, ``message`` or what else a line is, by its keys as crabtalk tells them."""
    if isinstance(line.compact, str):
        return "compact"
    if line.event is not msgspec.UNSET:
        return "event"
    if isinstance(line.role, str):
        return "message" if line.role in ROLES else f"role {line.role}"
    return "no role"


def _body(span: Span) -> Body:
    try:
        return _BODIES.decode(clean(span.raw))
    except REFUSALS:
        return Body()


def _arguments(written: object) -> object:
    """Return the arguments of a call as a value; what is no JSON stays the string that it is."""
    if not isinstance(written, str):
        return written
    try:
        return msgspec.json.decode(written)
    except REFUSALS:
        return written
