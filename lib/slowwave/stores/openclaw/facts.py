"""What a store tells of the sessions beside it, in short: read again only when the file was replaced or changed."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from slowwave.errors import UnreadableError
from slowwave.formats.model import SessionOrigin
from slowwave.formats.openclaw.keys import parse_key
from slowwave.stores.model import StoreProblem
from slowwave.stores.openclaw.entries import SessionEntry
from slowwave.stores.openclaw.store import NAME, SessionStore, read_store
from slowwave.stores.openclaw.transcripts import artifact_of, is_safe_id, transcript_path

_MOST_STORES = 64


class Facts(NamedTuple):
    """One entry of a store.

    Attributes:
        key: the session key.
        title: the label that a person gave, else the client's name for it.
        is_side: another session started it, and it belongs to that one; a job's or a hook's belongs to none.
        parent: the id of the session that started it, where the store still knows that one.
        origin: who began it, as far as its key tells.
    """

    key: str
    title: str
    is_side: bool
    parent: str = ""
    origin: SessionOrigin = ""

    @property
    def told(self) -> str:
        """What the kind of its session rests on; not the parent, whose key names another session after a reset."""
        return f"{'side' if self.is_side else 'main'} {self.origin}"


class StoreFacts(NamedTuple):
    """All entries of a store by the stem of their transcript's name, and what was odd about them."""

    by_stem: Mapping[str, Facts]
    problems: tuple[StoreProblem, ...]


_NOTHING = StoreFacts({}, ())
_known: dict[str, tuple[tuple[int, int, int], StoreFacts]] = {}


def facts_beside(folder: str) -> StoreFacts:
    """Return what the store in a folder tells; a store that cannot be read is a problem, and tells nothing."""
    path = Path(folder, NAME)
    try:
        at = path.stat()
    except FileNotFoundError:
        return _NOTHING
    except OSError as error:
        return StoreFacts({}, (StoreProblem("unreadable", os.fspath(path), error.strerror or "no stat"),))
    seen = (at.st_ino, at.st_size, at.st_mtime_ns)
    known = _known.get(folder)
    if known is not None and known[0] == seen:
        return known[1]
    if len(_known) >= _MOST_STORES:
        _known.clear()
    facts = _read(path)
    _known[folder] = (seen, facts)
    return facts


def _read(path: Path) -> StoreFacts:
    try:
        store = read_store(path)
    except UnreadableError as error:
        return StoreFacts({}, (StoreProblem("damaged", os.fspath(path), error.reason),))
    problems: list[StoreProblem] = []
    if store.odd:
        problems.append(StoreProblem("damaged", os.fspath(path), f"{len(store.odd)} keys without an entry"))
    stems = {key: _stem(path.parent, entry, problems) for key, entry in store.items()}
    facts = {stem: _facts(key, entry, stems) for key, entry in store.items() if (stem := stems[key])}
    return StoreFacts(facts, tuple(problems))


def stems_beside(store: SessionStore) -> dict[str, str]:
    """Return for every session key the name that its transcript has beside the store, "" where there is none."""
    return {key: _stem(store.path.parent, entry, []) for key, entry in store.items()}


def _stem(folder: Path, entry: SessionEntry, problems: list[StoreProblem]) -> str:
    """Return the name that the transcript of an entry has here, "" when it has none."""
    named, own = entry.text("sessionFile"), entry.text("sessionId")
    if not named and is_safe_id(own):
        return own
    # most stores name each file in full; looking up every link in it would be most of the work of a listing
    beside, _, name = named.rpartition("/")
    if not (name and beside in ("", os.fspath(folder))):
        transcript = transcript_path(folder, entry, problems)
        name = transcript.name if transcript is not None else ""
    found = artifact_of(name)
    return f"{found.session}-topic-{found.topic}" if found.topic else found.session


def _facts(key: str, entry: SessionEntry, stems: Mapping[str, str]) -> Facts:
    title = next((t for name in ("label", "displayName", "subject") if (t := entry.text(name))), "")
    spawned = entry.text("spawnedBy")
    parsed = parse_key(key)
    origin = "" if spawned else parsed.origin
    return Facts(key, title, bool(spawned) or parsed.is_agents, stems.get(spawned, ""), origin)
