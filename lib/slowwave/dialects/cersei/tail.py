"""The end of a compacted Cersei session: its last summary, the messages before it that stay, and what follows.

What a summary hides is a number of messages, and a tombstone may stand anywhere, also before what it deletes (code: the
loader collects all of them first). So what stands before the summary is looked at, too, though no further than its
kinds (:mod:`slowwave.dialects.cersei.glance`). Where that does not surely tell which messages stay, or so many do that
most of the session would be held, the whole session is read.
"""

from typing import NamedTuple

import msgspec

from slowwave.dialects.base import Notes
from slowwave.dialects.cersei.counted import Counted
from slowwave.dialects.cersei.glance import Glance
from slowwave.dialects.cersei.records import MESSAGE_TYPES, CerseiMessage, Entry
from slowwave.dialects.model import SessionFiles
from slowwave.records.model import Problem, Span
from slowwave.records.parts import PACKED_SUFFIX
from slowwave.records.suffix import Suffix

_DECODER = msgspec.json.Decoder(Entry)
_MARK = b'"summary"'


class Tail(NamedTuple):
    """The newest summary, then what stays of before it and everything behind it, and what was no clean record there."""

    placed: list[CerseiMessage]
    problems: list[Problem]


def tail_of(files: SessionFiles, notes: Notes | None = None) -> Tail | None:
    """Return the newest summary with the messages that are still sent, None where only the whole session tells them.

    Args:
        files: the session.
        notes: where what was counted before the summary may be kept.

    Raises:
        UnreadableError: a part cannot be opened.
    """
    if any(path.name.endswith(PACKED_SUFFIX) for path in files.paths):
        return None  # places are those of plain bytes
    counted = Counted(notes, files)
    suffix = Suffix(files.paths, _DECODER)
    found = _newest_summary(suffix)
    if found is None:
        return None
    glance = counted.glance_before(*suffix.begin)
    for _, entry in suffix.records[: found + 1]:
        glance.add(entry)
    for _, entry in suffix.records[found + 1 :]:
        if entry.type == "tombstone":
            glance.add(entry)
    if not suffix.is_steady():
        return None
    counted.keep()
    span, summary = suffix.records[found]
    behind = suffix.records[found + 1 :]
    if summary.uuid in glance.deleted:
        return None
    before = _kept(suffix, len(behind), glance)
    if before is None:
        return None
    placed = [CerseiMessage(entry, at) for at, entry in (*before, *behind) if _is_message(entry, glance.deleted)]
    return Tail([CerseiMessage(summary, span), *placed], [*files.problems, *suffix.problems])


def _kept(suffix: Suffix[Entry], behind: int, glance: Glance) -> list[tuple[Span, Entry]] | None:
    """Grow a suffix until it has the messages before its summary that stay, and return them; None for too many.

    Args:
        suffix: the end of a session.
        behind: how many of its records follow the summary.
        glance: what stands before the summary.
    """
    count = glance.kept()
    if count == 0:
        return []
    if not glance.is_exact:
        return None
    while True:
        records = suffix.records[: len(suffix.records) - behind - 1]
        found = [record for record in records if _is_message(record[1], glance.deleted)]
        if len(found) >= count:
            return found[-count:] if suffix.is_steady() else None
        if not suffix.grow():
            return None


def _newest_summary(suffix: Suffix[Entry]) -> int | None:
    """Grow a suffix until it has a summary; return which of its records the newest one is."""
    while suffix.back_to(_MARK):
        for index in range(len(suffix.records) - 1, -1, -1):
            if suffix.records[index][1].type == "summary":
                return index
        if not suffix.grow():  # words of a conversation only; not one step for each of them
            break
    return None


def _is_message(entry: Entry, deleted: set[str]) -> bool:
    """Say whether an entry is a message that is still there."""
    return entry.type in MESSAGE_TYPES and entry.message is not None and entry.uuid not in deleted
