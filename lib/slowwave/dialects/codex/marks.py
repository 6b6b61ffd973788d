"""By which fields Codex shows; one look at a decoded object, without any rules (formats.md §1.1)."""

from typing import cast

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
