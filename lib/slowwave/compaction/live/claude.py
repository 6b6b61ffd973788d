"""The trail of a Claude Code session that was never compacted: from the record that it goes on from to the root.

The walk goes backward through the file. It holds one id, and what may belong to parallel calls further up, since the
way along the parents passes only one of their results. Where the client would look for the end elsewhere than at the
last row, or bridge over a lost parent (``dialects.claude.leaf``, ``bridge``), there is no trail.
"""

from array import array
from collections.abc import Callable
from functools import partial
from typing import cast

import msgspec

from slowwave.compaction.estimates import CLAUDE
from slowwave.compaction.live.backward import backward
from slowwave.compaction.live.claude_groups import ANSWER, OTHER, PROMPT, RESULT, Groups, Row
from slowwave.compaction.live.trail import Trail
from slowwave.compaction.live.weight import Scales
from slowwave.dialects.claude.bridge import BRIDGE_S
from slowwave.dialects.claude.messages import ClaudeMessage
from slowwave.dialects.claude.records import DECODER, Node
from slowwave.dialects.claude.resume import version_in
from slowwave.dialects.claude.tree import CHAINED, SPOKEN
from slowwave.dialects.model import Message, Role, SessionFiles
from slowwave.dialects.times import parse_time
from slowwave.records.lenient import whole
from slowwave.records.model import Span

_ROWS = ("user", "assistant", "system", "attachment")
# around the words of a block: its type, its id, the id of its call
_SCALES = Scales(CLAUDE, 80)
_THINKS = b'[{"type":"thinking"'


class Head(msgspec.Struct, gc=False):
    """What a walk looks at in a message."""

    id: str | None = None
    content: msgspec.Raw = msgspec.Raw()


class Line(msgspec.Struct, gc=False):
    """What a walk looks at in a record."""

    type: str | None = None
    uuid: str | None = None
    parent: str | None = msgspec.field(default=None, name="parentUuid")
    sidechain: bool | None = msgspec.field(default=None, name="isSidechain")
    timestamp: str | None = None
    version: str | None = None
    message: Head | None = None


_LINES = msgspec.json.Decoder(Line)


def claude_trail(files: SessionFiles) -> Trail | None:
    """Return the trail of a session, None where it has to be read as a whole.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    if len(files.paths) != 1:
        return None
    walk = _Walk()
    for offset, raw, line in backward(files.paths[0], _LINES, salvages=True):
        if not walk.passes(offset, raw, line):
            return None
    return walk.groups.trail() if walk.is_done else None


class _Walk:
    """The way up from the last row to the root."""

    def __init__(self) -> None:
        self.groups = Groups()
        self._version: tuple[int, int] | None = None
        self._last: Line | None = None
        self._wanted: str | None = None
        self._spoke = self._is_plain = False
        # the time of the record that was reached last, and the newest before it that stands above it in the file
        self._reached, self._near = "", ""
        self._mark = _Mark()

    @property
    def is_done(self) -> bool:
        """Whether the way ends where its client takes it to end: at a root, or at a hole that it does not bridge."""
        return self._spoke and (self._wanted is None or not self._is_modern or not self._may_bridge())

    @property
    def _is_modern(self) -> bool:
        return self._version is None or self._version >= (2, 1)

    def passes(self, offset: int, raw: bytes, line: Line) -> bool:
        """Take in the next record backward; False where the rules of this walk do not hold."""
        if line.uuid == self._wanted and self._is_plain and line.type in SPOKEN:
            self._wanted, self._reached, self._near = line.parent, line.timestamp or "", ""
            if self._mark.is_watching:
                self._mark.goes_over(line.uuid)
            self.groups.above(_row(offset, raw, line), joins=True)
            return True
        if self._version is None and line.version:
            self._version = version_in(line.version)
        if line.type == "last-prompt":
            return not self._is_modern or self._mark.read(raw)
        if line.type == "system" and b"compact_boundary" in raw:
            return False
        if line.uuid is None or line.type not in CHAINED:
            return True
        return self._met(line, lambda: _row(offset, raw, line))

    def _met(self, line: Line, make: Callable[[], Row]) -> bool:
        if self._last is None:
            if not self._begins(line):
                return True
            self._last, self._wanted = line, line.uuid
            if self._version is None:
                return False
        elif self._strays(line):
            return False
        if line.uuid == self._wanted:
            self._up(line, make)
        elif self._is_modern:
            stamp = line.timestamp or ""
            if not line.sidechain and self._near < stamp <= self._reached:
                self._near = stamp
            if self._wanted is not None and line.type in SPOKEN:
                self.groups.beside(make())
            return self._mark.leaves(line.uuid)
        return True

    def _may_bridge(self) -> bool:
        """Say whether a record stands so near before a lost parent's child that the client goes on from it."""
        reached, near = parse_time(self._reached), parse_time(self._near)
        return reached is not None and near is not None and (reached - near).total_seconds() <= BRIDGE_S

    def _begins(self, line: Line) -> bool:
        """Say whether the conversation can end with a record; that of a sub-agent ends it for version 1 only."""
        may_be_beside = self._version is not None and self._version < (2, 0)
        return line.type in _ROWS and (may_be_beside or not line.sidechain)

    def _up(self, line: Line, make: Callable[[], Row]) -> None:
        self._wanted = line.parent
        self._reached, self._near = line.timestamp or "", ""
        if not self._is_modern and line.type == "progress":
            self._wanted = None  # older clients do not know such records
            return
        self._mark.goes_over(line.uuid)
        self._spoke = self._spoke or line.type in SPOKEN
        # from here on most records are plain ones of the way up, and a session has a hundred thousand
        self._is_plain = self._spoke and self._is_modern
        if self._spoke or not self._is_modern:
            self.groups.above(make(), joins=self._is_modern)

    def _strays(self, line: Line) -> bool:
        """Say whether a record makes it doubtful that the last row is the end."""
        last = self._last
        if last is None:
            return False
        if self._is_modern:
            return line.parent == last.uuid and not self._mark.is_found
        return self._begins(line) and (line.timestamp or "") >= (last.timestamp or "")


