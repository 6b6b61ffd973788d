"""Records of Claude Code as they are decoded at load, the tree that they make, and the branches left behind in it."""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import cache
from typing import Any

import msgspec

from slowwave.formats import (
    Block,
    Content,
    Injected,
    Message,
    Origin,
    Role,
    Span,
    Text,
    ToolResult,
    decoded,
    object_in,
    parse_time,
    whole,
)
from slowwave.formats.messages import LazyMessage, Links, PlainMessage, blocks_of, parted, set_parent


class Head(msgspec.Struct, gc=False):
    """The part of ``message`` that loading needs; ``content`` stays undecoded."""

    id: str | None = None
    content: msgspec.Raw = msgspec.Raw()


class Envelope(msgspec.Struct, gc=False):
    """What loading needs of every record (client: every version from 1.0 to 2.1 uses these names)."""

    type: str | None = None
    uuid: str | None = None
    parent: str | None = msgspec.field(default=None, name="parentUuid")
    sidechain: bool | None = msgspec.field(default=None, name="isSidechain")
    timestamp: str | None = None
    cwd: str | None = None
    branch: str | None = msgspec.field(default=None, name="gitBranch")
    version: str | None = None
    is_meta: bool | None = msgspec.field(default=None, name="isMeta")
    is_summary: bool | None = msgspec.field(default=None, name="isCompactSummary")
    is_error: bool | None = msgspec.field(default=None, name="isApiErrorMessage")
    message: Head | None = None


DECODER = msgspec.json.Decoder(Envelope)


class Node(msgspec.Struct, gc=False):
    """A record with its place in the file; ``index`` is its rank among all records of the session."""

    env: Envelope
    span: Span
    index: int

    def fields(self) -> dict[str, Any]:
        """Return the whole record, decoded anew from its bytes."""
        return whole(self.span.raw)


def start_of(head: Head | None) -> bytes:
    """Return the first bytes of the undecoded content: enough to see what its first block is."""
    return b"" if head is None else bytes(memoryview(head.content)[:256])


def content_of(head: Head | None) -> object:
    """Return the decoded ``message.content`` (a string, a list, or None)."""
    return None if head is None else decoded(head.content)


# The parent graph of a Claude Code session: which records belong to the conversation that goes on.
#
# The graph forks for two reasons. Parallel tool calls hang each result under the piece of the message that made the
# call, so the walk from the last record to the root alone misses 11.7 % of all tool results in real sessions. A rewind
# hangs a second prompt under an older record and leaves the old branch where it is, without any mark.

ROWS = ("user", "assistant", "system", "attachment")
CHAINED = frozenset((*ROWS, "progress"))
SPOKEN = ("user", "assistant")


