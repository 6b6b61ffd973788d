"""Calls and results put right before a model sees them, in memory only: the client does not write this back.

Results come directly behind the answer that called for them, in the order of the calls; a call without a result gets
one that says so; a second result of the same call and results that nobody called for are left out.
Source: ``session-transcript-repair`` of Clawdbot 2026.1.27; answers that failed keep their calls as they are, as later
versions do, since such answers are not sent.
"""

from typing import Any, NamedTuple

from slowwave.dialects.pi.context import Said
from slowwave.dialects.pi.wire import compared

_MISSING = "missing tool result in session history; inserted synthetic error result for transcript repair."
# The client calls itself by its own name here; OpenClaw is Clawdbot's later one.
MISSING = f"[openclaw] {_MISSING}"
MISSING_CLAWDBOT = f"[clawdbot] {_MISSING}"
_FAILED = ("error", "aborted")


class Repaired(NamedTuple):
    """Messages, and what was done to them.

    Attributes:
        messages: every call directly followed by its one result.
        added: results that stand for missing ones.
        duplicates: further results of a call that had one, left out.
        orphans: results that no answer called for, left out.
        moved: whether results stood behind somebody else's words.
    """

    messages: list[Said]
    added: list[Said]
    duplicates: int
    orphans: int
    moved: bool


class _Repair:
    def __init__(self, missing: str) -> None:
        self.missing = missing
        self.messages: list[Said] = []
        self.added: list[Said] = []
        self.seen: set[object] = set()
        self.duplicates = 0
        self.orphans = 0
        self.moved = False

    def answer(self, item: Said, calls: list[dict[str, Any]], span: list[Said]) -> None:
        """Take an answer with its calls, and all that was said up to the next answer."""
        wanted = {compared(call.get("id")) for call in calls}
        results: dict[object, Said] = {}
        others: list[Said] = []
        for other in span:
            own = compared(other.fields.get("toolCallId"))
            if other.role != "toolResult":
                others.append(other)
            elif own not in wanted:
                self.orphans += 1
            elif own in self.seen or own in results:
                self.duplicates += 1
            else:
                results[own] = other
                self.moved = self.moved or bool(others)
        self.messages.append(item)
        for call in calls:
            own = compared(call.get("id"))
            result = results.get(own) or _missing(item, call, self.missing)
            if own not in results:
                self.added.append(result)
            self.seen.add(own)
            self.messages.append(result)
        self.messages += others


def _missing(item: Said, call: dict[str, Any], text: str) -> Said:
    fields = {"toolCallId": call.get("id"), "toolName": call.get("name"), "isError": True}
    return Said("toolResult", [{"type": "text", "text": text}], fields, item.entry)


def repaired(messages: list[Said], missing: str = MISSING) -> Repaired:
    """Return messages in which every call has exactly one result, right behind the answer that called.

    Args:
        messages: what was said.
        missing: what stands for a result that is not there.
    """
    repair = _Repair(missing)
    at = 0
    while at < len(messages):
        item = messages[at]
        at += 1
        calls = [part for part in item.parts if part.get("type") == "toolCall"] if item.role == "assistant" else []
        if item.role == "toolResult":
            if compared(item.fields.get("toolCallId")) in repair.seen:
                repair.duplicates += 1
            else:
                repair.orphans += 1
        elif not calls or item.fields.get("stopReason") in _FAILED:
            repair.messages.append(item)
        else:
            end = next((i for i in range(at, len(messages)) if messages[i].role == "assistant"), len(messages))
            repair.answer(item, calls, messages[at:end])
            at = end
    return Repaired(repair.messages, repair.added, repair.duplicates, repair.orphans, repair.moved)
