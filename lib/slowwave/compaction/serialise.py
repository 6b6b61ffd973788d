"""Messages as one flat text for a model that shall summarise them and not go on with them.

Source: ``serializeConversation`` of pi 0.58.3 (parts joined by a blank line) and §7.5.5 of the ULID specification (by
one newline). What no person typed is not shown as theirs: text that a client injected has a label of its own and is
cut like the result of a tool.
"""

from collections.abc import Iterable, Iterator

from slowwave.compaction.javascript import cut, entries, fields_of, stringify, units
from slowwave.formats.model import Block, Injected, Message, Text, Thinking, ToolCall, ToolResult

RESULT_UNITS = 2000
PI_SEPARATOR = "\n\n"
ULID_SEPARATOR = "\n"


def flat(messages: Iterable[Message], *, separator: str = PI_SEPARATOR, most: int = RESULT_UNITS) -> str:
    """Return messages as labelled text; results and injected text are cut after ``most`` units, images left out."""
    return separator.join(part for message in messages for part in _parts(message, most))


def shortened(text: str, most: int = RESULT_UNITS) -> str:
    """Return the beginning of a text that is longer than ``most`` units, and how much was left out."""
    length = units(text)
    if length <= most:
        return text
    kept = cut(text, most)
    return f"{kept}\n\n[... {length - units(kept)} more characters truncated]"


def _parts(message: Message, most: int) -> Iterator[str]:
    blocks = message.blocks
    if message.role == "assistant":
        yield from _answer(blocks)
        return
    for block in blocks:
        if isinstance(block, ToolResult) and block.text:
            yield f"[Tool result]: {shortened(block.text, most)}"
    injected = message.origin in ("injected", "tool") or message.role == "system"
    if text := "".join(b.text for b in blocks if isinstance(b, Text)):
        yield f"[Injected]: {shortened(text, most)}" if injected else f"[User]: {text}"
    if text := "".join(b.text for b in blocks if isinstance(b, Injected)):
        yield f"[Injected]: {shortened(text, most)}"


def _answer(blocks: tuple[Block, ...]) -> Iterator[str]:
    if thoughts := [b.text for b in blocks if isinstance(b, Thinking) and b.text]:
        yield "[Assistant thinking]: " + "\n".join(thoughts)
    if texts := [b.text for b in blocks if isinstance(b, Text) and b.text]:
        yield "[Assistant]: " + "\n".join(texts)
    if calls := [_call(b) for b in blocks if isinstance(b, ToolCall)]:
        yield "[Assistant tool calls]: " + "; ".join(calls)


def _call(call: ToolCall) -> str:
    fields = fields_of(call.args)
    if fields or call.args is None or call.args == {}:
        return f"{call.name}({', '.join(f'{name}={stringify(value)}' for name, value in entries(fields))})"
    return f"{call.name}({stringify(call.args)})"
