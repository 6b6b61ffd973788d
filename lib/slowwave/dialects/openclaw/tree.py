"""Which entries OpenClaw goes on from: pi's tree, whose leaf a record of its own can move, and the client's own index.

A ``leaf`` entry names the entry to go on from (``targetId``, null for none); it counts only when the file has that
entry before it, as the client demands. The next entry of any other type is the leaf again. Source: OpenClaw 2026.9.6.
"""

from slowwave.dialects.pi.load import Loaded
from slowwave.dialects.pi.records import Entry
from slowwave.dialects.pi.tree import live_entries, path_of

LEAF, RESET = "leaf", "reset"
OWN_TYPES = (LEAF, RESET)


def active_path(loaded: Loaded) -> list[Entry]:
    """Return the entries from the root to the leaf."""
    by_id: dict[str, Entry] = {}
    behind: dict[str, str | None] = {}
    told: list[Entry] = []
    leaf: Entry | None = None
    for entry in loaded.seen:
        if entry.parent in behind:
            entry.parent = behind[entry.parent]  # written under the record that moved the leaf
        if entry.type != LEAF:
            told.append(entry)
            leaf = entry
            if entry.id is not None:
                by_id[entry.id] = entry
            continue
        fields = entry.fields()
        target, appended = fields.get("targetId"), fields.get("appendParentId", fields.get("targetId"))
        if "targetId" in fields and all(
            name is None or (isinstance(name, str) and name in by_id) for name in (target, appended)
        ):
            leaf = by_id[target] if target is not None else None
            behind[entry.id or ""] = appended
    if leaf is None:
        return []
    if leaf is told[-1]:
        return path_of(told)
    return path_of([*(e for e in told if e is not leaf), leaf])


def resumed_path(path: list[Entry], entries: list[Entry]) -> list[Entry]:
    """Return the path that Clawdbot goes on from: without a last prompt that nobody answered.

    The client looks for it after it has noted which model it goes on with, when that is not noted yet; then the note
    is the last entry, and the prompt stays. Source: Clawdbot 2026.1.24.
    """
    if not path or path[-1].type != "message" or path[-1].role != "user":
        return path
    return path[:-1] if any(_is_model_note(entry) for entry in reversed(entries)) else path


def _is_model_note(entry: Entry) -> bool:
    if entry.type != "custom":
        return False
    fields = entry.fields()
    return fields.get("customType") == "model-snapshot" and isinstance(fields.get("data"), dict)


def active_entries(loaded: Loaded, path: list[Entry]) -> set[int] | None:
    """Return the identities of the entries that no rewind left behind, or None when that is all of them."""
    entries = [e for e in loaded.entries if e.type != "session"]
    if all(e.parent is None for e in entries):
        return None  # written without a tree: nothing can have been left
    if any(e.type == LEAF for e in entries):
        return {id(e) for e in path}
    return live_entries(loaded)
