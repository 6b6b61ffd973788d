"""Sessions of opencode as they are loaded, whatever they are kept in: messages with their parts and places.

Messages and parts have the same fields in exports, in both storage trees and in the database (formats.md §9.3).
"""

import re
from typing import Any, cast

import msgspec

from slowwave.formats.model import SessionKind, Span
from slowwave.formats.salvage import whole

KNOWN_PARTS = frozenset(
    {
        *("text", "reasoning", "file", "tool", "step-start", "step-finish", "snapshot", "patch", "agent", "retry"),
        *("compaction", "subtask"),
    }
)
_FORKED = re.compile(r".*\(fork #[0-9]+\)\s*\Z", re.DOTALL)


class Record(msgspec.Struct, gc=False):
    """A message or a part: its JSON as fields, its bytes, and its id (a database keeps that beside the JSON)."""

    span: Span
    id: str
    fields: dict[str, Any]

    @property
    def kind(self) -> str:
        """The type of a part, the role of a message."""
        return text_in(self.fields, "type") or text_in(self.fields, "role")


class Stored(msgspec.Struct):
    """A message with its parts, in order.

    Attributes:
        live: False for messages that a revert takes back.
        kept: how many of its parts a revert leaves.
    """

    info: Record
    parts: list[Record]
    live: bool = True
    kept: int | None = None

    @property
    def is_summary(self) -> bool:
        """Say whether this is the summary that a compaction wrote."""
        return self.info.fields.get("summary") is True

    @property
    def sent_parts(self) -> list[Record]:
        """The parts that a revert leaves."""
        return self.parts[: self.kept]


class Session(msgspec.Struct):
    """What is known of a session beside its messages."""

    id: str = ""
    title: str = ""
    directory: str = ""
    parent: str = ""
    revert: dict[str, Any] = {}
    model: str = ""

    @property
    def is_fork(self) -> bool:
        """Say whether its title says that it is a copy of another session; nothing else does."""
        return _FORKED.match(self.title) is not None

    @property
    def kind(self) -> SessionKind:
        """What it is among sessions."""
        return "subagent" if self.parent else "fork" if self.is_fork else "main"


def record_of(span: Span, beside: dict[str, Any] | None = None) -> Record:
    """Return the record in ``span``; ``beside`` are fields that are kept outside of the JSON."""
    fields = whole(span.raw) | (beside or {})
    return Record(span, text_in(fields, "id"), fields)


def session_of(fields: dict[str, Any]) -> Session:
    """Return a session from its JSON (``parentID``) or its row (``parent_id``)."""
    model = _decoded(fields, "model")
    return Session(
        text_in(fields, "id"),
        text_in(fields, "title"),
        text_in(fields, "directory"),
        text_in(fields, "parentID") or text_in(fields, "parent_id"),
        _decoded(fields, "revert"),
        model_name(model, "id"),
    )


def model_name(fields: dict[str, Any], key: str) -> str:
    """Return the provider and the model that ``fields`` name, the model under ``key``; "" when either is missing."""
    names = text_in(fields, "providerID"), text_in(fields, key)
    return "/".join(names) if all(names) else ""


def _decoded(fields: dict[str, Any], key: str) -> dict[str, Any]:
    """Return an object, which a row keeps as JSON."""
    value = fields.get(key)
    return whole(value.encode("utf-8", "replace")) if isinstance(value, str) else object_in(fields, key)


def text_in(fields: dict[str, Any], key: str) -> str:
    """Return a text field, "" when it is missing or of another type."""
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def object_in(fields: dict[str, Any], key: str) -> dict[str, Any]:
    """Return a field that is an object, {} when it is missing or of another type."""
    value = fields.get(key)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def take_back(stored: list[Stored], revert: dict[str, Any]) -> None:
    """Mark what a revert takes back: the message it names and all behind, or only from one of its parts on (client).

    The client deletes these at the next prompt, so a resumed session never sends them. A message whose part is named
    but gone stays whole.
    """
    named, part = text_in(revert, "messageID"), text_in(revert, "partID")
    start = next((i for i, message in enumerate(stored) if named and message.info.id == named), None)
    if start is None:
        return
    for message in stored[start:]:
        message.live = False
    first = stored[start]
    if part:
        first.live = True
        first.kept = next((i for i, record in enumerate(first.parts) if record.id == part), None)
