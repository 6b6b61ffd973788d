"""What Claude Code would send of a session as items, its summaries apart from what it joins with them."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from slowwave.compaction.items import Item, items_of, usage_of
from slowwave.compaction.tokens import CLAUDE
from slowwave.formats.claude.dialect import FILLER
from slowwave.formats.messages import PlainMessage
from slowwave.formats.model import Message, Origin, ToolResult, object_in, whole

_SYNTHETIC = "<synthetic>"
_IS_SUMMARY = re.compile(rb'"isCompactSummary": ?true')


def claude_items(context: Iterable[Message]) -> list[Item]:
    """Return the items of a context."""
    parts = [part for message in context for part in _without_summary(message)]
    if parts and parts[-1].role == "assistant" and parts[-1].text == FILLER:
        parts.pop()  # no record of the session says it
    return items_of(parts, CLAUDE)


def counted(items: list[Item]) -> str:
    """Note what the provider counted last at its answer, and return the name of the model that answered last."""
    model = ""
    for at in range(len(items) - 1, -1, -1):
        answer = _answer_of(items[at])
        if answer.get("model") not in (None, _SYNTHETIC):
            model = model or str(answer["model"])
            if (usage := usage_of(answer)) is not None:
                items[at] = items[at]._replace(usage=usage)
                break
    return model


def _without_summary(message: Message) -> list[Message]:
    """Return a message, in two where the client joins its summary with what follows or stands before it.

    What a compaction kept begins with a person's words more often than not, and the client sends both as one.
    """
    if message.role != "user":
        return [message]
    is_summary = [_IS_SUMMARY.search(span.raw) is not None for span in message.sources]
    if not any(is_summary) or (all(is_summary) and message.origin == "summary"):
        return [message]
    at = is_summary.index(True)
    stop = len(is_summary) - is_summary[::-1].index(True)
    parts = ((0, at), (at, stop), (stop, len(is_summary)))
    return [_part(message, a, b, is_summary=a == at) for a, b in parts if a < b]


def _part(message: Message, start: int, stop: int, *, is_summary: bool) -> Message:
    blocks, sources = message.blocks[start:stop], message.sources[start:stop]
    record = whole(sources[0].raw)
    own = record.get("uuid")
    origin: Origin = "typed"
    if is_summary:
        origin = "summary"
    elif all(isinstance(block, ToolResult) for block in blocks):
        origin = "tool"
    elif record.get("isMeta") or record.get("type") != "user":
        origin = "injected"
    name = own if isinstance(own, str) else None
    return PlainMessage(message.role, blocks, sources, origin, name, message.timestamp, message.cwd)


def _answer_of(item: Item) -> Mapping[str, Any]:
    """Return an answer in the API's own form, from the last record of it."""
    if item.kind != "assistant" or item.message is None or not item.message.sources:
        return {}
    return object_in(whole(item.message.sources[-1].raw), "message")
