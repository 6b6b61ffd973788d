"""The trail of a Claude Code session that was never compacted: from the record that it goes on from to the root.

The walk goes backward through the file. It holds one id, and what may belong to parallel calls further up, since the
way along the parents passes only one of their results. Where the client would look for the end elsewhere than at the
last row, or bridge over a lost parent (``dialects.claude.leaf``, ``bridge``), there is no trail.
"""

import re
from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import compress
from typing import Any, NamedTuple, cast

import msgspec

from slowwave.compaction.items import Item, items_of, usage_of
from slowwave.compaction.job.reading import Reading
from slowwave.compaction.live.trail import BEGINS, LARGE_BYTES, SPEAKS, TURN, About, Kind, Records, Scales, Trail
from slowwave.compaction.live.window import Block, Window, backward
from slowwave.compaction.tokens import CLAUDE
from slowwave.formats.claude.context import FILLER, sent
from slowwave.formats.claude.dialect import ClaudeTranscript
from slowwave.formats.claude.records import CHAINED, DECODER, SPOKEN, ClaudeMessage, Envelope, Node
from slowwave.formats.claude.resume import BRIDGE_S, FIRST_THAT_KEEPS, version_in, version_of
from slowwave.formats.client import Dialect
from slowwave.formats.messages import PlainMessage
from slowwave.formats.model import REFUSALS, Message, Origin, Role, SessionFiles, Span, ToolResult, Transcript
from slowwave.formats.salvage import clean, whole
from slowwave.formats.times import parse_time

_ROWS = ("user", "assistant", "system", "attachment")
# Ids that stand beside the way: with more of them it is no longer cheap to see that one stands there twice.
_MOST_BESIDE = 200_000


