"""Only what was appended to a session since it was indexed, for the dialects whose files only ever grow.

A file that was rewritten, or whose new records change what older ones mean, is read as a whole again.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from slowwave.errors import UnreadableError
from slowwave.formats.lines import read_records
from slowwave.formats.model import Message
from slowwave.formats.registry import RecordDialect, by_name
from slowwave.formats.tail import hash_before
from slowwave.stores.walk import SUFFIX


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """How far a session's only file was indexed.

    Attributes:
        dev: device of the file.
        ino: its inode.
        cursor: offset behind the last message that is in the index.
        check: hash of the bytes before it.
        by_agent: the session is a sub-agent's.
    """

    dev: int
    ino: int
    cursor: int
    check: bytes
    by_agent: bool


def mark_of(paths: Sequence[Path], messages: Sequence[Message], *, by_agent: bool) -> Mark | None:
    """Return the mark of a session that was read as a whole; None unless it is one file of plain lines."""
    if len(paths) != 1 or paths[0].suffix != SUFFIX or not paths[0].is_file():
        return None
    ends = (span.offset + len(span.raw) for message in messages for span in message.sources)
    return _mark(paths[0], max(ends, default=0), by_agent=by_agent)


def _mark(path: Path, cursor: int, *, by_agent: bool) -> Mark:
    with path.open("rb", buffering=0) as file:
        at = os.fstat(file.fileno())
        return Mark(at.st_dev, at.st_ino, cursor, hash_before(file.fileno(), cursor), by_agent)


def later_messages(dialect: str, path: Path, mark: Mark) -> tuple[list[Message], Mark] | None:
    """Return the messages behind a mark and the mark behind them; None when the session must be read as a whole.

    Raises:
        UnreadableError: the file cannot be read.
    """
    if mark.cursor == 0:
        return None
    try:
        with path.open("rb", buffering=0) as file:
            at = os.fstat(file.fileno())
            if (at.st_dev, at.st_ino) != (mark.dev, mark.ino) or at.st_size < mark.cursor:
                return None
            if hash_before(file.fileno(), mark.cursor) != mark.check:
                return None
        read = _READERS.get(dialect)
        messages = read(path, mark) if read else _told(dialect, path, mark)
        if messages is None:
            return None
        ends = (span.offset + len(span.raw) for message in messages for span in message.sources)
        return messages, _mark(path, max(ends, default=mark.cursor), by_agent=mark.by_agent)
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error


def _claude(path: Path, mark: Mark) -> list[Message] | None:
    from slowwave.formats.claude.messages import messages_of  # noqa: PLC0415 - one dialect at a time
    from slowwave.formats.claude.records import (  # noqa: PLC0415
        DECODER,
        Node,
        Tree,
    )

    records = read_records(path, DECODER, [], start=mark.cursor)
    nodes = [Node(env, span, index) for index, (span, env) in enumerate(records)]
    # which branch a message lies on does not matter here, so the tree may lack what came before
    return messages_of(nodes, Tree(nodes, own=mark.by_agent))


def _cersei(path: Path, mark: Mark) -> list[Message] | None:
    from slowwave.formats.cersei.records import MESSAGE_TYPES, CerseiMessage, Entry, summary_message  # noqa: PLC0415

    found: list[Message] = []
    for span, entry in read_records(path, msgspec.json.Decoder(Entry), [], start=mark.cursor):
        if entry.type == "tombstone":
            return None  # it hides a message that is in the index
        if entry.type == "summary":
            found.append(summary_message(entry, span))
        elif entry.type in MESSAGE_TYPES and entry.message is not None:
            found.append(CerseiMessage(entry, span))
    return found


_READERS: dict[str, Callable[[Path, Mark], list[Message] | None]] = {"claude": _claude, "cersei": _cersei}


def _told(dialect: str, path: Path, mark: Mark) -> list[Message] | None:
    """Return the messages that records tell by themselves, where the records of a dialect do."""
    rules = by_name(dialect)
    if not isinstance(rules, RecordDialect):
        return None
    records = read_records(path, rules.decoder, [], start=mark.cursor)
    told = (rules.told(span, record, by_agent=mark.by_agent) for span, record in records)
    return [one.message for one in told if one.message is not None]
