"""The trails of sessions that have no branches: of Cersei, of crabtalk and those with ULIDs."""

from array import array
from functools import partial
from itertools import compress
from operator import not_

import msgspec

from slowwave.compaction.items import Item, items_of
from slowwave.compaction.live.trail import BEGINS, SPEAKS, TURN, About, Kind, Records, Scales, Trail
from slowwave.compaction.live.window import Block, forward, loses_lines
from slowwave.compaction.tokens import CERSEI as RULE
from slowwave.compaction.tokens import CRABTALK as CRABTALK_RULE
from slowwave.compaction.tokens import ULID as ULID_RULE
from slowwave.formats.cersei.records import MESSAGE_TYPES, CerseiMessage, Entry
from slowwave.formats.crabtalk.dialect import DECODER as CRABTALK_DECODER
from slowwave.formats.crabtalk.dialect import SKIPPED, CrabtalkMessage, Line, kind_of, meta_of
from slowwave.formats.model import SessionFiles, Span
from slowwave.formats.salvage import clean
from slowwave.formats.tail import first_record
from slowwave.formats.ulid.dialect import DECODER as ULID_DECODER
from slowwave.formats.ulid.dialect import Record, UlidMessage, unknown_kind

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


# The trail of a crabtalk session, which has no branches.

# what stands around the words of a message of OpenAI's
_CRABTALK_SCALES = Scales(CRABTALK_RULE, 2)


def crabtalk_trail(files: SessionFiles) -> Trail | None:
    """Return the trail of a session without a compact marker, and with its metadata on a sound first line.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    path = files.paths[0]
    first = first_record(path, CRABTALK_DECODER)
    if first is None or first[0].number != 1 or meta_of(first[1], first[0]) is None:
        return None
    trail = Trail(_CRABTALK_SCALES)
    for block in forward(path, CRABTALK_DECODER, loses_lines(SKIPPED)):
        kinds = list(map(kind_of, block.values))
        if "compact" in kinds:
            return None
        sent = zip(kinds, block.values, strict=True)
        _add_crabtalk(trail, block.only([kind == "message" and line.auto_injected is not True for kind, line in sent]))
    return trail


def _add_crabtalk(trail: Trail, block: Block[Line]) -> None:
    # calls and reasoning stand beside the content
    sizes = [
        length if line.role == "assistant" else len(line.content)
        for length, line in zip(block.lengths, block.values, strict=True)
    ]

    def message(at: int) -> CrabtalkMessage:
        return CrabtalkMessage(block.values[at], Span(0, 0, block.offsets[at], block.raws[at]))

    weights = _CRABTALK_SCALES.weights(
        sizes, lambda at: _CRABTALK_SCALES.of_large(block.raws[at], partial(message, at))
    )
    marks = [_TURN if line.role == "user" else _MESSAGE for line in block.values]
    trail.add(0, block.offsets, block.lengths, weights, marks)


def _crabtalk_items(records: Records, _about: About, _is_end: bool) -> list[Item]:  # noqa: FBT001 - one of a table
    return items_of([CrabtalkMessage(line, span) for span, line in records], CRABTALK_RULE)


CRABTALK = Kind(crabtalk_trail, CRABTALK_DECODER, _crabtalk_items)


# The trail of a log of the specification with ULIDs, which has no branches.

# what stands around the words of a block of pi's
_ULID_SCALES = Scales(ULID_RULE, 30)


def ulid_trail(files: SessionFiles) -> Trail | None:
    """Return the trail of a log without a compaction.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    trail = Trail(_ULID_SCALES)
    for block in forward(files.paths[0], ULID_DECODER):
        if any(record.type == "compaction" for record in block.values):
            return None
        _add_ulid(trail, block.only([unknown_kind(record) is None for record in block.values]))
    return trail


def _add_ulid(trail: Trail, block: Block[Record]) -> None:
    def message(at: int) -> UlidMessage:
        return UlidMessage(block.values[at], Span(0, 0, block.offsets[at], block.raws[at]))

    weights = _ULID_SCALES.weights(
        [len(record.content) for record in block.values],
        lambda at: _ULID_SCALES.of_large(block.values[at].content, partial(message, at)),
    )
    marks = [_TURN if record.role == "user" else _MESSAGE for record in block.values]
    trail.add(0, block.offsets, block.lengths, weights, marks)


def _ulid_items(records: Records, _about: About, _is_end: bool) -> list[Item]:  # noqa: FBT001 - one of a table
    return items_of([UlidMessage(record, span) for span, record in records], ULID_RULE)


ULID = Kind(ulid_trail, ULID_DECODER, _ulid_items)
