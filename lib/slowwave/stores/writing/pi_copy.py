"""The lines of a copy of a pi session: all entries, or the path to one of them with its labels.

Ids stay, and so does every byte of an entry of version 3. Older entries are brought to version 3 first, since pi
migrates no file whose header says 3 (its own ``forkFrom`` loses messages that way, formats.md 6.9, defect 6).
"""

from collections.abc import Callable, Container, Iterator

import orjson

from slowwave.errors import UnreadableError, UsageError
from slowwave.formats.model import SessionFiles
from slowwave.formats.pi.encode import Place, label_line
from slowwave.formats.pi.records import Entry, Loaded, load, text_or_empty
from slowwave.formats.times import parse_time
from slowwave.stores.fork import with_value
from slowwave.stores.writing.lookup import unknown

_V2, _V3 = 2, 3


def copied(files: SessionFiles) -> Iterator[bytes]:
    """Yield every entry that pi would see, migrated, without the header.

    Raises:
        UnreadableError: pi would not take the file for a session.
    """
    loaded = _loaded(files)
    for entry in loaded.seen:
        if entry.type != "session":
            yield _migrated(entry, loaded)


def extracted(files: SessionFiles, entry_id: str, fresh: Callable[[Container[str]], str]) -> list[bytes]:
    """Return the entries on the path to one entry, then the labels of these entries, as ``createBranchedSession``.

    Label entries on the path are left out, as in pi; unlike there, what hung under one is hung under the entry before
    it, since a lost parent would hide everything before.

    Args:
        files: the session.
        entry_id: the last entry of the path.
        fresh: gives an id that is none of these.

    Raises:
        NotFoundError: no entry has this id.
        UsageError: the path holds no answer of the assistant: pi keeps no such file.
        UnreadableError: pi would not take the file for a session.
    """
    loaded = _loaded(files)
    entries = [e for e in loaded.seen if e.type != "session" and e.id is not None]
    path = [e for e in _path(entries, entry_id) if e.type != "label"]
    if not path:
        raise unknown(entry_id, files.id)
    if not any(e.role == "assistant" for e in path):
        raise UsageError(f"{files.id}: pi keeps no session without an answer; name a message after the first answer")
    lines: list[bytes] = []
    parent: str | None = None
    for entry in path:
        raw = _migrated(entry, loaded)
        lines.append(raw if entry.parent == parent else with_value(raw, "parentId", entry.parent, parent))
        parent = entry.id
    taken = {e.id for e in path if e.id is not None}
    for target, (label, stamp) in _labels(entries).items():
        if target in taken:
            own = fresh(taken)
            taken.add(own)
            at = parse_time(stamp)
            if at is not None:
                lines.append(label_line(target, label, place=Place(own, parent, at)).rstrip(b"\n"))
                parent = own
    return lines


def _loaded(files: SessionFiles) -> Loaded:
    loaded = load(files, [])
    if not loaded.seen:
        raise UnreadableError(files.paths[0], "begins with no header", "pi would begin a new session in this file")
    return loaded


def _path(entries: list[Entry], entry_id: str) -> list[Entry]:
    by_id = {e.id: e for e in entries}
    at = by_id.get(entry_id)
    path: list[Entry] = []
    seen: set[str | None] = set()
    while at is not None and at.id not in seen:
        seen.add(at.id)
        path.append(at)
        at = by_id.get(at.parent) if at.parent is not None else None
    return path[::-1]


def _labels(entries: list[Entry]) -> dict[str, tuple[str, str]]:
    """Return label and time by the entry that has it, as pi resolves them: the last one counts, an empty one clears."""
    labels: dict[str, tuple[str, str]] = {}
    for entry in entries:
        if entry.type == "label":
            fields = entry.fields()
            target, label = text_or_empty(fields.get("targetId")), text_or_empty(fields.get("label"))
            if label:
                labels[target] = label, text_or_empty(fields.get("timestamp"))
            else:
                labels.pop(target, None)
    return labels


def _migrated(entry: Entry, loaded: Loaded) -> bytes:
    """Return an entry as version 3 has it; only what the migration adds or renames changes."""
    raw = entry.span.raw
    if not loaded.version < _V3:
        return raw
    if entry.role == "custom" and b'"hookMessage"' in raw:
        raw = _renamed_role(raw, entry)
    if loaded.version < _V2:
        added: dict[str, object] = {"id": entry.id, "parentId": entry.parent}
        if entry.type == "compaction":
            added["firstKeptEntryId"] = loaded.kept.get(entry.id or "")
        raw = raw[:-1].rstrip() + b"," + orjson.dumps(added)[1:]
    return raw


def _renamed_role(raw: bytes, entry: Entry) -> bytes:
    message = bytes(entry.env.message)
    renamed = with_value(message, "role", "hookMessage", "custom")
    at = raw.find(message)
    if at >= 0:
        return raw[:at] + renamed + raw[at + len(message) :]
    return orjson.dumps(entry.fields() | {"message": orjson.loads(renamed)})
