"""What Codex would send if a rollout were resumed: replay of its items, rollbacks and compactions.

Rules (formats.md §8.3 and the client's reconstruction; clients.md §5.3 tried most of them): turns that were rolled back
do not count, and neither do compactions made in them; the newest ``replacement_history`` that is left is the base, and
the lines behind it are replayed on top. A compaction without one keeps the user's messages (newest first, 20,000
tokens) and its summary. Then every call without an output gets ``aborted``, and outputs without a call are dropped.
"""

from collections.abc import Iterable, Iterator, Sequence

from slowwave.dialects.codex.history import History, is_boundary
from slowwave.dialects.codex.injected import SUMMARY_PREFIX
from slowwave.dialects.codex.messages import CodexMessage, Place, words_of
from slowwave.dialects.codex.records import CALLS, KNOWN_ITEMS, OUTPUTS, Item, Line, item_of, replacement_items
from slowwave.dialects.codex.sound import Beside, beside_of, is_sound, parsed
from slowwave.dialects.codex.truncate import DEFAULT_LIMIT, Limit, middle_cut, tokens_of
from slowwave.dialects.codex.turns import base_of, is_from_agent, own_lines, rolled_back, window_start
from slowwave.dialects.model import Message, Text
from slowwave.dialects.normal import Verbatim
from slowwave.dialects.plain import PlainMessage

USER_TOKENS = 20_000
_CUT = ("function_call_output", "custom_tool_call_output")
_NO_SUMMARY = "(no summary available)"
# Which outputs answer which calls; any other output is an orphan (client: normalize).
_ANSWERS = {
    "function_call_output": ("function_call", "local_shell_call"),
    "custom_tool_call_output": ("custom_tool_call",),
    "tool_search_output": ("tool_search_call",),
}

Sent = CodexMessage | PlainMessage


def replay(lines: Sequence[Line], *, is_paginated: bool = False, is_parsed: bool = False) -> list[Sent]:
    """Return the messages after all lines, without the client's repairs and with the harness's own.

    Args:
        lines: the rollout, or its end.
        is_paginated: its header says so.
        is_parsed: what the client cannot parse was left out before.
    """
    lines = lines if is_parsed else parsed(lines)
    window = None
    if is_paginated:
        lines = own_lines(lines)
        window = window_start(lines)
        lines = lines[window or 0 :]
    base, skipped = base_of(lines)
    if window is not None:
        skipped.discard(0)  # no rollback reaches over the beginning of a window
    history = History[Sent]()
    for index in range(base or 0, len(lines)):
        line = lines[index]
        if line.kind == "response_item":
            history.extend(_recorded(line))
        elif is_from_agent(line):
            history.append(CodexMessage(Item("agent_message"), line.span, line.timestamp, Place(), as_sent=True))
        elif line.kind == "compacted":
            kept = replacement_items(line)
            if kept is None:
                history = History(_compacted(history.messages, line))
            elif index not in skipped:
                history = History[Sent](_sent(kept, line))
        elif (turns := rolled_back(line)) > 0:
            history.roll_back(turns)
    return history.messages


def repaired(history: Iterable[Sent]) -> list[Message]:
    """Return what is sent of a history: calls answered, orphans and the harness's own messages left out.

    Messages of the roles developer and system are the client's instructions; a context is what was said.
    """
    kept = [m for m in history if _kind(m) != "ghost_snapshot"]
    called = {(_kind(m), m.item.call_id) for m in kept if isinstance(m, CodexMessage) and _kind(m) in CALLS}
    answered = {(_kind(m), m.item.call_id) for m in kept if isinstance(m, CodexMessage) and _kind(m) in OUTPUTS}
    found: list[Message] = []
    for message in kept:
        kind = _kind(message)
        if not isinstance(message, CodexMessage):
            found.append(message)
        elif kind in OUTPUTS:
            if _is_free(message) or any((call, message.item.call_id) in called for call in _ANSWERS[kind]):
                found.append(message)
        elif message.role != "system":
            found.append(message)
            if kind in CALLS and not _is_answered(message, answered):
                found.append(_aborted(message))
    return found


def _recorded(line: Line) -> Iterator[CodexMessage]:
    """Yield the message of a line unless the client cannot parse it; outputs as far as its history takes them."""
    item = item_of(line.body)
    is_bare = not line.mentions(b'"payload"')
    beside = Beside() if is_bare else beside_of(line)
    if not is_bare and (beside is None or not is_sound(item, line.body)):
        return
    for message in _sent([item], line):
        if item.kind in _CUT and beside is not None:
            message.limit = DEFAULT_LIMIT if beside.token_limit is None else Limit(beside.token_limit)
        yield message


def _sent(items: Iterable[Item], line: Line) -> Iterator[CodexMessage]:
    """Yield the messages of items; the client ignores items of a type that it does not know."""
    for item in items:
        if item.kind in KNOWN_ITEMS:
            yield CodexMessage(item, line.span, line.timestamp, Place(), as_sent=True)


def _kind(message: Message) -> str:
    return message.item.kind if isinstance(message, CodexMessage) else "message"


def _compacted(history: Sequence[Sent], line: Line) -> list[Sent]:
    """Return what a compaction without a replacement leaves: the user's messages and its summary."""
    asked = [m for m in history if is_boundary(m) and _kind(m) == "message"]
    kept: list[Sent] = []
    room = USER_TOKENS
    for message in reversed(asked):
        text = "".join(words_of(message.item)) if isinstance(message, CodexMessage) else message.text
        size = tokens_of(text)
        if size > room:
            text = middle_cut(text, room)
        kept.append(PlainMessage("user", (Text(text),), message.sources[:1] or (line.span,), "typed"))
        room -= size
        if room <= 0:
            break
    said = line.fields().get("message")
    summary = said if isinstance(said, str) and said else _NO_SUMMARY
    return [*reversed(kept), PlainMessage("user", (Text(summary),), (line.span,), "summary")]


def _is_answered(call: CodexMessage, answered: set[tuple[str, str | None]]) -> bool:
    """Say whether a call has an output; the client looks for none when the call has no id."""
    own = call.item.call_id
    return own is None or any((out, own) in answered for out, calls in _ANSWERS.items() if _kind(call) in calls)


def _is_free(output: CodexMessage) -> bool:
    """Say whether an output needs no call: the API itself found the tools, or it names none."""
    item = output.item
    return item.kind == "tool_search_output" and (item.execution == "server" or item.call_id is None)


def _aborted(call: CodexMessage) -> Message:
    said = "" if _kind(call) == "tool_search_call" else "aborted"  # of a search, that it found nothing
    answer = Verbatim(call.item.call_id or "", said, is_error=True)
    return PlainMessage("tool", (answer,), (call.span,), "tool")


def summary_of(line: Line) -> str:
    """Return the summary that a compaction shows to a reader, without the client's introduction; "" when opaque."""
    said = line.fields().get("message")
    return said.removeprefix(SUMMARY_PREFIX).strip() if isinstance(said, str) else ""
