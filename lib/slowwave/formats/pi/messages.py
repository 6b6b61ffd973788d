"""Entries of pi to messages, with who is really behind them; the content is decoded when it is first looked at."""

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from slowwave.formats.messages import Links
from slowwave.formats.model import (
    Block,
    Content,
    Injected,
    Message,
    Origin,
    Other,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from slowwave.formats.pi.records import ROLES, Entry, text_or_empty
from slowwave.formats.times import parse_time

# Who is behind each kind of entry; a user's message can turn out to be the harness's alone.
ORIGINS: dict[str, Origin] = {
    "user": "typed",
    "assistant": "model",
    "toolResult": "tool",
    **dict.fromkeys(("compaction", "compactionSummary", "branch_summary", "branchSummary"), "summary"),
}


class PiMessage(Message, msgspec.Struct, gc=False, eq=False):
    """A message entry, a message of an extension, or a summary."""

    entry: Entry
    _cwd: str
    _active: bool
    opened: Content | None = None
    links: Links[Entry] | None = None

    @property
    def role(self) -> Role:
        """Who speaks; summaries, shell commands and extensions speak as the user."""
        return cast("Role", ROLES.get(self.entry.role, "user"))

    @property
    def id(self) -> str | None:
        """The entry's id as the file has it; version 1 has none."""
        own = self.entry.env.id
        return own if isinstance(own, str) else None

    @property
    def parent(self) -> str | None:
        """The id of the message before it on its branch, over entries that say nothing."""
        return None if self.links is None else self.links.before(self.entry, self.id)

    @property
    def cwd(self) -> str:
        """The working folder of the session's header, or ""."""
        return self._cwd

    @property
    def timestamp(self) -> datetime | None:
        """When the entry was written, or else the time of the message in it."""
        return parse_time(text_or_empty(self.entry.env.timestamp)) or _clock_time(self.entry.message())

    @property
    def active(self) -> bool:
        """False on branches that a person went back from."""
        return self._active

    def _opened(self) -> Content:
        if self.opened is None:
            self.opened = content_of(self.entry)
        return self.opened


def links_of(entries: list[Entry]) -> Links[Entry]:
    """Return what finds the message above an entry; version 1 has no ids that could name it."""
    return Links(entries, lambda e: e.id, lambda e: e.parent, _said_as)


def _said_as(entry: Entry) -> str | None:
    own = entry.env.id
    return own if entry.kind and isinstance(own, str) else None


def content_of(entry: Entry) -> Content:
    """Return the blocks of an entry and who is behind them."""
    kind = entry.kind
    body = entry.message() if entry.role else entry.fields()
    origin = ORIGINS.get(kind, "injected")
    match kind:
        case "user":
            blocks = _typed(body)
            origin = "typed" if any(isinstance(b, Text) for b in blocks) or not blocks else "injected"
        case "toolResult":
            blocks = [result_of(body)]
        case "bashExecution":
            blocks = [Text(shell_text(body))]
        case "compaction" | "compactionSummary":
            blocks = [Text(compaction_text(body))]
        case "branch_summary" | "branchSummary":
            blocks = [Text(branch_text(body))]
        case _:
            blocks = [block_of(part) for part in parts_of(body.get("content"))]
    return Content(tuple(blocks), (entry.span,) * len(blocks), origin)


def _typed(body: dict[str, Any]) -> list[Block]:
    blocks: list[Block] = []
    for block in map(block_of, parts_of(body.get("content"))):
        blocks += split_typed(block.text) if isinstance(block, Text) else [block]
    return blocks


def _clock_time(body: dict[str, Any]) -> datetime | None:
    """Return the time of a message, which pi writes in milliseconds."""
    at = body.get("timestamp")
    if not isinstance(at, int | float) or isinstance(at, bool):
        return None
    try:
        return datetime.fromtimestamp(at / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None


# Content of pi's messages as blocks: text, thinking, tool calls with their arguments as an object, images.


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


# The words that pi itself puts around summaries, shell commands, skills and files before a model sees them.
#
# Source: ``core/messages.ts``, ``cli/file-processor.ts`` and ``agent-session.ts`` of pi 0.73.1; the prefixes are the
# same in 0.58.3 and are part of the format: a model was trained by them to tell a summary from a person.

_COMPACTED = (
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n",
    "\n</summary>",
)
_BRANCH = (
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n",
    "</summary>",
)
# A skill that was called by name, and files named with @ on the command line; a person typed neither.
_HARNESS = re.compile(
    r'<skill name="[^"\n]+" location="[^"\n]+">\n.*?\n</skill>|<file name="[^"\n]+">.*?</file>\n?', re.DOTALL
)


def as_written(value: object) -> str:
    """Return a value as JavaScript puts it into a text, where another type than text stands in a file."""
    match value:
        case str():
            return value
        case bool() | None:
            return {True: "true", False: "false", None: "null"}[value]
        case int() | float():
            return _number(value)
        case list():
            return ",".join("" if v is None else as_written(v) for v in _leaves(cast("list[object]", value)))
        case _:
            return "[object Object]"


def _number(value: float) -> str:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    # from here on JavaScript writes an exponent, as Python does
    return str(int(number)) if abs(number) < 1e21 and number.is_integer() else repr(number)  # noqa: PLR2004


def _leaves(values: list[object]) -> Iterator[object]:
    """Yield what stands in lists in lists, however deep; an empty one stands for an empty text."""
    waiting: list[object] = [values]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list) and item:
            waiting += cast("list[object]", item)[::-1]
        else:
            yield None if isinstance(item, list) else item


def compaction_text(body: dict[str, Any]) -> str:
    """Return the text that stands for what a compaction hides; pi prints what is not there, too."""
    return _COMPACTED[0] + as_written(body.get("summary", "undefined")) + _COMPACTED[1]


def branch_text(body: dict[str, Any]) -> str:
    """Return the text that stands for a branch that was left."""
    return _BRANCH[0] + as_written(body.get("summary", "undefined")) + _BRANCH[1]


def shell_text(message: dict[str, Any]) -> str:
    """Return what a model is told of a command that a person ran with ``!``."""
    output = as_written(message["output"]) if message.get("output") else ""
    text = f"Ran `{as_written(message.get('command', 'undefined'))}`\n" + (
        f"```\n{output}\n```" if output else "(no output)"
    )
    code = message.get("exitCode")
    if message.get("cancelled"):
        text += "\n\n(command cancelled)"
    elif code is not None and code != 0:
        text += f"\n\nCommand exited with code {as_written(code)}"
    if message.get("truncated") and message.get("fullOutputPath"):
        text += f"\n\n[Output truncated. Full output: {message['fullOutputPath']}]"
    return text


def split_typed(text: str) -> list[Block]:
    """Return what a person typed and what the client put beside it, in order."""
    if "<skill name=" not in text and "<file name=" not in text:
        return [Text(text)]
    blocks: list[Block] = []
    at = 0
    for match in _HARNESS.finditer(text):
        if typed := text[at : match.start()].strip():
            blocks.append(Text(typed))
        blocks.append(Injected(match[0]))
        at = match.end()
    if typed := text[at:].strip():
        blocks.append(Text(typed))
    return blocks or [Text(text)]
