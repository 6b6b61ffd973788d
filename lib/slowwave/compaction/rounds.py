"""Cersei's way to make a conversation smaller: summaries by rounds, and the newest messages that stay.

Source: ``compact.rs`` of Cersei 0.1.8 and seed 000, section Auto-Compact. Its plain cuts part calls from their results,
which no provider accepts; the ones here move back until none is parted. A question for every round would be hundreds
for one session: rounds that fit are asked about together.
"""

from collections.abc import Sequence
from typing import NamedTuple

from slowwave.compaction.cuts import parted
from slowwave.compaction.estimates import CERSEI, Rule
from slowwave.compaction.items import Item, items_of
from slowwave.compaction.javascript import fields_of
from slowwave.compaction.plan import Plan
from slowwave.compaction.requests import Request
from slowwave.compaction.triggers import KEEP_RECENT_MESSAGES, Budget
from slowwave.formats.model import Message

_HINTS = ("file_path", "path", "filePath")
_TASK = (
    "Summarise the conversation so far in short points. Say which decisions were made and why, which files were read, "
    "created or changed (with their paths), which results of tools still matter, what is left to do, and which errors "
    "came up and how they were solved."
)


_CARRY = "Take over from <previous-summary> what still holds."
_ANSWER_TOKENS = 4_096


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


def round_requests(plan: Plan, budget: Budget, focus: str = "") -> list[Request]:
    """Return a question for each group of rounds, in order; what was summarised before goes with the first.

    Args:
        plan: what is summarised.
        budget: about so many tokens as it keeps go into one question, more where one round has more.
        focus: what a person asked to look at.
    """
    items = {id(item.message): item for item in plan.history + plan.prefix if item.message is not None}
    found: list[tuple[Item, ...]] = []
    size = 0
    for group in rounds([item.message for item in items.values() if item.message is not None]):
        own = tuple(items[id(message)] for message in group.messages)
        if found and size + group.tokens <= budget.keep_recent_tokens:
            found[-1] += own
            size += group.tokens
        else:
            found.append(own)
            size = group.tokens
    first, later = _task(plan.previous_summary, focus), compact_prompt(focus)
    return [
        Request("history", "rounds", own, later if at else first, _ANSWER_TOKENS, "" if at else plan.previous_summary)
        for at, own in enumerate(found)
    ]


def joined_rounds(answers: Sequence[str]) -> str:
    """Return the answers about all groups as one summary."""
    return "\n\n".join(answers)


def _task(previous: str, focus: str) -> str:
    return (f"{_CARRY} " if previous else "") + compact_prompt(focus)


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
