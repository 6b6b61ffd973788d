"""The trails of sessions without branches: Cersei, crabtalk, and the specification with ULIDs."""

from array import array
from functools import partial

import msgspec

from slowwave.compaction.estimates import CERSEI, CRABTALK, PI
from slowwave.compaction.live.lines import forward, loses_lines
from slowwave.compaction.live.trail import BEGINS, SPEAKS, TURN, Trail
from slowwave.compaction.live.weight import LARGE_BYTES, Scales
from slowwave.dialects.cersei.records import MESSAGE_TYPES, CerseiMessage, Entry
from slowwave.dialects.crabtalk.records import DECODER as CRABTALK_LINES
from slowwave.dialects.crabtalk.records import SKIPPED, CrabtalkMessage, kind_of, meta_of
from slowwave.dialects.model import SessionFiles
from slowwave.dialects.ulid.records import DECODER as ULID_RECORDS
from slowwave.dialects.ulid.records import UlidMessage, unknown_kind
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
    add, note, weigh = trail.add, hashes.append, _CERSEI.weight
    deleted: set[str] = set()
    for part, path in enumerate(files.paths):
        for offset, raw, entry in forward(path, _LINES):
            kind, body = entry.type, entry.message
            if kind in MESSAGE_TYPES:
                if body is None:
                    continue
                content = body.content
                size = len(content)
                weight = weigh(size) if size <= LARGE_BYTES else _CERSEI.of_large(content, partial(_cersei, raw))
                is_turn = kind == "user" and b'"tool_result"' not in bytes(memoryview(content)[:64])
                add(part, offset, len(raw), weight, _TURN if is_turn else _MESSAGE)
                note(hash(entry.uuid))
            elif kind == "summary":
                return None
            elif kind == "tombstone" and entry.deleted_uuid is not None:
                deleted.add(entry.deleted_uuid)
    gone = {hash(uuid) for uuid in deleted}
    doubtful = [at for at, own in enumerate(hashes) if own in gone] if gone else []
    for at in reversed(doubtful):
        if any(entry.uuid in deleted for _, entry in trail.records(files.paths, CERSEI_ENTRIES, at, at + 1)):
            trail.drop(at)
    return trail


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
    add, weigh = trail.add, _CRABTALK.weight
    for offset, raw, line in forward(path, CRABTALK_LINES, loses_lines(SKIPPED)):
        if offset == first[0].offset:
            continue
        kind = kind_of(line)
        if kind == "message":
            role = line.role
            # calls and reasoning stand beside the content
            size = len(raw) if role == "assistant" else len(line.content)
            if size > LARGE_BYTES:
                weight = _CRABTALK.of_large(raw, partial(CrabtalkMessage, line, Span(0, 0, offset, raw)))
            else:
                weight = weigh(size)
            add(0, offset, len(raw), weight, _TURN if role == "user" else _MESSAGE)
        elif kind == "compact":
            return None
    return trail


def ulid_trail(files: SessionFiles) -> Trail | None:
    """Return the trail of a log without a compaction.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    trail = Trail(_ULID)
    add, weigh = trail.add, _ULID.weight
    for offset, raw, record in forward(files.paths[0], ULID_RECORDS):
        if record.type == "compaction":
            return None
        if unknown_kind(record) is None:
            size = len(record.content)
            if size > LARGE_BYTES:
                weight = _ULID.of_large(record.content, partial(UlidMessage, record, Span(0, 0, offset, raw)))
            else:
                weight = weigh(size)
            add(0, offset, len(raw), weight, _TURN if record.role == "user" else _MESSAGE)
    return trail
