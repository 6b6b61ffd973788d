"""The parent graph of a Claude Code session: which records belong to the conversation that goes on.

The graph forks for two reasons. Parallel tool calls hang each result under the piece of the message that made the
call, so the walk from the last record to the root alone misses 11.7 % of all tool results in real sessions. A rewind
hangs a second prompt under an older record and leaves the old branch where it is, without any mark.
"""

from collections.abc import Callable, Iterator

from slowwave.dialects.claude.records import Node

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