class Tree:
    """Records by id, with parents that can be relinked, and the walks over them.

    A uuid that stands on several records means the last of them, at the place of the first (client: all versions).
    """

    def __init__(self, nodes: list[Node], *, own: bool = False) -> None:
        """Index ``nodes``; with ``own`` the sidechain is the conversation itself (a sub-agent's file)."""
        self.nodes = nodes
        self.own = own
        self.by_uuid: dict[str, Node] = {}
        self.parents: dict[str, str | None] = {}
        by_uuid, parents = self.by_uuid, self.parents
        for node in nodes:
            env = node.env
            uuid = env.uuid
            if uuid is not None and env.type in CHAINED and (own or not env.sidechain):
                by_uuid[uuid] = node
                parents[uuid] = env.parent

    def copy(self) -> "Tree":
        """Return a tree whose links may be changed without touching this one."""
        twin = Tree([], own=self.own)
        twin.nodes = self.nodes
        twin.by_uuid = dict(self.by_uuid)
        twin.parents = dict(self.parents)
        return twin

    def main(self) -> "Tree":
        """Return the tree without the records of sub-agents, with its links as they are here."""
        twin = Tree([])
        twin.nodes = self.nodes
        twin.by_uuid = {u: n for u, n in self.by_uuid.items() if not n.env.sidechain}
        twin.parents = {u: self.parents[u] for u in twin.by_uuid}
        return twin

    def walk(self, uuid: str | None) -> Iterator[str]:
        """Yield ids from ``uuid`` to the root, each once, also when the parents run in a circle."""
        seen: set[str] = set()
        while uuid is not None and uuid in self.by_uuid and uuid not in seen:
            seen.add(uuid)
            yield uuid
            uuid = self.parents[uuid]

    def below(self, roots: Iterable[str], outside: Iterable[str] = ()) -> set[str]:
        """Return ``roots`` and everything that hangs under them, but nothing ``outside`` or under that."""
        children: dict[str, list[str]] = {}
        for uuid, parent in self.parents.items():
            if parent is not None:
                children.setdefault(parent, []).append(uuid)
        seen = set(outside)
        found: set[str] = set()
        queue = list(roots)
        while queue:
            uuid = queue.pop()
            if uuid not in seen:
                seen.add(uuid)
                found.add(uuid)
                queue += children.get(uuid, [])
        return found

    def ends(self) -> list[str]:
        """Return the records that nothing hangs under and that end a conversation, in file order."""
        inner = set(self.parents.values())
        spoken = self.spoken_above()
        return [u for u in self.by_uuid if u not in inner and spoken(u) is not None]

    def spoken_above(self) -> Callable[[str | None], str | None]:
        """Return a function that gives the nearest user or assistant record from an id upwards, itself included.

        It remembers its ways, so that many ends under one long run of other records cost no more than the run.
        """
        known: dict[str, str | None] = {}

        def nearest(uuid: str | None) -> str | None:
            found: str | None = None
            passed: list[str] = []
            for above in self.walk(uuid):
                if above in known:
                    found = known[above]
                    break
                passed.append(above)
                if self.by_uuid[above].env.type in SPOKEN:
                    found = above
                    break
            known.update(dict.fromkeys(passed, found))
            return found

        return nearest


# Which records of a session lie on a branch that a rewind left behind.
#
# Only a second prompt under one parent makes a rewind: everything else that hangs beside the live branch (pieces and
# results of parallel tool calls, hooks, attachments) belongs to the conversation. Records from before a compaction are
# not abandoned; the boundary names its predecessor in ``logicalParentUuid``.


def dead_records(tree: Tree) -> set[int]:
    """Return the indexes of records that hang under an abandoned prompt."""
    prompts = _rival_prompts(tree)
    if not prompts:
        return set()
    live = _live(tree)
    if not live:
        return set()
    abandoned = {u for rivals in prompts if not live.isdisjoint(rivals) for u in rivals if u not in live}
    return {tree.by_uuid[uuid].index for uuid in tree.below(abandoned, live)}


def _rival_prompts(tree: Tree) -> list[list[str]]:
    """Return the groups of two or more prompts that hang under one parent, or that all begin the session."""
    groups: dict[str, list[str]] = {}
    inner = set(tree.parents.values())
    # attachments and notices between two prompts do not count
    anchor = tree.spoken_above()
    for uuid, node in tree.by_uuid.items():
        env = node.env
        if env.type != "user" or env.is_meta or env.is_summary or b'"tool_result"' in start_of(env.message):
            continue
        above = anchor(tree.parents[uuid])
        if above is None:
            # Only a prompt that really begins a tree of this session rivals another one that does.
            if env.parent is not None or uuid not in inner:
                continue
            above = f"session {node.fields().get('sessionId')}"
        groups.setdefault(above, []).append(uuid)
    return [g for g in groups.values() if len(g) > 1]


def _live(tree: Tree) -> set[str]:
    """Return the ids from the last record to the first, over compactions and missing parents."""
    order = list(tree.by_uuid)
    spoken = [u for u in order if tree.by_uuid[u].env.type in SPOKEN]
    live: set[str] = set()
    at: str | None = spoken[-1] if spoken else None
    while at is not None and at not in live:
        above = None
        for uuid in tree.walk(at):
            if uuid in live:
                return live
            live.add(uuid)
            above = uuid
        at = _before(tree, above) if above is not None else None
    return live


def _before(tree: Tree, uuid: str) -> str | None:
    """Return the record that a compaction boundary continues, when it is in the file."""
    node: Node = tree.by_uuid[uuid]
    if node.env.type != "system" or node.env.parent is not None:
        return None
    logical = node.fields().get("logicalParentUuid")
    return logical if isinstance(logical, str) and logical in tree.by_uuid else None


