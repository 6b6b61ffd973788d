"""The repairs that Claude Code makes before it sends a loaded session, so that the API accepts it."""

from collections.abc import Iterable

from slowwave.dialects.claude.records import content_of
from slowwave.dialects.claude.turns import Turn
from slowwave.dialects.model import Block, Injected, Text, ToolCall, ToolResult
from slowwave.records.model import Span

INTERRUPTED = (
    "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. "
    "Check whether it took effect before relying on it or running it again.]"
)
MISSING = "[Tool result missing due to internal error]"
REPEATED = "[Tool use interrupted]"
NOTHING = "(no content)"
FILLER = "No response requested."


def without_open_calls(turns: list[Turn], *, answer_last: bool) -> list[Turn]:
    """Drop tool calls that no record answers; those of the last message are answered as interrupted (2.1)."""
    answered = {r for t in turns for r in t.results}
    last = _last_group(turns) if answer_last else []
    open_last = [(c, t) for t in last for c in t.calls if c not in answered]
    kept = answered | {c for c, _ in open_last}
    found: list[Turn] = []
    for turn in turns:
        if turn.calls:
            turn.parts = [(b, s) for b, s in turn.parts if not isinstance(b, ToolCall) or b.id in kept]
            if not turn.parts:
                continue
        found.append(turn)
    if open_last:
        parts: list[tuple[Block, Span]] = [
            (ToolResult(c, INTERRUPTED, is_error=True), t.node.span) for c, t in open_last
        ]
        found.append(Turn("user", parts, last[-1].node))
    return found


def _last_group(turns: list[Turn]) -> list[Turn]:
    """Return the pieces of the last assistant message, when nothing but its results follows them."""
    index = len(turns) - 1
    while index >= 0 and (turns[index].only_results() or _is_attached(turns[index])):
        index -= 1
    if index < 0 or turns[index].role != "assistant":
        return []
    mid = turns[index].id
    return [t for t in turns if t is turns[index] or (mid is not None and t.id == mid)]


def _is_attached(turn: Turn) -> bool:
    return turn.node.env.type == "attachment"


def without_blank(turns: list[Turn], *, keep_empty: bool) -> list[Turn]:
    """Drop assistant turns that hold nothing but white space, and reasoning whose message says nothing else.

    With ``keep_empty`` (2.1) a turn without any block stays; it is sent as ``(no content)``.
    """
    speaking = {t.id for t in turns if t.role == "assistant" and t.id and not t.is_blank()}
    return [
        t
        for t in turns
        if t.role != "assistant"
        or not t.is_blank()
        or (t.id in speaking and t.has_reasoning())
        or (keep_empty and not t.parts)
    ]


def merged(turns: Iterable[Turn], *, over_results: bool) -> list[Turn]:
    """Join user turns that follow each other and assistant turns of one API message.

    Args:
        turns: in the order of the conversation.
        over_results: also join pieces of a message that results of its own calls stand between (2.0 and later).
    """
    found: list[Turn] = []
    for turn in turns:
        target = _same_message(found, turn, over_results=over_results) if turn.role == "assistant" else None
        if turn.role == "user" and found and found[-1].role == "user":
            target = found[-1]
        if target is None:
            found.append(Turn(turn.role, list(turn.parts), turn.node, turn.id))
        else:
            target.parts += turn.parts
            target.joined.append(turn.node)
    return found


def _same_message(found: list[Turn], turn: Turn, *, over_results: bool) -> Turn | None:
    for other in reversed(found):
        if other.role == "assistant" and turn.id is not None and other.id == turn.id:
            return other
        if not over_results or (other.role == "user" and not other.only_results()):
            return None
    return None


def paired(turns: list[Turn]) -> list[Turn]:
    """Give every call exactly one result right behind it and drop results without a call (2.1)."""
    found: list[Turn] = []
    used: set[str] = set()
    for turn in turns:
        if turn.role == "assistant":
            _drop_repeated_calls(turn, used)
            _answer_missing(found)
        else:
            _drop_stray_results(turn, found)
        found.append(turn)
    _answer_missing(found)
    return found


def _drop_repeated_calls(turn: Turn, used: set[str]) -> None:
    parts = turn.parts
    turn.parts = [(b, s) for b, s in parts if not isinstance(b, ToolCall) or b.id not in used]
    used.update(turn.calls)
    if parts and not turn.parts:
        turn.parts = [(Text(REPEATED), parts[0][1])]
    elif not parts:
        turn.parts = [(Text(NOTHING), turn.node.span)]


def _answer_missing(found: list[Turn]) -> None:
    """Put a result for each call of the last assistant turn that nothing answers."""
    if found and found[-1].role == "assistant" and found[-1].calls:
        span = found[-1].node.span
        parts: list[tuple[Block, Span]] = [(ToolResult(c, MISSING, is_error=True), span) for c in found[-1].calls]
        found.append(Turn("user", parts, found[-1].node))


def _drop_stray_results(turn: Turn, found: list[Turn]) -> None:
    before = found[-1] if found and found[-1].role == "assistant" else None
    wanted = list(before.calls) if before else []
    if not turn.parts and not wanted:
        return
    is_listed = not isinstance(content_of(turn.node.env.message), str)
    kept: list[tuple[Block, Span]] = []
    for block, span in turn.parts:
        if isinstance(block, ToolResult):
            if block.id not in wanted:
                continue
            wanted.remove(block.id)
        if not (is_listed and isinstance(block, Text) and not block.text.strip()):
            kept.append((block, span))
    span = turn.parts[0][1] if turn.parts else turn.node.span
    missing: list[tuple[Block, Span]] = [(ToolResult(c, MISSING, is_error=True), span) for c in wanted]
    turn.parts = [*missing, *kept] or [(Injected(NOTHING), span)]
