"""The trail of a crabtalk session, which has no branches."""

from functools import partial

from slowwave.compaction.estimates import CRABTALK as RULE
from slowwave.compaction.items import Item, items_of
from slowwave.compaction.live.items import About, Kind, Records
from slowwave.compaction.live.lines import Block, forward, loses_lines
from slowwave.compaction.live.trail import BEGINS, SPEAKS, TURN, Trail
from slowwave.compaction.live.weight import Scales
from slowwave.formats.crabtalk import DECODER, SKIPPED, CrabtalkMessage, Line, kind_of, meta_of
from slowwave.formats.model import SessionFiles, Span
from slowwave.formats.tail import first_record

# what stands around the words of a message of OpenAI's
_SCALES = Scales(RULE, 2)
_MESSAGE = BEGINS | SPEAKS
_TURN = _MESSAGE | TURN


def crabtalk_trail(files: SessionFiles) -> Trail | None:
    """Return the trail of a session without a compact marker, and with its metadata on a sound first line.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    path = files.paths[0]
    first = first_record(path, DECODER)
    if first is None or first[0].number != 1 or meta_of(first[1], first[0]) is None:
        return None
    trail = Trail(_SCALES)
    for block in forward(path, DECODER, loses_lines(SKIPPED)):
        kinds = list(map(kind_of, block.values))
        if "compact" in kinds:
            return None
        sent = zip(kinds, block.values, strict=True)
        _add(trail, block.only([kind == "message" and line.auto_injected is not True for kind, line in sent]))
    return trail


def _add(trail: Trail, block: Block[Line]) -> None:
    # calls and reasoning stand beside the content
    sizes = [
        length if line.role == "assistant" else len(line.content)
        for length, line in zip(block.lengths, block.values, strict=True)
    ]

    def message(at: int) -> CrabtalkMessage:
        return CrabtalkMessage(block.values[at], Span(0, 0, block.offsets[at], block.raws[at]))

    weights = _SCALES.weights(sizes, lambda at: _SCALES.of_large(block.raws[at], partial(message, at)))
    marks = [_TURN if line.role == "user" else _MESSAGE for line in block.values]
    trail.add(0, block.offsets, block.lengths, weights, marks)


def _items(records: Records, _about: About, _is_end: bool) -> list[Item]:  # noqa: FBT001 - one of a table
    return items_of([CrabtalkMessage(line, span) for span, line in records], RULE)


CRABTALK = Kind(crabtalk_trail, DECODER, _items)
