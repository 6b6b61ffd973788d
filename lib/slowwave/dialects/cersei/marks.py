"""By which fields of a record Cersei is told from the others, and its messages without an envelope."""

from slowwave.dialects.claude.marks import ENVELOPE as CLAUDE

_ENVELOPE = frozenset({"session_id", "deleted_uuid", "parent_uuid"})
BARE_ROLES = frozenset({"user", "assistant", "system"})


def is_cersei(record: dict[str, object]) -> bool:
    """Say whether a record is Cersei's: a type beside a snake_case envelope field and no field of Claude Code."""
    return isinstance(record.get("type"), str) and not _ENVELOPE.isdisjoint(record) and CLAUDE.isdisjoint(record)


def is_bare(record: dict[str, object]) -> bool:
    """Say whether a record is a bare message: a role and content, and neither a type nor an envelope."""
    role = record.get("role")
    said = isinstance(role, str) and role in BARE_ROLES and "content" in record
    return said and "type" not in record and "sender" not in record