def claude_trail(files: SessionFiles) -> Trail | None:
    """Return the trail of a session, None where it has to be read as a whole.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    if len(files.paths) != 1:
        return None
    walk = _Walk()
    for block in backward(files.paths[0], DECODER):
        if not walk.takes(block):
            return None
    return walk.groups.trail() if walk.is_done else None


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


class _Walk:
    """The way up from the last row to the root.

    Attributes:
        groups: the records that it passed.
        wanted: the id of the next one, None behind the root.
        is_plain: a record of a person or a model is on it, so that more of them need no further look.
        reached: the time of the record that was reached last.
        near: the newest time before it among records that stand above it in the file.
        mark: what the last ``last-prompt`` names.
        beside: hashes of the ids that it passed by; one of them on the way would stand in the file twice.
    """

    def __init__(self) -> None:
        self.groups = Groups()
        self.beside = set[int]()
        self.wanted: str | None = None
        self.is_plain = False
        self.reached, self.near = "", ""
        self.mark = Mark()
        self._version: tuple[int, int] | None = None
        self._last: Envelope | None = None
        self._spoke = False

    @property
    def is_done(self) -> bool:
        """Whether the way ends where its client takes it to end: at a root, or at a hole that it does not bridge."""
        if self.wanted is not None and hash(self.wanted) in self.beside:
            return False  # it stands behind its child
        return self._spoke and (self.wanted is None or not self._is_modern or not self._may_bridge())

    @property
    def _is_modern(self) -> bool:
        return self._version is None or self._version >= (2, 1)

    def takes(self, block: Block[Envelope]) -> bool:
        """Take in the next records backward; False where the rules of this walk do not hold."""
        if self._goes_straight(block.values):
            self._takes_all(block)
            return True
        above, beside, mark = self.groups.above, self.beside, self.mark
        for offset, length, raw, line in block.rows():
            uuid = line.uuid
            if uuid != self.wanted or not self.is_plain or uuid is None or line.type not in SPOKEN:
                if not self._passes(offset, length, raw, line):
                    return False
                continue
            # most records; what follows is _passes for them
            if beside and hash(uuid) in beside:
                return False
            self.wanted, self.reached, self.near = line.parent, line.timestamp or "", ""
            if mark.is_watching:
                mark.goes_over(uuid)
            weight, kind, message = weighed(offset, raw, line)
            above(offset, length, weight, kind, uuid, message, joins=True)
        return True

    def _goes_straight(self, lines: list[Envelope]) -> bool:
        """Say whether nothing but plain records of a person and a model follows, each the parent of the one before."""
        if not self.is_plain or self.groups.is_waiting or not lines or lines[0].uuid != self.wanted:
            return False
        uuids = [line.uuid for line in lines]
        return (
            uuids[1:] == [line.parent for line in lines[:-1]]
            and None not in uuids
            and all(line.type in SPOKEN and line.message is not None for line in lines)
            and self.beside.isdisjoint(map(hash, uuids))
        )

    def _takes_all(self, block: Block[Envelope]) -> None:
        """Take in records that are all on the way; the same as one by one."""
        last = block.values[-1]
        self.wanted, self.reached, self.near = last.parent, last.timestamp or "", ""
        uuids = [line.uuid or "" for line in block.values]
        if self.mark.is_watching:
            self.mark.goes_over(*uuids)
        heads = [line.message for line in block.values if line.message is not None]
        kinds = [
            ANSWER if line.type == "assistant" else RESULT if b'"tool_result"' in raw else PROMPT
            for raw, line in zip(block.raws, block.values, strict=True)
        ]
        messages = [head.id if kind == ANSWER else None for head, kind in zip(heads, kinds, strict=True)]
        weights = SCALES.weights(
            [len(head.content) for head in heads],
            lambda at: SCALES.of_large(heads[at].content, partial(message_of, block.offsets[at], block.raws[at])),
        )
        for at, head in enumerate(heads):
            if kinds[at] == ANSWER and thinks(block.raws[at]):
                weights[at] = SCALES.unsigned(bytes(head.content))
        self.groups.extend(block.offsets, block.lengths, weights, kinds, uuids, messages)

    def _passes(self, offset: int, length: int, raw: bytes, line: Envelope) -> bool:
        """Take in the next record backward; False where the rules of this walk do not hold."""
        if self._version is None and line.version:
            self._version = version_in(line.version)
        if line.type == "last-prompt":
            return not self._is_modern or self.mark.read(raw)
        if line.type == "system" and b"compact_boundary" in raw:
            return False
        if line.uuid is None or line.type not in CHAINED:
            return True
        return self._met(line, lambda: row_of(offset, length, raw, line))

    def _met(self, line: Envelope, make: Callable[[], Row]) -> bool:
        if self._last is None:
            if not self._begins(line):
                self.beside.add(hash(line.uuid))
                return True
            self._last, self.wanted = line, line.uuid
            if self._version is None:
                return False
        elif self._strays(line):
            return False
        if line.uuid == self.wanted:
            self._up(line, make)
            return hash(line.uuid) not in self.beside
        self.beside.add(hash(line.uuid))
        return len(self.beside) <= _MOST_BESIDE and self._by(line, make)

    def _by(self, line: Envelope, make: Callable[[], Row]) -> bool:
        """Pass by a record; False where that makes the end doubtful."""
        if self._is_modern:
            stamp = line.timestamp or ""
            if not line.sidechain and self.near < stamp <= self.reached:
                self.near = stamp
            if self.wanted is not None and line.type in SPOKEN:
                self.groups.beside(make())
            return self.mark.leaves(line.uuid)
        return True

    def _may_bridge(self) -> bool:
        """Say whether a record stands so near before a lost parent's child that the client goes on from it."""
        reached, near = parse_time(self.reached), parse_time(self.near)
        return reached is not None and near is not None and (reached - near).total_seconds() <= BRIDGE_S

    def _begins(self, line: Envelope) -> bool:
        """Say whether the conversation can end with a record; that of a sub-agent ends it for version 1 only."""
        may_be_beside = self._version is not None and self._version < (2, 0)
        return line.type in _ROWS and (may_be_beside or not line.sidechain)

    def _up(self, line: Envelope, make: Callable[[], Row]) -> None:
        self.wanted = line.parent
        self.reached, self.near = line.timestamp or "", ""
        if not self._is_modern and line.type == "progress":
            self.wanted = None  # older clients do not know such records
            return
        self.mark.goes_over(line.uuid)
        self._spoke = self._spoke or line.type in SPOKEN
        # from here on most records are plain ones of the way up, and a session has a hundred thousand
        self.is_plain = self._spoke and self._is_modern
        if self._spoke or not self._is_modern:
            self.groups.above(*make()[:6], joins=self._is_modern)

    def _strays(self, line: Envelope) -> bool:
        """Say whether a record makes it doubtful that the last row is the end."""
        last = self._last
        if last is None:
            return False
        if self._is_modern:
            return line.parent == last.uuid and not self.mark.is_found
        return self._begins(line) and (line.timestamp or "") >= (last.timestamp or "")


