"""Records of Claude Code to messages: pieces of one API message joined, every block with the span it came from."""

import re
from datetime import datetime
from functools import cache
from typing import Any, cast

import msgspec

from slowwave.formats.claude.records import SPOKEN, Node, Tree, content_of, dead_records, start_of
from slowwave.formats.messages import Links, PlainMessage, blocks_of, set_parent
from slowwave.formats.model import Block, Content, Injected, Message, Origin, Role, Span, Text, ToolResult
from slowwave.formats.times import parse_time

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
    kind = fields.get("origin")
    if isinstance(kind, dict) and cast("dict[str, object]", kind).get("kind") not in _PEOPLE:
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
        attached = cast("dict[str, Any]", fields.get("attachment") or {})
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
    message = cast("dict[str, Any]", node.fields().get("message") or {})
    return [b for b in blocks_of(message.get("content")) if isinstance(b, ToolResult)]


def _reason(node: Node) -> list[Block]:
    """Only the client's own sentence counts, at the start of an error: a tool may print anything."""
    for result in _results(node):
        if result.is_error and result.text.startswith(_REJECTION):
            head, said, reason = result.text.partition(_SAID)
            if said:
                return [Injected(head + said), *split_typed(reason.strip())]
    return []


def _answers(node: Node) -> list[Block]:
    outcome = node.fields().get("toolUseResult")
    given = cast("dict[str, Any]", outcome).get("answers") if isinstance(outcome, dict) else None
    if not isinstance(given, dict) or not any(r.text.startswith(_ANSWERED) for r in _results(node)):
        return []
    blocks: list[Block] = []
    for question, answer in cast("dict[str, object]", given).items():
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
    found: list[Block] = []
    at = 0
    for element in elements.finditer(text):
        found += _text_of_person(text[at : element.start()])
        found.append(Injected(element[0]))
        at = element.end()
    return found + _text_of_person(text[at:]) if at else [Text(text)]


def _text_of_person(text: str) -> list[Block]:
    return [Text(text.strip())] if text.strip() else []
