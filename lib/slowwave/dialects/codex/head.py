"""What the header of a Codex rollout tells of it: a sub-agent's or not, how its client reads it, and whose it is."""

from typing import Any, cast


def is_of_sub_agent(meta: dict[str, Any]) -> bool:
    """Say whether a header is that of a sub-agent's own rollout, in any of the forms that the client has written."""
    return _started(meta) is not None or meta.get("thread_source") == "subagent" or bool(meta.get("parent_thread_id"))


def is_paginated(meta: dict[str, Any]) -> bool:
    """Say whether the client reads a rollout with this header from its end, window by window."""
    return meta.get("history_mode") == "paginated"


def parent_of(meta: dict[str, Any]) -> str:
    """Return the id of the thread that a header belongs to: that which started a sub-agent, or a fork's origin."""
    if is_of_sub_agent(meta):
        spawned = _started(meta)
        spawn: object = cast("dict[str, object]", spawned).get("thread_spawn") if isinstance(spawned, dict) else None
        nested = cast("dict[str, object]", spawn).get("parent_thread_id") if isinstance(spawn, dict) else None
        # client 0.145 also repeats it as the id of the whole session
        named = (meta.get("parent_thread_id"), nested, meta.get("session_id"))
    else:
        base = meta.get("history_base")
        thread = cast("dict[str, object]", base).get("thread_id") if isinstance(base, dict) else None
        named = (meta.get("forked_from_id"), thread)
    own = meta.get("id")
    return next((name for name in named if isinstance(name, str) and name and name != own), "")


def _started(meta: dict[str, Any]) -> object:
    """Return how a sub-agent was started, None for what is no sub-agent's; older clients give it as a word."""
    source = meta.get("source")
    return cast("dict[str, object]", source).get("subagent") if isinstance(source, dict) else None
