"""Records that are sent, as turns whose blocks may still be dropped, joined and added to."""

from typing import cast

import msgspec

from slowwave.dialects.blocks import blocks_of
from slowwave.dialects.claude.messages import origin_of
from slowwave.dialects.claude.records import Node, content_of
from slowwave.dialects.model import Block, Injected, Message, Origin, Role, Text, Thinking, ToolCall, ToolResult
from slowwave.dialects.plain import PlainMessage
from slowwave.dialects.times import parse_time
from slowwave.records.model import Span

# Tools that have another name by now; their old calls are sent under it (2.1).
_RENAMED = {"Task": "Agent", "ListPeers": "ListAgents"}


class Turn(msgspec.Struct, eq=False):
    """A message in the making.

    Attributes:
        role: who speaks.
        parts: blocks with their spans.
        node: the record it began with.
        id: the API's id of the message.
        joined: the records that it was joined from, behind the first.
    """

    role: Role
    parts: list[tuple[Block, Span]]
    node: Node
    id: str | None = None
    joined: list[Node] = msgspec.field(default_factory=list[Node])

    @property
    def calls(self) -> list[str]:
        """The ids of the tool calls."""
        return [b.id for b, _ in self.parts if isinstance(b, ToolCall)]

    @property
    def results(self) -> list[str]:
        """The ids of the calls that are answered here."""
        return [b.id for b, _ in self.parts if isinstance(b, ToolResult)]

    def only_results(self) -> bool:
        """Say whether there is nothing but tool results."""
        return bool(self.parts) and all(isinstance(b, ToolResult) for b, _ in self.parts)

    def is_blank(self) -> bool:
        """Say whether there is nothing but reasoning or white space."""
        return all(isinstance(b, Thinking) or (isinstance(b, Text) and not b.text.strip()) for b, _ in self.parts)

    def has_reasoning(self) -> bool:
        """Say whether there is reasoning."""
        return any(isinstance(b, Thinking) for b, _ in self.parts)

    def message(self) -> Message:
        """Return the finished message."""
        env = self.node.env
        return PlainMessage(
            self.role,
            tuple(b for b, _ in self.parts),
            tuple(s for _, s in self.parts),
            self._origin(),
            self.id or env.uuid,
            parse_time(env.timestamp),
            env.cwd or "",
            sidechain=False,
            branch=env.branch or "",
        )

    def _origin(self) -> Origin:
        """Return who is behind it: a message joined from words of several kinds was not typed as it is."""
        if self.role == "assistant":
            return "model"
        if self.only_results():
            return "tool"
        if not any(isinstance(b, Text) for b, _ in self.parts):
            return "injected"
        records = (self.node, *self.joined)
        kinds: set[Origin] = {origin_of(n) if n.env.type == "user" else "injected" for n in records}
        kinds.discard("tool")
        return kinds.pop() if len(kinds) == 1 else "injected"


def turn_of(node: Node, version: tuple[int, int]) -> Turn | None:
    """Return the turn that a record is sent as, or None for records that the model never sees.

    Version 2.1 also sends the output of local commands, and notes about background tasks as reminders. Version 1 loses
    the mark of an API error when it resumes, and sends what it had shown of it as an answer (tried with 1.0.128).
    """
    modern = version >= (2, 1)
    match node.env.type:
        case "assistant" if version < (2, 0) or not _is_synthetic_error(node):
            mid = node.env.message.id if node.env.message else None
            blocks = blocks_of(content_of(node.env.message))
            return Turn("assistant", _placed(node, _renamed(blocks) if modern else blocks), node, mid)
        case "user":
            content = content_of(node.env.message)
            blocks = blocks_of(_errors_as_text(content) if modern else content)
            return Turn(
                "user", _placed(node, _as_reminder(blocks) if modern and _is_notification(node) else blocks), node
            )
        case "attachment":
            blocks = _rendered(node)
            return Turn("user", _placed(node, blocks), node) if blocks else None
        case "system" if modern:
            return _local_command(node)
        case _:
            return None


def _placed(node: Node, blocks: list[Block]) -> list[tuple[Block, Span]]:
    return [(block, node.span) for block in blocks]


def _renamed(blocks: list[Block]) -> list[Block]:
    return [
        msgspec.structs.replace(b, name=_RENAMED.get(b.name, b.name)) if isinstance(b, ToolCall) else b for b in blocks
    ]


def _is_synthetic_error(node: Node) -> bool:
    """Say whether the client wrote this to show an API error; an error of a real model's message is sent."""
    if not node.env.is_error:
        return False
    message = node.fields().get("message")
    return isinstance(message, dict) and cast("dict[str, object]", message).get("model") == "<synthetic>"


def _is_notification(node: Node) -> bool:
    if b'"task-notification"' not in node.span.raw:
        return False
    origin = node.fields().get("origin")
    return isinstance(origin, dict) and cast("dict[str, object]", origin).get("kind") == "task-notification"


def _errors_as_text(content: object) -> object:
    """Leave of a failed call's result that holds more than text the text alone: the API takes nothing else (2.1)."""
    return [_error_as_text(item) for item in cast("list[object]", content)] if isinstance(content, list) else content


def _error_as_text(item: object) -> object:
    if not isinstance(item, dict):
        return item
    block = cast("dict[str, object]", item)
    parts = block.get("content")
    if block.get("type") != "tool_result" or not block.get("is_error") or not isinstance(parts, list):
        return block
    fields = [cast("dict[str, object]", part) for part in cast("list[object]", parts) if isinstance(part, dict)]
    texts = [str(part.get("text")) for part in fields if part.get("type") == "text"]
    if len(texts) == len(cast("list[object]", parts)):
        return block
    return block | {"content": [{"type": "text", "text": "\n\n".join(texts)}] if texts else []}


def _as_reminder(blocks: list[Block]) -> list[Block]:
    """Notes about background tasks are sent inside of a reminder (client 2.1)."""
    return [Injected(f"<system-reminder>\n{b.text}\n</system-reminder>") if isinstance(b, Text) else b for b in blocks]


def _rendered(node: Node) -> list[Block]:
    """Return what an attachment is sent as; client 2.1 keeps it in ``rendered``, others only as a reminder."""
    if b'"rendered"' not in node.span.raw:
        return []
    fields = node.fields()
    items = fields.get("rendered")
    if not isinstance(items, list) or fields.get("renderedRole", "user") != "user":
        return []
    found: list[Block] = []
    for item in cast("list[object]", items):
        if isinstance(item, dict):
            found += blocks_of(cast("dict[str, object]", item).get("content"))
    return [Injected(b.text) if isinstance(b, Text) else b for b in found]


def _local_command(node: Node) -> Turn | None:
    if b"local_command" not in node.span.raw:
        return None
    fields = node.fields()
    if fields.get("subtype") != "local_command":
        return None
    return Turn("user", [(Injected(str(fields.get("content") or "")), node.span)], node)
