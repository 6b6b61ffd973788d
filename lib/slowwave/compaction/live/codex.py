"""The trail of a Codex rollout that was never compacted: its items in order, without the turns that were taken back."""

from array import array
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from slowwave.compaction.estimates import CODEX
from slowwave.compaction.live.trail import BEGINS, SPEAKS, TURN, Trail
from slowwave.compaction.live.weight import Scales
from slowwave.dialects.codex.agents import may_instruct
from slowwave.dialects.codex.head import is_paginated
from slowwave.dialects.codex.history import is_boundary, is_renewed
from slowwave.dialects.codex.messages import CodexMessage, Place
from slowwave.dialects.codex.records import CALLS, DECODER, KNOWN_ITEMS, OUTPUTS, Line, item_of, line_of
from slowwave.dialects.codex.turns import is_header, rolled_back
from slowwave.dialects.model import SessionFiles
from slowwave.records.lenient import whole
from slowwave.records.lines import read_records
from slowwave.records.model import Problem, Span

# around the words of an item: names of fields, ids
_SCALES = Scales(CODEX, 160)
# the client sends no more of an output than its middle leaves; about 10,000 tokens
_MOST_OUTPUT = 40_000
_NOT_SENT = ("developer", "system")
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
        super().__init__()
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
    problems: list[Problem] = []
    replay = _Replay()
    for span, line in read_records(files.paths[0], _LINES, problems):
        if line.payload is None or line.timestamp is None or not replay.takes(span, line):
            return None
    return None if any(problem.kind != "torn" for problem in problems) else replay.trail


class _Replay:
    """The items of a rollout as they come, and where turns begin among them."""

    def __init__(self) -> None:
        self.trail = CodexTrail()
        self._starts = array("L")
        self._open: set[object] = set()
        self._is_paginated: bool | None = None

    def takes(self, span: Span, line: _Line) -> bool:
        """Take in the next line; False where it tells more than this replay knows."""
        kind = line.type
        if kind == "response_item" and line.payload is not None:
            self._item(span, line.payload)
        elif kind == "event_msg" and line.payload is not None:
            self._event(span, line.payload.type)
        elif kind == "turn_context":
            self.trail.noted[kind] = span.raw
        elif kind == "session_meta":
            return self._header(span)
        return kind not in ("compacted", "inter_agent_communication")

    def _event(self, span: Span, kind: object) -> None:
        if kind == "thread_rolled_back":
            self._roll_back(rolled_back(_line(span)))
        elif kind == "token_count" and b"last_token_usage" in span.raw:
            self.trail.noted["token_count"] = span.raw

    def _header(self, span: Span) -> bool:
        """Look at a header: that of a fork refers to another rollout, and a paginated one begins anew with a later."""
        line = _line(span)
        fields = line.fields()
        if self._is_paginated is None:
            self._is_paginated = is_paginated(fields)
            return not fields.get("history_base")
        if self._is_paginated and is_header(line):
            self.trail.cut(0)
            del self._starts[:]
        return True

    def _item(self, span: Span, item: _Item) -> None:
        kind, trail = item.type, self.trail
        if kind not in KNOWN_ITEMS:
            return
        mark = SPEAKS
        if kind == "message":
            mark |= _words(span, item)
        elif kind == "agent_message":
            mark |= TURN
        elif kind == "ghost_snapshot":
            mark = 0
        if mark & TURN:
            self._starts.append(len(trail))
            self._open.clear()  # a call that was open then never gets its result
        if kind in OUTPUTS:
            self._open.discard(item.call_id)
        elif not self._open:
            mark |= BEGINS
        if kind in CALLS:
            self._open.add(item.call_id)
        trail.add(0, span.offset, len(span.raw), _tokens(span, item), mark)

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


def _line(span: Span) -> Line:
    return line_of(span, DECODER.decode(span.raw))


def _message(span: Span) -> CodexMessage:
    return CodexMessage(item_of(_line(span).body), span, None, Place(), as_sent=True)


def _words(span: Span, item: _Item) -> int:
    """Return what a message is to a plan, and to a rollback."""
    if item.role == "assistant" and not may_instruct(span.raw):
        return 0
    message = _message(span)
    return (TURN if is_boundary(message) else 0) | (_CONTEXT if is_renewed(message) else 0)


def _tokens(span: Span, item: _Item) -> int:
    if item.type == "reasoning" or (item.type in OUTPUTS and len(span.raw) > _MOST_OUTPUT):
        return CODEX.of_message(_message(span))
    if item.type == "message" and item.role in _NOT_SENT:
        return 0
    return _SCALES.weight(msgspec.Raw(span.raw), partial(_message, span))
