"""What a record of a Claude Code session weighs, and what it is sent as."""

from functools import partial
from typing import cast

from slowwave.compaction.estimates import CLAUDE
from slowwave.compaction.live.claude_groups import ANSWER, OTHER, PROMPT, RESULT, SCALES, Row
from slowwave.compaction.live.weight import LARGE_BYTES
from slowwave.formats.claude.messages import ClaudeMessage
from slowwave.formats.claude.records import DECODER, SPOKEN, Envelope, Node
from slowwave.formats.model import Message, Role, Span
from slowwave.formats.salvage import clean

_THINKS = b'[{"type":"thinking"'
_NEAR_BYTES = 1024


def row_of(offset: int, length: int, raw: bytes, line: Envelope) -> Row:
    """Return a record as a row of the way up."""
    weight, kind, message = weighed(offset, raw, line)
    return Row(offset, length, weight, kind, line.uuid or "", message, line.parent)


def weighed(offset: int, raw: bytes, line: Envelope) -> tuple[int, int, str | None]:
    """Return the weight of a record, what it is sent as, and the id of the message that it is a piece of."""
    head = line.message
    if head is not None and line.type in SPOKEN:
        content = head.content
        size = len(content)
        large = size > LARGE_BYTES
        weight = SCALES.of_large(content, partial(message_of, offset, raw)) if large else SCALES.weight(size)
        if line.type == "assistant":
            if thinks(raw):
                weight = SCALES.unsigned(bytes(content))
            return weight, ANSWER, head.id
        return weight, RESULT if b'"tool_result"' in raw else PROMPT, None
    is_sent = line.type == "attachment" and b'"rendered"' in raw
    return SCALES.of_tokens(CLAUDE.tokens(len(raw))) if is_sent else 0, PROMPT if is_sent else OTHER, None


def thinks(raw: bytes) -> bool:
    """Say whether an answer begins with reasoning; not far into its record, or it is not worth the look."""
    return raw.find(_THINKS, 0, _NEAR_BYTES) >= 0


def message_of(offset: int, raw: bytes) -> Message:
    """Return a record of a person or a model as its message."""
    env = DECODER.decode(clean(raw))
    return ClaudeMessage(cast("Role", env.type), Node(env, Span(0, 0, offset, raw), 0), True, False)  # noqa: FBT003 - fields of a struct
