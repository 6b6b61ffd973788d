"""The trails of sessions without branches: Cersei, crabtalk, and the specification with ULIDs."""

from array import array
from functools import partial
from itertools import compress
from operator import not_

import msgspec

from slowwave.compaction.estimates import CERSEI, CRABTALK, PI
from slowwave.compaction.live.lines import Block, forward, loses_lines
from slowwave.compaction.live.trail import BEGINS, SPEAKS, TURN, Trail
from slowwave.compaction.live.weight import Scales
from slowwave.dialects.cersei.records import MESSAGE_TYPES, CerseiMessage, Entry
from slowwave.dialects.crabtalk.records import DECODER as CRABTALK_LINES
from slowwave.dialects.crabtalk.records import SKIPPED, CrabtalkMessage, kind_of, meta_of
from slowwave.dialects.crabtalk.records import Line as CrabtalkLine
from slowwave.dialects.model import SessionFiles
from slowwave.dialects.ulid.records import DECODER as ULID_RECORDS
from slowwave.dialects.ulid.records import Record, UlidMessage, unknown_kind
from slowwave.records.model import Span
from slowwave.records.suffix import first_record
from slowwave.records.values import clean

CERSEI_ENTRIES = msgspec.json.Decoder(Entry)


class _Body(msgspec.Struct, gc=False):
    content: msgspec.Raw = msgspec.Raw()


class _Line(msgspec.Struct, gc=False):
    type: str = ""
    uuid: str | None = None
    deleted_uuid: str | None = None
    message: _Body | None = None


_LINES = msgspec.json.Decoder(_Line)
# with what stands around the words of a block: of the Anthropic API's, of pi's, of OpenAI's
_CERSEI, _ULID, _CRABTALK = Scales(CERSEI, 70), Scales(PI, 30), Scales(CRABTALK, 2)
_MESSAGE = BEGINS | SPEAKS
_TURN = _MESSAGE | TURN


def cersei_trail(files: SessionFiles) -> Trail | None:
    """Return the trail of a session without a summary; what a tombstone deletes is not on it.

    Raises:
        UnreadableError: a part cannot be opened.
    """
    trail, hashes = Trail(_CERSEI), array("q")
    deleted: set[str] = set()
    for part, path in enumerate(files.paths):
        for block in forward(path, _LINES):
            chosen = [entry.type in MESSAGE_TYPES and entry.message is not None for entry in block.values]
            if not all(chosen):
                for entry in compress(block.values, map(not_, chosen)):
                    if entry.type == "summary":
                        return None
                    if entry.type == "tombstone" and entry.deleted_uuid is not None:
                        deleted.add(entry.deleted_uuid)
                block = block.only(chosen)  # noqa: PLW2901 - the messages of it
            _add_cersei(trail, part, block)
            hashes.extend([hash(entry.uuid) for entry in block.values])
    gone = set(map(hash, deleted))
    doubtful = [at for at, own in enumerate(hashes) if own in gone] if gone else []
    found = trail.records(files.paths, CERSEI_ENTRIES, doubtful)
    trail.drop([at for at, (_, entry) in zip(doubtful, found, strict=True) if entry.uuid in deleted])
    return trail


def _add_cersei(trail: Trail, part: int, block: Block[_Line]) -> None:
    contents = [entry.message.content for entry in block.values if entry.message is not None]
    weights = _CERSEI.weights(
        list(map(len, contents)), lambda at: _CERSEI.of_large(contents[at], partial(_cersei, block.raws[at]))
    )
    marks = [
        _TURN if entry.type == "user" and b'"tool_result"' not in raw else _MESSAGE
        for raw, entry in zip(block.raws, block.values, strict=True)
    ]
    trail.add(part, block.offsets, block.lengths, weights, marks)


def _cersei(raw: bytes) -> CerseiMessage:
    return CerseiMessage(CERSEI_ENTRIES.decode(clean(raw)), Span(0, 0, 0, raw))


def crabtalk_trail(files: SessionFiles) -> Trail | None:
    """Return the trail of a session without a compact marker, and with its metadata on a sound first line.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    path = files.paths[0]
    first = first_record(path, CRABTALK_LINES)
    if first is None or first[0].number != 1 or meta_of(first[1], first[0]) is None:
        return None
    trail = Trail(_CRABTALK)
    for block in forward(path, CRABTALK_LINES, loses_lines(SKIPPED)):
        kinds = list(map(kind_of, block.values))
        if "compact" in kinds:
            return None
        _add_crabtalk(trail, block.only([kind == "message" for kind in kinds]))
    return trail


def _add_crabtalk(trail: Trail, block: Block[CrabtalkLine]) -> None:
    # calls and reasoning stand beside the content
    sizes = [
        length if line.role == "assistant" else len(line.content)
        for length, line in zip(block.lengths, block.values, strict=True)
    ]

    def message(at: int) -> CrabtalkMessage:
        return CrabtalkMessage(block.values[at], Span(0, 0, block.offsets[at], block.raws[at]))

    weights = _CRABTALK.weights(sizes, lambda at: _CRABTALK.of_large(block.raws[at], partial(message, at)))
    marks = [_TURN if line.role == "user" else _MESSAGE for line in block.values]
    trail.add(0, block.offsets, block.lengths, weights, marks)


def ulid_trail(files: SessionFiles) -> Trail | None:
    """Return the trail of a log without a compaction.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    trail = Trail(_ULID)
    for block in forward(files.paths[0], ULID_RECORDS):
        if any(record.type == "compaction" for record in block.values):
            return None
        _add_ulid(trail, block.only([unknown_kind(record) is None for record in block.values]))
    return trail


def _add_ulid(trail: Trail, block: Block[Record]) -> None:
    def message(at: int) -> UlidMessage:
        return UlidMessage(block.values[at], Span(0, 0, block.offsets[at], block.raws[at]))

    weights = _ULID.weights(
        [len(record.content) for record in block.values],
        lambda at: _ULID.of_large(block.values[at].content, partial(message, at)),
    )
    marks = [_TURN if record.role == "user" else _MESSAGE for record in block.values]
    trail.add(0, block.offsets, block.lengths, weights, marks)
