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
        self._trail.add(0, offset, length, weight, 0)
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
        trail, start = self._trail, self._group
        for row in rows:
            trail.add(0, row.offset, row.length, row.weight, 0)
            self._kinds.append(row.kind)
            self._messages.append(hash(row.message) & _HASH or 1 if row.message else 0)
        held = zip(trail.cut(start), self._kinds[start:], self._messages[start:], strict=True)
        del self._kinds[start:], self._messages[start:]
        for record, kind, message in sorted(held, key=lambda one: -one[0].offset):
            trail.add(*record)
            self._kinds.append(kind)
            self._messages.append(message)
