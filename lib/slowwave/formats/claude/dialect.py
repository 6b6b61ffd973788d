"""The dialect of Claude Code 1.0, 2.0 and 2.1: camelCase envelopes in ``~/.claude/projects/<key>/*.jsonl``."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

import msgspec

from slowwave.formats import (
    Block,
    Injected,
    Message,
    Origin,
    Role,
    SessionFiles,
    SessionKind,
    Span,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    object_in,
    objects_of,
    parse_time,
)
from slowwave.formats.claude.records import (
    CHAINED,
    DECODER,
    SPOKEN,
    Node,
    Tree,
    content_of,
    messages_of,
    origin_of,
    title_of,
)
from slowwave.formats.claude.resume import resumed, tail_of, version_of, window_of
from slowwave.formats.lines import read_records, relaxed_collector
from slowwave.formats.messages import PlainMessage, blocks_of

# What Claude Code sends when a session is resumed: records to API messages, with its repairs.
#
# Each rule was seen with the real clients; ``tests/conformance/test_context_clients.py`` compares whole sessions.

_CAVEAT = "<local-command-caveat>"
_COMMAND_STARTS = ("<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-stderr>")


def context_of(tree: Tree, *, is_window: bool = False) -> Sequence[Message]:
    """Return the messages that the client would send, without the next prompt.

    ``is_window``: they are what :func:`window_of` would leave of it.
    """
    if not is_window:
        tree = window_of(tree) or tree
    records, version = resumed(tree), version_of(tree)
    modern = version >= (2, 1)
    turns = [turn for node in records if (turn := turn_of(node, version)) is not None]
    turns = without_open_calls(turns, answer_last=modern)
    if modern:
        said = without_blank(turns, keep_empty=True)
        return [t.message() for t in paired(merged(_answered(said, records), over_results=True))]
    # Older versions join first: prompts on both sides of an answer without words stay apart. An empty list is nothing.
    spoken = [*(t for t in turns if t.parts), *_older_filler(records)]
    joined = merged(spoken, over_results=version >= (2, 0))
    return [t.message() for t in without_blank(joined, keep_empty=False)]


class Turn(msgspec.Struct, eq=False):
    """A message in the making."""

    role: Role  # who speaks
    parts: list[tuple[Block, Span]]  # blocks with their spans
    node: Node  # the record it began with
    id: str | None = None  # the API's id of the message
    # the records that it was joined from, behind the first
    joined: list[Node] = msgspec.field(default_factory=list[Node])

    @property
    def calls(self) -> list[str]:
        """The ids of the tool calls."""
        return [b.id for b, _ in self.parts if isinstance(b, ToolCall)]

    @property
    def results(self) -> list[str]:
        """The ids of the calls that are answered here."""
        return [b.id for b, _ in self.parts if isinstance(b, ToolResult)]

    def only_results(self) -> bool:
        """Say whether there is nothing but tool results."""
        return bool(self.parts) and all(isinstance(b, ToolResult) for b, _ in self.parts)

    def is_blank(self) -> bool:
        """Say whether there is nothing but reasoning or white space."""
        return all(isinstance(b, Thinking) or (isinstance(b, Text) and not b.text.strip()) for b, _ in self.parts)

    def has_reasoning(self) -> bool:
        """Say whether there is reasoning."""
        return any(isinstance(b, Thinking) for b, _ in self.parts)

    def message(self) -> Message:
        """Return the finished message."""
        env = self.node.env
        return PlainMessage(
            self.role,
            tuple(b for b, _ in self.parts),
            tuple(s for _, s in self.parts),
            self._origin(),
            self.id or env.uuid,
            parse_time(env.timestamp),
            env.cwd or "",
            sidechain=False,
            branch=env.branch or "",
        )

    def _origin(self) -> Origin:
        """Return who is behind it: a message joined from words of several kinds was not typed as it is."""
        if self.role == "assistant":
            return "model"
        if self.only_results():
            return "tool"
        if not any(isinstance(b, Text) for b, _ in self.parts):
            return "injected"
        records = (self.node, *self.joined)
        kinds: set[Origin] = {origin_of(n) if n.env.type == "user" else "injected" for n in records}
        kinds.discard("tool")
        return kinds.pop() if len(kinds) == 1 else "injected"


def _older_filler(records: list[Node]) -> list[Turn]:
    """Return the stand-in for an answer that versions before 2.1 add when the last block of all is a user's.

    Calls that nothing answers, and empty lists, are not there for them; notes, attachments and answers without words
    are.
    """
    blocks = [(node, blocks_of(content_of(node.env.message))) for node in records]
    answered = {b.id for _, found in blocks for b in found if isinstance(b, ToolResult)}
    for node, found in reversed(blocks):
        if node.env.type not in SPOKEN or any(not isinstance(b, ToolCall) or b.id in answered for b in found):
            return [_filler(node)] if node.env.type == "user" else []
    return []


def _filler(end: Node) -> Turn:
    return Turn("assistant", [(Text(FILLER), end.span)], end)


def _answered(turns: list[Turn], records: list[Node]) -> list[Turn]:
    """Add the stand-in for an answer when the conversation ends with a user record (2.1).

    The client saves that stand-in with its next prompt. Behind the output of a local command it leaves it out.
    """
    spoken = [t for t in turns if t.node.env.type in SPOKEN]
    if not spoken or spoken[-1].role != "user":
        return turns
    last = next((n for n in reversed(records) if n.env.type in SPOKEN), None)
    if last is not None and last.env.is_error and last.env.type == "assistant":
        return turns
    if _is_local_command(spoken):
        return turns
    return [*turns, _filler(spoken[-1].node)]


def _is_local_command(spoken: list[Turn]) -> bool:
    """Say whether the last user records are a caveat, and the command and output that it speaks of."""
    for turn in reversed(spoken):
        text = next((b.text for b, _ in turn.parts if isinstance(b, Text | Injected)), "").lstrip()
        if turn.role == "user" and turn.node.env.is_meta and text.startswith(_CAVEAT):
            return True
        if turn.role != "user" or not text.startswith(_COMMAND_STARTS):
            return False
    return False


# Records that are sent, as turns whose blocks may still be dropped, joined and added to.

# Tools that have another name by now; their old calls are sent under it (2.1).
_RENAMED = {"Task": "Agent", "ListPeers": "ListAgents"}


def turn_of(node: Node, version: tuple[int, int]) -> Turn | None:
    """Return the turn that a record is sent as, or None for records that the model never sees.

    Version 2.1 also sends the output of local commands, and notes about background tasks as reminders. Version 1 loses
    the mark of an API error when it resumes, and sends what it had shown of it as an answer (tried with 1.0.128).
    """
    modern = version >= (2, 1)
    match node.env.type:
        case "assistant" if version < (2, 0) or not _is_synthetic_error(node):
            mid = node.env.message.id if node.env.message else None
            blocks = blocks_of(content_of(node.env.message))
            return Turn("assistant", _placed(node, _renamed(blocks) if modern else blocks), node, mid)
        case "user":
            content = content_of(node.env.message)
            blocks = blocks_of(_errors_as_text(content) if modern else content)
            return Turn(
                "user", _placed(node, _as_reminder(blocks) if modern and _is_notification(node) else blocks), node
            )
        case "attachment":
            blocks = _rendered(node)
            return Turn("user", _placed(node, blocks), node) if blocks else None
        case "system" if modern:
            return _local_command(node)
        case _:
            return None


def _placed(node: Node, blocks: list[Block]) -> list[tuple[Block, Span]]:
    return [(block, node.span) for block in blocks]


def _renamed(blocks: list[Block]) -> list[Block]:
    return [
        msgspec.structs.replace(b, name=_RENAMED.get(b.name, b.name)) if isinstance(b, ToolCall) else b for b in blocks
    ]


def _is_synthetic_error(node: Node) -> bool:
    """Say whether the client wrote this to show an API error; an error of a real model's message is sent."""
    if not node.env.is_error:
        return False
    return object_in(node.fields(), "message").get("model") == "<synthetic>"