# The title of a Claude Code session, from the newest record that gives one.

# Strongest first: a person's own title, then a generated one, then an agent's name.
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "agent-name": "agentName"}


def title_of(nodes: list[Node], tree: Tree) -> str:
    """Return the title that the client shows, or "".

    ``summary`` records are titles of any session of the project (client 1.0 writes them into whichever file it has
    open), so one counts only when its ``leafUuid`` lies in this file.
    """
    found: dict[str, str] = {}
    for node in nodes:
        kind = node.env.type or ""
        if kind == "summary":
            fields = node.fields()
            leaf = fields.get("leafUuid")
            if isinstance(leaf, str) and leaf in tree.by_uuid:
                found[kind] = str(fields.get("summary") or "")
        elif kind in _TITLES:
            found[kind] = str(node.fields().get(_TITLES[kind]) or "")
    return next((found[kind] for kind in (*_TITLES, "summary") if found.get(kind)), "")


# Records of Claude Code to messages: pieces of one API message joined, every block with the span it came from.


# Values of ``origin.kind`` that stand for a person at a keyboard; all others are the harness or other agents.
_PEOPLE = (None, "human", "cli", "user")


class ClaudeMessage(LazyMessage, gc=False, eq=False):
    """A message that is decoded when it is first looked at; assistant messages may have several records."""

    _role: Role
    first: Node
    _active: bool
    _sidechain: bool
    more: list[Node] | None = None
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

    def _content(self) -> Content:
        return _assistant(self.pieces) if self.role == "assistant" else _user(self.first)


def messages_of(nodes: list[Node], tree: Tree) -> list[Message]:
    """Return the messages of all records in the order in which they began.

    Beside user and assistant records these are the places where a person's words stand, too (:func:`queued_prompt`).
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
    if object_in(fields, "origin").get("kind") not in _PEOPLE:
        return "injected"
    # The client starts a new conversation with a plan that the model wrote and a person accepted.
    return "injected" if "planContent" in fields else "typed"


# Words that a person typed outside of plain user records.
#
# Three places hold them. A prompt typed while the agent works is a ``queue-operation``: older clients write it nowhere
# else, newer ones a second time as a user record or an attachment. A person who rejects a tool call gives the reason
# inside of the tool's result, and answers to the agent's questions are a tool's result, too. Each becomes a message of
# its own with origin ``typed`` whose span is that record; the result itself stays a message of origin ``tool``.

_REJECTION = "The user doesn't want to proceed with this tool use."
_SAID = "the user said:"
_ANSWERED = ("User has answered your questions:", "Your questions have been answered:", "The user answered:")


def said_in_result(node: Node, *, active: bool) -> Message | None:
    """Return the reason or the answers that a person gave in a tool result, as a typed message.

    Only the start of a record is looked at: the client writes one result a record, and its sentence comes first.
    """
    start = start_of(node.env.message)
    if b"The user doesn't want to proceed" in start:
        blocks = _reason(node)
    elif b" answered" in start and b'"tool_result"' in start:
        blocks = _answers(node)
    else:
        return None
    return _message_of_person(node, blocks, active=active)


def queued_prompt(node: Node) -> Message | None:
    """Return the prompt of a ``queue-operation`` or of an attachment that delivers one, as a typed message."""
    fields = node.fields()
    if node.env.type == "queue-operation":
        content = fields.get("content") if fields.get("operation") == "enqueue" else None
    else:
        attached = object_in(fields, "attachment")
        human = attached.get("commandMode", "prompt") == "prompt" and not fields.get("isMeta")
        content = attached.get("prompt") if human else None
    blocks: list[Block] = []
    for block in blocks_of(content):
        # The queue also carries the client's own notes (JSON of background tasks) and commands.
        if isinstance(block, Text) and not block.text.lstrip().startswith(('{"task_id"', "/")):
            blocks += split_typed(block.text)
    return _message_of_person(node, blocks, active=True)


def without_repeats(messages: list[Message], queued: list[Message]) -> list[Message]:
    """Drop queued prompts that a user record repeats, or that an earlier queued one says already."""
    if not queued:
        return messages
    waiting = {id(m) for m in queued}
    prompts = [_plain(m.text) for m in messages if id(m) not in waiting and m.role == "user" and m.origin == "typed"]
    said = "\n".join(prompts)
    known: set[str] = set()
    kept: list[Message] = []
    for message in messages:
        if id(message) in waiting:
            text = _plain(message.text)
            if text in known or text in said:
                continue
            known.add(text)
        kept.append(message)
    return kept


def _plain(text: str) -> str:
    return " ".join(text.split())


def _message_of_person(node: Node, blocks: list[Block], *, active: bool) -> Message | None:
    if not any(isinstance(b, Text) for b in blocks):
        return None
    env = node.env
    return PlainMessage(
        "user",
        tuple(blocks),
        (node.span,) * len(blocks),
        "typed",
        env.uuid,
        parse_time(env.timestamp),
        env.cwd or "",
        active=active,
        branch=env.branch or "",
    )


def _results(node: Node) -> list[ToolResult]:
    content = object_in(node.fields(), "message").get("content")
    return [b for b in blocks_of(content) if isinstance(b, ToolResult)]


def _reason(node: Node) -> list[Block]:
    """Only the client's own sentence counts, at the start of an error: a tool may print anything."""
    for result in _results(node):
        if result.is_error and result.text.startswith(_REJECTION):
            head, said, reason = result.text.partition(_SAID)
            if said:
                return [Injected(head + said), *split_typed(reason.strip())]
    return []


