"""Where the history of a Codex rollout begins: the newest whole compaction that no rollback took back.

Source: tried on client 0.169, whose reconstruction reads a rollout from its end. Lines belong to a turn by the ids in
its marks. In a paginated rollout the client never reads further back than the newest compaction that numbers its
window, or a later header; a rollback cannot reach over it.
"""

from collections.abc import Sequence

from slowwave.dialects.codex import agents
from slowwave.dialects.codex.history import is_boundary
from slowwave.dialects.codex.messages import CodexMessage, Place
from slowwave.dialects.codex.records import Line, item_of, replacement_items

_ENDS = ("task_complete", "turn_complete", "turn_aborted")
_STARTS = ("task_started", "turn_started")
# What a header needs to be one for the client.
_HEADER = ("id", "timestamp", "cwd", "originator", "cli_version")


def window_start(lines: Sequence[Line]) -> int | None:
    """Return the index of the compaction before which the client does not look in a paginated rollout, or None.

    It is the newest compaction or none: behind one without a history or a number, the client reads everything.
    """
    for index in range(len(lines) - 1, -1, -1):
        if lines[index].kind == "compacted":
            return index if _has_window(lines[index]) else None
    return None


def own_lines(lines: Sequence[Line]) -> list[Line]:
    """Return the lines that count in a paginated rollout: of each file, those behind its last header."""
    headers = (index for index, line in enumerate(lines) if line.kind == "session_meta" and is_header(line))
    last = {lines[index].span.part: index for index in headers}
    return [line for index, line in enumerate(lines) if index > last.get(line.span.part, -1)]


def _has_window(line: Line) -> bool:
    fields = line.fields()
    numbers = (fields.get("window_number"), fields.get("window_id"))  # older clients numbered it by its id
    is_numbered = any(isinstance(number, int) and not isinstance(number, bool) for number in numbers)
    return is_numbered and replacement_items(line) is not None


def is_header(line: Line) -> bool:
    """Say whether a header is one for the client: it has every field that it needs."""
    fields = line.fields()
    return all(isinstance(fields.get(name), str) for name in _HEADER) and len(fields["id"]) == len(_AN_ID)


_AN_ID = "00000000-0000-0000-0000-000000000000"


class _Turn:
    """The lines of one turn as they are met from the end: its id, its compactions, and whether somebody spoke."""

    def __init__(self) -> None:
        self.id: object = None
        self.compactions: list[int] = []
        self.is_spoken = False

    def is_of(self, turn: object) -> bool:
        return self.id is None or turn is None or self.id == turn

    def joined(self, older: "_Turn") -> "_Turn":
        """Return this turn with what was taken for another one in it."""
        self.compactions += older.compactions
        self.is_spoken = self.is_spoken or older.is_spoken
        return self


def base_of(lines: Sequence[Line], *, is_whole: bool = True) -> tuple[int | None, set[int]]:
    """Return the index of the newest compaction that holds the whole history, and those that were rolled back.

    The first is None when no such compaction is left.

    Args:
        lines: the rollout, or its end.
        is_whole: whether nothing stands before them; else a turn counts only when its beginning is among them.
    """
    # a rollback before the end of a rollout may be of the very turn that this end begins in
    if is_whole and not any(rolled_back(line) for line in lines):
        found = (i for i in range(len(lines) - 1, -1, -1) if lines[i].kind == "compacted")
        return next((i for i in found if replacement_items(lines[i]) is not None), None), set()
    return _surviving(lines, is_whole=is_whole)


class _Search:
    """The search for a base from the end: turns still to be taken back, and the compactions that went with them."""

    def __init__(self) -> None:
        self.pending = 0
        self.skipped: set[int] = set()
        self.base: int | None = None

    def judge(self, turn: _Turn) -> None:
        """Take a turn back when one is due; else its newest compaction is the base."""
        if self.pending > 0:
            self.pending -= turn.is_spoken
            self.skipped.update(turn.compactions)
        elif turn.compactions:
            self.base = turn.compactions[0]


def _surviving(lines: Sequence[Line], *, is_whole: bool) -> tuple[int | None, set[int]]:
    search = _Search()
    turn: _Turn | None = None
    outer: list[_Turn] = []  # turns in which the present one ended, so it also began in them
    for index in range(len(lines) - 1, -1, -1):
        line = lines[index]
        search.pending += rolled_back(line)
        started = started_turn(line)
        if started is None:
            if turn is not None and _ends_another(turn, line):
                outer.append(turn)
                turn = None
            turn = _taken(turn, index, line)
            continue
        if turn is not None and not turn.is_of(started) and outer and outer[-1].is_of(started):
            turn = outer.pop().joined(turn)  # what ended in it never began
        if turn is not None and turn.is_of(started):
            search.judge(turn)
            turn = outer.pop() if outer else None
            if search.base is not None:
                return search.base, search.skipped
    for left in [turn, *reversed(outer)] if is_whole else []:
        if left is not None and search.base is None:
            search.judge(left)
    return search.base, search.skipped


def _ends_another(turn: _Turn, line: Line) -> bool:
    """Say whether another turn ends with this line."""
    if line.kind != "event_msg" or turn.id is None or not any(line.mentions(end.encode()) for end in _ENDS):
        return False
    fields = line.fields()
    return fields.get("type") in _ENDS and fields.get("turn_id") not in (None, turn.id)


def _taken(turn: _Turn | None, index: int, line: Line) -> _Turn | None:
    """Return the turn with one more line in front; lines that say nothing of turns belong to none."""
    if line.kind == "response_item":
        turn = turn or _Turn()
        turn.is_spoken = turn.is_spoken or is_boundary(_message(line))
    elif line.kind == "compacted":
        turn = turn or _Turn()
        if replacement_items(line) is not None:
            turn.compactions.append(index)
    elif is_from_agent(line):
        turn = turn or _Turn()
        turn.is_spoken = True
    elif line.kind in ("turn_context", "event_msg"):
        fields = line.fields()
        if line.kind == "turn_context" or fields.get("type") in _ENDS:
            turn = turn or _Turn()
            turn.id = fields.get("turn_id") if turn.id is None else turn.id
        elif fields.get("type") == "user_message":
            turn = turn or _Turn()
            turn.is_spoken = True
    return turn


def _message(line: Line) -> CodexMessage:
    return CodexMessage(item_of(line.body), line.span, line.timestamp, Place())


def is_from_agent(line: Line) -> bool:
    """Say whether a line is what another agent tells this one."""
    return line.kind == "inter_agent_communication" and agents.is_instruction(line.body)


def rolled_back(line: Line) -> int:
    """Return how many turns a line takes back; 0 for lines that are no rollback."""
    if line.kind != "event_msg" or not line.mentions(b"thread_rolled_back"):
        return 0
    fields = line.fields()
    turns = fields.get("num_turns")
    return turns if fields.get("type") == "thread_rolled_back" and isinstance(turns, int) else 0


def started_turn(line: Line) -> object:
    """Return the id of the turn that begins with this line, "" for one without, None when none begins."""
    if not starts_turn(line):
        return None
    return line.fields().get("turn_id", "")


def starts_turn(line: Line) -> bool:
    """Say whether a turn begins with this line."""
    if line.kind != "event_msg" or not (line.mentions(b"task_started") or line.mentions(b"turn_started")):
        return False
    return line.fields().get("type") in _STARTS
