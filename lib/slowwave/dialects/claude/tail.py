"""The part of a compacted Claude Code session that alone determines its context: the window of the last boundary.

The window is the last ``compact_boundary`` record, everything behind it in the file, and the messages before it that
its metadata preserves. When the conversation that goes on lies in it as a whole, nothing else counts: not for a
reading of the whole file, and so a reading from the end gives the same. Where a parent, a named leaf or a preserved
message lies outside, or the conversation does not come from that boundary (a rewind to before it), there is no
window, and the whole session counts as before.
"""

from typing import Any, NamedTuple, cast

from slowwave.dialects.claude.leaf import is_boundary, last_prompt
from slowwave.dialects.claude.records import DECODER, Envelope, Node
from slowwave.dialects.claude.resume import preserved, whole_chain
from slowwave.dialects.claude.tree import SPOKEN, Tree
from slowwave.dialects.model import SessionFiles
from slowwave.records.model import Problem
from slowwave.records.suffix import Suffix

_MARK = b"compact_boundary"
# Sessions about transcripts speak of boundaries; past so many lines that only speak of one, all is read.
_MOST_HITS = 50


class Tail(NamedTuple):
    """The window of a session, and what was no clean record in the part that was read."""

    window: Tree
    problems: list[Problem]


def window_of(tree: Tree) -> Tree | None:
    """Return the window of the last compaction, None when the whole session has to be looked at."""
    boundary = _boundary(tree)
    kept = None if boundary is None else _kept_before(tree, boundary)
    if boundary is None or kept is None:
        return None
    window = Tree([*kept, *tree.nodes[boundary.index :]], own=tree.own)
    inside = {node.index for node in kept} | {boundary.index}
    return window if _is_closed(window, inside) and _goes_on_from(window, boundary) else None


def tail_of(files: SessionFiles) -> Tail | None:
    """Return the window of a session when its last records hold one, else None.

    Raises:
        UnreadableError: a file cannot be opened.
    """
    suffix = Suffix(files.paths, DECODER)
    tree = _back_to_boundary(suffix)
    while tree is not None:
        boundary = _boundary(tree)
        if boundary is None:
            return None
        if _kept_before(tree, boundary) is not None:
            # a sub-agent's file is one whose every message is a side chain's, which its end cannot tell
            is_main = any(n.env.type in SPOKEN and not n.env.sidechain for n in tree.nodes)
            window = window_of(tree) if is_main and suffix.is_steady() else None
            return None if window is None else Tail(window, [*files.problems, *suffix.problems])
        tree = _tree(suffix) if suffix.grow() else None
    return None


def _back_to_boundary(suffix: Suffix[Envelope]) -> Tree | None:
    for _ in range(_MOST_HITS):
        if not suffix.back_to(_MARK):
            return None
        tree = _tree(suffix)
        if _boundary(tree) is not None:
            return tree
    return None


def _tree(suffix: Suffix[Envelope]) -> Tree:
    return Tree([Node(env, span, index) for index, (span, env) in enumerate(suffix.records)])


def _boundary(tree: Tree) -> Node | None:
    """Return the last boundary in the order of the file; one whose id another record took over does not count."""
    for node in reversed(tree.nodes):
        if is_boundary(node):
            uuid = node.env.uuid
            if uuid is not None and tree.by_uuid.get(uuid) is node:
                return node
    return None


def _kept_before(tree: Tree, boundary: Node) -> list[Node] | None:
    """Return the records before the boundary that it preserves, in file order; None when one that it names is lost."""
    metadata = boundary.fields().get("compactMetadata")
    named = cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {}
    listed = named.get("preservedMessages")
    if isinstance(listed, dict):
        if not cast("dict[str, Any]", listed).get("uuids"):
            return []
    elif not isinstance(named.get("preservedSegment"), dict):
        return []
    found = preserved(tree, named)
    if found is None or not found[0]:
        return None
    uuids, _ = found
    nodes = {tree.by_uuid[uuid].index: tree.by_uuid[uuid] for uuid in uuids}
    return [nodes[index] for index in sorted(nodes) if index < boundary.index]


def _goes_on_from(window: Tree, boundary: Node) -> bool:
    """Say whether the conversation comes from the boundary, and has at least the summary behind it."""
    chain = whole_chain(window)
    start = next((i for i, node in enumerate(chain) if node is boundary), len(chain))
    return any(node.env.type in SPOKEN for node in chain[start:])


def _is_closed(window: Tree, inside: set[int]) -> bool:
    """Say whether no record of the window but those in ``inside`` names one outside of it."""
    # version 1 follows the records of sub-agents, too
    wide = Tree(window.nodes, own=True)
    for uuid, node in wide.by_uuid.items():
        parent = wide.parents[uuid]
        if parent is not None and parent not in wide.by_uuid and node.index not in inside:
            return False
    named = last_prompt(window).leaf
    return named is None or named in window.by_uuid
