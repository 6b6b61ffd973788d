"""Which records Claude Code loads when it resumes a session: from which one, over which holes, how far back."""

from bisect import bisect_right
from collections.abc import Container
from datetime import datetime
from itertools import takewhile
from typing import Any, NamedTuple, cast

from slowwave.formats import Problem, SessionFiles, fields_of, object_in, parse_time
from slowwave.formats.claude.records import DECODER, ROWS, SPOKEN, Envelope, Node, Tree
from slowwave.formats.tail import Suffix

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
    gone = set(takewhile(lambda uuid: uuid != boundaries[-1].env.uuid, twin.by_uuid)) - set(kept)
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


def _metadata(boundary: Node) -> dict[str, Any]:
    return object_in(boundary.fields(), "compactMetadata")


def _preserves(boundary: Node) -> bool:
    metadata = _metadata(boundary)
    return any(isinstance(metadata.get(name), dict) for name in ("preservedMessages", "preservedSegment"))


def preserved(tree: Tree, metadata: dict[str, Any]) -> tuple[list[str], str | None] | None:
    """Return the ids that a compaction kept, oldest first, and the one they follow; None when one is lost."""
    listed = metadata.get("preservedMessages")
    if isinstance(listed, dict):
        named = fields_of(cast("object", listed))
        uuids = [str(u) for u in cast("list[object]", named.get("uuids") or [])]
        return (uuids, named.get("anchorUuid")) if all(u in tree.by_uuid for u in uuids) else None
    ends = object_in(metadata, "preservedSegment")
    found: list[str] = []
    for uuid in tree.walk(ends.get("tailUuid")):
        found.append(uuid)
        if uuid == ends.get("headUuid"):
            return found[::-1], ends.get("anchorUuid")
    return None


class Bridges:
    """The records of a session by time; of several with one time the first in the file counts."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._uuids: list[str] | None = None
        self._times: list[datetime] = []
        # of each record the nearest one before it that may still be unseen
        self._before: list[int] = []

    def over(self, node: Node, seen: Container[str]) -> str | None:
        """Return the record that stands for the lost parent of ``node``, None when there is none near enough."""
        own = parse_time(node.env.timestamp)
        if own is None:
            return None
        uuids = self._sorted()
        at = bisect_right(self._times, own) - 1
        passed: list[int] = []
        while at >= 0 and uuids[at] in seen:
            passed.append(at)
            at = self._before[at]
        for index in passed:
            self._before[index] = at
        is_near = at >= 0 and (own - self._times[at]).total_seconds() <= BRIDGE_S
        return uuids[at] if is_near else None

    def _sorted(self) -> list[str]:
        if self._uuids is None:
            stamps = [(parse_time(n.env.timestamp), -i, u) for i, (u, n) in enumerate(self._tree.by_uuid.items())]
            timed = sorted((at, rank, uuid) for at, rank, uuid in stamps if at is not None)
            self._times = [at for at, _, _ in timed]
            self._before = list(range(-1, len(timed) - 1))
            self._uuids = [uuid for _, _, uuid in timed]
        return self._uuids


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


# The record from which Claude Code 2.1 goes on when it resumes a session (client 2.1.330, read and tried).
#
# It is the one that the last ``last-prompt`` behind the last compaction names, or the last row of the file when that
# hangs below it, or when none is named. A row that stands in the file a second time counts where it stands last.


class Mark(NamedTuple):
    """What the last ``last-prompt`` says."""

    leaf: str | None = None  # the record that it names, None when there is none
    exact: bool = False  # exactly that record is meant, not what was said below it
    is_cleared: bool = False  # a rewind took back everything


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

    ``tree``: the records of the main conversation. ``is_kept``: a compaction preserved messages. A named record that
    was gone on from does not count then.
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
    return node.env.type in ROWS and node.env.uuid is not None


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
    below = tree.below([last]) - {last}
    return max((u for u in reversed(stamps) if u in below), key=lambda uuid: stamps[uuid], default=last)


# How Claude Code 2.1 goes on where a parent is lost: with the record nearest in time before the hole.
#
# A session whose every parent is lost has as many holes as records, so the times are sorted once, at the first hole.

# A lost parent is replaced by the nearest earlier record, when that is at most this old (client 2.1.330, measured).
BRIDGE_S = 5.0


# The part of a compacted Claude Code session that alone determines its context: the window of the last boundary.
#
# The window is the last ``compact_boundary`` record, everything behind it in the file, and the messages before it that
# its metadata preserves. When the conversation that goes on lies in it as a whole, nothing else counts: not for a
# reading of the whole file, and so a reading from the end gives the same. Where a parent, a named leaf or a preserved
# message lies outside, or the conversation does not come from that boundary (a rewind to before it), there is no
# window, and the whole session counts as before.

_MARK = b"compact_boundary"
# Sessions about transcripts speak of boundaries; past so many lines that only speak of one, all is read.
_MOST_HITS = 50


def window_of(tree: Tree) -> Tree | None:
    """Return the window of the last compaction, None when the whole session has to be looked at."""
    boundary = _boundary(tree)
    kept = None if boundary is None else _kept_before(tree, boundary)
    if boundary is None or kept is None:
        return None
    window = Tree([*kept, *tree.nodes[boundary.index :]], own=tree.own)
    inside = {node.index for node in kept} | {boundary.index}
    return window if _is_closed(window, inside) and _goes_on_from(window, boundary) else None


def tail_of(files: SessionFiles) -> tuple[Tree, list[Problem]] | None:
    """Return the window of a session and the problems in it when its last records hold one, else None."""
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
            return None if window is None else (window, [*files.problems, *suffix.problems])
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
    named = _metadata(boundary)
    listed = named.get("preservedMessages")
    if isinstance(listed, dict):
        if not object_in(named, "preservedMessages").get("uuids"):
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
