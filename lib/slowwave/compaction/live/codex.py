"""The trail of a Codex rollout that was never compacted: its items in order, without the turns that were taken back."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, cast

import msgspec

from slowwave.compaction.items import Item, Usage, items_of, read_usage
from slowwave.compaction.job.reading import Reading
from slowwave.compaction.live.trail import BEGINS, SPEAKS, TURN, About, Kind, Records, Scales, Trail
from slowwave.compaction.live.window import Block, Window, forward, loses_lines
from slowwave.compaction.tokens import CODEX, fields_of
from slowwave.formats.client import Dialect
from slowwave.formats.codex.messages import (
    DEFAULT_LIMIT,
    SUMMARY_PREFIX,
    CodexMessage,
    Place,
    is_context,
    is_summary,
    may_instruct,
)
from slowwave.formats.codex.records import (
    CALLS,
    DECODER,
    KNOWN_ITEMS,
    OUTPUTS,
    UNREADABLE_LINE,
    Line,
    beside_of,
    is_paginated,
    item_of,
    line_of,
)
from slowwave.formats.codex.replay import is_boundary, is_header, is_renewed, repaired, replay, rolled_back
from slowwave.formats.model import REFUSALS, Message, SessionFiles, Span, Transcript
from slowwave.formats.salvage import whole
from slowwave.formats.times import parse_time
from slowwave.formats.writing import first_record, records_backward

# of what a scale takes off each item as standing around its words, what does not stand around a summary's
_UNSAID = 120
_NOT_SENT = ("developer", "system")
# calls that never got a result: few turns are broken off
_MOST_LEFT = 1_000


class CodexTrail(Trail):
    """A trail with the newest records that tell of sizes, by their kind."""

    def __init__(self) -> None:
        super().__init__(SCALES)
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
    for block in forward(files.paths[0], LINES, loses_lines(UNREADABLE_LINE)):
        if not replay.takes(block):
            return None
    return None if replay.is_tangled else replay.trail


# Lines of a Codex rollout as a plan needs them: what an item is, and how many bytes of it the client sends.


class RolloutItem(msgspec.Struct, gc=False):
    """The fields of an item that say what it is; they may hold anything."""

    type: Any = None
    role: Any = None
    call_id: Any = None
    summary: msgspec.Raw = msgspec.Raw()


class RolloutLine(msgspec.Struct, gc=False):
    """A line of a rollout with no more of its item than a plan needs."""

    type: Any = None
    timestamp: Any = None
    payload: RolloutItem | None = None


class _Items(NamedTuple):
    """Items of a block that are on the trail: indexes of their lines, bytes that may be words, and marks."""

    block: Block[RolloutLine]
    chosen: list[int]
    sizes: list[int]
    marks: list[int]

    def move_to(self, trail: Trail) -> None:
        """Add them to a trail, and forget them."""
        block, chosen = self.block, self.chosen

        def large(at: int) -> int:
            raw = block.raws[chosen[at]]
            return SCALES.of_large(raw, partial(message_of, block.offsets[chosen[at]], raw))

        offsets, lengths = [block.offsets[at] for at in chosen], [block.lengths[at] for at in chosen]
        trail.add(0, offsets, lengths, SCALES.weights(self.sizes, large), self.marks)
        for column in (chosen, self.sizes, self.marks):
            column.clear()


class _Replay:
    """The items of a rollout as they come, and where turns begin among them."""

    def __init__(self) -> None:
        self.trail = CodexTrail()
        self._starts = array("L")
        # calls without their results yet, those that never got one, and hashes of the ids of all
        self._open, self._left = set[str](), set[str]()
        self._calls = array("q")
        self._is_begun = self._is_tangled = False
        self._is_paginated: bool | None = None

    @property
    def is_tangled(self) -> bool:
        """Whether a call and its result stand apart, or twice: no stretch of the rollout can be read by itself then."""
        left = [hash(call) for call in self._left | self._open]
        return self._is_tangled or len(left) > _MOST_LEFT or any(self._calls.count(one) > 1 for one in left)

    def takes(self, block: Block[RolloutLine]) -> bool:  # noqa: C901, PLR0912 - one loop over a hundred thousand records
        """Take in the next lines; False where one of them tells more than this replay knows."""
        items = _Items(block, [], [], [])
        add, add_size, add_mark = items.chosen.append, items.sizes.append, items.marks.append
        waiting, called = self._open, list[str]()
        for at, line in enumerate(block.values):
            item = line.payload
            if item is None:
                return False  # a bare rollout
            if type(line.timestamp) is not str:
                continue  # the client drops what has no time
            if line.type != "response_item" or not self._is_begun:
                if line.type == "session_meta" or item.type == "thread_rolled_back":
                    items.move_to(self.trail)
                if not self._tells(line.type, block.offsets[at], block.raws[at], item):
                    return False
                continue
            # most lines are these, and a rollout has some hundred thousand
            kind, call, size = item.type, item.call_id, block.lengths[at]
            if type(kind) is not str:
                kind = item_of(read_line(block.offsets[at], block.raws[at]).body).kind
            if kind in CALLS:
                add_mark(SPEAKS if waiting else SPEAKS | BEGINS)
                if type(call) is str:
                    self._is_tangled = self._is_tangled or call in waiting
                    waiting.add(call)
                    called.append(call)
            elif kind in OUTPUTS:
                add_mark(SPEAKS)
                if size > MOST_OUTPUT:
                    size = sent_of(block.offsets[at], block.raws[at], size)
                if type(call) is str:
                    if call in waiting:
                        waiting.remove(call)
                    else:
                        self._is_tangled = True
            elif kind == "message" and item.role == "assistant" and b"trigger_turn" not in block.raws[at]:
                add_mark(SPEAKS if waiting else SPEAKS | BEGINS)
            elif kind in KNOWN_ITEMS:
                add_mark(self._mark(kind, items, at))
                if kind == "reasoning":
                    size = len(item.summary) + _UNSAID  # what it hides is counted by nobody
                elif item.role in _NOT_SENT:
                    size = 0
            else:
                continue
            add(at)
            add_size(size)
        items.move_to(self.trail)
        self._calls.extend(map(hash, called))
        return True

    def _mark(self, kind: str, items: "_Items", at: int) -> int:
        """Return what the item on a line of a block is to a plan, and to a rollback."""
        mark = 0 if kind == "ghost_snapshot" else SPEAKS
        if kind == "message":
            mark |= words_of(items.block.offsets[at], items.block.raws[at], items.block.values[at].payload)
        elif kind == "agent_message":
            mark |= TURN
        if mark & TURN:
            self._starts.append(len(self.trail) + len(items.marks))
            self._left |= self._open  # a call that is open then never gets its result
            self._open.clear()
        return mark if self._open else mark | BEGINS

    def _tells(self, kind: object, offset: int, raw: bytes, item: RolloutItem) -> bool:
        """Take in another line; False where it tells more than this replay knows, or the first is no header."""
        if not self._is_begun and kind != "session_meta":
            return False
        self._is_begun = True
        if kind == "event_msg":
            if item.type == "thread_rolled_back":
                self._roll_back(rolled_back(read_line(offset, raw)))
            elif item.type == "token_count" and b"last_token_usage" in raw:
                self.trail.noted["token_count"] = raw
        elif kind == "turn_context":
            self.trail.noted["turn_context"] = raw
        elif kind == "session_meta":
            return self._header(offset, raw)
        return kind not in ("compacted", "inter_agent_communication")

    def _header(self, offset: int, raw: bytes) -> bool:
        """Look at a header: that of a fork refers to another rollout, and a paginated one begins anew with a later."""
        line = read_line(offset, raw)
        fields = line.fields()
        if self._is_paginated is None:
            self._is_paginated = is_paginated(fields)
            return not fields.get("history_base")
        if self._is_paginated and is_header(line):
            self.trail.cut(0)
            del self._starts[:]
        return True

    def _roll_back(self, turns: int) -> None:
        """Take turns back as :class:`slowwave.formats.codex.replay.History` does."""
        if not self._starts or turns <= 0:
            return
        first, kept = self._starts[0], max(0, len(self._starts) - turns)
        cut = self._starts[kept]
        while cut > first and self.trail.has(cut - 1, CONTEXT):
            cut -= 1
        self.trail.cut(cut)
        del self._starts[kept:]
        self._open.clear()


def _items(records: Records, _about: About, _is_end: bool) -> list[Item]:  # noqa: FBT001 - one of a table
    return codex_items(repaired(replay([line_of(span, env) for span, env in records], is_parsed=True)))


ROLLOUT = Kind(codex_trail, DECODER, _items)


# What Codex would send of a rollout as items, with what calls were given decoded.


def codex_items(context: Iterable[Message]) -> list[Item]:
    """Return the items of a context, or of a stretch of it."""
    items = items_of(list(context), CODEX)
    for at, item in enumerate(items):
        message = item.message
        if isinstance(message, CodexMessage):  # the ledger looks for files in what calls were given
            message = msgspec.structs.replace(message, as_sent=False, opened=None)
        items[at] = item._replace(summary=item.summary.removeprefix(SUMMARY_PREFIX).strip(), message=message)
    return items


# around the words of an item: names of fields, ids
_AROUND = 160
SCALES = Scales(CODEX, _AROUND)
# of what a tool returned the client sends about so much, where the line does not say how much
MOST_OUTPUT = DEFAULT_LIMIT.size
# a mark: the harness's own words in front of a turn
CONTEXT = 8


class _Text(msgspec.Struct, gc=False):
    text: str


class _Words(msgspec.Struct, gc=False):
    content: list[_Text]


class _Said(msgspec.Struct, gc=False):
    payload: _Words


LINES = msgspec.json.Decoder(RolloutLine)
_SAID = msgspec.json.Decoder(_Said)


def read_line(offset: int, raw: bytes) -> Line:
    """Return a line as its dialect reads it."""
    return line_of(Span(0, 0, offset, raw), DECODER.decode(raw))


def sent_of(offset: int, raw: bytes, size: int) -> int:
    """Return about how many bytes of a large output its client sends."""
    if b"fallback_token_limit_override" not in raw:
        return MOST_OUTPUT
    beside = beside_of(read_line(offset, raw))
    limit = beside.token_limit if beside is not None else None
    return MOST_OUTPUT if limit is None else min(size, round(limit * CODEX.per_token))


def message_of(offset: int, raw: bytes) -> CodexMessage:
    """Return an item as the message that is sent of it."""
    return CodexMessage(item_of(read_line(offset, raw).body), Span(0, 0, offset, raw), None, Place(), as_sent=True)


def words_of(offset: int, raw: bytes, item: RolloutItem | None) -> int:
    """Return what a message is to a plan, and to a rollback."""
    role = item.role if item is not None else None
    if role == "assistant" and (b"trigger_turn" not in raw or not may_instruct(raw)):
        return 0
    if role == "user" and (said := _said(raw)) and not is_context(said) and not is_summary(said):
        return TURN
    message = message_of(offset, raw)
    return TURN if is_boundary(message) else CONTEXT if is_renewed(message) else 0  # never both


def _said(raw: bytes) -> str:
    """Return the text of a message that plainly has one, else ""."""
    try:
        content = _SAID.decode(raw).payload.content
    except REFUSALS:
        return ""
    return content[0].text if len(content) == 1 else ""


# A session of this client as compaction looks at it: read as a whole, and from the end that a window holds.


class Counters(NamedTuple):
    """What was noted last.

    Attributes:
        usage: what the provider counted since the last compaction, None where it did not.
        window: tokens that the model can see; 0 where that is not noted.
        model: its name, or "".
        at: when that was counted.
    """

    usage: Usage | None = None
    window: int = 0
    model: str = ""
    at: datetime | None = None

    def behind(self, items: Sequence[Item]) -> int:
        """Return the estimate of what was not counted: all behind the last answer before the count.

        The outputs of an answer's tools are written before its count and are not in it.
        """
        at = self.at
        if self.usage is None or at is None:
            return 0
        times = [item.message.timestamp if item.message is not None else None for item in items]
        until = (n for n in range(len(items), 0, -1) if items[n - 1].kind == "assistant" and _by(times[n - 1], at))
        is_later = any(time is not None and time > at for time in times)
        return sum(item.tokens for item in items[next(until, 0 if is_later else len(items)) :])


def _by(time: datetime | None, at: datetime) -> bool:
    return time is not None and time <= at


def counters_in(backward: Iterable[Mapping[str, Any]]) -> Counters:
    """Return what the records of a rollout note, given from the last to the first; no more is taken than needed."""
    usage: Usage | None = None
    at: datetime | None = None
    window, model, is_before = 0, "", False
    for record in backward:
        payload = fields_of(record.get("payload"))
        is_before = is_before or record.get("type") == "compacted"
        if record.get("type") == "turn_context" and not model:
            model = str(payload.get("model") or "")
        info = fields_of(payload.get("info") if payload.get("type") == "token_count" else None)
        counted = read_usage(fields_of(info.get("last_token_usage")))
        if counted.context_tokens:
            noted = info.get("model_context_window")
            window = window or (noted if isinstance(noted, int) else 0)
            if usage is None and not is_before:
                usage, at = counted, parse_time(_text_or_none(record.get("timestamp")))
        if model and (window or is_before):
            break
    return Counters(usage, window, model, at)


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def whole_reading(dialect: Dialect, transcript: Transcript) -> Reading:
    """Return a session that was read as a whole, or from its last compaction on."""
    items, last = codex_items(dialect.context(transcript)), transcript.files.paths[-1]
    return _of_codex(items, counters_in(records_backward(last) if last.suffix == ".jsonl" else ()), transcript.files)


def _of_codex(items: list[Item], counters: Counters, files: SessionFiles) -> Reading:
    cwd = _text_or_none(fields_of(first_record(files.paths[0]).get("payload")).get("cwd")) or ""
    usage, window, model, _ = counters
    behind = counters.behind(items)
    return Reading("codex", items, CODEX, cwd=cwd, model=model, window=window, recorded=usage, behind=behind)


def end_reading(window: Window, files: SessionFiles, _dialect: str) -> Reading:
    """Return the end of a context."""
    trail = cast("CodexTrail", window.trail)
    items = window.items(About())
    reading = _of_codex(items, counters_in(trail.counters()), files)
    return reading._replace(earlier=window.earlier(files, About()))
