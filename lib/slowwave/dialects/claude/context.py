"""What Claude Code sends when a session is resumed: records to API messages, with its repairs.

Each rule was seen with the real clients; ``tests/conformance/test_context_clients.py`` compares whole sessions.
"""

from collections.abc import Sequence

from slowwave.dialects.blocks import blocks_of
from slowwave.dialects.claude.records import Node, content_of
from slowwave.dialects.claude.repair import FILLER, merged, paired, without_blank, without_open_calls
from slowwave.dialects.claude.resume import resumed, version_of
from slowwave.dialects.claude.tail import window_of
from slowwave.dialects.claude.tree import SPOKEN, Tree
from slowwave.dialects.claude.turns import Turn, turn_of
from slowwave.dialects.model import Injected, Message, Text, ToolCall, ToolResult

_CAVEAT = "<local-command-caveat>"
_COMMAND_STARTS = ("<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-stderr>")


def context_of(tree: Tree, *, is_window: bool = False) -> Sequence[Message]:
    """Return the messages that the client would send, without the next prompt.

    Args:
        tree: the records of a session.
        is_window: they are what :func:`window_of` would leave of it.
    """
    if not is_window:
        tree = window_of(tree) or tree
    return sent(resumed(tree), version_of(tree))


def sent(records: list[Node], version: tuple[int, int], *, is_end: bool = True) -> Sequence[Message]:
    """Return what is sent of the records of a conversation, in its order.

    Args:
        records: all of them, or a stretch in which every call has its result.
        version: of the client.
        is_end: nothing follows them, so that what is open at their end is answered.
    """
    modern = version >= (2, 1)
    turns = [turn for node in records if (turn := turn_of(node, version)) is not None]
    turns = without_open_calls(turns, answer_last=modern and is_end)
    if modern:
        said = without_blank(turns, keep_empty=True)
        return [t.message() for t in paired(merged(_answered(said, records) if is_end else said, over_results=True))]
    # Older versions join first: prompts on both sides of an answer without words stay apart. An empty list is nothing.
    spoken = [*(t for t in turns if t.parts), *(_older_filler(records) if is_end else ())]
    joined = merged(spoken, over_results=version >= (2, 0))
    return [t.message() for t in without_blank(joined, keep_empty=False)]


def _older_filler(records: list[Node]) -> list[Turn]:
    """Return the stand-in for an answer that versions before 2.1 add when the last block of all is a user's.

    Calls that nothing answers, and empty lists, are not there for them; notes, attachments and answers without words
    are.
    """
    blocks = [(node, blocks_of(content_of(node.env.message))) for node in records]
    answered = {b.id for _, found in blocks for b in found if isinstance(b, ToolResult)}
    for node, found in reversed(blocks):
        if node.env.type not in SPOKEN or any(not isinstance(b, ToolCall) or b.id in answered for b in found):
            return [_filler(node)] if node.env.type == "user" else []
    return []


def _filler(end: Node) -> Turn:
    return Turn("assistant", [(Text(FILLER), end.span)], end)


def _answered(turns: list[Turn], records: list[Node]) -> list[Turn]:
    """Add the stand-in for an answer when the conversation ends with a user record (2.1).

    The client saves that stand-in with its next prompt. Behind the output of a local command it leaves it out.
    """
    spoken = [t for t in turns if t.node.env.type in SPOKEN]
    if not spoken or spoken[-1].role != "user":
        return turns
    last = next((n for n in reversed(records) if n.env.type in SPOKEN), None)
    if last is not None and last.env.is_error and last.env.type == "assistant":
        return turns
    if _is_local_command(spoken):
        return turns
    return [*turns, _filler(spoken[-1].node)]


def _is_local_command(spoken: list[Turn]) -> bool:
    """Say whether the last user records are a caveat, and the command and output that it speaks of."""
    for turn in reversed(spoken):
        text = next((b.text for b, _ in turn.parts if isinstance(b, Text | Injected)), "").lstrip()
        if turn.role == "user" and turn.node.env.is_meta and text.startswith(_CAVEAT):
            return True
        if turn.role != "user" or not text.startswith(_COMMAND_STARTS):
            return False
    return False
