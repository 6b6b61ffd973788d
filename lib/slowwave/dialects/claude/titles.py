"""The title of a Claude Code session, from the newest record that gives one."""

from slowwave.dialects.claude.records import Node
from slowwave.dialects.claude.tree import Tree

# Strongest first: a person's own title, then a generated one, then an agent's name.
_TITLES = (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("agent-name", "agentName"))


def title_of(nodes: list[Node], tree: Tree) -> str:
    """Return the title that the client shows, or "".

    ``summary`` records are titles of any session of the project (client 1.0 writes them into whichever file it has
    open), so one counts only when its ``leafUuid`` lies in this file.
    """
    found: dict[str, str] = {}
    for node in nodes:
        kind = node.env.type or ""
        if kind == "summary":
            fields = node.fields()
            leaf = fields.get("leafUuid")
            if isinstance(leaf, str) and leaf in tree.by_uuid:
                found[kind] = str(fields.get("summary") or "")
        elif kind in ("custom-title", "ai-title", "agent-name"):
            found[kind] = str(node.fields().get(dict(_TITLES)[kind]) or "")
    return next((found[k] for k in ("custom-title", "ai-title", "agent-name", "summary") if found.get(k)), "")
