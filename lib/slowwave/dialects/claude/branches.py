"""Which records of a session lie on a branch that a rewind left behind.

Only a second prompt under one parent makes a rewind: everything else that hangs beside the live branch (pieces and
results of parallel tool calls, hooks, attachments) belongs to the conversation. Records from before a compaction are
not abandoned; the boundary names its predecessor in ``logicalParentUuid``.
"""

from slowwave.dialects.claude.records import Node, start_of
from slowwave.dialects.claude.tree import SPOKEN, Tree


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
