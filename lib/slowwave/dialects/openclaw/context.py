"""What Clawdbot and OpenClaw send when a session is resumed, before it takes the form of the model's API.

Beside pi's rules: a ``reset`` entry ends the conversation before it as a compaction does, without a summary, and may
keep the end of it (``firstKeptEntryId``). What the client adds from its surroundings (the time in front of a prompt,
its runtime, running sub-agents) stands in no session and is not here.
"""

import re

from slowwave.dialects.openclaw.repair import MISSING, MISSING_CLAWDBOT, repaired
from slowwave.dialects.openclaw.tree import RESET
from slowwave.dialects.pi.context import Model, Said, said, session_entries
from slowwave.dialects.pi.load import Loaded
from slowwave.dialects.pi.records import Entry

_ODD_IN_ID = re.compile(r"[^a-zA-Z0-9]")
# From this version of the header on OpenClaw wrote the file: it sends ids of calls in letters and digits only.
OPENCLAW_VERSION = 4
# APIs that refuse calls without results and results without calls, so the client puts both right first.
_PAIRED = ("anthropic", "google", "bedrock")

_BOUNDARIES = ("compaction", RESET)


def kept_entries(path: list[Entry], loaded: Loaded, hidden: frozenset[int] = frozenset()) -> list[Entry]:
    """Return the entries whose messages are in the context.

    Args:
        path: the entries from the root to the leaf.
        loaded: the session.
        hidden: identities of entries that the client's index leaves out, unless a reset kept them by name.
    """
    last = max((i for i, e in enumerate(path) if e.type in _BOUNDARIES), default=-1)
    if last < 0 or path[last].type != RESET:
        behind = max((i for i, e in enumerate(path) if e.type == RESET), default=-1)
        return [e for e in session_entries(path[behind + 1 :], loaded) if id(e) not in hidden]
    first = path[last].fields().get("firstKeptEntryId")
    begin = next((i for i, e in enumerate(path[:last]) if e.id is not None and e.id == first), last)
    after = [e for e in path[last + 1 :] if id(e) not in hidden]
    return [e for e in path[begin:last] + after if e.type not in _BOUNDARIES]


def messages_for(
    path: list[Entry], loaded: Loaded, model: Model | None, hidden: frozenset[int] = frozenset()
) -> list[Said]:
    """Return the messages of a session in the three roles that a model knows."""
    messages = said(kept_entries(path, loaded, hidden))
    is_openclaw = loaded.version >= OPENCLAW_VERSION
    if model is not None and model.api.startswith(_PAIRED):
        messages = repaired(messages, MISSING if is_openclaw else MISSING_CLAWDBOT).messages
    return [_with_strict_ids(item) for item in messages] if is_openclaw else messages


def _with_strict_ids(item: Said) -> Said:
    own = item.fields.get("toolCallId")
    if isinstance(own, str):
        return item._replace(fields=item.fields | {"toolCallId": _strict(own)})
    if item.role != "assistant":
        return item
    parts = [
        part | {"id": _strict(part["id"])}
        if part.get("type") == "toolCall" and isinstance(part.get("id"), str)
        else part
        for part in item.parts
    ]
    return item._replace(parts=parts)


def _strict(own: str) -> str:
    return _ODD_IN_ID.sub("", own) or "defaulttoolid"
