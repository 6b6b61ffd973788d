"""By which fields of a record Claude Code is told from the others."""

# A record that carries one of these is Claude Code's, also where a `session_id` stands beside it.
ENVELOPE = frozenset({"sessionId", "leafUuid", "parentUuid", "isSidechain", "isSnapshotUpdate", "snapshotMessageId"})


def is_claude(record: dict[str, object]) -> bool:
    """Say whether a record is Claude Code's: a type beside at least one camelCase envelope field."""
    return isinstance(record.get("type"), str) and not ENVELOPE.isdisjoint(record)
