"""The trail of a pi session of version 3, which Clawdbot writes, too: the path from its last entry to the root.

The walk goes backward through the file, since no entry stands before its parent; it holds one id.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from slowwave.compaction.estimates import PI
from slowwave.compaction.items import Item
from slowwave.compaction.live.items import About, Kind, Records
from slowwave.compaction.live.lines import Block, backward
from slowwave.compaction.live.trail import BEGINS, SPEAKS, TURN, Trail
from slowwave.compaction.live.weight import Scales
from slowwave.compaction.pi_entries import KINDS, pi_items
from slowwave.formats.model import SessionFiles, Span
from slowwave.formats.openclaw.context import OWN_TYPES
from slowwave.formats.pi.context import header_of
from slowwave.formats.pi.messages import PiMessage
from slowwave.formats.pi.records import DECODER, Entry, Loaded, entry_of, loses_entries
from slowwave.formats.salvage import clean

# around the words of a block: names of fields, an id
_SCALES = Scales(PI, 35)
_NOT_WALKED = frozenset({"session", *OWN_TYPES})
# Ids of branches that were left: with more of them it is no longer cheap to see that an id stands there twice.
_MOST_BESIDE = 100_000
# How most answers end; others may have failed, and are not sent.
_SOUND_ENDS = (None, "stop", "toolUse")
_PLAIN_ROLES = ("user", "assistant", "toolResult")


class _Body(msgspec.Struct, gc=False):
    role: Any = None
    stop: Any = msgspec.field(default=None, name="stopReason")
    content: msgspec.Raw = msgspec.Raw()


class _Line(msgspec.Struct, gc=False):
    type: Any = None
    id: Any = None
    parent: Any = msgspec.field(default=None, name="parentId")
    # pi reads entries whose message is anything else, too
    message: _Body | str | int | float | bool | list[msgspec.Raw] | None = None


_LINES = msgspec.json.Decoder(_Line)


def pi_trail(files: SessionFiles) -> Trail | None:
    """Return the trail of a session whose path has no compaction.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    if header_of(files) is None:
        return None
    trail, walk = Trail(_SCALES), _Walk()
    for block in backward(files.paths[0], _LINES, loses_entries):
        chosen = walk.passes(block.values)
        if chosen is None:
            return None
        _add(trail, block if all(chosen) else block.only(chosen))
    if walk.is_lost:
        return None
    trail.reverse()
    return trail


class _Walk:
    """The way from the last entry to the root, which holds the id of the next one and hashes of those beside it."""

    def __init__(self) -> None:
        self._wanted: str | None = None
        self._begins = True
        self._is_headed = False
        self._beside = set[int]()

    @property
    def is_lost(self) -> bool:
        """Whether the next entry was passed already, since it stands behind its child."""
        return self._wanted is not None and hash(self._wanted) in self._beside

    def passes(self, lines: Sequence[_Line]) -> list[bool] | None:
        """Say of lines, the last one first, whether they are on the way; None where this walk does not know it."""
        chosen: list[bool] = []
        wanted, beside = self._wanted, self._beside
        for line in lines:
            kind = line.type
            if type(kind) is str and kind in _NOT_WALKED:
                # behind a second header entries may stand twice, and the first of them is the one that counts
                if kind != "session" or self._is_headed:
                    return None
                self._is_headed = True
                chosen.append(False)
                continue
            own = line.id
            if self._begins:
                if type(own) is not str:
                    return None
                wanted, self._begins = own, False
            is_on = own == wanted and wanted is not None
            chosen.append(is_on)
            if is_on:
                if kind == "compaction" or (beside and (hash(wanted) in beside or len(beside) > _MOST_BESIDE)):
                    return None
                parent = line.parent
                wanted = parent if type(parent) is str and parent else None
            elif type(own) is str:
                beside.add(hash(own))
        self._wanted = wanted
        return chosen


def _mark_of(kind: str) -> int:
    return (SPEAKS if kind != "setting" else 0) | (TURN if kind == "user" else 0) | (BEGINS if kind != "result" else 0)


_MARKS = {role: _mark_of(KINDS[role]) for role in _PLAIN_ROLES}


def _add(trail: Trail, block: Block[_Line]) -> None:
    """Add entries with what they weigh, and what they are to a plan."""
    sizes: list[int] = []
    marks: list[int] = []
    odd: list[int] = []
    for line in block.values:
        body = line.message
        if line.type == "message" and type(body) is _Body and body.stop in _SOUND_ENDS and body.role in _PLAIN_ROLES:
            sizes.append(len(body.content))
            marks.append(_MARKS[body.role])
        else:
            odd.append(len(marks))
            sizes.append(0)
            marks.append(0)

    def entry(at: int) -> Entry:
        raw = block.raws[at]
        return entry_of(DECODER.decode(clean(raw)), Span(0, 0, block.offsets[at], raw))

    def large(at: int) -> int:
        body = block.values[at].message
        return 0 if type(body) is not _Body else _SCALES.of_large(body.content, lambda: PiMessage(entry(at), "", True))  # noqa: FBT003 - a struct's field

    weights = _SCALES.weights(sizes, large)
    for at in odd:
        item = pi_items([entry(at)], Loaded([], 3))[0]
        weights[at], marks[at] = _SCALES.of_tokens(item.tokens), _mark_of(item.kind)
    trail.add(0, block.offsets, block.lengths, weights, marks)


def _items(records: Records, about: About, _is_end: bool) -> list[Item]:  # noqa: FBT001 - one of a table
    entries = [entry_of(env, span) for span, env in records]
    return pi_items(entries, Loaded(entries, 3), about.cwd)


PI_SESSION = Kind(pi_trail, DECODER, _items)
