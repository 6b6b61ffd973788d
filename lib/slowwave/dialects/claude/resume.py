"""Which records Claude Code loads when it resumes a session, in the order in which it would send them.

Found by resuming edited files with the real clients 2.1, 2.0 and 1.0. Version 2.1 goes on from one record
(``leaf.py``), bridges over lost ones, brings back parallel tool calls and moves what a compaction preserved behind
the summary. Older versions start from the newest timestamp and follow
``parentUuid`` only.
"""

from itertools import takewhile
from typing import Any, cast

from slowwave.dialects.claude.bridge import Bridges
from slowwave.dialects.claude.leaf import is_boundary, leaf_of
from slowwave.dialects.claude.records import Node
from slowwave.dialects.claude.tree import SPOKEN, Tree

# Client 2.0.76 writes no preserved messages and ignores them (tried with the real one).
FIRST_THAT_KEEPS = (2, 1)


def version_of(tree: Tree) -> tuple[int, int]:
    """Return major and minor version of the client that wrote the last record; the newest known when none says."""
    for node in reversed(tree.nodes):
        if node.env.version and (version := version_in(node.env.version)) is not None:
            return version
    return 2, 1


def version_in(text: str) -> tuple[int, int] | None:
    """Return major and minor version as a record names them, None where it does not."""
    numbers = text.split(".")[:2]
    if len(numbers) == 2 and all(n.isdecimal() for n in numbers):  # noqa: PLR2004  # major.minor
        return int(numbers[0]), int(numbers[1])
    return None


def resumed(tree: Tree) -> list[Node]:
    """Return the records of the live conversation from the last compaction on, oldest first."""
    return _from_boundary(whole_chain(tree))


def whole_chain(tree: Tree) -> list[Node]:
    """Return the records of the live conversation from its root on, also from before the last compaction.

    No record of a sub-agent is where the conversation goes on, but the way up from there takes them in, too.
    """
    if version_of(tree) < (2, 1):
        return _older(tree)
    wide = tree if tree.own or not any(n.env.sidechain for n in tree.nodes) else Tree(tree.nodes, own=True)
    linked, is_kept = relinked(wide)
    main = linked if wide is tree else linked.main()
    leaf = leaf_of(main, is_kept=is_kept)
    return [] if leaf is None else _with_parallel(linked, _chain(linked, leaf, Bridges(main)))


def _older(tree: Tree) -> list[Node]:
    """Return the chain of clients before 2.1: from the newest timestamp along the parents, nothing else.

    Version 1 begins with a sub-agent's record when that is the newest. Both know no ``progress`` records: what hangs
    under one has lost its parent.
    """
    is_any = tree.own or version_of(tree) < (2, 0)
    tree = Tree([n for n in tree.nodes if n.env.type != "progress"], own=True)
    best: tuple[str, Node] | None = None
    for node in tree.by_uuid.values():
        stamp = node.env.timestamp or ""
        if (is_any or not node.env.sidechain) and (best is None or stamp > best[0]):
            best = (stamp, node)
    if best is None:
        return []
    return [tree.by_uuid[u] for u in tree.walk(best[1].env.uuid)][::-1]


def relinked(tree: Tree) -> tuple[Tree, bool]:
    """Return the tree with the preserved messages of the last compaction hung behind its summary, and if there are any.

    They lie before the boundary in the file. When a named record is missing, nothing moves and nothing is cut off.
    Else the client forgets all other records before the boundary: also when an earlier compaction preserved messages
    and the last one did not, and whatever was said after a rewind to one of them follows the preserved messages.
    """
    boundaries = [n for n in tree.by_uuid.values() if is_boundary(n)]
    last = next((n for n in reversed(boundaries) if _preserves(n)), None)
    if last is None:
        return tree, False
    kept: list[str] = []
    anchor: str | None = None
    if last is boundaries[-1]:
        found = preserved(tree, _metadata(last))
        if found is None:
            return tree, False
        kept, anchor = found
    twin = tree.copy()
    if kept:
        _hang(twin, kept, anchor)
    gone = _before_boundary(twin, boundaries[-1]) - set(kept)
    for uuid in gone:
        del twin.by_uuid[uuid], twin.parents[uuid]
    if kept:
        for uuid, node in twin.by_uuid.items():
            if node.env.type in SPOKEN and twin.parents[uuid] in gone:
                twin.parents[uuid] = kept[-1]
    return twin, bool(kept)


def _hang(twin: Tree, kept: list[str], anchor: str | None) -> None:
    """Hang the preserved messages one below the other under the anchor, and what followed the anchor below them."""
    above = anchor
    for uuid in kept:
        twin.parents[uuid] = above
        above = uuid
    for uuid, parent in twin.parents.items():
        if parent == anchor and uuid != kept[0]:
            twin.parents[uuid] = kept[-1]


def _before_boundary(tree: Tree, boundary: Node) -> set[str]:
    return set(takewhile(lambda uuid: uuid != boundary.env.uuid, tree.by_uuid))


def _metadata(boundary: Node) -> dict[str, Any]:
    metadata = boundary.fields().get("compactMetadata")
    return cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {}


def _preserves(boundary: Node) -> bool:
    metadata = _metadata(boundary)
    return any(isinstance(metadata.get(name), dict) for name in ("preservedMessages", "preservedSegment"))


def preserved(tree: Tree, metadata: dict[str, Any]) -> tuple[list[str], str | None] | None:
    """Return the ids that a compaction kept, oldest first, and the one they follow; None when one is lost."""
    listed = metadata.get("preservedMessages")
    if isinstance(listed, dict):
        named = cast("dict[str, Any]", listed)
        uuids = [str(u) for u in cast("list[object]", named.get("uuids") or [])]
        return (uuids, named.get("anchorUuid")) if all(u in tree.by_uuid for u in uuids) else None
    segment = metadata.get("preservedSegment")
    if not isinstance(segment, dict):
        return None
    ends = cast("dict[str, Any]", segment)
    found: list[str] = []
    for uuid in tree.walk(ends.get("tailUuid")):
        found.append(uuid)
        if uuid == ends.get("headUuid"):
            return found[::-1], ends.get("anchorUuid")
    return None


def _chain(tree: Tree, leaf: str, bridges: Bridges) -> list[Node]:
    """Return the records from the root to ``leaf``, with holes bridged and circles broken."""
    found: list[Node] = []
    seen: set[str] = set()
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
