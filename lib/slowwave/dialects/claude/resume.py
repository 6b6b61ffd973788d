"""Which records Claude Code loads when it resumes a session, in the order in which it would send them.

Found by resuming edited files with the real clients 2.1, 2.0 and 1.0. Version 2.1 follows the newest record in file
order below the one that its last ``last-prompt`` names, bridges over lost records, brings back parallel tool calls
and moves what a compaction preserved behind the summary. Older versions start from the newest timestamp and follow
``parentUuid`` only.
"""

from typing import Any, cast

from slowwave.dialects.claude.bridge import Bridges
from slowwave.dialects.claude.records import Node
from slowwave.dialects.claude.tree import SPOKEN, Tree


def version_of(tree: Tree) -> tuple[int, int]:
    """Return major and minor version of the client that wrote the last record; the newest known when none says."""
    for node in reversed(tree.nodes):
        if node.env.version:
            numbers = node.env.version.split(".")[:2]
            if len(numbers) == 2 and all(n.isdecimal() for n in numbers):  # noqa: PLR2004  # major.minor
                return int(numbers[0]), int(numbers[1])
    return 2, 1


def resumed(tree: Tree) -> list[Node]:
    """Return the records of the live conversation from the last compaction on, oldest first."""
    return _from_boundary(whole_chain(tree))


def whole_chain(tree: Tree) -> list[Node]:
    """Return the records of the live conversation from its root on, also from before the last compaction."""
    if version_of(tree) < (2, 1):
        return _older(tree)
    linked = relinked(tree)
    leaf = _leaf(linked)
    return [] if leaf is None else _with_parallel(linked, _chain(linked, leaf))


def _older(tree: Tree) -> list[Node]:
    """Return the chain of clients before 2.1: from the newest timestamp along the parents, nothing else."""
    best: tuple[str, Node] | None = None
    for node in tree.by_uuid.values():
        stamp = node.env.timestamp or ""
        if best is None or stamp > best[0]:
            best = (stamp, node)
    if best is None:
        return []
    return [tree.by_uuid[u] for u in tree.walk(best[1].env.uuid)][::-1]


def relinked(tree: Tree) -> Tree:
    """Return the tree with the preserved messages of the last compaction hung behind its summary.

    They lie before the boundary in the file. When a named record is missing, nothing moves and nothing is cut off.
    """
    boundary = next((n for n in reversed(list(tree.by_uuid.values())) if is_boundary(n)), None)
    if boundary is None:
        return tree
    metadata = boundary.fields().get("compactMetadata")
    kept, anchor = preserved(tree, cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {})
    if not kept:
        return tree
    twin = tree.copy()
    for uuid, parent in tree.parents.items():
        if parent == anchor:
            twin.parents[uuid] = kept[-1]
    above = anchor
    for uuid in kept:
        twin.parents[uuid] = above
        above = uuid
    keep = set(kept)
    for uuid in list(twin.by_uuid):
        if uuid == boundary.env.uuid:
            break
        if uuid not in keep:
            del twin.by_uuid[uuid], twin.parents[uuid]
    return twin


def preserved(tree: Tree, metadata: dict[str, Any]) -> tuple[list[str], str | None]:
    """Return the ids that a compaction kept, oldest first, and the one they follow; no ids when one is lost."""
    listed = metadata.get("preservedMessages")
    if isinstance(listed, dict):
        named = cast("dict[str, Any]", listed)
        uuids = [str(u) for u in cast("list[object]", named.get("uuids") or [])]
        return (uuids if all(u in tree.by_uuid for u in uuids) else []), named.get("anchorUuid")
    segment = metadata.get("preservedSegment")
    if not isinstance(segment, dict):
        return [], None
    ends = cast("dict[str, Any]", segment)
    found: list[str] = []
    for uuid in tree.walk(ends.get("tailUuid")):
        found.append(uuid)
        if uuid == ends.get("headUuid"):
            return found[::-1], ends.get("anchorUuid")
    return [], None


def is_boundary(node: Node) -> bool:
    """Say whether a record is the boundary of a full compaction."""
    return (
        node.env.type == "system"
        and b"compact_boundary" in node.span.raw
        and node.fields().get("subtype") == "compact_boundary"
    )


def _leaf(tree: Tree) -> str | None:
    ends = tree.ends()
    named, exact = last_prompt(tree)
    if named is not None and named in tree.by_uuid:
        return ends[-1] if ends and not exact and named in tree.walk(ends[-1]) else named
    if ends:
        return ends[-1]
    return next((u for u in reversed(list(tree.by_uuid)) if tree.by_uuid[u].env.type in SPOKEN), None)


def last_prompt(tree: Tree) -> tuple[str | None, bool]:
    """Return the record that the last ``last-prompt`` names, and whether exactly that is meant.

    One from before the last compaction says nothing any more.
    """
    for node in reversed(tree.nodes):
        if is_boundary(node):
            break
        if node.env.type == "last-prompt":
            fields = node.fields()
            leaf = fields.get("leafUuid")
            return (leaf if isinstance(leaf, str) else None), fields.get("explicit") is True
    return None, False


def _chain(tree: Tree, leaf: str) -> list[Node]:
    """Return the records from the root to ``leaf``, with holes bridged and circles broken."""
    found: list[Node] = []
    seen: set[str] = set()
    bridges = Bridges(tree)
    at: str | None = leaf
    while at is not None:
        node = tree.by_uuid[at]
        found.append(node)
        seen.add(at)
        parent = tree.parents[at]
        at = parent if parent in tree.by_uuid and parent not in seen else None
        if at is None and parent is not None:
            at = bridges.over(node, seen)
    return found[::-1]


def _with_parallel(tree: Tree, chain: list[Node]) -> list[Node]:
    """Return the chain with the pieces and results of parallel tool calls that the walk alone misses.

    A message, all its pieces and the results that hang under them stand together, in the order of the file.
    """
    on_chain = {n.index for n in chain}
    ids = {n.env.message.id for n in chain if n.env.type == "assistant" and n.env.message}
    owner: dict[str, str] = {}
    groups: dict[str, list[Node]] = {}
    for uuid, node in tree.by_uuid.items():
        mid = node.env.message.id if node.env.type == "assistant" and node.env.message else None
        if mid is not None and mid in ids:
            owner[uuid] = mid
            groups.setdefault(mid, []).append(node)
    for uuid, node in tree.by_uuid.items():
        mid = owner.get(tree.parents[uuid] or "")
        if mid is not None and node.env.type == "user" and b'"tool_result"' in node.span.raw:
            groups[mid].append(node)
    split = {mid for mid, nodes in groups.items() if any(n.index not in on_chain for n in nodes)}
    if not split:
        return chain
    grouped = {n.index: mid for mid in split for n in groups[mid]}
    found: list[Node] = []
    placed: set[str] = set()
    for node in chain:
        mid = grouped.get(node.index)
        if mid is None:
            found.append(node)
        elif mid not in placed:
            placed.add(mid)
            found += sorted(groups[mid], key=lambda n: n.index)
    return found


def _from_boundary(chain: list[Node]) -> list[Node]:
    """Return what follows the last compaction boundary in the chain, or all of it."""
    start = next((i + 1 for i in range(len(chain) - 1, -1, -1) if is_boundary(chain[i])), 0)
    return chain[start:]
