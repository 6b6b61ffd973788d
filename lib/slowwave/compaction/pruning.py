"""Old outputs of tools that a summary does not need: cleared first, so that there is less to summarise.

Source: ``SessionCompaction.prune`` of opencode. From the newest output backwards: those of the last two turns and the
newest 40,000 tokens before them stay; the rest goes, but only when that frees more than 20,000. It stops at a summary
and at an output that was cleared before: what lies behind was looked at already.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from slowwave.compaction.calls import answers
from slowwave.compaction.estimates import OPENCODE, Rule
from slowwave.compaction.items import Item
from slowwave.formats.messages import PlainMessage
from slowwave.formats.model import Block, Message, ToolResult

PROTECTED_TOKENS = 40_000
MINIMUM_TOKENS = 20_000
SPARED_TURNS = 2
SPARED_TOOLS = frozenset({"skill"})
CLEARED = "[Old tool result content cleared]"


class Output(NamedTuple):
    """The output of a tool: the item that holds it, which of its results it is, and its size."""

    at: int
    number: int
    tokens: int


class Pruning(NamedTuple):
    """Outputs to clear, the newest first, and the tokens that they free."""

    outputs: tuple[Output, ...] = ()
    freed_tokens: int = 0


def prune(
    items: Sequence[Item],
    *,
    protected_tokens: int = PROTECTED_TOKENS,
    minimum_tokens: int = MINIMUM_TOKENS,
    rule: Rule = OPENCODE,
) -> Pruning:
    """Return which outputs to clear; none when too little would be freed."""
    total = 0
    found: list[Output] = []
    for output in _old_outputs(items, rule):
        total += output.tokens
        if total > protected_tokens:
            found.append(output)
    freed = sum(output.tokens for output in found)
    return Pruning(tuple(found), freed) if freed > minimum_tokens else Pruning()


def cleared(items: Sequence[Item], pruning: Pruning, rule: Rule = OPENCODE) -> list[Item]:
    """Return items with the outputs of a pruning cleared; nothing else changes."""
    gone: dict[int, set[int]] = {}
    for output in pruning.outputs:
        gone.setdefault(output.at, set()).add(output.number)
    return [_without(item, gone[at], rule) if at in gone else item for at, item in enumerate(items)]


def _old_outputs(items: Sequence[Item], rule: Rule) -> Iterator[Output]:
    """Yield the outputs behind the spared turns, the newest first, up to the first that is no longer looked at."""
    tools = _tools(items)
    turns = 0
    for at in range(len(items) - 1, -1, -1):
        item = items[at]
        turns += item.kind == "user"
        if turns < SPARED_TURNS:
            continue
        if item.kind == "compaction":
            return
        for number, result in reversed(list(enumerate(item.message.results if item.message is not None else ()))):
            if tools.get((at, number)) in SPARED_TOOLS:
                continue
            if result.text == CLEARED:
                return
            yield Output(at, number, rule.of_text(result.text))


def _tools(items: Sequence[Item]) -> dict[tuple[int, int], str]:
    """Return the tool behind each result, by the item that holds it and which of its results it is."""
    tools: dict[tuple[int, int], str] = {}
    for at, found in enumerate(answers((item.calls, item.results) for item in items)):
        for number, answer in enumerate(found):
            caller = items[answer.at].message if answer is not None else None
            if caller is not None and answer is not None:
                tools[at, number] = caller.calls[answer.number].name
    return tools


def _without(item: Item, numbers: set[int], rule: Rule) -> Item:
    if item.message is None:
        return item
    message = _cleared(item.message, numbers)
    return item._replace(message=message, tokens=rule.of_message(message))


def _cleared(message: Message, numbers: set[int]) -> Message:
    blocks: list[Block] = []
    number = 0
    for block in message.blocks:
        if isinstance(block, ToolResult):
            blocks.append(ToolResult(block.id, CLEARED, block.is_error) if number in numbers else block)
            number += 1
        else:
            blocks.append(block)
    place = (message.id, message.timestamp, message.cwd)
    return PlainMessage(message.role, tuple(blocks), message.sources, message.origin, *place)
