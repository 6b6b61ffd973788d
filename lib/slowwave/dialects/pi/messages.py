"""Entries of pi to messages, with who is really behind them; the content is decoded when it is first looked at."""

from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from slowwave.dialects.chain import Links
from slowwave.dialects.model import Block, Content, Message, Origin, Role, Text
from slowwave.dialects.pi.blocks import block_of, parts_of, result_of
from slowwave.dialects.pi.records import ROLES, Entry, text_or_empty
from slowwave.dialects.pi.texts import branch_text, compaction_text, shell_text, split_typed
from slowwave.dialects.times import parse_time

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
