"""Records of Claude Code to messages: pieces of one API message joined, every block with the span it came from."""

from datetime import datetime
from typing import cast

import msgspec

from slowwave.dialects.blocks import blocks_of
from slowwave.dialects.chain import Links, set_parent
from slowwave.dialects.claude.branches import dead_records
from slowwave.dialects.claude.origin import split_typed
from slowwave.dialects.claude.records import Node, content_of, start_of
from slowwave.dialects.claude.tree import SPOKEN, Tree
from slowwave.dialects.claude.typed import queued_prompt, said_in_result, without_repeats
from slowwave.dialects.model import Block, Content, Message, Origin, Role, Text, ToolResult
from slowwave.dialects.times import parse_time
from slowwave.records.model import Span

# Values of ``origin.kind`` that stand for a person at a keyboard; all others are the harness or other agents.
_PEOPLE = (None, "human", "cli", "user")


class ClaudeMessage(Message, msgspec.Struct, gc=False, eq=False):
    """A message that is decoded when it is first looked at; assistant messages may have several records."""

    _role: Role
    first: Node
    _active: bool
    _sidechain: bool
    more: list[Node] | None = None
    opened: Content | None = None
    links: Links[Node] | None = None

    def add(self, node: Node) -> None:
        """Take in another piece of the same API message (only while the session is being read)."""
        if self.more is None:
            self.more = []
        self.more.append(node)

    @property
    def role(self) -> Role:
        """Who speaks."""
        return self._role

    @property
    def active(self) -> bool:
        """False for abandoned branches."""
        return self._active

    @property
    def sidechain(self) -> bool:
        """True for a sub-agent's messages inside a main file."""
        return self._sidechain

    @property
    def id(self) -> str | None:
        """The API's id of the message, or else the record's."""
        env = self.first.env
        return (env.message.id if env.message else None) or env.uuid

    @property
    def parent(self) -> str | None:
        """The id of the message before it on its branch, over notes, hooks and compactions."""
        return None if self.links is None else self.links.before(self.first, self.id)

    @property
    def is_result(self) -> bool:
        """True for a user record that begins with a tool's result; the client writes nothing else into it."""
        return self._role == "user" and b'"tool_result"' in start_of(self.first.env.message)

    @property
    def cwd(self) -> str:
        """The working folder that the first piece names, or ""."""
        return self.first.env.cwd or ""

    @property
    def branch(self) -> str:
        """The git branch that the first piece names, or ""."""
        return self.first.env.branch or ""

    @property
    def timestamp(self) -> datetime | None:
        """When the client wrote the first piece."""
        return parse_time(self.first.env.timestamp)

    @property
    def pieces(self) -> tuple[Node, ...]:
        """The records of this message, in file order."""
        return (self.first, *(self.more or ()))

    def _opened(self) -> Content:
        if self.opened is None:
            self.opened = _assistant(self.pieces) if self.role == "assistant" else _user(self.first)
        return self.opened


def messages_of(nodes: list[Node], tree: Tree) -> list[Message]:
    """Return the messages of all records in the order in which they began.

    Beside user and assistant records these are the places where a person's words stand, too: :mod:`claude_typed`.
    """
    dead = dead_records(tree)
    own = tree.own
    links = Links(nodes, lambda n: n.env.uuid, _above, _said_as)
    found: list[Message] = []
    queued: list[Message] = []
    pieces: dict[tuple[str, bool], ClaudeMessage] = {}
    for node in nodes:
        env = node.env
        kind = env.type
        if kind == "assistant":
            active = node.index not in dead
            side = bool(env.sidechain) and not own
            mid = env.message.id if env.message else None
            if mid is not None and (known := pieces.get((mid, active))) is not None:
                known.add(node)
                continue
            message = ClaudeMessage("assistant", node, active, side, links=links)
            if mid is not None:
                pieces[mid, active] = message
            found.append(message)
        elif kind == "user":
            active = node.index not in dead
            side = bool(env.sidechain) and not own
            found.append(ClaudeMessage("user", node, active, side, links=links))
            if not env.sidechain and (said := said_in_result(node, active=active)) is not None:
                set_parent(said, found[-1].id)
                found.append(said)
        elif (kind == "queue-operation" or (kind == "attachment" and b'"queued_command"' in node.span.raw)) and (
            prompt := queued_prompt(node)
        ) is not None:
            set_parent(prompt, found[-1].id if found else None)
            found.append(prompt)
            queued.append(prompt)
    return without_repeats(found, queued)


def _above(node: Node) -> str | None:
    """Return the record above one; a compaction's boundary names what it continues in a field of its own."""
    env = node.env
    if env.parent is None and env.type == "system" and b'"logicalParentUuid"' in node.span.raw:
        logical = node.fields().get("logicalParentUuid")
        return logical if isinstance(logical, str) else None
    return env.parent


def _said_as(node: Node) -> str | None:
    env = node.env
    return (env.message.id if env.message else None) or env.uuid if env.type in SPOKEN else None


def origin_of(node: Node) -> Origin:
    """Return who is behind a user record."""
    return _user(node).origin


def _assistant(pieces: tuple[Node, ...]) -> Content:
    blocks: list[Block] = []
    sources: list[Span] = []
    for node in pieces:
        for block in blocks_of(content_of(node.env.message)):
            blocks.append(block)
            sources.append(node.span)
    return Content(tuple(blocks), tuple(sources), "model")


def _user(node: Node) -> Content:
    blocks = blocks_of(content_of(node.env.message))
    origin = _origin(node, blocks)
    if origin == "typed":
        split: list[Block] = []
        for block in blocks:
            split += split_typed(block.text) if isinstance(block, Text) else [block]
        if any(isinstance(b, Text) for b in split):
            blocks = split
        else:
            origin = "injected"
    return Content(tuple(blocks), (node.span,) * len(blocks), origin)


def _origin(node: Node, blocks: list[Block]) -> Origin:
    """Return who is behind a user record, as far as its fields tell; ``typed`` still has to be looked at."""
    env = node.env
    if env.is_summary:
        return "summary"
    if any(isinstance(b, ToolResult) for b in blocks):
        return "tool"
    if env.is_meta or env.sidechain:
        return "injected"
    fields = node.fields()
    kind = fields.get("origin")
    if isinstance(kind, dict) and cast("dict[str, object]", kind).get("kind") not in _PEOPLE:
        return "injected"
    # The client starts a new conversation with a plan that the model wrote and a person accepted.
    return "injected" if "planContent" in fields else "typed"
