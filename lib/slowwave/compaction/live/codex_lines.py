"""Lines of a Codex rollout as a plan needs them: what an item is, and how many bytes of it the client sends."""

from typing import Any

import msgspec

from slowwave.compaction.estimates import CODEX
from slowwave.compaction.live.trail import TURN
from slowwave.compaction.live.weight import Scales
from slowwave.formats.codex.messages import DEFAULT_LIMIT, CodexMessage, Place, is_context, is_summary, may_instruct
from slowwave.formats.codex.records import DECODER, Line, beside_of, item_of, line_of
from slowwave.formats.codex.replay import is_boundary, is_renewed
from slowwave.formats.model import REFUSALS, Span

# around the words of an item: names of fields, ids
_AROUND = 160
SCALES = Scales(CODEX, _AROUND)
# of what a tool returned the client sends about so much, where the line does not say how much
MOST_OUTPUT = DEFAULT_LIMIT.size
# a mark: the harness's own words in front of a turn
CONTEXT = 8


class RolloutItem(msgspec.Struct, gc=False):
    """The fields of an item that say what it is; they may hold anything."""

    type: Any = None
    role: Any = None
    call_id: Any = None
    summary: msgspec.Raw = msgspec.Raw()


class RolloutLine(msgspec.Struct, gc=False):
    """A line of a rollout with no more of its item than a plan needs."""

    type: Any = None
    timestamp: Any = None
    payload: RolloutItem | None = None


class _Text(msgspec.Struct, gc=False):
    text: str


class _Words(msgspec.Struct, gc=False):
    content: list[_Text]


class _Said(msgspec.Struct, gc=False):
    payload: _Words


LINES = msgspec.json.Decoder(RolloutLine)
_SAID = msgspec.json.Decoder(_Said)


def read_line(offset: int, raw: bytes) -> Line:
    """Return a line as its dialect reads it."""
    return line_of(Span(0, 0, offset, raw), DECODER.decode(raw))


def sent_of(offset: int, raw: bytes, size: int) -> int:
    """Return about how many bytes of a large output its client sends."""
    if b"fallback_token_limit_override" not in raw:
        return MOST_OUTPUT
    beside = beside_of(read_line(offset, raw))
    limit = beside.token_limit if beside is not None else None
    return MOST_OUTPUT if limit is None else min(size, round(limit * CODEX.per_token))


def message_of(offset: int, raw: bytes) -> CodexMessage:
    """Return an item as the message that is sent of it."""
    return CodexMessage(item_of(read_line(offset, raw).body), Span(0, 0, offset, raw), None, Place(), as_sent=True)


def words_of(offset: int, raw: bytes, item: RolloutItem | None) -> int:
    """Return what a message is to a plan, and to a rollback."""
    role = item.role if item is not None else None
    if role == "assistant" and (b"trigger_turn" not in raw or not may_instruct(raw)):
        return 0
    if role == "user" and (said := _said(raw)) and not is_context(said) and not is_summary(said):
        return TURN
    message = message_of(offset, raw)
    return TURN if is_boundary(message) else CONTEXT if is_renewed(message) else 0  # never both


def _said(raw: bytes) -> str:
    """Return the text of a message that plainly has one, else ""."""
    try:
        content = _SAID.decode(raw).payload.content
    except REFUSALS:
        return ""
    return content[0].text if len(content) == 1 else ""
