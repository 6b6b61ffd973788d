"""What Claude Code sends when a session is resumed."""

from collections.abc import Sequence

from slowwave.dialects.claude_messages import messages_of
from slowwave.dialects.claude_tree import Tree
from slowwave.dialects.model import Message


def context_of(tree: Tree) -> Sequence[Message]:
    """Return the messages of the live branch."""
    return [m for m in messages_of(tree.nodes, tree) if m.active and not m.sidechain]