def _is_notification(node: Node) -> bool:
    if b'"task-notification"' not in node.span.raw:
        return False
    return object_in(node.fields(), "origin").get("kind") == "task-notification"


def _errors_as_text(content: object) -> object:
    """Leave of a failed call's result that holds more than text the text alone: the API takes nothing else (2.1)."""
    return [_error_as_text(item) for item in cast("list[object]", content)] if isinstance(content, list) else content


def _error_as_text(item: object) -> object:
    if not isinstance(item, dict):
        return item
    block = cast("dict[str, object]", item)
    parts = block.get("content")
    if block.get("type") != "tool_result" or not block.get("is_error") or not isinstance(parts, list):
        return block
    texts = [str(part.get("text")) for part in objects_of(cast("object", parts)) if part.get("type") == "text"]
    if len(texts) == len(cast("list[object]", parts)):
        return block
    return block | {"content": [{"type": "text", "text": "\n\n".join(texts)}] if texts else []}


def _as_reminder(blocks: list[Block]) -> list[Block]:
    """Notes about background tasks are sent inside of a reminder (client 2.1)."""
    return [Injected(f"<system-reminder>\n{b.text}\n</system-reminder>") if isinstance(b, Text) else b for b in blocks]


def _rendered(node: Node) -> list[Block]:
    """Return what an attachment is sent as; client 2.1 keeps it in ``rendered``, others only as a reminder."""
    if b'"rendered"' not in node.span.raw:
        return []
    fields = node.fields()
    items = fields.get("rendered")
    if not isinstance(items, list) or fields.get("renderedRole", "user") != "user":
        return []
    found: list[Block] = []
    for item in objects_of(cast("object", items)):
        found += blocks_of(item.get("content"))
    return [Injected(b.text) if isinstance(b, Text) else b for b in found]


