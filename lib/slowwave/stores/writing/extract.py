"""Which records make up the way to one message: what a branch that becomes a session of its own takes along."""

from slowwave.formats.cersei.dialect import CERSEI
from slowwave.formats.claude.dialect import CLAUDE
from slowwave.formats.claude.records import Node, Tree
from slowwave.formats.lines import read_records
from slowwave.formats.model import SessionFiles, Span
from slowwave.stores.fork import LINES, Place
from slowwave.stores.writing.lookup import unknown


def claude_path(files: SessionFiles, message_id: str) -> set[Place]:
    """Return the places of the records from the first message to this one, over compactions.

    Args:
        files: the session.
        message_id: a record's uuid, or the API's id of a message: then all its pieces are taken.

    Raises:
        NotFoundError: no record of the main conversation has it.
    """
    tree = CLAUDE.read(files).tree
    ends = [n for n in tree.by_uuid.values() if message_id in (n.env.uuid, _message_id(n))]
    if not ends:
        raise unknown(message_id, files.id)
    last = ends[-1]
    chain: set[str] = set()
    at: str | None = last.env.uuid
    while at is not None:
        above = at
        for above in tree.walk(at):
            chain.add(above)
        logical = tree.by_uuid[above].fields().get("logicalParentUuid") if above in tree.by_uuid else None
        at = logical if isinstance(logical, str) and logical in tree.by_uuid and logical not in chain else None
    chain |= _beside(tree, chain, last)
    # a uuid may stand on several records
    return {_place(n.span) for n in tree.nodes if n.env.uuid in chain}


def _beside(tree: Tree, chain: set[str], last: Node) -> set[str]:
    """Return the pieces and results of parallel tool calls that the walk misses, as far as they came before."""
    messages = {_message_id(tree.by_uuid[u]) for u in chain} - {None}
    pieces = {u for u, n in tree.by_uuid.items() if _message_id(n) in messages and n.index <= last.index}
    results = {
        u
        for u, n in tree.by_uuid.items()
        if n.index <= last.index and tree.parents[u] in pieces and b'"tool_result"' in n.span.raw
    }
    return pieces | results


def _message_id(node: Node) -> str | None:
    return node.env.message.id if node.env.type == "assistant" and node.env.message else None


def cersei_path(files: SessionFiles, message_id: str) -> set[Place]:
    """Return the places of the entries up to a message, and of the tombstones that concern them, wherever they lie.

    Raises:
        NotFoundError: no message that counts has this id.
    """
    shown = {m.id for m in CERSEI.read(files).messages}
    if message_id not in shown:
        raise unknown(message_id, files.id)
    entries = [
        (span, line) for part, path in enumerate(files.paths) for span, line in read_records(path, LINES, [], part=part)
    ]
    end = next(i for i, (_, line) in enumerate(entries) if line.uuid == message_id)
    taken = {line.uuid for _, line in entries[: end + 1]}
    return {_place(span) for i, (span, line) in enumerate(entries) if i <= end or line.deleted_uuid in taken - {None}}


def _place(span: Span) -> Place:
    return span.part, span.offset
