"""Entries of pi's sessions as they are decoded at load: a small envelope, the message left as bytes.

Every field is taken as whatever stands there: pi's own reader accepts any JSON, extensions write entries of their own,
and a record of an unexpected shape must not be lost. Rare entry types are decoded anew from the bytes of their span.

Source: ``session-manager.ts`` of pi 0.58.3 and 0.73.1 (three versions of the format).
"""

from typing import Any, cast

import msgspec

from slowwave.records.lenient import decoded
from slowwave.records.model import REFUSALS, Span
from slowwave.records.values import clean

KNOWN_TYPES = frozenset(
    {
        *("session", "message", "thinking_level_change", "model_change", "compaction", "branch_summary", "custom"),
        *("custom_message", "label", "session_info"),
    }
)
# Roles of ``message`` entries, and who speaks for the model; hookMessage is version 2's name for custom. The two
# summaries exist in pi's memory only, but its converter takes them from a file, too.
ROLES = {
    "user": "user",
    "assistant": "assistant",
    "toolResult": "tool",
    "bashExecution": "user",
    "custom": "user",
    "hookMessage": "user",
    "branchSummary": "user",
    "compactionSummary": "user",
}
_ROLE_STARTS = {role.encode(): role for role in ROLES}
_ROLE_BYTES = 32
# Entries that are messages by themselves; the model gets them in the role of the user.
SPEAKING = frozenset({"compaction", "branch_summary", "custom_message"})


class Head(msgspec.Struct, gc=False):
    """The part of a message that loading needs."""

    role: Any = None


class Envelope(msgspec.Struct, gc=False):
    """What loading needs of every entry; ``version`` stands in the header only."""

    type: Any = None
    id: Any = None
    parent: Any = msgspec.field(default=None, name="parentId")
    timestamp: Any = None
    version: Any = None
    message: msgspec.Raw = msgspec.Raw()


DECODER = msgspec.json.Decoder(Envelope)
_HEADS = msgspec.json.Decoder(Head)


class Entry(msgspec.Struct, gc=False):
    """An entry with its place, and its position in the tree after the migration to version 3.

    Attributes:
        env: the envelope as it stands in the file.
        span: where it stands.
        id: its id; a made one for version 1, which has none.
        parent: the id of the entry before it, None for a root.
        type: its type, or "" when that is not a string.
        role: the role of a ``message`` entry as version 3 names it, else "".
        lost: its line is damaged so that pi's own reader skips it, though the entry itself is whole.
    """

    env: Envelope
    span: Span
    id: str | None
    parent: str | None
    type: str = ""
    role: str = ""
    lost: bool = False

    @property
    def kind(self) -> str:
        """The role, or the type of an entry that is a message by itself, or "" when the entry says nothing."""
        if self.role in ROLES:
            return self.role
        return self.type if self.type in SPEAKING else ""

    def fields(self) -> dict[str, Any]:
        """Return the whole entry, decoded anew from its bytes."""
        value = decoded(msgspec.Raw(clean(self.span.raw)))
        return cast("dict[str, Any]", value) if isinstance(value, dict) else {}

    def message(self) -> dict[str, Any]:
        """Return the message of a ``message`` entry."""
        value = decoded(self.env.message)
        return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def entry_of(env: Envelope, span: Span) -> Entry:
    """Return the entry of a record, before any migration."""
    own = env.id if isinstance(env.id, str) else None
    parent = env.parent if isinstance(env.parent, str) else None
    kind = env.type if isinstance(env.type, str) else ""
    return Entry(env, span, own, parent or None, kind, _role(env.message) if kind == "message" else "")


def _role(message: msgspec.Raw) -> str:
    # pi writes the role first; looking there saves a second pass over the whole message
    start = bytes(memoryview(message)[:_ROLE_BYTES])
    if start.startswith(b'{"role":"') and (known := _ROLE_STARTS.get(start[9:].partition(b'"')[0])) is not None:
        return known
    try:
        return text_or_empty(_HEADS.decode(message).role)
    except REFUSALS:
        return ""


def text_or_empty(value: object) -> str:
    """Return a string as it is, and "" for anything else."""
    return value if isinstance(value, str) else ""
