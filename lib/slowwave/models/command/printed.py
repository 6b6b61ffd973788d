"""What a program printed, read as the answer of a model: of known agents with what it cost, of any other as plain text.

An agent that could not answer says so in its own form; where it names a server's status, that counts as the server's.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import cast

from slowwave.models.faults import Fault
from slowwave.models.reply import Completion

_MOST_MESSAGE = 300
# how the agents name the status of the server that refused them
_STATUS = re.compile(r"\A(?:unexpected status |API Error: )?([45]\d\d)\b")


def plain(out: bytes) -> Completion:
    """Return the answer of any program: all that it printed."""
    return Completion(out.decode("utf-8", "replace"), "stop", "", None, None, "")


def of_claude(out: bytes) -> Completion:
    """Return the answer of ``claude --output-format json``.

    Raises:
        Fault: it says that there is none.
    """
    said = next((one for one in _objects(out) if one.get("type") == "result"), None)
    if said is None:
        return plain(out)
    if said.get("is_error") or not isinstance(said.get("result"), str):
        status = said.get("api_error_status")
        raise refused(said.get("result") or said.get("subtype"), status if isinstance(status, int) else 0)
    usage = _mapping(said.get("usage"))
    # what was read from a cache was read all the same
    parts = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    models = list(_mapping(said.get("modelUsage")))
    return Completion(
        str(said["result"]), "length" if said.get("stop_reason") == "max_tokens" else "stop", "",
        _sum(usage, *parts), _sum(usage, "output_tokens"), models[0] if len(models) == 1 else "",
        _number(said.get("total_cost_usd")),
    )  # fmt: skip


def of_codex(out: bytes) -> Completion:
    """Return the answer of ``codex exec --json``: its last message.

    Raises:
        Fault: it says that there is none.
    """
    text: str | None = None
    usage: Mapping[str, object] = {}
    is_codex = False
    for event in _objects(out):
        kind, item = event.get("type"), _mapping(event.get("item"))
        is_codex = is_codex or kind == "thread.started"
        if kind == "item.completed" and item.get("type") == "agent_message":
            text = str(item.get("text") or "")
        elif kind == "turn.completed":
            usage = _mapping(event.get("usage"))
        elif kind == "turn.failed":
            raise refused(_mapping(event.get("error")).get("message"))
    if text is None:
        return Completion("", "stop", "", None, None, "") if is_codex else plain(out)
    # cached and reasoning tokens are part of these two
    return Completion(text, "stop", "", _sum(usage, "input_tokens"), _sum(usage, "output_tokens"), "")


def of_pi(out: bytes) -> Completion:
    """Return the answer of ``pi --mode json``: its last message, and what all of them cost.

    Raises:
        Fault: it says that there is none.
    """
    ended = [_mapping(event.get("message")) for event in _objects(out) if event.get("type") == "message_end"]
    spoken = [message for message in ended if message.get("role") == "assistant"]
    if not spoken:
        return plain(out)
    last = spoken[-1]
    if last.get("stopReason") in ("error", "aborted"):
        raise refused(last.get("errorMessage") or last.get("stopReason"))
    usages = [_mapping(message.get("usage")) for message in spoken]
    asked = [_sum(usage, "input", "cacheRead", "cacheWrite") for usage in usages]
    answered = [_sum(usage, "output") for usage in usages]
    costs = [_number(_mapping(usage.get("cost")).get("total")) or 0.0 for usage in usages]
    content = last.get("content")
    parts = [_mapping(part) for part in cast("list[object]", content)] if isinstance(content, list) else []
    return Completion(
        "".join(str(part.get("text") or "") for part in parts if part.get("type") == "text"),
        "length" if last.get("stopReason") == "length" else "stop", "",
        sum(n or 0 for n in asked) or None, sum(n or 0 for n in answered) or None, str(last.get("model") or ""),
        # without a price list it says nought
        sum(costs) or None,
    )  # fmt: skip


def refused(message: object, status: int = 0) -> Fault:
    """Return what an agent says in place of an answer."""
    text = told(str(message or "it gave no reason"))
    named = _STATUS.match(text)
    status = status or (int(named[1]) if named else 0)
    return Fault("status", text, status) if status else Fault("exit", text)


def told(text: str) -> str:
    """Return words of a program in one line without control characters."""
    return "".join(c for c in " ".join(text.split()) if c.isprintable())[:_MOST_MESSAGE]


def last_line(data: bytes) -> str:
    """Return the last line of a program's output that says anything."""
    lines = (told(line) for line in reversed(data.decode("utf-8", "replace").splitlines()))
    return next((line for line in lines if line), "")


def _objects(out: bytes) -> Iterator[Mapping[str, object]]:
    """Yield the JSON objects of an output, one a line; a whole list counts as its members."""
    for line in out.splitlines():
        try:
            found: object = json.loads(line) if line.lstrip()[:1] in (b"{", b"[") else None
        except ValueError:
            continue
        for one in cast("list[object]", found) if isinstance(found, list) else [found]:
            if isinstance(one, dict):
                yield _mapping(cast("object", one))


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _sum(usage: Mapping[str, object], *names: str) -> int | None:
    """Return the sum of counts, None where none of them is told."""
    found = [value for value in map(usage.get, names) if isinstance(value, int) and value >= 0]
    return sum(found) if found else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
