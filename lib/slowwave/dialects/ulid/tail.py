"""The end of a compacted session of the ULID specification: from the first record that its last compaction keeps."""

from typing import NamedTuple

from slowwave.dialects.model import SessionFiles
from slowwave.dialects.ulid.records import DECODER, Record, UlidMessage, integer, unknown_kind
from slowwave.records.model import Problem
from slowwave.records.suffix import Suffix

_MARK = b'"compaction"'


def kept_from(spoken: list[UlidMessage], last: int) -> int | None:
    """Return the index from which on the summary at ``last`` keeps messages, None when that is not in ``spoken``.

    Numbers only grow, so going back from the summary the first smaller one ends the search; what stands before it is
    covered, also where a damaged log repeats numbers.
    """
    first = integer(spoken[last].record.first_kept)
    if first is None:
        return last
    for index in range(last - 1, -1, -1):
        seq = spoken[index].seq
        if seq is not None and seq < first and not spoken[index].is_summary:
            return index + 1
    return None


class Tail(NamedTuple):
    """The last messages and compactions of a log, and what was no clean record among them."""

    spoken: list[UlidMessage]
    problems: list[Problem]


def tail_of(files: SessionFiles) -> Tail | None:
    """Return the last messages and compactions of a log when they hold all that is kept, else None.

    Raises:
        UnreadableError: a file cannot be opened.
    """
    if len(files.paths) != 1:
        return None
    suffix = Suffix(files.paths, DECODER)
    is_more = suffix.back_to(_MARK)
    while is_more:
        spoken = _spoken(suffix)
        last = max((i for i, m in enumerate(spoken) if m.is_summary), default=None)
        if last is not None and kept_from(spoken, last) is not None:
            return Tail(spoken, suffix.problems) if suffix.is_steady() else None
        is_more = suffix.grow()
    return None


def _spoken(suffix: Suffix[Record]) -> list[UlidMessage]:
    return [UlidMessage(record, span) for span, record in suffix.records if unknown_kind(record) is None]
