"""The record from which Claude Code 2.1 goes on when it resumes a session (client 2.1.330, read and tried).

It is the one that the last ``last-prompt`` behind the last compaction names, or the last row of the file when that
hangs below it, or when none is named. A row that stands in the file a second time counts where it stands last.
"""

from typing import NamedTuple

from slowwave.dialects.claude.records import Node
from slowwave.dialects.claude.tree import SPOKEN, Tree

_ROWS = ("user", "assistant", "system", "attachment")


class Mark(NamedTuple):
    """What the last ``last-prompt`` says.

    Attributes:
        leaf: the record that it names, None when there is none.
        exact: exactly that record is meant, not what was said below it.
        is_cleared: a rewind took back everything.
    """

    leaf: str | None = None
    exact: bool = False
    is_cleared: bool = False


def is_boundary(node: Node) -> bool:
    """Say whether a record is the boundary of a full compaction."""
    return (
        node.env.type == "system"
        and b"compact_boundary" in node.span.raw
        and node.fields().get("subtype") == "compact_boundary"
    )


def last_prompt(tree: Tree) -> Mark:
    """Return what the last ``last-prompt`` says; one from before the last compaction says nothing any more.

    Rows behind it take away that exactly its record is meant, and that everything is taken back.
    """
    is_last = True
    for node in reversed(tree.nodes):
        if is_boundary(node):
            break
        if node.env.type == "last-prompt":
            fields = node.fields()
            leaf, exact = fields.get("leafUuid"), fields.get("explicit") is True
            if isinstance(leaf, str) and leaf:
                return Mark(leaf, exact and is_last)
            if exact and "leafUuid" in fields:
                return Mark(is_cleared=is_last)
        elif _is_row(node) and not node.env.sidechain:
            is_last = False
    return Mark()


def leaf_of(tree: Tree, *, is_kept: bool) -> str | None:
    """Return the user or assistant record that the conversation ends with.

    Args:
        tree: the records of the main conversation.
        is_kept: a compaction preserved messages. A named record that was gone on from does not count then.
    """
    mark = last_prompt(tree)
    if mark.is_cleared:
        return None
    spoken = tree.spoken_above()
    named = mark.leaf if mark.leaf in tree.by_uuid else None
    last = _last_row(tree)
    if is_kept and not (named and mark.exact):
        ends = _spoken_ends(tree)
        at = named if named in ends else last
        if len(ends) == 1:
            at = ends.pop()
    elif named is None:
        at = last if last is None or _has_mark(tree) else _newest_below(tree, last)
    else:
        at = last if last is not None and not mark.exact and named in tree.walk(last) else named
    return spoken(at) or _last_end(tree)


def _spoken_ends(tree: Tree) -> set[str]:
    """Return the user and assistant records at the ends of branches that none of the two hangs under."""
    spoken = tree.spoken_above()
    gone_on = {tree.parents[u] for u, n in tree.by_uuid.items() if n.env.type in SPOKEN}
    return {above for end in tree.ends() if (above := spoken(end)) is not None} - gone_on


def _last_end(tree: Tree) -> str | None:
    ends = tree.ends()
    if ends:
        return ends[-1]
    return next((u for u in reversed(tree.by_uuid) if tree.by_uuid[u].env.type in SPOKEN), None)


def _is_row(node: Node) -> bool:
    return node.env.type in _ROWS and node.env.uuid is not None


def _last_row(tree: Tree) -> str | None:
    for node in reversed(tree.nodes):
        if _is_row(node) and (tree.own or not node.env.sidechain):
            return node.env.uuid if node.env.uuid in tree.by_uuid else None
    return None


def _has_mark(tree: Tree) -> bool:
    return any(n.env.type == "last-prompt" and "leafUuid" in n.fields() for n in tree.nodes)


def _newest_below(tree: Tree, last: str) -> str:
    """Return the newest record below the last row where the file is out of order, else the last row."""
    stamps = {uuid: node.env.timestamp or "" for uuid, node in tree.by_uuid.items()}
    is_newest = all(stamp < stamps[last] for uuid, stamp in stamps.items() if uuid != last)
    if is_newest or last not in set(tree.parents.values()):
        return last
    below = _below(tree, last)
    return max((u for u in reversed(stamps) if u in below), key=lambda uuid: stamps[uuid], default=last)


def _below(tree: Tree, root: str) -> set[str]:
    """Return the ids of all records under ``root``, without itself."""
    children: dict[str, list[str]] = {}
    for uuid, parent in tree.parents.items():
        if parent is not None:
            children.setdefault(parent, []).append(uuid)
    found: set[str] = set()
    queue = [root]
    while queue:
        fresh = [u for u in children.get(queue.pop(), []) if u not in found]
        found.update(fresh)
        queue += fresh
    return found - {root}
