"""Builds messages of no dialect in particular, one short call each."""

from slowwave.formats import Block, Message, Origin, Role, Span, Text, ToolCall, ToolResult
from slowwave.formats.messages import PlainMessage

SPAN = Span(0, 2, 3, b"{}")
# a summary stands before what follows it
_BEFORE = Span(0, 1, 0, b"{}")


def message(role: Role, *blocks: Block, origin: Origin = "model", id: str | None = None) -> Message:  # noqa: A002
    return PlainMessage(role, blocks, (SPAN,) * len(blocks), origin, id)


def user(text: str, **fields: str) -> Message:
    return message("user", Text(text), origin="typed", id=fields.get("id"))


def answer(text: str = "", *calls: str, id: str | None = None) -> Message:  # noqa: A002
    """Return an answer; ``calls`` are ids, or ``id:tool:path`` where the tool and its file matter."""
    texts: list[Block] = [Text(text)] if text else []
    return message("assistant", *texts, *map(_call, calls), id=id)


def result(call_id: str, text: str = "ok", id: str | None = None) -> Message:  # noqa: A002
    return message("tool", ToolResult(call_id, text), origin="tool", id=id)


def summary(text: str) -> Message:
    return PlainMessage("user", (Text(f"Before this:\n\n<summary>\n{text}\n</summary>"),), (_BEFORE,), "summary", None)


def _call(text: str) -> ToolCall:
    call_id, _, rest = text.partition(":")
    tool, _, path = rest.partition(":")
    return ToolCall(call_id, tool or "read", {"path": path} if path else {})
