"""The end of a compacted Cersei session: its last summary and what follows.

How far a summary reaches back is a number of messages, and a tombstone may stand anywhere, also before what it deletes
(code: the loader collects all of them first). So what stands before the summary is looked at, too, though no further
than its kinds (:mod:`slowwave.dialects.cersei.glance`). Where messages from before the summary may stay visible, the
whole session is read.
"""

from typing import NamedTuple

import msgspec

from slowwave.dialects.base import Notes
from slowwave.dialects.cersei.counted import Counted
from slowwave.dialects.cersei.records import MESSAGE_TYPES, CerseiMessage, Entry
from slowwave.dialects.model import SessionFiles
from slowwave.records.model import Problem
from slowwave.records.parts import PACKED_SUFFIX
from slowwave.records.suffix import Suffix

_DECODER = msgspec.json.Decoder(Entry)
_MARK = b'"summary"'


class Tail(NamedTuple):
    """The newest summary with everything behind it, and what was no clean record there."""

    placed: list[CerseiMessage]
    problems: list[Problem]


def tail_of(files: SessionFiles, notes: Notes | None = None) -> Tail | None:
    """Return the newest summary and what follows it when they hide all the rest, else None.

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
    summary = suffix.records[found][1]
    if summary.uuid in glance.deleted or not glance.hides_all():
        return None
    placed = [CerseiMessage(entry, span) for span, entry in suffix.records[found:] if _counts(entry, glance.deleted)]
    return Tail(placed, [*files.problems, *suffix.problems])


def _newest_summary(suffix: Suffix[Entry]) -> int | None:
    """Grow a suffix until it has a summary; return which of its records the newest one is."""
    while suffix.back_to(_MARK):
        for index in range(len(suffix.records) - 1, -1, -1):
            if suffix.records[index][1].type == "summary":
                return index
        if not suffix.grow():  # words of a conversation only; not one step for each of them
            break
    return None


def _counts(entry: Entry, deleted: set[str]) -> bool:
    """Say whether an entry is the summary or a message that is still there."""
    if entry.uuid in deleted:
        return False
    return entry.type == "summary" or (entry.type in MESSAGE_TYPES and entry.message is not None)