def _answers(node: Node) -> list[Block]:
    given = object_in(object_in(node.fields(), "toolUseResult"), "answers")
    if not given or not any(r.text.startswith(_ANSWERED) for r in _results(node)):
        return []
    blocks: list[Block] = []
    for question, answer in given.items():
        blocks += [Injected(question), *(split_typed(answer) if isinstance(answer, str) else [])]
    return blocks


# Who is behind the text of a user record: only a person's own words may become a preference.
#
# The client puts much into user records that nobody typed: commands and their output, caveats, reminders, skill bodies,
# hook output, task notifications, notes about interrupts. ``isMeta`` marks only some of it (corpus.md 11), so the text
# itself is looked at too.

# Elements that the client writes around what it adds; what stands outside of them in the same text was typed.
_WRAPPERS = (
    "system-reminder|local-command-caveat|local-command-stdout|local-command-stderr|command-name|command-message|"
    "command-args|command-contents|task-notification|bash-input|bash-stdout|bash-stderr|ide_opened_file|"
    "ide_selection|ide_diagnostics|user-prompt-submit-hook|user-memory-input|post-tool-use-hook|background-task|"
    "background-task-input|background-task-output|teammate-message|cross-session-message|channel|tick|"
    "new-diagnostics|session-start-hook|persisted-output|tool_use_error|retrieval_status|fork-boilerplate|"
    "remote-review|remote-review-progress|ultraplan|context_summary"
)
_ELEMENT = rf"<({_WRAPPERS})(?:\s[^>]*)?>.*?</\1>\s*|<({_WRAPPERS})(?:\s[^>]*)?>.*\Z"
_NOTICES = (
    r"\s*(?:\[Request interrupted by user|\[Image: |\[Image #|Caveat: The messages below were generated|"
    r"Operation stopped by hook:|This session is being continued from a previous conversation|"
    r"Base directory for this skill:|"
    r"(?:Stop|PreToolUse|PostToolUse|UserPromptSubmit|SessionStart|SubagentStop|Notification)(?::\w+)? hook |"
    r"Continue from where you left off\.\s*\Z|No response requested\.\s*\Z|Tool loaded\.\s*\Z)"
)


@cache
def _expressions() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile what whole and what parts of a text nobody typed; a load that looks at no text does without."""
    return re.compile(_NOTICES), re.compile(_ELEMENT, re.DOTALL)


def split_typed(text: str) -> list[Block]:
    """Return ``text`` as typed and injected blocks, in order; a text that nobody typed gives no :class:`Text`."""
    notices, elements = _expressions()
    if notices.match(text):
        return [Injected(text)]
    if "<" not in text:
        return [Text(text)] if text.strip() else []
    notes = list(elements.finditer(text))
    return parted(text, notes) if notes else [Text(text)]
