"""The dialect of Claude Code 1.0, 2.0 and 2.1: camelCase envelopes in ``~/.claude/projects/<key>/*.jsonl``."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from slowwave.formats.claude.records import DECODER, SPOKEN, Node, Tree, messages_of, title_of
from slowwave.formats.lines import read_records, relaxed_collector
from slowwave.formats.model import Message, SessionFiles, SessionKind, Transcript

MESSAGE_TYPES = frozenset({"user", "assistant", "system", "attachment", "progress"})
# The client's own table of line types, and those seen in real files beside it (clients.md, corpus.md).
KNOWN_TYPES = MESSAGE_TYPES | {
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
        """Read a session, all messages in file order.

        Raises:
            UnreadableError: a file cannot be opened.
        """
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
        from slowwave.formats.claude.resume import tail_of  # noqa: PLC0415  # as below

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
        # Most jobs only read; the rules of resuming cost them no start-up time.
        from slowwave.formats.claude.context import context_of  # noqa: PLC0415

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
