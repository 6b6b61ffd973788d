"""Parallel calls of Claude Code: the pieces and results of one message that the way along the parents passes by."""

from array import array
from collections import defaultdict, deque
from typing import NamedTuple

from slowwave.compaction.live.trail import BEGINS, SPEAKS, TURN, Trail

# what a record is sent as
OTHER, ANSWER, PROMPT, RESULT = range(4)
# pieces of one message stand near each other
_RECENT = 32


class Row(NamedTuple):
    """A record that may be sent.

    Attributes:
        offset: where it stands.
        length: its bytes.
        tokens: about how many it takes.
        kind: what it is sent as.
        uuid: its own id.
        parent: the id of the record that it hangs under.
        message: the API's id of the message that it is a piece of.
    """

    offset: int
    length: int
    tokens: int
    kind: int
    uuid: str
    parent: str | None
    message: str | None


class Groups:
    """The records of a conversation, collected from its last to its first."""

    def __init__(self) -> None:
        self._trail = Trail()
        self._kinds = array("B")
        self._messages = array("q")
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

    def above(self, row: Row, *, joins: bool) -> None:
        """Take in the next record of the way up; with ``joins`` also what belongs to its message."""
        kind, message = row.kind, row.message
        self._known.append(row.uuid)
        if kind != OTHER:
            is_same = self._latest == RESULT if kind == RESULT else self._goes_on(row)
            if not is_same:
                self._group = len(self._kinds)
            self._latest, self._group_of = kind, message
        self._add(row)
        if joins and kind == ANSWER and message is not None:
            if not self._recent or self._recent[-1] != message:
                self._recent.append(message)
            if (self._results or self._pieces) and (
                more := self._results.pop(row.uuid, []) + self._pieces.pop(message, [])
            ):
                self._join(more)

    def trail(self) -> Trail:
        """Return the records from the first to the last, each with what it is to a plan."""
        self._trail.reverse()
        self._kinds.reverse()
        self._messages.reverse()
        before, message = OTHER, 0
        for at, kind in enumerate(self._kinds):
            if kind == OTHER:
                continue
            if kind == ANSWER:
                own = self._messages[at]
                is_new = not own or own != message
                self._trail.mark(at, (SPEAKS | BEGINS) if is_new else 0)
                message = own
            else:
                follows = before in (PROMPT, RESULT)  # the client joins what follows
                begins = kind == PROMPT and not follows
                self._trail.mark(at, (0 if follows else SPEAKS) | ((BEGINS | TURN) if begins else 0))
            before = kind
        return self._trail

    def _goes_on(self, row: Row) -> bool:
        """Say whether a record belongs with those that were passed right before."""
        if row.kind != ANSWER:
            return False
        return self._latest == RESULT or (row.message is not None and row.message == self._group_of)

    def _add(self, row: Row) -> None:
        self._trail.add(0, row.offset, row.length, row.tokens, 0)
        self._kinds.append(row.kind)
        self._messages.append(hash(row.message) if row.message else 0)

    def _join(self, rows: list[Row]) -> None:
        """Add records to the message that is being passed, in the order of the file."""
        for row in rows:
            self._add(row)
        start = self._group
        held = zip(self._trail.cut(start), self._kinds[start:], self._messages[start:], strict=True)
        del self._kinds[start:], self._messages[start:]
        for record, kind, message in sorted(held, key=lambda one: -one[0].offset):
            self._trail.add(*record)
            self._kinds.append(kind)
            self._messages.append(message)