def _items(records: Records, about: About, is_end: bool) -> list[Item]:  # noqa: FBT001 - one of a table
    nodes = [Node(env, span, index) for index, (span, env) in enumerate(records)]
    return claude_items(sent(nodes, about.version, is_end=is_end))


CLAUDE_CODE = Kind(claude_trail, DECODER, _items)


# What Claude Code would send of a session as items, its summaries apart from what it joins with them.

_SYNTHETIC = "<synthetic>"
_IS_SUMMARY = re.compile(rb'"isCompactSummary": ?true')


def claude_items(context: Iterable[Message]) -> list[Item]:
    """Return the items of a context, or of a stretch of it."""
    parts = [part for message in context for part in _without_summary(message)]
    if parts and parts[-1].role == "assistant" and parts[-1].text == FILLER:
        parts.pop()  # no record of the session says it
    return items_of(parts, CLAUDE)


def counted(items: list[Item]) -> str:
    """Note what the provider counted last at its answer, and return the name of the model that answered last."""
    model = ""
    for at in range(len(items) - 1, -1, -1):
        answer = _answer_of(items[at])
        if answer.get("model") not in (None, _SYNTHETIC):
            model = model or str(answer["model"])
            if (usage := usage_of(answer)) is not None:
                items[at] = items[at]._replace(usage=usage)
                break
    return model


def _without_summary(message: Message) -> list[Message]:
    """Return a message, in two where the client joins its summary with what follows or stands before it.

    What a compaction kept begins with a person's words more often than not, and the client sends both as one.
    """
    if message.role != "user":
        return [message]
    is_summary = [_IS_SUMMARY.search(span.raw) is not None for span in message.sources]
    if not any(is_summary) or (all(is_summary) and message.origin == "summary"):
        return [message]
    at = is_summary.index(True)
    stop = len(is_summary) - is_summary[::-1].index(True)
    parts = ((0, at), (at, stop), (stop, len(is_summary)))
    return [_part(message, a, b, is_summary=a == at) for a, b in parts if a < b]


def _part(message: Message, start: int, stop: int, *, is_summary: bool) -> Message:
    blocks, sources = message.blocks[start:stop], message.sources[start:stop]
    record = _decoded(sources[0].raw)
    own = record.get("uuid")
    origin: Origin = "typed"
    if is_summary:
        origin = "summary"
    elif all(isinstance(block, ToolResult) for block in blocks):
        origin = "tool"
    elif record.get("isMeta") or record.get("type") != "user":
        origin = "injected"
    name = own if isinstance(own, str) else None
    return PlainMessage(message.role, blocks, sources, origin, name, message.timestamp, message.cwd)


def _answer_of(item: Item) -> Mapping[str, Any]:
    """Return an answer in the API's own form, from the last record of it."""
    if item.kind != "assistant" or item.message is None or not item.message.sources:
        return {}
    message = _decoded(item.message.sources[-1].raw).get("message")
    return cast("Mapping[str, Any]", message) if isinstance(message, dict) else {}


def _decoded(raw: bytes) -> dict[str, Any]:
    try:
        value: object = msgspec.json.decode(raw)
    except REFUSALS:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


# Parallel calls of Claude Code: the pieces and results of one message that the way along the parents passes by.

# what a record is sent as
OTHER, ANSWER, PROMPT, RESULT = range(4)
# around the words of a block: its type, its id, the id of its call
SCALES = Scales(CLAUDE, 80)
# pieces of one message stand near each other
_RECENT = 32
# of the id of a message no more than this is kept, to tell it from its neighbour's
_HASH = (1 << 32) - 1


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


# What the newest ``last-prompt`` of a Claude Code session names, on the way up from its last row.

# Without a last-prompt so far up the way is taken to have none; one further up is not searched for among them.
_MOST_NOTED = 65_536


