"""Parallel calls of Claude Code: the pieces and results of one message that the way along the parents passes by."""

from array import array
from collections import defaultdict, deque
from itertools import compress
from typing import NamedTuple

from slowwave.compaction.estimates import CLAUDE
from slowwave.compaction.live.trail import BEGINS, SPEAKS, TURN, Trail
from slowwave.compaction.live.weight import Scales

# what a record is sent as
OTHER, ANSWER, PROMPT, RESULT = range(4)
# around the words of a block: its type, its id, the id of its call
SCALES = Scales(CLAUDE, 80)
# pieces of one message stand near each other
_RECENT = 32
# of the id of a message no more than this is kept, to tell it from its neighbour's
_HASH = (1 << 32) - 1


class Row(NamedTuple):
    """A record that may be sent.

    Attributes:
        offset: where it stands.
        length: its bytes.
        weight: of its words.
        kind: what it is sent as.
        uuid: its own id.
        message: the API's id of the message that it is a piece of.
        parent: the id of the record that it hangs under.
    """

    offset: int
    length: int
    weight: int
    kind: int
    uuid: str
    message: str | None
    parent: str | None


class Groups:
    """The records of a conversation, collected from its last to its first."""

    def __init__(self) -> None:
        self._trail = Trail(SCALES)
        self._columns = self._trail.columns
        self._kinds = bytearray()
        self._messages = array("I")
        self._results: defaultdict[str, list[Row]] = defaultdict(list)
        self._pieces: defaultdict[str, list[Row]] = defaultdict(list)
        self._recent: deque[str] = deque(maxlen=_RECENT)
        self._known: deque[str] = deque(maxlen=_RECENT * 4)
        # where the records begin that may be of the message that is being passed, and which one that is
        self._group = 0
        self._group_of: str | None = None
        self._latest = OTHER

    def beside(self, row: Row) -> None:
        """Take in a record that stands beside the way up."""
        if row.uuid in self._known:
            return  # the same record once more: the last one counts
        if row.kind == RESULT and row.parent is not None:
            self._results[row.parent].append(row)
        elif row.kind == ANSWER and row.message is not None:
            if row.message in self._recent:
                self._join([row, *self._results.pop(row.uuid, [])])
            else:
                self._pieces[row.message] += [row, *self._results.pop(row.uuid, [])]

    def above(
        self,
        offset: int,
        length: int,
        weight: int,
        kind: int,
        uuid: str,
        message: str | None,
        *,
        joins: bool,
    ) -> None:
        """Take in the next record of the way up, as fields of a row; with ``joins`` what is of its message, too."""
        self._known.append(uuid)
        if kind == RESULT:
            if self._latest != RESULT:
                self._group = len(self._kinds)
                self._latest, self._group_of = RESULT, None
        elif kind != OTHER:
            if kind == PROMPT or (self._latest != RESULT and (message is None or message != self._group_of)):
                self._group = len(self._kinds)
            self._latest, self._group_of = kind, message
        at, add_length, add_weight, add_mark = self._columns
        at(offset)
        add_length(length)
        add_weight(weight)
        add_mark(0)
        self._kinds.append(kind)
        if message is None:
            self._messages.append(0)
            return
        self._messages.append(hash(message) & _HASH or 1)
        if joins and kind == ANSWER:
            recent = self._recent
            if not recent or recent[-1] != message:
                recent.append(message)
            if (self._results or self._pieces) and (
                more := self._results.pop(uuid, []) + self._pieces.pop(message, [])
            ):
                self._join(more)

    @property
    def is_waiting(self) -> bool:
        """Whether records from beside the way wait for theirs to be reached."""
        return bool(self._results or self._pieces)

    def extend(
        self,
        offsets: list[int],
        lengths: list[int],
        weights: list[int],
        kinds: list[int],
        uuids: list[str],
        messages: list[str | None],
    ) -> None:
        """Take in the next records of the way up, while nothing is waiting, as columns of the fields of rows."""
        start = len(self._kinds)
        self._trail.add(0, offsets, lengths, weights, bytes(len(offsets)))
        self._kinds.extend(kinds)
        self._known.extend(uuids)
        self._messages.extend([0 if one is None else hash(one) & _HASH or 1 for one in messages])
        group, latest, group_of = self._group, self._latest, self._group_of
        recent = self._recent
        for at, (kind, message) in enumerate(zip(kinds, messages, strict=True), start):
            if kind == RESULT:
                if latest != RESULT:
                    group, latest, group_of = at, RESULT, None
                continue
            if kind == PROMPT or (latest != RESULT and (message is None or message != group_of)):
                group = at
            latest, group_of = kind, message
            if message is not None and (not recent or recent[-1] != message):
                recent.append(message)
        self._group, self._latest, self._group_of = group, latest, group_of

    def trail(self) -> Trail:
        """Return the records from the first to the last, each with what it is to a plan."""
        self._trail.reverse()
        self._kinds.reverse()
        self._messages.reverse()
        marks = bytearray(len(self._kinds))
        before, message = OTHER, 0
        for at in compress(range(len(marks)), self._kinds):
            kind = self._kinds[at]
            if kind == ANSWER:
                own = self._messages[at]
                if not own or own != message:
                    marks[at] = SPEAKS | BEGINS
                message = own
            elif before in (OTHER, ANSWER):  # else the client joins it with the one before
                marks[at] = SPEAKS | BEGINS | TURN if kind == PROMPT else SPEAKS
            before = kind
        self._trail.mark(marks)
        return self._trail

    def _join(self, rows: list[Row]) -> None:
        """Add records to the message that is being passed, in the order of the file."""
        start = self._group
        held = [
            (record.offset, record.length, record.weight, kind, message)
            for record, kind, message in zip(
                self._trail.cut(start), self._kinds[start:], self._messages[start:], strict=True
            )
        ]
        del self._kinds[start:], self._messages[start:]
        for row in rows:
            message = hash(row.message) & _HASH or 1 if row.message else 0
            held.append((row.offset, row.length, row.weight, row.kind, message))
        offsets, lengths, weights, kinds, messages = zip(*sorted(held, reverse=True), strict=True)
        self._trail.add(0, offsets, lengths, weights, bytes(len(held)))
        self._kinds.extend(kinds)
        self._messages.extend(messages)
