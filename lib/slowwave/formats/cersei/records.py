"""Entries of Cersei's transcripts as they are decoded at load, and the messages made of them."""

from datetime import datetime
from typing import cast

import msgspec

from slowwave.formats.messages import PlainMessage, blocks_of
from slowwave.formats.model import Block, Content, Message, Origin, Role, Span, Text, ToolResult, decoded, parse_time

MESSAGE_TYPES = frozenset({"user", "assistant", "system"})
# Enough of a content to see what its first block is.
_START = 64
KNOWN_TYPES = MESSAGE_TYPES | {"summary", "tombstone"}


class Body(msgspec.Struct, gc=False):
    """A Cersei ``Message``; also a whole line of its bare-message file."""

    role: str = ""
    content: msgspec.Raw = msgspec.Raw()
    id: str | None = None


class Fields(msgspec.Struct, gc=False):
    """The fields of a line but the one that tells what it is."""

    uuid: str | None = None
    parent_uuid: str | None = None
    timestamp: str | None = None
    session_id: str | None = None
    cwd: str | None = None
    is_sidechain: bool | None = None
    message: Body | None = None
    summary: str | None = None
    messages_compacted: int | None = None
    deleted_uuid: str | None = None


class Entry(Fields, gc=False):
    """Any line of a transcript (code: ``TranscriptEntry``, tagged by ``type``)."""

    type: str = ""


class CerseiMessage(Message, msgspec.Struct, gc=False, eq=False):
    """An entry with its place, and the message that it is; the content is decoded when it is first looked at."""

    entry: Entry
    span: Span
    opened: Content | None = None
    parent: str | None = None  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]

    @property
    def role(self) -> Role:
        """The type of the entry; the role of a bare message."""
        return cast("Role", self.entry.type)

    @property
    def id(self) -> str | None:
        """The entry's uuid, or the id of a bare message."""
        return self.entry.uuid or (self.entry.message.id if self.entry.message else None)

    @property
    def cwd(self) -> str:
        """The working folder that the entry names, or ""."""
        return self.entry.cwd or ""

    @property
    def timestamp(self) -> datetime | None:
        """When the entry was written; bare messages have no time."""
        return parse_time(self.entry.timestamp)

    @property
    def sidechain(self) -> bool:
        """True for a sub-agent's message."""
        return bool(self.entry.is_sidechain)

    @property
    def is_result(self) -> bool:
        """True when the content begins with a tool's result."""
        body = self.entry.message
        return body is not None and b'"tool_result"' in bytes(memoryview(body.content)[:_START])

    def _opened(self) -> Content:
        if self.opened is None:
            body = self.entry.message
            blocks = tuple(blocks_of(decoded(body.content))) if body else ()
            origin = "injected" if self.sidechain and self.role == "user" else _origin(self.role, blocks)
            self.opened = Content(blocks, (self.span,) * len(blocks), origin)
        return self.opened


def _origin(role: Role, blocks: tuple[Block, ...]) -> Origin:
    if role == "assistant":
        return "model"
    if role == "system":
        return "injected"
    if any(isinstance(b, ToolResult) for b in blocks):
        return "tool"
    # Compaction inside the agent replaces old messages by this element, in a user message (code: compact.rs).
    if any(isinstance(b, Text) and b.text.lstrip().startswith("<context_summary>") for b in blocks):
        return "summary"
    return "typed"


def summary_message(entry: Entry, span: Span) -> Message:
    """Return a summary entry as the user message that stands for the messages it compacted (seed)."""
    return PlainMessage(
        "user",
        (Text(entry.summary or ""),),
        (span,),
        "summary",
        entry.uuid,
        parse_time(entry.timestamp),
        entry.cwd or "",
    )
