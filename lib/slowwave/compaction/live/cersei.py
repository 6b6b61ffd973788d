"""The trail of a Cersei session, which has no branches."""

from array import array
from functools import partial
from itertools import compress
from operator import not_

import msgspec

from slowwave.compaction.estimates import CERSEI as RULE
from slowwave.compaction.items import Item, items_of
from slowwave.compaction.live.items import About, Kind, Records
from slowwave.compaction.live.lines import Block, forward
from slowwave.compaction.live.trail import BEGINS, SPEAKS, TURN, Trail
from slowwave.compaction.live.weight import Scales
from slowwave.formats.cersei.records import MESSAGE_TYPES, CerseiMessage, Entry
from slowwave.formats.model import SessionFiles, Span
from slowwave.formats.salvage import clean

_ENTRIES = msgspec.json.Decoder(Entry)


# what stands around the words of a block of the Anthropic API's
_SCALES = Scales(RULE, 70)
_MESSAGE = BEGINS | SPEAKS
_TURN = _MESSAGE | TURN


def cersei_trail(files: SessionFiles) -> Trail | None:
    """Return the trail of a session without a summary; what a tombstone deletes is not on it.

    Raises:
        UnreadableError: a part cannot be opened.
    """
    trail, hashes = Trail(_SCALES), array("q")
    deleted: set[str] = set()
    for part, path in enumerate(files.paths):
        for block in forward(path, _ENTRIES):
            chosen = [entry.type in MESSAGE_TYPES and entry.message is not None for entry in block.values]
            if not all(chosen):
                for entry in compress(block.values, map(not_, chosen)):
                    if entry.type == "summary":
                        return None
                    if entry.type == "tombstone" and entry.deleted_uuid is not None:
                        deleted.add(entry.deleted_uuid)
                block = block.only(chosen)  # noqa: PLW2901 - the messages of it
            _add(trail, part, block)
            hashes.extend([hash(entry.uuid) for entry in block.values])
    gone = set(map(hash, deleted))
    doubtful = [at for at, own in enumerate(hashes) if own in gone] if gone else []
    found = trail.records(files.paths, _ENTRIES, doubtful)
    trail.drop([at for at, (_, entry) in zip(doubtful, found, strict=True) if entry.uuid in deleted])
    return trail


def _add(trail: Trail, part: int, block: Block[Entry]) -> None:
    contents = [entry.message.content for entry in block.values if entry.message is not None]
    weights = _SCALES.weights(
        list(map(len, contents)), lambda at: _SCALES.of_large(contents[at], partial(_message, block.raws[at]))
    )
    marks = [
        _TURN if entry.type == "user" and b'"tool_result"' not in raw else _MESSAGE
        for raw, entry in zip(block.raws, block.values, strict=True)
    ]
    trail.add(part, block.offsets, block.lengths, weights, marks)


def _message(raw: bytes) -> CerseiMessage:
    return CerseiMessage(_ENTRIES.decode(clean(raw)), Span(0, 0, 0, raw))


def _items(records: Records, _about: About, _is_end: bool) -> list[Item]:  # noqa: FBT001 - one of a table
    return items_of([CerseiMessage(entry, span) for span, entry in records], RULE)


CERSEI = Kind(cersei_trail, _ENTRIES, _items)
