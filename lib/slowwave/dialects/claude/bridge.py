"""How Claude Code 2.1 goes on where a parent is lost: with the record nearest in time before the hole.

A session whose every parent is lost has as many holes as records, so the times are sorted once, at the first hole.
"""

from bisect import bisect_right
from collections.abc import Container
from datetime import datetime

from slowwave.dialects.claude.records import Node
from slowwave.dialects.claude.tree import Tree
from slowwave.dialects.times import parse_time

# A lost parent is replaced by the nearest earlier record, when that is at most this old (client 2.1.330, measured).
BRIDGE_S = 5.0


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
