"""The trail of a Codex rollout that was never compacted: its items in order, without the turns that were taken back."""

from array import array
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from slowwave.compaction.estimates import CODEX
from slowwave.compaction.live.lines import forward, loses_lines
from slowwave.compaction.live.trail import BEGINS, SPEAKS, TURN, Trail
from slowwave.compaction.live.weight import LARGE_BYTES, Scales
from slowwave.dialects.codex.agents import may_instruct
from slowwave.dialects.codex.head import is_paginated
from slowwave.dialects.codex.history import is_boundary, is_renewed
from slowwave.dialects.codex.messages import CodexMessage, Place
from slowwave.dialects.codex.records import (
    CALLS,
    DECODER,
    KNOWN_ITEMS,
    OUTPUTS,
    UNREADABLE_LINE,
    Line,
    item_of,
    line_of,
)
from slowwave.dialects.codex.turns import is_header, rolled_back
from slowwave.dialects.model import SessionFiles
from slowwave.records.lenient import whole
from slowwave.records.model import Span

# around the words of an item: names of fields, ids
_SCALES = Scales(CODEX, 160)
# the client sends no more of an output than its middle leaves; about 10,000 tokens
_MOST_OUTPUT = 40_000
_NOT_SENT = ("developer", "system")
# calls that never got a result: few turns are broken off
_MOST_LEFT = 1_000
_CONTEXT = 8  # the harness's own words in front of a turn


class _Item(msgspec.Struct, gc=False):
    type: Any = None
    role: Any = None
    call_id: Any = None


class _Line(msgspec.Struct, gc=False):
    type: Any = None
    timestamp: Any = None
    payload: _Item | None = None


_LINES = msgspec.json.Decoder(_Line)


class CodexTrail(Trail):
    """A trail with the newest records that tell of sizes, by their kind."""

    def __init__(self) -> None:
        super().__init__(_SCALES)
        self.noted: dict[str, bytes] = {}

    def counters(self) -> Iterator[dict[str, Any]]:
        """Yield the newest context of a turn and the newest count of the provider's."""
        return map(whole, self.noted.values())


