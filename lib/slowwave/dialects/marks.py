"""By which fields of a record the dialects are told apart; one look at a decoded object, without any rules."""

# A record that carries one of these is Claude Code's, also where a `session_id` stands beside it.
_CLAUDE = frozenset({"sessionId", "leafUuid", "parentUuid", "isSidechain", "isSnapshotUpdate", "snapshotMessageId"})
_CERSEI = frozenset({"session_id", "deleted_uuid", "parent_uuid"})
BARE_ROLES = frozenset({"user", "assistant", "system"})


def is_claude(record: dict[str, object]) -> bool:
    """Say whether a record is Claude Code's: a type beside at least one camelCase envelope field."""
    return isinstance(record.get("type"), str) and not _CLAUDE.isdisjoint(record)


def is_cersei(record: dict[str, object]) -> bool:
    """Say whether a record is Cersei's: a type beside a snake_case envelope field and no field of Claude Code."""
    return isinstance(record.get("type"), str) and not _CERSEI.isdisjoint(record) and _CLAUDE.isdisjoint(record)


def is_bare(record: dict[str, object]) -> bool:
    """Say whether a record is a bare message: a role and content, and neither a type nor an envelope."""
    role = record.get("role")
    said = isinstance(role, str) and role in BARE_ROLES and "content" in record
    return said and "type" not in record and "sender" not in record
