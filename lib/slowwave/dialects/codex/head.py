"""What the header of a Codex rollout tells of it without reading on: a sub-agent's or not, and the working folder."""

from typing import Any, cast

import msgspec

from slowwave.records.model import REFUSALS

_decoder = msgspec.json.Decoder(dict[str, Any])


def head_of_rollout(payload: msgspec.Raw) -> tuple[bool, str]:
    """Return whether a ``session_meta`` payload is a sub-agent's, and its working folder; ("" when it names none)."""
    try:
        meta = _decoder.decode(payload)
    except REFUSALS:
        return False, ""
    cwd = meta.get("cwd")
    return is_of_sub_agent(meta), cwd if isinstance(cwd, str) else ""


def is_of_sub_agent(meta: dict[str, Any]) -> bool:
    """Say whether a header is that of a sub-agent's own rollout, in any of the forms that the client has written."""
    source = meta.get("source")
    started = isinstance(source, dict) and "subagent" in cast("dict[str, object]", source)
    return started or meta.get("thread_source") == "subagent" or bool(meta.get("parent_thread_id"))
