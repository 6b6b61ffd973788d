"""The trail of a Claude Code session that was never compacted: from the record that it goes on from to the root.

The walk goes backward through the file. It holds one id, and what may belong to parallel calls further up, since the
way along the parents passes only one of their results. Where the client would look for the end elsewhere than at the
last row, or bridge over a lost parent (``dialects.claude.leaf``, ``bridge``), there is no trail.
"""

from collections.abc import Callable
from functools import partial

from slowwave.compaction.claude_items import claude_items
from slowwave.compaction.items import Item
from slowwave.compaction.live.claude_groups import ANSWER, PROMPT, RESULT, SCALES, Groups, Row
from slowwave.compaction.live.claude_mark import Mark
from slowwave.compaction.live.claude_rows import message_of, row_of, thinks, weighed
from slowwave.compaction.live.items import About, Kind, Records
from slowwave.compaction.live.lines import Block, backward
from slowwave.compaction.live.trail import Trail
from slowwave.formats.claude.context import sent
from slowwave.formats.claude.records import CHAINED, DECODER, SPOKEN, Envelope, Node
from slowwave.formats.claude.resume import BRIDGE_S, version_in
from slowwave.formats.model import SessionFiles
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
