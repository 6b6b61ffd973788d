"""Lines of the ULID specification, for appending: one JSON object with its newline, nothing decided here.

::

    message_line(role, blocks, *, seq, at, call_id=None, is_error=False) -> bytes
    compaction_line(summary, *, seq, at, first_kept, tokens_before, read_files, modified_files) -> bytes

Content is always a list of blocks (S7.12), and a file that was read and modified is modified only (S7.16).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import orjson

from slowwave.dialects.model import Text, ToolCall
from slowwave.dialects.times import millisecond_time
from slowwave.dialects.ulid.records import SCHEMA


def message_line(
    role: str,
    blocks: Sequence[Text | ToolCall],
    *,
    seq: int,
    at: datetime,
    call_id: str | None = None,
    is_error: bool = False,
) -> bytes:
    """Return a message; ``call_id`` and ``is_error`` belong to the role ``toolResult``."""
    record: dict[str, object] = {**_head("message", seq), "role": role, "content": [_block(b) for b in blocks]}
    if role == "toolResult":
        record |= {"toolCallId": call_id, "isError": is_error}
    return _line({**record, "timestamp": millisecond_time(at)})


def compaction_line(
    summary: str,
    *,
    seq: int,
    at: datetime,
    first_kept: int,
    tokens_before: int,
    read_files: Iterable[str] = (),
    modified_files: Iterable[str] = (),
) -> bytes:
    """Return a compaction; ``tokens_before`` counts the messages that were summarised."""
    modified = set(modified_files)
    return _line(
        {
            **_head("compaction", seq),
            "firstKeptSeq": first_kept,
            "summary": summary,
            "tokensBefore": tokens_before,
            "readFiles": sorted(set(read_files) - modified),
            "modifiedFiles": sorted(modified),
            "timestamp": millisecond_time(at),
        }
    )


def _head(kind: str, seq: int) -> dict[str, object]:
    return {"recordType": kind, "schemaVersion": SCHEMA, "seq": seq}


def _block(block: Text | ToolCall) -> dict[str, object]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    return {"type": "toolCall", "id": block.id, "name": block.name, "arguments": block.args}


def _line(record: Mapping[str, object]) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
