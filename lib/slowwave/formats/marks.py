"""By which fields of a record, or tables of a database, each client's format is told from the others.

One look at a decoded object, without any rules: the file that a session lies in is never asked for its name.
"""

from typing import cast

# A record that carries one of these is Claude Code's, also where a `session_id` stands beside it.
ENVELOPE = frozenset({"sessionId", "leafUuid", "parentUuid", "isSidechain", "isSnapshotUpdate", "snapshotMessageId"})


def is_claude(record: dict[str, object]) -> bool:
    """Say whether a record is Claude Code's: a type beside at least one camelCase envelope field."""
    return isinstance(record.get("type"), str) and not ENVELOPE.isdisjoint(record)


_ENVELOPE = frozenset({"session_id", "deleted_uuid", "parent_uuid"})
BARE_ROLES = frozenset({"user", "assistant", "system"})


def is_cersei(record: dict[str, object]) -> bool:
    """Say whether a record is Cersei's: a type beside a snake_case envelope field and no field of Claude Code."""
    return isinstance(record.get("type"), str) and not _ENVELOPE.isdisjoint(record) and ENVELOPE.isdisjoint(record)


def is_bare(record: dict[str, object]) -> bool:
    """Say whether a record is a bare message: a role and content, and neither a type nor an envelope."""
    role = record.get("role")
    said = isinstance(role, str) and role in BARE_ROLES and "content" in record
    return said and "type" not in record and "sender" not in record


_WRAPPED = frozenset(
    {
        *("session_meta", "response_item", "compacted", "turn_context", "event_msg", "world_state"),
        *("inter_agent_communication", "inter_agent_communication_metadata", "token_usage_record", "session_state"),
    }
)
_PARTS = frozenset({"input_text", "output_text"})


def is_codex(record: dict[str, object]) -> bool:
    """Say whether a record is a line of a rollout: wrapped, or the header, a state or an item of a bare one."""
    kind = record.get("type")
    if isinstance(kind, str):
        if kind in _WRAPPED:
            # Of a line that is cut short the payload is known to be there, and no more.
            return "payload" in record and isinstance(record["payload"], dict | None)
        return kind == "message" and "role" in record and _first_part(record.get("content")) in _PARTS
    if record.get("record_type") == "state":
        return True
    named = isinstance(record.get("id"), str) and isinstance(record.get("timestamp"), str)
    return named and kind is None and ("instructions" in record or "git" in record)


def _first_part(content: object) -> str:
    parts = cast("list[object]", content) if isinstance(content, list) else []
    first = parts[0] if parts else None
    kind = cast("dict[str, object]", first).get("type") if isinstance(first, dict) else None
    return kind if isinstance(kind, str) else ""


def is_pi(record: dict[str, object]) -> bool:
    """Say whether a record is pi's: its header, or an entry of its tree where the header is lost.

    Clawdbot and OpenClaw write the same files. Version 1 has no tree, so only its header tells.
    """
    kind, own = record.get("type"), record.get("id")
    if not isinstance(kind, str) or not isinstance(own, str):
        return False
    return kind == "session" or ("parentId" in record and "payload" not in record and "sessionId" not in record)


# By which records a session of Clawdbot or OpenClaw is told from one of pi, whose form it has.
#
# Clawdbot notes the model in a ``custom`` entry of its own before the first prompt; OpenClaw names itself in entries
# and messages, and counts its headers from 4. A session without any of these is told by the place that it lies in.

# Entries of the client before its first prompt; a session that shows none of its marks by then is taken for pi's.
MOST_RECORDS = 32
_OWN_VERSION = 4
_OWN_TYPES = frozenset({"leaf", "reset"})
_OWN_CUSTOM = frozenset({"model-snapshot", "bootstrap-context"})
_NAMES = ("openclaw", "clawdbot", "moltbot")


def is_openclaw(record: dict[str, object]) -> bool:
    """Say whether a record that looks like pi's shows that Clawdbot or OpenClaw wrote it."""
    kind, custom = record.get("type"), record.get("customType")
    if kind == "session":
        version = record.get("version")
        return isinstance(version, int) and version >= _OWN_VERSION
    if isinstance(custom, str) and (custom in _OWN_CUSTOM or _names_client(custom)):
        return True
    if isinstance(kind, str) and kind in _OWN_TYPES:
        return True
    message = record.get("message")
    if "__openclaw" in record or not isinstance(message, dict):
        return "__openclaw" in record
    fields = cast("dict[str, object]", message)
    provider = fields.get("provider")
    return "__openclaw" in fields or (isinstance(provider, str) and _names_client(provider))


def is_openclaw_tables(tables: frozenset[str]) -> bool:
    """Say whether a database with these tables is one that OpenClaw keeps an agent's sessions in."""
    return "transcript_events" in tables and ("session_windows" in tables or "session_nodes" in tables)


def _names_client(name: str) -> bool:
    return name.partition(":")[0].partition(".")[0].partition("-")[0] in _NAMES


def is_opencode(record: dict[str, object]) -> bool:
    """Say whether an object is an export of opencode, or a session of its storage trees."""
    if "info" in record and "messages" in record:
        return isinstance(record["info"], dict | None) and isinstance(record["messages"], list | None)
    if "type" in record or "role" in record or not isinstance(record.get("id"), str):
        return False
    return isinstance(record.get("time"), dict) and ("projectID" in record or {"title", "version"} <= record.keys())


def is_opencode_tables(tables: frozenset[str]) -> bool:
    """Say whether a database with these tables is opencode's."""
    return {"session", "message", "part"} <= tables


def is_crabtalk(record: dict[str, object]) -> bool:
    """Say whether a record is the first line of a session of crabtalk; its messages look like anybody's."""
    return "type" not in record and all(isinstance(record.get(k), str) for k in ("agent", "created_by", "created_at"))


def is_ulid(record: dict[str, object]) -> bool:
    """Say whether a record is one of the ULID specification."""
    return isinstance(record.get("recordType"), str)
