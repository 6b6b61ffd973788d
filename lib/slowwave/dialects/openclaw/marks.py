"""By which records a session of Clawdbot or OpenClaw is told from one of pi, whose form it has.

Clawdbot notes the model in a ``custom`` entry of its own before the first prompt; OpenClaw names itself in entries and
messages, and counts its headers from 4. A session without any of these is told by the place that it lies in.
"""

from typing import cast

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
