"""What maintenance of a JSON store is decided about: its entries, the files beside them, and the client's settings."""

import os
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from slowwave.errors import UnreadableError
from slowwave.stores.belongings import transcript_of
from slowwave.stores.openclaw.entries import Origin, SessionEntry
from slowwave.stores.openclaw.store import NAME, read_store
from slowwave.stores.openclaw.transcripts import artifact_of
from slowwave.stores.openclaw.upkeep import Beside, Kept

# what the settings of the client are called, today and before
_SETTINGS = ("openclaw.json", "moltbot.json", "clawdbot.json")
_CHECKPOINTS = ("preCompaction", "postCompaction")


class Looked(NamedTuple):
    """A store as it is."""

    entries: list[Kept]
    files: list[Beside]


def look_at(folder: Path) -> Looked:
    """Return the entries and files of the store in a folder.

    Raises:
        UnreadableError: the store cannot be read.
        OSError: the folder cannot be listed.
    """
    with os.scandir(folder) as found:
        files = [
            Beside(entry.name, at.st_size, at.st_mtime_ns / 1e6)
            for entry in found
            if entry.is_file(follow_symlinks=False) and (at := entry.stat())
        ]
    runs: dict[str, list[str]] = defaultdict(list)
    for file in files:
        if (own := artifact_of(file.name)).kind == "trajectory":
            runs[own.session].append(file.name)
    store = read_store(folder / NAME)
    return Looked([_kept(folder, key, entry, runs) for key, entry in store.items()], files)


def client_session_settings(folder: Path) -> Mapping[str, object]:
    """Return the part ``session`` of the client's settings, for its store in ``<state>/agents/<agent>/sessions``.

    Raises:
        UnreadableError: they cannot be read; what the client would do is not known then.
    """
    for name in _SETTINGS:
        path = folder.parent.parent.parent / name
        if path.is_file():
            part = _settings(path).get("session")
            return cast("Mapping[str, object]", part) if isinstance(part, Mapping) else {}
    return {}


def _settings(path: Path) -> Mapping[str, object]:
    import pyjson5  # noqa: PLC0415 - only where this client is

    try:
        value: object = pyjson5.decode_utf8(path.read_bytes())
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error
    except (pyjson5.Json5Exception, ValueError, RecursionError) as error:
        raise UnreadableError(path, "is neither JSON nor JSON5", "repair the settings of the client") from error
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _kept(folder: Path, key: str, entry: SessionEntry, runs: Mapping[str, list[str]]) -> Kept:
    path = transcript_of(folder, key, entry)
    own = (path.name, *runs.get(artifact_of(path.name).session, ())) if path is not None else ()
    is_kept = "archivedAt" in entry.fields or "pinnedAt" in entry.fields or entry.get("modelSelectionLocked") is True
    origin = entry.get("origin")
    told = origin.chat_type if isinstance(origin, Origin) else None
    chat = entry.text("chatType") or told or ""
    return Kept(key, entry.number("updatedAt"), own, tuple(_checkpoints(entry)), chat, is_kept)


def _checkpoints(entry: SessionEntry) -> list[str]:
    """Return the names of the files that an entry's checkpoints lead to."""
    found: Any = entry.get("compactionCheckpoints")
    names: list[str] = []
    for one in cast("list[Any]", found) if isinstance(found, list) else ():
        for side in _CHECKPOINTS:
            part: Any = cast("dict[str, Any]", one).get(side) if isinstance(one, dict) else None
            named: Any = cast("dict[str, Any]", part).get("sessionFile") if isinstance(part, dict) else None
            if isinstance(named, str) and named.strip():
                names.append(Path(named.strip()).name)
    return names