def _local_command(node: Node) -> Turn | None:
    if b"local_command" not in node.span.raw:
        return None
    fields = node.fields()
    if fields.get("subtype") != "local_command":
        return None
    return Turn("user", [(Injected(str(fields.get("content") or "")), node.span)], node)


# The repairs that Claude Code makes before it sends a loaded session, so that the API accepts it.

INTERRUPTED = (
    "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. "
    "Check whether it took effect before relying on it or running it again.]"
)
MISSING = "[Tool result missing due to internal error]"
REPEATED = "[Tool use interrupted]"
NOTHING = "(no content)"
FILLER = "No response requested."


def without_open_calls(turns: list[Turn], *, answer_last: bool) -> list[Turn]:
    """Drop tool calls that no record answers; those of the last message are answered as interrupted (2.1)."""
    answered = {r for t in turns for r in t.results}
    last = _last_group(turns) if answer_last else []
    open_last = [(c, t) for t in last for c in t.calls if c not in answered]
    kept = answered | {c for c, _ in open_last}
    found: list[Turn] = []
    for turn in turns:
        if turn.calls:
            turn.parts = [(b, s) for b, s in turn.parts if not isinstance(b, ToolCall) or b.id in kept]
            if not turn.parts:
                continue
        found.append(turn)
    if open_last:
        parts: list[tuple[Block, Span]] = [
            (ToolResult(c, INTERRUPTED, is_error=True), t.node.span) for c, t in open_last
        ]
        found.append(Turn("user", parts, last[-1].node))
    return found


def _last_group(turns: list[Turn]) -> list[Turn]:
    """Return the pieces of the last assistant message, when nothing but its results follows them."""
    index = len(turns) - 1
    while index >= 0 and (turns[index].only_results() or turns[index].node.env.type == "attachment"):
        index -= 1
    if index < 0 or turns[index].role != "assistant":
        return []
    mid = turns[index].id
    return [t for t in turns if t is turns[index] or (mid is not None and t.id == mid)]


def without_blank(turns: list[Turn], *, keep_empty: bool) -> list[Turn]:
    """Drop assistant turns that hold nothing but white space, and reasoning whose message says nothing else.

    With ``keep_empty`` (2.1) a turn without any block stays; it is sent as ``(no content)``.
    """
    speaking = {t.id for t in turns if t.role == "assistant" and t.id and not t.is_blank()}
    return [
        t
        for t in turns
        if t.role != "assistant"
        or not t.is_blank()
        or (t.id in speaking and t.has_reasoning())
        or (keep_empty and not t.parts)
    ]


def merged(turns: Iterable[Turn], *, over_results: bool) -> list[Turn]:
    """Join user turns that follow each other and assistant turns of one API message.

    ``turns``: in the order of the conversation. ``over_results``: also join pieces of a message that results of its own
    calls stand between (2.0 and later).
    """
    found: list[Turn] = []
    for turn in turns:
        target = _same_message(found, turn, over_results=over_results) if turn.role == "assistant" else None
        if turn.role == "user" and found and found[-1].role == "user":
            target = found[-1]
        if target is None:
            found.append(Turn(turn.role, list(turn.parts), turn.node, turn.id))
        else:
            target.parts += turn.parts
            target.joined.append(turn.node)
    return found


def _same_message(found: list[Turn], turn: Turn, *, over_results: bool) -> Turn | None:
    for other in reversed(found):
        if other.role == "assistant" and turn.id is not None and other.id == turn.id:
            return other
        if not over_results or (other.role == "user" and not other.only_results()):
            return None
    return None


def paired(turns: list[Turn]) -> list[Turn]:
    """Give every call exactly one result right behind it and drop results without a call (2.1)."""
    found: list[Turn] = []
    used: set[str] = set()
    for turn in turns:
        if turn.role == "assistant":
            _drop_repeated_calls(turn, used)
            _answer_missing(found)
        else:
            _drop_stray_results(turn, found)
        found.append(turn)
    _answer_missing(found)
    return found


def _drop_repeated_calls(turn: Turn, used: set[str]) -> None:
    parts = turn.parts
    turn.parts = [(b, s) for b, s in parts if not isinstance(b, ToolCall) or b.id not in used]
    used.update(turn.calls)
    if parts and not turn.parts:
        turn.parts = [(Text(REPEATED), parts[0][1])]
    elif not parts:
        turn.parts = [(Text(NOTHING), turn.node.span)]


