"""The tree of a pi session: the path that its client goes on from, and the branches that were left behind.

The leaf is the last entry of the file, of whatever type; ``branch`` in the client moves it without a record, the next
append tells. Parents are followed by id; a cycle, on which pi hangs for ever, ends the walk here.
"""

from slowwave.dialects.pi.load import Loaded
from slowwave.dialects.pi.records import Entry


def path_of(entries: list[Entry]) -> list[Entry]:
    """Return the entries from the root to the leaf, as pi's own ``buildSessionContext`` walks them.

    The walk ends at a parent that the file does not have: what stood before such a hole is not sent.
    """
    inner = [e for e in entries if e.type != "session"]
    if not inner:
        return []
    by_id = {e.id: e for e in inner if e.id is not None}
    at: Entry | None = inner[-1] if inner[-1].id is None else by_id[inner[-1].id]
    path: list[Entry] = []
    seen: set[int] = set()
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        path.append(at)
        at = by_id.get(at.parent) if at.parent is not None else None
    path.reverse()
    return path


def live_entries(loaded: Loaded) -> set[int] | None:
    """Return the identities (``id()``) of the entries that no rewind left behind, or None when that is all of them.

    Unlike :func:`path_of` this bridges damage: where a parent is missing, or an entry has no id at all, the walk goes
    on with the entry that stands before it in the file, since nobody left that one behind.
    """
    entries = [e for e in loaded.entries if e.type != "session"]
    if loaded.version < 2 or _is_chain(entries):  # noqa: PLR2004  # version 1 is linear
        return None
    rank = {id(e): i for i, e in enumerate(entries)}
    by_id = {e.id: e for e in entries if e.id is not None}
    live: set[int] = set()
    at = len(entries) - 1
    while at >= 0 and at not in live:
        live.add(at)
        entry = entries[at]
        if entry.parent in by_id:
            at = rank[id(by_id[entry.parent])]
        elif entry.parent is not None or entry.id is None:
            at -= 1
        else:
            break
    return {id(entries[i]) for i in live}


def _is_chain(entries: list[Entry]) -> bool:
    """Say whether every entry hangs under the one before it, as in most sessions."""
    before: str | None = None
    for entry in entries:
        if entry.id is None or entry.parent != before:
            return False
        before = entry.id
    return True
