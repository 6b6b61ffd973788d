"""What a client would send of a session as the items of a plan, where that is more than its messages one by one."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from slowwave.compaction.files import NO_FILES, of_details, without_tags
from slowwave.compaction.items import Item, Kind, has_failed, item_of, items_of, usage_of
from slowwave.compaction.tokens import CLAUDE, CODEX, IMAGE_LENGTH, PI, stringify, units
from slowwave.formats.claude.context import FILLER
from slowwave.formats.codex.messages import SUMMARY_PREFIX, CodexMessage
from slowwave.formats.messages import PlainMessage
from slowwave.formats.model import REFUSALS, Message, Origin, ToolResult
from slowwave.formats.pi.context import session_entries
from slowwave.formats.pi.messages import PiMessage, parts_of
from slowwave.formats.pi.records import Entry, Loaded, text_or_empty

# Claude Code: its summaries apart from what it joins with them.

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
    record = _decoded(sources[0].raw)
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
    message = _decoded(item.message.sources[-1].raw).get("message")
    return cast("Mapping[str, Any]", message) if isinstance(message, dict) else {}


def _decoded(raw: bytes) -> dict[str, Any]:
    try:
        value: object = msgspec.json.decode(raw)
    except REFUSALS:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


# pi: the path of a session, with the estimates of pi itself.
#
# Source: ``estimateTokens``, ``getMessageFromEntry`` and ``findValidCutPoints`` of pi 0.58.3. Unlike there, images that
# a person sent count, and so do messages of extensions and summaries of branches; answers that failed or were aborted
# do not, since neither pi nor Clawdbot sends them again, and what they called for was never done.

_KINDS: Mapping[str, Kind] = {
    "user": "user",
    "bashExecution": "user",
    "custom_message": "user",
    "branch_summary": "user",
    "branchSummary": "user",
    "compactionSummary": "user",
    "assistant": "assistant",
    "toolResult": "result",
    "custom": "note",
    "hookMessage": "note",
    "compaction": "compaction",
}


def pi_items(path: Sequence[Entry], loaded: Loaded, cwd: str = "") -> list[Item]:
    """Return the items of a path: the latest compaction first, then what it kept, then what followed.

    Older compactions are not among them, so the region of the next compaction begins where the last one's kept range
    does; pi 0.58.3 begins behind the compaction and forgets what it kept (its issue 2608).
    """
    last = max((i for i, entry in enumerate(path) if entry.type == "compaction"), default=-1)
    before = {id(entry) for entry in path[: last + 1]}
    return [_item(entry, cwd, is_stale=id(entry) in before) for entry in session_entries(list(path), loaded)]


def message_tokens(kind: str, body: Mapping[str, object]) -> int:
    """Return the estimate of a message in pi's own form; ``kind`` is its role, or the type of its entry."""
    match kind:
        case "bashExecution":
            length = units(text_or_empty(body.get("command"))) + units(text_or_empty(body.get("output")))
        case "compaction" | "branch_summary" | "compactionSummary" | "branchSummary":
            length = units(text_or_empty(body.get("summary")))
        case _:
            length = sum(map(_part_length, parts_of(body.get("content"))))
    return PI.tokens(length)


def _part_length(part: Mapping[str, object]) -> int:
    match part.get("type"):
        case "text":
            return units(text_or_empty(part.get("text")))
        case "thinking":
            return units(text_or_empty(part.get("thinking")))
        case "toolCall":
            arguments = part.get("arguments")
            return units(text_or_empty(part.get("name"))) + (0 if arguments is None else units(stringify(arguments)))
        case "image":
            return IMAGE_LENGTH
        case _:
            return 0


def _item(entry: Entry, cwd: str, *, is_stale: bool) -> Item:
    kind = _KINDS.get(entry.kind, "setting")
    body = entry.message() if entry.role else entry.fields()
    if kind == "setting" or body.get("excludeFromContext") or (kind == "assistant" and has_failed(body)):
        return Item(entry.id, "setting", is_stale=is_stale)
    item = item_of(PiMessage(entry, cwd, True), message_tokens(entry.kind, body), kind)  # noqa: FBT003  # a struct's field
    item = item._replace(id=entry.id, is_stale=is_stale)
    if kind == "compaction":
        # an extension's details are its own business
        files = NO_FILES if body.get("fromHook") else of_details(body.get("details"))
        return item._replace(summary=without_tags(text_or_empty(body.get("summary"))), files=files)
    return item._replace(usage=usage_of(body)) if kind == "assistant" else item


# Codex: with what calls were given decoded.


def codex_items(context: Iterable[Message]) -> list[Item]:
    """Return the items of a context."""
    items = items_of(list(context), CODEX)
    for at, item in enumerate(items):
        message = item.message
        if isinstance(message, CodexMessage):  # the ledger looks for files in what calls were given
            message = msgspec.structs.replace(message, as_sent=False, opened=None)
        items[at] = item._replace(summary=item.summary.removeprefix(SUMMARY_PREFIX).strip(), message=message)
    return items
