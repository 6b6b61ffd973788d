"""Content blocks in the form of the Anthropic API, which Claude Code and Cersei both write."""

from typing import Any, cast

from slowwave.dialects.model import Block, Other, Text, Thinking, ToolCall, ToolResult


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


def _string(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else str(value)
