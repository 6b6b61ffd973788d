"""What other ways to shrink a context keep when no model is asked, at as many bytes as the ledger takes."""

from collections.abc import Callable, Sequence

from slowwave.compaction.items import items_of
from slowwave.compaction.plan import cleared, prune
from slowwave.compaction.summary import flat
from slowwave.compaction.tokens import PI
from slowwave.formats import Block, Message, ToolResult
from slowwave.formats.messages import PlainMessage

KEPT_RESULTS = 10
MASK = "[output omitted]"


def flat_end(messages: Sequence[Message], most: int) -> str:
    """Return the end of pi's serialisation: what truncation keeps."""
    return end(flat(messages), most)


def flat_ends(messages: Sequence[Message], most: int) -> str:
    """Return the beginning and the end of pi's serialisation, half each."""
    text = flat(messages).encode("utf-8", "replace")
    if len(text) <= most:
        return text.decode("utf-8", "replace")
    return (text[: most // 2] + b"\n" + text[-(most // 2) :]).decode("utf-8", "ignore")


def pruned(messages: Sequence[Message], most: int) -> str:
    """Return the end of the serialisation after opencode's prune."""
    items = items_of(messages, PI)
    left = cleared(items, prune(items))
    return end(flat(item.message for item in left if item.message is not None), most)


def masked(messages: Sequence[Message], most: int) -> str:
    """Return the end of the serialisation with all but the last results masked."""
    number = sum(len(message.results) for message in messages)
    made: list[Message] = []
    at = 0
    for message in messages:
        blocks: list[Block] = []
        for block in message.blocks:
            is_old = isinstance(block, ToolResult) and at < number - KEPT_RESULTS
            at += isinstance(block, ToolResult)
            blocks.append(ToolResult(block.id, MASK) if is_old and isinstance(block, ToolResult) else block)
        made.append(PlainMessage(message.role, tuple(blocks), message.sources, message.origin))
    return end(flat(made), most)


def end(text: str, most: int) -> str:
    """Return the last bytes of a text."""
    return text.encode("utf-8", "replace")[-most:].decode("utf-8", "ignore")


BASELINES: dict[str, Callable[[Sequence[Message], int], str]] = {
    "pi's serialisation, its end": flat_end,
    "pi's serialisation, both ends": flat_ends,
    "opencode's prune, then the end": pruned,
    f"all but {KEPT_RESULTS} outputs masked, then the end": masked,
}
