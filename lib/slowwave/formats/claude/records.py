"""Records of Claude Code as they are decoded at load, the tree that they make, and the branches left behind in it."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from slowwave.formats.model import Span
from slowwave.formats.salvage import decoded, whole


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

CHAINED = frozenset({"user", "assistant", "system", "attachment", "progress"})
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
    return _below(tree, abandoned, live)


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


def _below(tree: Tree, roots: set[str], live: set[str]) -> set[int]:
    """Return the indexes of ``roots`` and of everything that hangs under them."""
    children: dict[str, list[str]] = {}
    for uuid, parent in tree.parents.items():
        if parent is not None:
            children.setdefault(parent, []).append(uuid)
    found: set[int] = set()
    queue = list(roots)
    seen = set(live)
    while queue:
        uuid = queue.pop()
        if uuid in seen:
            continue
        seen.add(uuid)
        found.add(tree.by_uuid[uuid].index)
        queue += children.get(uuid, [])
    return found


# The title of a Claude Code session, from the newest record that gives one.

# Strongest first: a person's own title, then a generated one, then an agent's name.
_TITLES = (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("agent-name", "agentName"))


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
        elif kind in ("custom-title", "ai-title", "agent-name"):
            found[kind] = str(node.fields().get(dict(_TITLES)[kind]) or "")
    return next((found[k] for k in ("custom-title", "ai-title", "agent-name", "summary") if found.get(k)), "")
