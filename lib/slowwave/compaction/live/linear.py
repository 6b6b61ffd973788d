"""The trails of sessions without branches: Cersei, crabtalk, and the specification with ULIDs."""

from array import array
from functools import partial

import msgspec

from slowwave.compaction.estimates import CERSEI, CRABTALK, PI
from slowwave.compaction.live.trail import BEGINS, SPEAKS, TURN, Trail
from slowwave.compaction.live.weight import Scales
from slowwave.dialects.cersei.records import MESSAGE_TYPES, CerseiMessage, Entry
from slowwave.dialects.crabtalk.records import DECODER as CRABTALK_LINES
from slowwave.dialects.crabtalk.records import CrabtalkMessage, kind_of, meta_of
from slowwave.dialects.model import SessionFiles
from slowwave.dialects.ulid.records import DECODER as ULID_RECORDS
from slowwave.dialects.ulid.records import UlidMessage, unknown_kind
from slowwave.records.lines import read_records
from slowwave.records.model import Problem, Span
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
    trail, hashes = Trail(), array("q")
    deleted: set[str] = set()
    for part, path in enumerate(files.paths):
        for span, entry in read_records(path, _LINES, [], part=part):
            kind, body = entry.type, entry.message
            if kind == "summary":
                return None
            if kind == "tombstone":
                deleted.update(filter(None, (entry.deleted_uuid,)))
            elif kind in MESSAGE_TYPES and body is not None:
                tokens = _CERSEI.weight(body.content, partial(_cersei_message, span))
                mark = (
                    _TURN
                    if kind == "user" and b'"tool_result"' not in bytes(memoryview(body.content)[:64])
                    else _MESSAGE
                )
                trail.add(part, span.offset, len(span.raw), tokens, mark)
                hashes.append(hash(entry.uuid))
    gone = {hash(uuid) for uuid in deleted}
    doubtful = [at for at, own in enumerate(hashes) if own in gone] if gone else []
    for at in reversed(doubtful):
        if any(entry.uuid in deleted for _, entry in trail.records(files.paths, CERSEI_ENTRIES, at, at + 1)):
            trail.drop(at)
    return trail


def _cersei_message(span: Span) -> CerseiMessage:
    return CerseiMessage(CERSEI_ENTRIES.decode(clean(span.raw)), span)


def crabtalk_trail(files: SessionFiles) -> Trail | None:
    """Return the trail of a sound session without a compact marker.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    trail = Trail()
    problems: list[Problem] = []
    is_first = True
    for span, line in read_records(files.paths[0], CRABTALK_LINES, problems):
        kind = kind_of(line)
        if is_first:
            if span.number != 1 or meta_of(line, span) is None:
                return None
        elif kind == "compact":
            return None
        elif kind == "message":
            message = CrabtalkMessage(line, span)
            # calls and reasoning stand beside the content
            content = msgspec.Raw(span.raw) if line.role == "assistant" else line.content
            tokens = _CRABTALK.weight(content, lambda m=message: m)
            trail.add(0, span.offset, len(span.raw), tokens, _TURN if line.role == "user" else _MESSAGE)
        is_first = False
    return None if is_first or problems else trail


def ulid_trail(files: SessionFiles) -> Trail | None:
    """Return the trail of a log without a compaction.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    trail = Trail()
    for span, record in read_records(files.paths[0], ULID_RECORDS, []):
        if record.type == "compaction":
            return None
        if unknown_kind(record) is None:
            message = UlidMessage(record, span)
            tokens = _ULID.weight(record.content, lambda m=message: m)
            trail.add(0, span.offset, len(span.raw), tokens, _TURN if record.role == "user" else _MESSAGE)
    return trail
