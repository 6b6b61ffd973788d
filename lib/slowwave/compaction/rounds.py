"""Cersei's way to make a conversation smaller: rounds, the newest messages that fit, and dropping the rest.

Source: ``compact.rs`` of Cersei 0.1.8 and the seed's section Auto-Compact. Its plain cuts part calls from their
results, which no provider accepts; the ones here move back until none is parted.
"""

from collections.abc import Sequence
from typing import NamedTuple

from slowwave.compaction.cuts import parted
from slowwave.compaction.estimates import CERSEI, Rule
from slowwave.compaction.items import items_of
from slowwave.compaction.javascript import fields_of
from slowwave.dialects.model import Message

KEEP_RECENT_MESSAGES = 10
_HINTS = ("file_path", "path", "filePath")
_TASK = (
    "Summarise the conversation so far in short points. Say which decisions were made and why, which files were read, "
    "created or changed (with their paths), which results of tools still matter, what is left to do, and which errors "
    "came up and how they were solved."
)


class Round(NamedTuple):
    """Messages that belong together: up to an answer that calls no tool."""

    messages: tuple[Message, ...]
    tokens: int
    hint: str


class Snipped(NamedTuple):
    """What is left after the oldest messages were dropped, and the tokens that this freed."""

    kept: Sequence[Message]
    freed_tokens: int


def rounds(messages: Sequence[Message], rule: Rule = CERSEI) -> list[Round]:
    """Return messages grouped by rounds; a group ends at an answer without a call, the last one where the file does."""
    found: list[Round] = []
    begin = 0
    for at, message in enumerate(messages, 1):
        if (message.role == "assistant" and not message.calls) or at == len(messages):
            group = tuple(messages[begin:at])
            found.append(Round(group, rule.of_messages(group), _hint(group)))
            begin = at
    return found


def keep_index(messages: Sequence[Message], budget_tokens: int, rule: Rule = CERSEI) -> int:
    """Return the index from which messages fit into a budget; 0 keeps all (``calculate_messages_to_keep_index``)."""
    total = 0
    for at in range(len(messages) - 1, -1, -1):
        total += rule.of_message(messages[at])
        if total > budget_tokens:
            return _whole_calls(messages, at + 1)
    return 0


def snip(messages: Sequence[Message], keep: int = KEEP_RECENT_MESSAGES, rule: Rule = CERSEI) -> Snipped:
    """Drop the oldest messages; at least ``keep`` stay, more where the cut would part a call from its result."""
    at = _whole_calls(messages, max(0, len(messages) - keep))
    return Snipped(messages[at:], rule.of_messages(messages[:at]))


def compact_prompt(instructions: str = "") -> str:
    """Return what a model is asked behind the conversation."""
    return _TASK + (f"\n\nAdditional context: {instructions}" if instructions else "")


def wrapped_summary(text: str) -> str:
    """Return a summary as it stands in the conversation."""
    return f"<context_summary>\nSummary of the conversation so far:\n\n{text.strip()}\n</context_summary>"


def _whole_calls(messages: Sequence[Message], at: int) -> int:
    parting = parted(items_of(messages, CERSEI))
    while 0 < at < len(messages) and parting[at]:
        at -= 1
    return at


def _hint(messages: Sequence[Message]) -> str:
    """Return the file that the first call names, or its tool."""
    call = next((call for message in messages for call in message.calls), None)
    if call is None:
        return ""
    fields = fields_of(call.args)
    return next((path for key in _HINTS if isinstance(path := fields.get(key), str)), call.name)