def codex_trail(files: SessionFiles) -> CodexTrail | None:
    """Return the trail of a rollout, None where it has to be read as a whole.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    if len(files.paths) != 1 or files.paths[0].suffix != ".jsonl" or not files.paths[0].is_file():
        return None
    replay = _Replay()
    take, tell, is_begun = replay.item, replay.tells, False
    for offset, raw, line in forward(files.paths[0], _LINES, loses_lines(UNREADABLE_LINE)):
        item = line.payload
        if item is None:
            return None  # a bare rollout
        if type(line.timestamp) is not str:
            continue  # the client drops what has no time
        kind = line.type
        if kind == "response_item" and is_begun:
            take(offset, raw, item)
        elif (not is_begun and kind != "session_meta") or not tell(kind, offset, raw, item):
            return None
        is_begun = True
    return None if replay.is_tangled else replay.trail


class _Replay:
    """The items of a rollout as they come, and where turns begin among them."""

    def __init__(self) -> None:
        self.trail = CodexTrail()
        self._add = self.trail.add
        self._starts = array("L")
        # calls without their results yet, those that never got one, and hashes of the ids of all
        self._open, self._left = set[str](), set[str]()
        self._calls = array("q")
        self._is_tangled = False
        self._is_paginated: bool | None = None

    def item(self, offset: int, raw: bytes, item: _Item) -> None:
        """Take in an item of the conversation."""
        kind, size, is_exact = item.type, len(raw), False
        if type(kind) is not str:
            kind = item_of(_line(offset, raw).body).kind
        if kind in OUTPUTS:
            self._answered(item.call_id)
            is_exact, mark = size > _MOST_OUTPUT, SPEAKS
        elif kind in CALLS:
            mark = SPEAKS if self._open else SPEAKS | BEGINS
            self._asked(item.call_id)
        elif kind in KNOWN_ITEMS:
            is_exact, mark = kind == "reasoning", self._mark(kind, offset, raw, item)
        else:
            return
        if is_exact:
            weight = _SCALES.exact(_message(offset, raw))
        elif size > LARGE_BYTES:
            weight = _SCALES.of_large(raw, partial(_message, offset, raw))
        else:
            weight = 0 if item.role in _NOT_SENT else _SCALES.weight(size)
        self._add(0, offset, size, weight, mark)

    def _mark(self, kind: str, offset: int, raw: bytes, item: _Item) -> int:
        """Return what an item is to a plan, and to a rollback."""
        mark = 0 if kind == "ghost_snapshot" else SPEAKS
        if kind == "message":
            mark |= _words(offset, raw, item)
        elif kind == "agent_message":
            mark |= TURN
        if mark & TURN:
            self._starts.append(len(self.trail))
            self._left |= self._open  # a call that is open then never gets its result
            self._open.clear()
        return mark if self._open else mark | BEGINS

    @property
    def is_tangled(self) -> bool:
        """Whether a call and its result stand apart, or twice: no stretch of the rollout can be read by itself then."""
        left = [hash(call) for call in self._left | self._open]
        return self._is_tangled or len(left) > _MOST_LEFT or any(self._calls.count(one) > 1 for one in left)

    def _asked(self, call: object) -> None:
        if type(call) is str:
            self._is_tangled = self._is_tangled or call in self._open
            self._open.add(call)
            self._calls.append(hash(call))

    def _answered(self, call: object) -> None:
        if type(call) is str:
            if call in self._open:
                self._open.remove(call)
            else:
                self._is_tangled = True

    def tells(self, kind: object, offset: int, raw: bytes, item: _Item) -> bool:
        """Take in another line; False where it tells more than this replay knows."""
        if kind == "event_msg":
            if item.type == "thread_rolled_back":
                self._roll_back(rolled_back(_line(offset, raw)))
            elif item.type == "token_count" and b"last_token_usage" in raw:
                self.trail.noted["token_count"] = raw
        elif kind == "turn_context":
            self.trail.noted["turn_context"] = raw
        elif kind == "session_meta":
            return self._header(offset, raw)
        return kind not in ("compacted", "inter_agent_communication")

    def _header(self, offset: int, raw: bytes) -> bool:
        """Look at a header: that of a fork refers to another rollout, and a paginated one begins anew with a later."""
        line = _line(offset, raw)
        fields = line.fields()
        if self._is_paginated is None:
            self._is_paginated = is_paginated(fields)
            return not fields.get("history_base")
        if self._is_paginated and is_header(line):
            self.trail.cut(0)
            del self._starts[:]
        return True

    def _roll_back(self, turns: int) -> None:
        """Take turns back as :class:`slowwave.dialects.codex.history.History` does."""
        if not self._starts or turns <= 0:
            return
        first, kept = self._starts[0], max(0, len(self._starts) - turns)
        cut = self._starts[kept]
        while cut > first and self.trail.has(cut - 1, _CONTEXT):
            cut -= 1
        self.trail.cut(cut)
        del self._starts[kept:]
        self._open.clear()


def _line(offset: int, raw: bytes) -> Line:
    return line_of(Span(0, 0, offset, raw), DECODER.decode(raw))


def _message(offset: int, raw: bytes) -> CodexMessage:
    return CodexMessage(item_of(_line(offset, raw).body), Span(0, 0, offset, raw), None, Place(), as_sent=True)


def _words(offset: int, raw: bytes, item: _Item) -> int:
    """Return what a message is to a plan, and to a rollback."""
    if item.role == "assistant" and (b"trigger_turn" not in raw or not may_instruct(raw)):
        return 0
    message = _message(offset, raw)
    return TURN if is_boundary(message) else _CONTEXT if is_renewed(message) else 0  # never both
