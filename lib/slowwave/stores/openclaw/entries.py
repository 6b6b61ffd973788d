"""Entries of ``sessions.json``: every field as the bytes that it was written with, the known ones by name and type.

A field that nobody asks for is never decoded, so what a newer client added comes through a rewrite byte for byte.
Source: ``src/config/sessions/types.ts`` of Clawdbot 2026.1.27 and the fields that OpenClaw added in mid-2026.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

import msgspec

from slowwave.stores.openclaw.values import Fields, decoded

# Old names and the new ones that take their place on load, unless the new one is there (seed 004 has the old ones).
_RENAMED = (("provider", "channel"), ("lastProvider", "lastChannel"), ("room", "groupChannel"))


class Origin(msgspec.Struct, rename="camel"):
    """Where the first message of a session came from."""

    label: str | None = None
    provider: str | None = None
    surface: str | None = None
    chat_type: str | None = None
    from_: str | None = msgspec.field(default=None, name="from")
    to: str | None = None
    account_id: str | None = None
    thread_id: str | int | None = None


class DeliveryContext(msgspec.Struct, rename="camel"):
    """Where answers go."""

    channel: str | None = None
    to: str | None = None
    account_id: str | None = None
    thread_id: str | int | None = None


class Known(msgspec.Struct, rename="camel"):
    """The fields of an entry that this version knows; one of another type than the client writes is None here."""

    session_id: str | None = None
    updated_at: float | None = None
    session_file: str | None = None
    spawned_by: str | None = None
    last_heartbeat_text: str | None = None
    last_heartbeat_sent_at: float | None = None
    system_sent: bool | None = None
    aborted_last_run: bool | None = None
    chat_type: str | None = None
    thinking_level: str | None = None
    verbose_level: str | None = None
    reasoning_level: str | None = None
    elevated_level: str | None = None
    tts_auto: str | None = None
    exec_host: str | None = None
    exec_security: str | None = None
    exec_ask: str | None = None
    exec_node: str | None = None
    response_usage: Literal["on", "off", "tokens", "full"] | None = None
    provider_override: str | None = None
    model_override: str | None = None
    auth_profile_override: str | None = None
    auth_profile_override_source: Literal["auto", "user"] | None = None
    auth_profile_override_compaction_count: float | None = None
    group_activation: Literal["mention", "always"] | None = None
    group_activation_needs_system_intro: bool | None = None
    send_policy: Literal["allow", "deny"] | None = None
    queue_mode: (
        Literal["steer", "followup", "collect", "steer-backlog", "steer+backlog", "queue", "interrupt"] | None
    ) = None
    queue_debounce_ms: float | None = None
    queue_cap: float | None = None
    queue_drop: Literal["old", "new", "summarize"] | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    total_tokens: float | None = None
    model_provider: str | None = None
    model: str | None = None
    context_tokens: float | None = None
    compaction_count: float | None = None
    memory_flush_at: float | None = None
    memory_flush_compaction_count: float | None = None
    cli_session_ids: dict[str, str] | None = None
    claude_cli_session_id: str | None = None
    label: str | None = None
    display_name: str | None = None
    channel: str | None = None
    group_id: str | None = None
    subject: str | None = None
    group_channel: str | None = None
    space: str | None = None
    origin: Origin | None = None
    delivery_context: DeliveryContext | None = None
    last_channel: str | None = None
    last_to: str | None = None
    last_account_id: str | None = None
    last_thread_id: str | int | None = None
    skills_snapshot: dict[str, Any] | None = None
    system_prompt_report: dict[str, Any] | None = None
    session_started_at: float | None = None
    last_interaction_at: float | None = None


_TYPES = {f.encode_name: f.type for f in msgspec.structs.fields(Known)}
_NAMES = {f.encode_name: f.name for f in msgspec.structs.fields(Known)}


class SessionEntry:
    """One entry of a store; never changed after it was made.

    Attributes:
        fields: each field as it was written, in its order, by the new names.
        renamed: whether old names were found.
    """

    __slots__ = ("fields", "renamed")

    def __init__(self, fields: Fields, *, renamed: bool = False) -> None:
        self.fields = fields
        self.renamed = renamed

    def get(self, name: str) -> object:
        """Return a field decoded; None when it is missing or cannot be decoded as its known type."""
        raw = self.fields.get(name)
        return None if raw is None else decoded(raw, _TYPES.get(name, Any))

    def text(self, name: str) -> str:
        """Return a field that should be text without white space at its ends, "" when it is none."""
        value = self.get(name)
        return value.strip() if isinstance(value, str) else ""

    def number(self, name: str) -> float | None:
        """Return a field that should be a number, None when it is none."""
        raw = self.fields.get(name)
        # as it is written: a whole number stays one when it is written again
        value = None if raw is None else decoded(raw, int | float)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    def known(self) -> Known:
        """Return all known fields, decoded."""
        make = cast("Callable[..., Known]", Known)
        return make(**{_NAMES[name]: self.get(name) for name in self.fields if name in _NAMES})

    def malformed(self) -> list[str]:
        """Return the names of known fields whose values are of another type than the client's."""
        return [n for n in self.fields if n in _NAMES and self.fields[n] != b"null" and self.get(n) is None]

    def patched(self, patch: Mapping[str, object]) -> "SessionEntry":
        """Return the entry with some fields set; a field set to None is taken out."""
        fields = {n: raw for n, raw in self.fields.items() if patch.get(n, raw) is not None}
        for name, value in patch.items():
            if value is not None:
                fields[name] = encoded(value)
        return SessionEntry(fields, renamed=self.renamed)


def encoded(value: object) -> msgspec.Raw:
    """Return a value in the client's form: JSON over lines, indented by two."""
    import orjson  # noqa: PLC0415 - only writing needs it

    return msgspec.Raw(orjson.dumps(value, option=orjson.OPT_INDENT_2))


def entry_of(fields: Fields) -> SessionEntry:
    """Return an entry with its old field names brought to the new ones, in place, as the client does on load."""
    if not any(old in fields for old, _ in _RENAMED):
        return SessionEntry(fields)
    names = {old: new for old, new in _RENAMED if _is_text(fields, old) and not _is_text(fields, new)}
    kept = {names.get(name, name): raw for name, raw in fields.items() if name not in names.values()}
    if "room" not in names:
        kept.pop("room", None)  # the client drops what is left of it
    return SessionEntry(kept, renamed=True)


def _is_text(fields: Fields, name: str) -> bool:
    return name in fields and bytes(memoryview(fields[name])[:1]) == b'"'


def merged(existing: SessionEntry | None, patch: Mapping[str, object], now_ms: int, new_id: str) -> SessionEntry:
    """Return an entry with a patch laid over it.

    The time is the newest of old, patch and now; the id that of the patch, else the old one, else ``new_id``.
    """
    base = existing if existing is not None else SessionEntry({})
    told = patch.get("updatedAt")
    times = [base.number("updatedAt"), told if isinstance(told, int | float) else None, now_ms]
    own = patch.get("sessionId") or base.text("sessionId") or new_id
    newest = max(cast("list[float]", [t for t in times if t is not None]))
    return base.patched({**patch, "sessionId": own, "updatedAt": newest})
