"""A history in pieces that fit: for a summary in stages, and to drop the oldest until a share of the window is met.

Source: ``compaction.ts`` of Clawdbot 2026.1.27 (its safeguard mode). Unlike there, a piece never ends between a call
and its result, so nothing is dropped that another piece needs.
"""

from collections.abc import Sequence
from typing import NamedTuple

from slowwave.compaction.calls import answers
from slowwave.compaction.cuts import parted
from slowwave.compaction.estimates import PI, Rule
from slowwave.compaction.items import items_of
from slowwave.dialects.model import Message

BASE_CHUNK_RATIO = 0.4
MIN_CHUNK_RATIO = 0.15
# estimates are guesses: what they say is taken for this much more
SAFETY_MARGIN = 1.2
HISTORY_SHARE = 0.5
_LARGE_AVERAGE = 0.1
_OVERSIZED_SHARE = 0.5
_PARTS = 2

Pieces = list[list[Message]]


class Pruned(NamedTuple):
    """A history that fits, and what was dropped for it, oldest first."""

    messages: list[Message]
    dropped: list[Message]
    dropped_chunks: int
    dropped_tokens: int
    kept_tokens: int
    budget_tokens: int


def split_by_share(messages: Sequence[Message], parts: int = _PARTS, rule: Rule = PI) -> Pieces:
    """Return messages in at most ``parts`` pieces of about the same number of tokens, in order, none empty."""
    pieces = _atoms(messages, rule)
    parts = max(1, min(parts, len(pieces)))
    target = rule.of_messages(messages) / parts
    found: Pieces = []
    current: list[Message] = []
    size = 0
    for piece in pieces:
        tokens = rule.of_messages(piece)
        if len(found) < parts - 1 and current and size + tokens > target:
            found.append(current)
            current, size = [], 0
        current += piece
        size += tokens
    return [*found, current] if current else found


def chunks_of(messages: Sequence[Message], most_tokens: int, rule: Rule = PI) -> Pieces:
    """Return messages in pieces of at most ``most_tokens``; what is larger and cannot be cut is a piece by itself."""
    found: Pieces = []
    size = 0
    for piece in _atoms(messages, rule):
        tokens = rule.of_messages(piece)
        if found and size + tokens <= most_tokens:
            found[-1] += piece
            size += tokens
        else:
            found.append(list(piece))
            size = tokens
    return found


def chunk_ratio(messages: Sequence[Message], window: int, rule: Rule = PI) -> float:
    """Return the share of the window that one piece may fill: less where messages are large on average."""
    if not messages or window <= 0:
        return BASE_CHUNK_RATIO
    average = rule.of_messages(messages) / len(messages) * SAFETY_MARGIN / window
    if average <= _LARGE_AVERAGE:
        return BASE_CHUNK_RATIO
    return max(MIN_CHUNK_RATIO, BASE_CHUNK_RATIO - average * 2)


def is_oversized(message: Message, window: int, rule: Rule = PI) -> bool:
    """Say whether a message alone is too large to be summarised; a summary only notes that it was there."""
    return rule.of_message(message) * SAFETY_MARGIN > window * _OVERSIZED_SHARE


def prune_to_share(
    messages: Sequence[Message], window: int, *, share: float = HISTORY_SHARE, parts: int = _PARTS, rule: Rule = PI
) -> Pruned:
    """Drop the oldest pieces until the rest fills at most a share of the window.

    A single piece is never dropped. Results whose call is gone, or never was, are dropped with it.
    """
    budget = max(1, int(window * share))
    kept, dropped, chunks = list(messages), list[Message](), 0
    while kept and rule.of_messages(kept) > budget:
        pieces = split_by_share(kept, parts, rule)
        if len(pieces) <= 1:
            break
        chunks += 1
        rest = [message for piece in pieces[1:] for message in piece]
        orphans = _superfluous(rest)
        dropped += pieces[0] + orphans
        gone = set(map(id, orphans))
        kept = [message for message in rest if id(message) not in gone]
    return Pruned(kept, dropped, chunks, rule.of_messages(dropped), rule.of_messages(kept), budget)


def _superfluous(messages: Sequence[Message]) -> list[Message]:
    """Return the messages that are only results, each of no call or of one that was answered already."""
    found = answers(([call.id for call in m.calls], [result.id for result in m.results]) for m in messages)
    return [
        message
        for message, own in zip(messages, found, strict=True)
        if own and len(own) == len(message.blocks) and all(answer is None or answer.is_double for answer in own)
    ]


def _atoms(messages: Sequence[Message], rule: Rule) -> Pieces:
    """Return the smallest pieces that part no call from its result."""
    found: Pieces = []
    for message, parting in zip(messages, parted(items_of(messages, rule)), strict=True):
        if parting:
            found[-1].append(message)
        else:
            found.append([message])
    return found