class _Mark:
    """What the last ``last-prompt`` names, and whether the way up passes it.

    Records are noted by their hashes until it is found: most sessions have it near their end, some have none.
    """

    def __init__(self) -> None:
        self.is_found = False
        self._named: str | None = None
        self._over, self._beside = array("q"), array("q")

    @property
    def is_watching(self) -> bool:
        """Whether it matters what the way up passes."""
        return not self.is_found or self._named is not None

    def read(self, raw: bytes) -> bool:
        """Look at a ``last-prompt``; False where it names another end than the last row."""
        if self.is_found:
            return True
        fields = whole(raw)
        named, is_exact = fields.get("leafUuid"), fields.get("explicit") is True
        if is_exact and "leafUuid" in fields:
            return False
        if not isinstance(named, str) or not named:
            return "leafUuid" not in fields
        self.is_found = True
        if hash(named) in self._beside:
            return False
        self._named = None if hash(named) in self._over else named
        self._over, self._beside = array("q"), array("q")
        return True

    def goes_over(self, uuid: str | None) -> None:
        """Note that the way up passes a record."""
        if not self.is_found:
            self._over.append(hash(uuid))
        elif uuid == self._named:
            self._named = None

    def leaves(self, uuid: str | None) -> bool:
        """Note that it passes by a record; False where that is the named one."""
        if not self.is_found:
            self._beside.append(hash(uuid))
        return self._named is None or uuid != self._named


def _row(offset: int, raw: bytes, line: Line) -> Row:
    head, uuid = line.message, line.uuid or ""
    if head is not None and line.type == "assistant":
        content = head.content
        if bytes(memoryview(content)[: len(_THINKS)]) == _THINKS:
            tokens = _SCALES.unsigned(bytes(content))
        else:
            tokens = _SCALES.weight(content, partial(_message, offset, raw))
        return Row(offset, len(raw), tokens, ANSWER, uuid, line.parent, head.id)
    if head is not None and line.type == "user":
        tokens = _SCALES.weight(head.content, partial(_message, offset, raw))
        return Row(offset, len(raw), tokens, RESULT if b'"tool_result"' in raw else PROMPT, uuid, line.parent, None)
    is_sent = line.type == "attachment" and b'"rendered"' in raw
    return Row(
        offset,
        len(raw),
        CLAUDE.tokens(len(raw)) if is_sent else 0,
        PROMPT if is_sent else OTHER,
        uuid,
        line.parent,
        None,
    )


def _message(offset: int, raw: bytes) -> Message:
    env = DECODER.decode(raw)
    return ClaudeMessage(cast("Role", env.type), Node(env, Span(0, 0, offset, raw), 0), True, False)  # noqa: FBT003 - fields of a struct
