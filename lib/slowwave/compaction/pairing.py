"""Calls and results in the order that every provider accepts: each result right behind the message that called.

Source: ``repairToolUseResultPairing`` of Clawdbot 2026.1.27. Results that wandered behind other messages move back,
missing ones are made, doubles and results of no call are dropped. The repair is for one request; no file is changed.
Unlike there, a result that comes after the next answer is still found, and an id that is used again is a new call.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from slowwave.compaction.calls import Answer, answers
from slowwave.dialects.model import Message, ToolResult
from slowwave.dialects.plain import PlainMessage

MISSING = "The result of this call is missing from the session; this line stands in for it."


class Repaired(NamedTuple):
    """Messages in order, and what was done to them.

    Attributes:
        messages: the repaired sequence.
        added: results that were made.
        duplicates: results that were dropped, since their call was answered already.
        orphans: results that were dropped, since nobody called.
        is_changed: anything at all was moved, made or dropped.
    """

    messages: list[Message]
    added: list[Message]
    duplicates: list[Message]
    orphans: list[Message]
    is_changed: bool

    @property
    def dropped(self) -> list[Message]:
        """All that was dropped."""
        return [*self.duplicates, *self.orphans]


def never(_message: Message) -> bool:
    """Say of no answer that it failed."""
    return False


def repaired(
    messages: Sequence[Message], *, failed: Callable[[Message], bool] = never, missing: str = MISSING
) -> Repaired:
    """Return messages with every result right behind its call.

    Args:
        messages: of one context, in any dialect; a message with several results is taken apart.
        failed: tells answers that were cut off: their calls never ran, so no result is made for them.
        missing: the text of a result that is made.
    """
    units = [unit for message in messages for unit in _units(message)]
    result = Repaired([], [], [], [], is_changed=False)
    found: dict[tuple[int, int], Message] = {}
    for unit, answer in zip(units, _answers(units), strict=True):
        if answer is None:
            result.orphans.append(unit)
        elif isinstance(answer, Answer) and answer.is_double:
            result.duplicates.append(unit)
        elif isinstance(answer, Answer):
            found[answer.at, answer.number] = unit
    for at, unit in enumerate(units):
        if unit.results:
            continue
        result.messages.append(unit)
        for number, call in enumerate(unit.calls):
            if (own := found.get((at, number))) is not None:
                result.messages.append(own)
            elif not failed(unit):
                result.added.append(_made(unit, call.id, missing))
                result.messages.append(result.added[-1])
    return result._replace(is_changed=not _same(result.messages, messages))


def _answers(units: Sequence[Message]) -> Iterator[Answer | bool | None]:
    """Yield for each unit what it answers, True for those that are no results."""
    ids = [([c.id for c in unit.calls], [r.id for r in unit.results]) for unit in units]
    for answer in answers(ids):
        yield answer[0] if answer else True


def _same(one: Sequence[Message], other: Sequence[Message]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def _units(message: Message) -> Iterator[Message]:
    """Yield a message as it is, or each of its results and the rest by themselves."""
    if len(message.blocks) < 2 or not message.results:  # noqa: PLR2004  # one block
        yield message
        return
    place = (message.id, message.timestamp, message.cwd)
    rest = [(block, source) for block, source in message.placed() if not isinstance(block, ToolResult)]
    for block, source in message.placed():
        if isinstance(block, ToolResult):
            yield PlainMessage(message.role, (block,), (source,), "tool", *place)
    if rest:
        blocks, sources = zip(*rest, strict=True)
        yield PlainMessage(message.role, blocks, sources, message.origin, *place)


def _made(answer: Message, call_id: str, text: str) -> Message:
    block = ToolResult(call_id, text, is_error=True)
    return PlainMessage("tool", (block,), answer.sources[:1], "tool", None, answer.timestamp, answer.cwd)
