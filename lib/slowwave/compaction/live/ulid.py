"""The trail of a log of the specification with ULIDs, which has no branches."""

from functools import partial

from slowwave.compaction.estimates import ULID as RULE
from slowwave.compaction.items import Item, items_of
from slowwave.compaction.live.items import About, Kind, Records
from slowwave.compaction.live.lines import Block, forward
from slowwave.compaction.live.trail import BEGINS, SPEAKS, TURN, Trail
from slowwave.compaction.live.weight import Scales
from slowwave.formats.model import SessionFiles, Span
from slowwave.formats.ulid.dialect import DECODER, Record, UlidMessage, unknown_kind

# what stands around the words of a block of pi's
_SCALES = Scales(RULE, 30)
_MESSAGE = BEGINS | SPEAKS
_TURN = _MESSAGE | TURN


def ulid_trail(files: SessionFiles) -> Trail | None:
    """Return the trail of a log without a compaction.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    trail = Trail(_SCALES)
    for block in forward(files.paths[0], DECODER):
        if any(record.type == "compaction" for record in block.values):
            return None
        _add(trail, block.only([unknown_kind(record) is None for record in block.values]))
    return trail


def _add(trail: Trail, block: Block[Record]) -> None:
    def message(at: int) -> UlidMessage:
        return UlidMessage(block.values[at], Span(0, 0, block.offsets[at], block.raws[at]))

    weights = _SCALES.weights(
        [len(record.content) for record in block.values],
        lambda at: _SCALES.of_large(block.values[at].content, partial(message, at)),
    )
    marks = [_TURN if record.role == "user" else _MESSAGE for record in block.values]
    trail.add(0, block.offsets, block.lengths, weights, marks)


def _items(records: Records, _about: About, _is_end: bool) -> list[Item]:  # noqa: FBT001 - one of a table
    return items_of([UlidMessage(record, span) for span, record in records], RULE)


ULID = Kind(ulid_trail, DECODER, _items)
