"""Content of pi's messages as blocks: text, thinking, tool calls with their arguments as an object, images."""

from typing import Any, cast

from slowwave.dialects.model import Block, Other, Text, Thinking, ToolCall, ToolResult
from slowwave.dialects.pi.records import text_or_empty


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
            return Text(text_or_empty(part.get("text")))
        case "thinking":
            return Thinking(text_or_empty(part.get("thinking")))
        case "toolCall":
            return ToolCall(text_or_empty(part.get("id")), text_or_empty(part.get("name")), part.get("arguments"))
        case kind:
            return Other(text_or_empty(kind))


def result_of(message: dict[str, Any]) -> ToolResult:
    """Return a ``toolResult`` message as the block that it is; images stand as ``[image]``."""
    parts = parts_of(message.get("content"))
    lines = [text_or_empty(p.get("text")) if p.get("type") == "text" else f"[{p.get('type')}]" for p in parts]
    return ToolResult(text_or_empty(message.get("toolCallId")), "\n".join(lines), message.get("isError") is True)
