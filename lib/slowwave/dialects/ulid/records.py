"""Records of the session specification with ULIDs, and the messages made of them."""

from datetime import datetime
from typing import Any

import msgspec

from slowwave.dialects.model import Block, Content, Message, Origin, Role, Text
from slowwave.dialects.pi.blocks import block_of, parts_of, result_of
from slowwave.dialects.pi.texts import compaction_text
from slowwave.dialects.times import parse_time
from slowwave.records.lenient import decoded
from slowwave.records.model import Span
from slowwave.records.values import clean

SCHEMA = 1
ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "toolResult": "tool"}
_ORIGINS: dict[str, Origin] = {"user": "typed", "assistant": "model", "toolResult": "tool"}


class Record(msgspec.Struct, gc=False):
    """What loading needs of every record."""

    type: Any = msgspec.field(default=None, name="recordType")
    schema: Any = msgspec.field(default=None, name="schemaVersion")
    seq: Any = None
    role: Any = None
    timestamp: Any = None
    first_kept: Any = msgspec.field(default=None, name="firstKeptSeq")
    content: msgspec.Raw = msgspec.Raw()


DECODER = msgspec.json.Decoder(Record)


class UlidMessage(Message, msgspec.Struct, gc=False, eq=False):
    """A message record, or a compaction as the user message that stands for what it covers."""

    record: Record
    span: Span
    opened: Content | None = None
    parent: str | None = None  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]

    @property
    def role(self) -> Role:
        """Who speaks; a summary is the user's."""
        return "user" if self.is_summary else ROLES[self.record.role]

    @property
    def id(self) -> str | None:
        """The number of the record, which the specification uses as its id."""
        return None if self.seq is None else str(self.seq)

    @property
    def seq(self) -> int | None:
        """The number of the record, None where it has none."""
        return integer(self.record.seq)

    @property
    def is_summary(self) -> bool:
        """True for a compaction."""
        return self.record.type == "compaction"

    @property
    def timestamp(self) -> datetime | None:
        """When the record was written."""
        at = self.record.timestamp
        return parse_time(at) if isinstance(at, str) else None

    def fields(self) -> dict[str, Any]:
        """Return the whole record, decoded anew from its bytes."""
        value = decoded(msgspec.Raw(clean(self.span.raw)))
        return {str(k): v for k, v in value.items()} if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]

    def _opened(self) -> Content:
        if self.opened is None:
            origin = "summary" if self.is_summary else _ORIGINS[self.record.role]
            blocks = self._blocks()
            self.opened = Content(tuple(blocks), (self.span,) * len(blocks), origin)
        return self.opened

    def _blocks(self) -> list[Block]:
        if self.is_summary:
            return [Text(compaction_text({"summary": self.fields().get("summary") or ""}))]
        if self.record.role == "toolResult":
            return [result_of(self.fields())]
        return [block_of(part) for part in parts_of(decoded(self.record.content))]


def integer(value: object) -> int | None:
    """Return a whole number, None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def unknown_kind(record: Record) -> str | None:
    """Return what a record is if this version does not know it, else None."""
    kind = record.type if isinstance(record.type, str) else "no recordType"
    version = integer(record.schema)
    if version is not None and version > SCHEMA:
        return f"{kind} of schema {version}"
    if kind == "message":
        known = isinstance(record.role, str) and record.role in ROLES
        return None if known else f"role {record.role}"
    return None if kind == "compaction" else kind


def is_message(record: Record) -> bool:
    """Say whether a record is a message that this version knows."""
    return record.type == "message" and unknown_kind(record) is None
