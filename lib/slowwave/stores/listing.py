"""List every session of the stores from the catalogue: the rows behind ``slowwave sessions list``."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from slowwave.errors import UnknownDialectError
from slowwave.settings import Settings
from slowwave.stores.catalogue import Catalogue, Entry
from slowwave.stores.discovery import REMEDY, home_of, spelling_key
from slowwave.stores.model import StoreProblem, StoreProblemKind
from slowwave.stores.roots import store_folders
from slowwave.stores.walk import Walk


class SessionRow(msgspec.Struct, gc=False):
    """One session of a listing; the fields that other programs rely on."""

    dialect: str
    id: str
    path: str
    parts: int
    project: str
    title: str
    first_prompt: str
    records: int
    messages: int
    bad_lines: int
    bytes: int
    created: str | None
    last_activity: str
    kind: str
    tool_calls: int
    cwd: str


@dataclass(slots=True)
class Listing:
    """Rows, newest activity first, and everything that was left out."""

    rows: list[SessionRow] = field(default_factory=list[SessionRow])
    problems: list[StoreProblem] = field(default_factory=list[StoreProblem])


def list_sessions(settings: Settings, environ: Mapping[str, str], catalogue: Catalogue) -> Listing:
    """Return a row for every session under the roots; only what changed since the last listing is read.

    Raises:
        UnreadableError: a root is missing, a file, or unreadable.
        UnknownDialectError: a root holds transcripts, and not one of them is of a known dialect.
    """
    listing = Listing()
    walk = Walk.begin(listing.problems)
    groups: dict[tuple[str, str], dict[str, list[Entry]]] = {}
    for root in store_folders(settings, environ, listing.problems):
        strangers = known = 0
        for folder in root.folders:
            parent, _, name = folder.rpartition("/")
            entries = catalogue.refresh_folder(folder, walk.sessions(folder))
            sessions = [entry for entry in entries if not entry.problem]
            groups.setdefault((parent, spelling_key(name)), {})[folder] = sessions
            if len(sessions) < len(entries):
                listing.problems += [_problem(entry) for entry in entries if entry.problem]
            strangers += len(entries) - len(sessions)
            known += len(sessions)
        if strangers and not known and not root.has_memory:
            raise UnknownDialectError(root.path, f"no transcript of a known dialect in it ({strangers} seen)", REMEDY)
    for folders in groups.values():
        project = os.path.basename(home_of(list(folders)))  # noqa: PTH119 - a name as it is on disk, any bytes
        listing.rows += _rows(project, [entry for entries in folders.values() for entry in entries])
    listing.rows.sort(key=lambda row: row.last_activity, reverse=True)
    return listing


def _problem(entry: Entry) -> StoreProblem:
    kind, _, detail = entry.problem.partition(": ")
    return StoreProblem(msgspec.convert(kind, StoreProblemKind), entry.found.path, detail)


def _rows(project: str, entries: list[Entry]) -> list[SessionRow]:
    """Return the rows of one project; what only its sessions together tell is added here.

    Client 1.0 writes a session's title into whichever file it has open, and a fork is known by the first message that
    it shares with an older session.
    """
    leaves: dict[str, str] = {}
    for entry in entries:
        if entry.leaves:
            leaves.update(msgspec.msgpack.decode(entry.leaves, type=dict[str, str]))
    origins = _origins(entries)
    rows: list[SessionRow] = []
    for entry in entries:
        found = entry.found
        kind = "subagent" if entry.side else "main"
        if kind == "main" and (entry.is_fork or origins.get(entry.first_uuid, entry) is not entry):
            kind = "fork"
        title = entry.title or (leaves.get(entry.last_uuid, "") if leaves else "")
        row = SessionRow(
            entry.dialect, found.id, found.path, len(found.files), project, title, entry.first_prompt,
            entry.records, entry.messages, entry.bad_lines, found.size, entry.created or None,
            entry.last_activity or _iso(found.mtime_ns), kind, entry.tool_calls, entry.cwd,
        )  # fmt: skip
        rows.append(row)
    return rows


def _origins(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Return by the id of a first message the session that began with it first."""
    origins: dict[str, Entry] = {}
    for entry in entries:
        if entry.first_uuid and not entry.side:
            other = origins.setdefault(entry.first_uuid, entry)
            if other is not entry and (entry.is_fork, entry.created) < (other.is_fork, other.created):
                origins[entry.first_uuid] = entry
    return origins


def _iso(mtime_ns: int) -> str:
    return datetime.fromtimestamp(mtime_ns / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