class Mark:
    """What the last ``last-prompt`` names, and whether the way up passes it.

    Records are noted by their hashes until it is found: most sessions have it near their end, some have none.

    Attributes:
        is_found: the last one was read.
        is_watching: it matters what the way up passes.
    """

    def __init__(self) -> None:
        self.is_found, self.is_watching = False, True
        self._named: str | None = None
        self._over, self._beside = array("q"), array("q")

    def read(self, raw: bytes) -> bool:
        """Look at a ``last-prompt``; False where it names another end than the last row, or that cannot be told."""
        if self.is_found:
            return True
        fields = whole(raw)
        named, is_exact = fields.get("leafUuid"), fields.get("explicit") is True
        if is_exact and "leafUuid" in fields:
            return False
        if not isinstance(named, str) or not named:
            return "leafUuid" not in fields
        self.is_found = True
        if len(self._over) >= _MOST_NOTED or len(self._beside) >= _MOST_NOTED or hash(named) in self._beside:
            return False
        self._named = None if hash(named) in self._over else named
        self.is_watching = self._named is not None
        self._over, self._beside = array("q"), array("q")
        return True

    def goes_over(self, *uuids: str | None) -> None:
        """Note that the way up passes records."""
        if not self.is_found:
            self._over.extend(map(hash, uuids))
            self.is_watching = len(self._over) < _MOST_NOTED
        elif self._named in uuids:
            self._named, self.is_watching = None, False

    def leaves(self, uuid: str | None) -> bool:
        """Note that it passes by a record; False where that is the named one."""
        if not self.is_found:
            if len(self._beside) < _MOST_NOTED:
                self._beside.append(hash(uuid))
            return True
        return self._named is None or uuid != self._named


# What a record of a Claude Code session weighs, and what it is sent as.

_THINKS = b'[{"type":"thinking"'
_NEAR_BYTES = 1024


def row_of(offset: int, length: int, raw: bytes, line: Envelope) -> Row:
    """Return a record as a row of the way up."""
    weight, kind, message = weighed(offset, raw, line)
    return Row(offset, length, weight, kind, line.uuid or "", message, line.parent)


def weighed(offset: int, raw: bytes, line: Envelope) -> tuple[int, int, str | None]:
    """Return the weight of a record, what it is sent as, and the id of the message that it is a piece of."""
    head = line.message
    if head is not None and line.type in SPOKEN:
        content = head.content
        size = len(content)
        large = size > LARGE_BYTES
        weight = SCALES.of_large(content, partial(message_of, offset, raw)) if large else SCALES.weight(size)
        if line.type == "assistant":
            if thinks(raw):
                weight = SCALES.unsigned(bytes(content))
            return weight, ANSWER, head.id
        return weight, RESULT if b'"tool_result"' in raw else PROMPT, None
    is_sent = line.type == "attachment" and b'"rendered"' in raw
    return SCALES.of_tokens(CLAUDE.tokens(len(raw))) if is_sent else 0, PROMPT if is_sent else OTHER, None


def thinks(raw: bytes) -> bool:
    """Say whether an answer begins with reasoning; not far into its record, or it is not worth the look."""
    return raw.find(_THINKS, 0, _NEAR_BYTES) >= 0


def message_of(offset: int, raw: bytes) -> Message:
    """Return a record of a person or a model as its message."""
    env = DECODER.decode(clean(raw))
    return ClaudeMessage(cast("Role", env.type), Node(env, Span(0, 0, offset, raw), 0), True, False)  # noqa: FBT003 - fields of a struct


# A session of this client as compaction looks at it: read as a whole, and from the end that a window holds.


def whole_reading(dialect: Dialect, transcript: Transcript) -> Reading:
    """Return a session that was read as a whole, or from its last compaction on."""
    return _of_claude(claude_items(dialect.context(transcript)), version_of(cast("ClaudeTranscript", transcript).tree))


def _of_claude(items: list[Item], version: tuple[int, int]) -> Reading:
    model = counted(items)
    return Reading("claude", items, CLAUDE, version >= FIRST_THAT_KEEPS, model=model)


def end_reading(window: Window, files: SessionFiles, _dialect: str) -> Reading:
    """Return the end of a context."""
    versions = (version_in(env.version) for _, env in reversed(window.records) if env.version)
    about = About(version=next(filter(None, versions), (2, 1)))
    reading = _of_claude(window.items(about), about.version)
    return reading._replace(earlier=window.earlier(files, about))
