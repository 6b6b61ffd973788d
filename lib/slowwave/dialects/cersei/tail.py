"""The end of a compacted Cersei session: its last summary and what follows, found in one pass that keeps nothing else.

How far a summary reaches back is a number of messages, and a tombstone may stand anywhere, also before what it deletes
(code: the loader collects all of them first). So every record is looked at; but only the messages behind the newest
summary are held, and the memory is theirs. Where messages from before it stay visible, the whole session is read.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from slowwave.dialects.cersei.records import MESSAGE_TYPES, CerseiMessage, Entry
from slowwave.dialects.model import SessionFiles
from slowwave.records.lines import read_records
from slowwave.records.model import REFUSALS, Problem
from slowwave.records.search import lines_with

_DECODER = msgspec.json.Decoder(Entry)
_MARK = b'"tombstone"'


class Tail(NamedTuple):
    """The newest summary with everything behind it, and what was no clean record in the session."""

    placed: list[CerseiMessage]
    problems: list[Problem]


def tail_of(files: SessionFiles) -> Tail | None:
    """Return the newest summary and what follows it when they hide all the rest, else None.

    Raises:
        UnreadableError: a part cannot be opened.
    """
    deleted = _deleted(files)
    problems = list(files.problems)
    placed: list[CerseiMessage] = []
    reach = _Reach()
    for item in _items(files, problems):
        entry = item.entry
        if entry.type == "tombstone":
            if entry.deleted_uuid is not None and entry.deleted_uuid not in deleted:
                return None  # written in a way that the search did not see
        elif entry.uuid not in deleted:
            if entry.type == "summary":
                reach.hide(entry.messages_compacted or 0)
                placed = [item]
            elif entry.type in MESSAGE_TYPES and entry.message is not None:
                reach.count += 1
                if reach.hides_all:
                    placed.append(item)
    return Tail(placed, problems) if placed and reach.hides_all else None


class _Reach:
    """How many messages there were, and how many of the first ones stay visible behind the summaries so far."""

    def __init__(self) -> None:
        self.count = 0
        self.hides_all = False
        self._hidden: list[tuple[int, int]] = []

    def hide(self, number: int) -> None:
        """Hide as many messages directly before this place."""
        self._hidden.append((max(0, self.count - max(0, number)), self.count))
        covered = 0
        for start, stop in sorted(self._hidden):
            if start > covered:
                break
            covered = max(covered, stop)
        self.hides_all = covered == self.count


def _deleted(files: SessionFiles) -> set[str]:
    """Return what the tombstones that a search finds delete; a line that cannot be read so is seen later."""
    found: set[str] = set()
    for path in files.paths:
        for _, line in lines_with(path, _MARK):
            try:
                entry = _DECODER.decode(line)
            except REFUSALS:
                continue
            if entry.type == "tombstone" and entry.deleted_uuid is not None:
                found.add(entry.deleted_uuid)
    return found


def _items(files: SessionFiles, problems: list[Problem]) -> Iterator[CerseiMessage]:
    for part, path in enumerate(files.paths):
        for span, entry in read_records(path, _DECODER, problems, part=part):
            yield CerseiMessage(entry, span)
