"""The trail of a pi session of version 3, which Clawdbot writes, too: the path from its last entry to the root.

The walk goes backward through the file, since no entry stands before its parent; it holds one id.
"""

from functools import partial
from typing import Any

import msgspec

from slowwave.compaction.estimates import PI
from slowwave.compaction.live.lines import backward
from slowwave.compaction.live.trail import BEGINS, SPEAKS, TURN, Trail
from slowwave.compaction.live.weight import LARGE_BYTES, Scales
from slowwave.compaction.pi_entries import KINDS, message_tokens
from slowwave.dialects.model import SessionFiles
from slowwave.dialects.openclaw.tree import OWN_TYPES
from slowwave.dialects.pi.load import loses_entries
from slowwave.dialects.pi.messages import PiMessage
from slowwave.dialects.pi.records import DECODER, entry_of
from slowwave.dialects.pi.tail import header_of
from slowwave.records.model import Span
from slowwave.records.values import clean

# around the words of a block: names of fields, an id
_SCALES = Scales(PI, 35)
_NOT_WALKED = frozenset({"session", *OWN_TYPES})
# Ids of branches that were left: with more of them it is no longer cheap to see that an id stands there twice.
_MOST_BESIDE = 100_000


class _Body(msgspec.Struct, gc=False):
    role: Any = None
    content: msgspec.Raw = msgspec.Raw()


class _Line(msgspec.Struct, gc=False):
    type: Any = None
    id: Any = None
    parent: Any = msgspec.field(default=None, name="parentId")
    message: _Body | None = None


_LINES = msgspec.json.Decoder(_Line)


def pi_trail(files: SessionFiles) -> Trail | None:  # noqa: C901 - one loop over a hundred thousand records
    """Return the trail of a session whose path has no compaction.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    if header_of(files) is None:
        return None
    trail = Trail(_SCALES)
    add = trail.add
    wanted: object = None
    is_last = True
    beside = set[object]()
    for offset, raw, line in backward(files.paths[0], _LINES, loses_entries):
        kind = line.type
        if type(kind) is str and kind in _NOT_WALKED:
            if kind != "session":
                return None
            continue
        if is_last:
            if not isinstance(line.id, str):
                return None
            wanted, is_last = line.id, False
        if line.id != wanted or wanted is None:
            if isinstance(line.id, str):
                beside.add(hash(line.id))
            continue
        if kind == "compaction" or (beside and (hash(wanted) in beside or len(beside) > _MOST_BESIDE)):
            return None
        weight, mark = _weighed(offset, raw, line)
        add(0, offset, len(raw), weight, mark)
        parent = line.parent
        wanted = parent if isinstance(parent, str) and parent else None
    if wanted is not None and hash(wanted) in beside:
        return None  # it stands behind its child
    trail.reverse()
    return trail


def _mark_of(kind: str) -> int:
    return (SPEAKS if kind != "setting" else 0) | (TURN if kind == "user" else 0) | (BEGINS if kind != "result" else 0)


_MARKS = {role: _mark_of(KINDS[role]) for role in ("user", "assistant", "toolResult")}


def _weighed(offset: int, raw: bytes, line: _Line) -> tuple[int, int]:
    """Return the weight of an entry, and what it is to a plan."""
    body = line.message
    if line.type == "message" and body is not None and type(body.role) is str and body.role in _MARKS:
        size = len(body.content)
        small = size <= LARGE_BYTES
        weight = _SCALES.weight(size) if small else _SCALES.of_large(body.content, partial(_message, offset, raw))
        return weight, _MARKS[body.role]
    entry = entry_of(DECODER.decode(clean(raw)), Span(0, 0, offset, raw))
    fields = entry.message() if entry.role else entry.fields()
    kind = "setting" if fields.get("excludeFromContext") else KINDS.get(entry.kind, "setting")
    weight = 0 if kind == "setting" else _SCALES.of_tokens(message_tokens(entry.kind, fields))
    return weight, _mark_of(kind)


def _message(offset: int, raw: bytes) -> PiMessage:
    return PiMessage(entry_of(DECODER.decode(clean(raw)), Span(0, 0, offset, raw)), "", True)  # noqa: FBT003 - a struct's field
