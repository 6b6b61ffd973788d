"""The trail of a pi session of version 3, which Clawdbot writes, too: the path from its last entry to the root.

The walk goes backward through the file, since no entry stands before its parent; it holds one id.
"""

from functools import partial
from typing import Any

import msgspec

from slowwave.compaction.estimates import PI
from slowwave.compaction.live.backward import DamagedError, backward
from slowwave.compaction.live.trail import BEGINS, SPEAKS, TURN, Trail
from slowwave.compaction.live.weight import Scales
from slowwave.compaction.pi_entries import KINDS, message_tokens
from slowwave.dialects.model import SessionFiles
from slowwave.dialects.openclaw.tree import OWN_TYPES
from slowwave.dialects.pi.messages import PiMessage
from slowwave.dialects.pi.records import DECODER, entry_of
from slowwave.dialects.pi.tail import header_of
from slowwave.records.model import Span

_TEXT, _RESULT = Scales(PI, 40), Scales(PI, 30)


class _Body(msgspec.Struct, gc=False):
    role: Any = None
    content: msgspec.Raw = msgspec.Raw()


class _Line(msgspec.Struct, gc=False):
    type: Any = None
    id: Any = None
    parent: Any = msgspec.field(default=None, name="parentId")
    message: _Body | None = None


_LINES = msgspec.json.Decoder(_Line)


def pi_trail(files: SessionFiles) -> Trail | None:
    """Return the trail of a session whose path has no compaction.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    header = header_of(files)
    if header is None:
        return None
    try:
        trail = _walked(files)
    except DamagedError:
        return None
    return trail


def _walked(files: SessionFiles) -> Trail | None:
    trail = Trail()
    wanted: str | None = None
    is_last = True
    for offset, raw, line in backward(files.paths[0], _LINES):
        if line.type == "session":
            continue
        if line.type in OWN_TYPES:
            return None
        if is_last and not isinstance(line.id, str):
            return None
        if is_last or (wanted is not None and line.id == wanted):
            if line.type == "compaction":
                return None
            trail.add(0, offset, len(raw), *_weighed(offset, raw, line))
            wanted = line.parent if isinstance(line.parent, str) and line.parent else None
        is_last = False
    trail.reverse()
    return trail


def _weighed(offset: int, raw: bytes, line: _Line) -> tuple[int, int]:
    """Return the tokens of an entry, and what it is to a plan."""
    body = line.message
    if line.type == "message" and body is not None and body.role in ("user", "assistant", "toolResult"):
        scales = _RESULT if body.role == "toolResult" else _TEXT
        tokens = scales.weight(body.content, partial(_message, offset, raw))
        kind = KINDS[body.role]
    else:
        entry = entry_of(DECODER.decode(raw), Span(0, 0, offset, raw))
        fields = entry.message() if entry.role else entry.fields()
        kind = "setting" if fields.get("excludeFromContext") else KINDS.get(entry.kind, "setting")
        tokens = 0 if kind == "setting" else message_tokens(entry.kind, fields)
    mark = (SPEAKS if kind != "setting" else 0) | (TURN if kind == "user" else 0) | (BEGINS if kind != "result" else 0)
    return tokens, mark


def _message(offset: int, raw: bytes) -> PiMessage:
    return PiMessage(entry_of(DECODER.decode(raw), Span(0, 0, offset, raw)), "", True)  # noqa: FBT003 - a struct's field
