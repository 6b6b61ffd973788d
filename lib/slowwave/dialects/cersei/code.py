"""Exactly what Cersei's own loader returns for a session, its defects included (mode ``code``).

Parts are read up to the first gap in their numbers and joined without a separator; a line counts only when it is
exactly one entry with all its fields; more than 200,000,000 bytes or one byte that is not UTF-8 fail the session.
"""

import re
from pathlib import Path

import msgspec

from slowwave.dialects.cersei.records import Body, CerseiMessage, Entry
from slowwave.dialects.model import Message, SessionFiles
from slowwave.errors import UnreadableError
from slowwave.records.model import Span

MOST_BYTES = 200_000_000
_PART = re.compile(r"_part(\d+)$")
_DECODER = msgspec.json.Decoder(Entry)


def code_messages(files: SessionFiles) -> list[Message]:
    """Return the messages of the user, assistant and system entries that no tombstone names.

    Raises:
        UnreadableError: Cersei refuses this session.
    """
    paths = _contiguous(files.paths)
    total = sum(path.stat().st_size for path in paths)
    if total > MOST_BYTES:
        raise UnreadableError(files.paths[0], f"{total} bytes in {len(paths)} parts; Cersei loads at most {MOST_BYTES}")
    data = b"".join(path.read_bytes() for path in paths)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise UnreadableError(files.paths[0], "not UTF-8, so Cersei refuses it", "use mode seed") from error
    entries = [entry for line in data.split(b"\n") if (entry := _entry(line)) is not None]
    deleted = {e.deleted_uuid for e, _ in entries if e.type == "tombstone"}
    return [
        CerseiMessage(e, span)
        for e, span in entries
        if e.message is not None and e.type != "summary" and e.uuid not in deleted
    ]


def _contiguous(paths: tuple[Path, ...]) -> list[Path]:
    """Return the base file, if it is there, and the parts 2, 3, ... up to the first missing number."""
    by_number = {int(m[1]) if (m := _PART.search(p.stem)) else 1: p for p in paths}
    found = [by_number[1]] if 1 in by_number else []
    number = 2
    while number in by_number:
        found.append(by_number[number])
        number += 1
    return found


def _entry(line: bytes) -> tuple[Entry, Span] | None:
    """Return the entry of a line that the loader accepts; it skips every other line without a word."""
    raw = line.strip()
    try:
        entry = _DECODER.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    match entry.type:
        case "user" | "assistant" | "system":
            whole = entry.uuid and entry.timestamp and entry.session_id is not None and _is_message(entry.message)
        case "summary":
            compacted = entry.messages_compacted
            whole = entry.uuid and entry.summary is not None and compacted is not None and compacted >= 0
        case "tombstone":
            whole = entry.deleted_uuid and entry.timestamp
        case _:
            whole = False
    # The joined text has no offsets of its own, so the spans of this mode carry the bytes only.
    return (entry, Span(0, 0, 0, raw)) if whole else None


def _is_message(body: Body | None) -> bool:
    return body is not None and body.role in ("user", "assistant", "system") and bytes(body.content)[:1] in (b'"', b"[")