def _answer_missing(found: list[Turn]) -> None:
    """Put a result for each call of the last assistant turn that nothing answers."""
    if found and found[-1].role == "assistant" and found[-1].calls:
        span = found[-1].node.span
        parts: list[tuple[Block, Span]] = [(ToolResult(c, MISSING, is_error=True), span) for c in found[-1].calls]
        found.append(Turn("user", parts, found[-1].node))


def _drop_stray_results(turn: Turn, found: list[Turn]) -> None:
    before = found[-1] if found and found[-1].role == "assistant" else None
    wanted = list(before.calls) if before else []
    if not turn.parts and not wanted:
        return
    is_listed = not isinstance(content_of(turn.node.env.message), str)
    kept: list[tuple[Block, Span]] = []
    for block, span in turn.parts:
        if isinstance(block, ToolResult):
            if block.id not in wanted:
                continue
            wanted.remove(block.id)
        if not (is_listed and isinstance(block, Text) and not block.text.strip()):
            kept.append((block, span))
    span = turn.parts[0][1] if turn.parts else turn.node.span
    missing: list[tuple[Block, Span]] = [(ToolResult(c, MISSING, is_error=True), span) for c in wanted]
    turn.parts = [*missing, *kept] or [(Injected(NOTHING), span)]


# The client's own table of line types, and those seen in real files beside it (clients.md, corpus.md).
KNOWN_TYPES = CHAINED | {
    *("queue-operation", "api-request", "api-request-resumed", "api-request-shape", "api-request-blob", "frame-link"),
    *("observer-ref", "continued-in", "resume-head-vouch", "file-history-snapshot", "file-history-delta"),
    *("attribution-snapshot", "custom-title", "ai-title", "tag", "relocated", "agent-name", "agent-color"),
    *("agent-setting", "mode", "permission-mode", "session-owner", "isolation-latch", "dev-mods", "atis-latch"),
    *("worktree-state", "bridge-session", "tools-used", "derived-from", "summary", "repl-mode"),
    *("history-suppression", "ended-by-model", "content-replacement", "memory-mode", "artifact-comment-monitor"),
    *("fork-context-ref", "data-flow-incomplete", "last-prompt", "cost-state", "pr-link", "session_start"),
    *("started", "result"),
}


class ClaudeTranscript(Transcript):
    """A session with its records, which the context is rebuilt from."""

    nodes: list[Node] = msgspec.field(default_factory=list[Node])
    tree: Tree = msgspec.field(default_factory=lambda: Tree([]))


class Claude:
    """Rules of Claude Code's transcripts."""

    name = "claude"

    def read(self, files: SessionFiles) -> ClaudeTranscript:
        """Read a session, all messages in file order."""
        result = ClaudeTranscript(self.name, files, problems=list(files.problems))
        with relaxed_collector():
            result.nodes, counts = _load(files, result)
            result.kind = _kind(result.nodes)
            result.tree = Tree(result.nodes, own=result.kind == "subagent")
            result.messages = messages_of(result.nodes, result.tree)
        result.records = sum(counts.values())
        result.unknown_types = {kind: n for kind, n in counts.items() if kind not in KNOWN_TYPES}
        result.title = title_of(result.nodes, result.tree)
        return result

    def tail(self, files: SessionFiles) -> ClaudeTranscript | None:
        """Return the end of a compacted session, from its last boundary on."""
        found = tail_of(files)
        if found is None:
            return None
        window, problems = found
        return ClaudeTranscript(self.name, files, problems=problems, is_tail=True, nodes=window.nodes, tree=window)

    def later(self, path: Path, start: int, *, by_agent: bool) -> list[Message]:
        """Return the messages from an offset on: which branch they lie on does not show without those before."""
        records = read_records(path, DECODER, [], start=start)
        nodes = [Node(env, span, index) for index, (span, env) in enumerate(records)]
        return messages_of(nodes, Tree(nodes, own=by_agent))

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return what Claude Code would send if this session were resumed now."""
        whole = transcript if isinstance(transcript, ClaudeTranscript) else self.read(transcript.files)
        return context_of(whole.tree, is_window=whole.is_tail)


def _load(files: SessionFiles, result: Transcript) -> tuple[list[Node], dict[str, int]]:
    """Return every record with its place, and how many there are of each type."""
    nodes: list[Node] = []
    for part, path in enumerate(files.paths):
        records = read_records(path, DECODER, result.problems, part=part)
        nodes += [Node(env, span, index) for index, (span, env) in enumerate(records, len(nodes))]
    return nodes, Counter([node.env.type or "" for node in nodes])


def _kind(nodes: list[Node]) -> SessionKind:
    """Return ``subagent`` for a file whose every message is a sidechain's (beside or under the session's file)."""
    said = (n.env.sidechain for n in nodes if n.env.type in SPOKEN)
    first = next(said, False)
    return "subagent" if first and all(said) else "main"


CLAUDE = Claude()
