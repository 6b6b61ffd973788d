"""opencode: ``~/.local/share/opencode/opencode.db``, and the JSON storage trees of earlier versions beside it.

The client copied its trees into the database when it got one and left them where they were; a session that is in both
counts once, as the database has it.
"""

import os
import re
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.errors import UnreadableError
from slowwave.files import home_folder
from slowwave.formats import object_in, text_in, whole
from slowwave.formats.client import Client, CompactionRules, DeliveryRules, Guess, Home
from slowwave.formats.sessions import (
    FoundFile,
    FoundSession,
    K,
    Place,
    StoredSession,
    StoreProblem,
    Walk,
    key_in_database,
    listed,
)
from slowwave.quantities import counted

if TYPE_CHECKING:
    from slowwave.formats.opencode.records import Session


OPENCODE_FOLDER = "opencode"
# Other channels of the client than the released one have databases of their own.
_OPENCODE_DATABASE = re.compile(r"opencode(?:-[\w.-]+)?\.db")
_STORAGE, _PROJECTS, _SESSION, _INFO = "storage", "project", "session", "info"
_MESSAGE = "message"
_NS = 1_000_000


class Opencode(Client):
    """opencode, whose data folder is a root; each database and each storage tree in it is a place."""

    name = "opencode"
    shows = "opencode (an export, a session file or its database)"
    home = Home(f".local/share/{OPENCODE_FOLDER}", "XDG_DATA_HOME", OPENCODE_FOLDER)
    reader = "opencode.dialect:OPENCODE"
    read_only = (
        "its sessions are rows of a database that only its client writes; `slowwave sessions export`"
        " writes a file that its own import adds"
    )
    is_lines = False
    has_databases = True
    resume = ("opencode", "--session", "ID")
    tested = "1.18.33"
    guess = Guess(rounds="nearest")
    compacting = CompactionRules(no_clearing="the mark is in opencode's own database, which is never written")
    delivery = DeliveryRules(reads_agents=True, or_claude=True, command="command/NAME.md")

    def marks(self, record: dict[str, object]) -> bool:
        """Say whether an object is an export of opencode, or a session of its storage trees."""
        if "info" in record and "messages" in record:
            return isinstance(record["info"], dict | None) and isinstance(record["messages"], list | None)
        if "type" in record or "role" in record or not isinstance(record.get("id"), str):
            return False
        return isinstance(record.get("time"), dict) and ("projectID" in record or {"title", "version"} <= record.keys())

    def marks_tables(self, tables: frozenset[str]) -> bool:
        """Say whether a database with these tables is opencode's."""
        return {"session", "message", "part"} <= tables

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:  # noqa: ARG002
        """Return its databases, its storage tree, and those of the projects of its first versions."""
        trees = [root, root / _STORAGE, *sorted((root / _PROJECTS).glob(f"*/{_STORAGE}"))]
        found = sorted(entry for entry in os.listdir(root) if _OPENCODE_DATABASE.fullmatch(entry))  # noqa: PTH208 - names only
        places = [Place(self.name, f"{root}/{name}") for name in found]
        places += [Place(self.name, os.fspath(tree)) for tree in trees if _is_tree(tree)]
        # A data folder in which nobody has talked yet.
        return places or ([] if root.name == OPENCODE_FOLDER and _STORAGE in names else None)

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the sessions of a database or a tree, except those that are known and have not changed."""
        if _OPENCODE_DATABASE.fullmatch(os.path.basename(place.path)):  # noqa: PTH119 - a name as it is on disk
            yield from _of_database(place.path, walk)
        else:
            yield from _of_tree(place.path, walk)

    def settings_home(self, environ: Mapping[str, str]) -> Path:
        """Return the folder of its settings: ``$XDG_CONFIG_HOME/opencode``, else ``~/.config/opencode``."""
        return Path(environ.get("XDG_CONFIG_HOME") or home_folder(environ) / ".config") / OPENCODE_FOLDER

    def facts_at(self, path: str) -> str:
        """Return the database, or the file of a session in a tree."""
        return path

    def facts(self, place: Path) -> Mapping[str, Mapping[str, Any]]:
        """Return statistics, costs and permissions of sessions."""
        if place.suffix == ".json":
            fields = whole(place.read_bytes())
            return {str(fields.get("id")): _of_opencode(fields)}
        return _of_opencode_rows(place)

    def beside(self, session: StoredSession, path: Path) -> Iterator[Path]:
        """Yield the files of a session's messages and parts."""
        if not session.in_database:
            from slowwave.formats.opencode.dialect import Tree  # noqa: PLC0415 - few stores are opencode's

            yield from Tree(path, []).paths[1:]


def _is_tree(folder: Path) -> bool:
    """Say whether messages lie beside the sessions, or in the first versions infos among them."""
    sessions = folder / _SESSION
    return sessions.is_dir() and ((folder / _MESSAGE).is_dir() or (sessions / _INFO).is_dir())


def _of_database(path: str, walk: Walk[K]) -> list[FoundSession]:
    """Return what is new in a database: all is looked at in one transaction, so that it is of one moment."""
    from slowwave.formats.database import opened_of  # noqa: PLC0415 - few stores are opencode's
    from slowwave.formats.opencode.dialect import Rows  # noqa: PLC0415 - as above

    folder, _, name = path.rpartition("/")
    try:
        at = os.stat(path)  # noqa: PTH116 - once a place
        with opened_of(Path(path), "opencode") as database:
            rows = Rows(database)
            found: list[FoundSession] = []
            for session, updated, number in rows.changes():
                # A message that came or went without a new time shows below the millisecond.
                changed = updated * _NS + number % _NS
                old = walk.known.get(key_in_database(path, session))
                if old is not None and (old.mtime_ns, old.dev, old.ino) == (changed, at.st_dev, at.st_ino):
                    walk.kept.append(old)
                    continue
                file = FoundFile(name, rows.size(session), changed, at.st_dev, at.st_ino)
                found.append(_session(folder, session, file, rows.session(session), in_database=True))
            return found
    except UnreadableError as error:
        walk.problems.append(StoreProblem("unreadable", path, error.reason))
    except OSError as error:
        walk.problems.append(StoreProblem("unreadable", path, error.strerror or "no stat"))
    return []


def _of_tree(storage: str, walk: Walk[K]) -> Iterator[FoundSession]:
    twice = 0
    moved = _ids_in_databases(storage, walk.problems)
    for folder in _folders_of_sessions(storage, walk.problems):
        for name in listed(folder, walk.problems):
            if not name.endswith(".json") or name[0] == ".":
                continue
            if name[: -len(".json")] in moved:
                twice += 1
            elif (found := _in_tree(storage, folder, name, walk)) is not None:
                yield found
    if twice:
        detail = f"in the database beside it, too, and read from there: {counted(twice, 'session')}"
        walk.problems.append(StoreProblem("duplicate", storage, detail))


def _ids_in_databases(storage: str, problems: list[StoreProblem]) -> set[str]:
    """Return the ids of the sessions in the databases of the data folder that a tree belongs to."""
    from slowwave.formats.database import opened_of  # noqa: PLC0415 - few stores are opencode's
    from slowwave.formats.opencode.dialect import Rows  # noqa: PLC0415 - as above

    root = Path(storage).parent
    if root.parent.name == _PROJECTS:
        root = root.parents[1]
    found: set[str] = set()
    for name in listed(os.fspath(root), problems):
        if _OPENCODE_DATABASE.fullmatch(name):
            try:
                with opened_of(root / name, "opencode") as database:
                    found |= Rows(database).ids()
            except UnreadableError as error:
                detail = f"{error.reason}; sessions that it has a copy of may be counted twice"
                problems.append(StoreProblem("unreadable", f"{root}/{name}", detail))
    return found


def _folders_of_sessions(storage: str, problems: list[StoreProblem]) -> list[str]:
    """Return ``session/info`` of the first versions, or the folder of each project of the later ones."""
    base = f"{storage}/{_SESSION}"
    names = listed(base, problems)
    folders = [f"{base}/{_INFO}"] if _INFO in names else [f"{base}/{name}" for name in names]
    return [folder for folder in folders if os.path.isdir(folder)]  # noqa: PTH112 - no pathlib in the walk


def _in_tree(storage: str, folder: str, name: str, walk: Walk[K]) -> FoundSession | None:
    """Return a session of a tree, or None when it is known and has no new message."""
    from slowwave.formats.opencode.dialect import directory_in, session_in_file  # noqa: PLC0415 - as above

    path = f"{folder}/{name}"
    if walk.leads_out(path):
        return None
    identity = name[: -len(".json")]
    messages = f"{storage}/{_SESSION}/message/{identity}" if folder.endswith(_INFO) else f"{storage}/message/{identity}"
    try:
        at = os.stat(path)  # noqa: PTH116 - no pathlib in the walk
        # A new message changes its folder, also with versions that do not note it in the session's own file.
        changed = max(at.st_mtime_ns, _mtime(messages))
        old = walk.known.get(path)
        if old is not None and (old.mtime_ns, old.dev, old.ino) == (changed, at.st_dev, at.st_ino):
            walk.kept.append(old)
            return None
        seen = session_in_file(Path(path))
    except OSError as error:
        walk.problems.append(StoreProblem("unreadable", path, error.strerror or "no stat"))
        return None
    except UnreadableError as error:
        walk.problems.append(StoreProblem("unreadable", path, error.reason))
        return None
    size = at.st_size + _bytes_below(storage, folder, messages)
    found = _session(folder, identity, FoundFile(name, size, changed, at.st_dev, at.st_ino), seen)
    found.cwd = found.cwd or directory_in(Path(messages))
    return found


def _bytes_below(storage: str, folder: str, messages: str) -> int:
    """Return the size of all files of a session's messages and parts."""
    parts = f"{storage}/{_SESSION}/part/{os.path.basename(messages)}" if folder.endswith(_INFO) else f"{storage}/part"  # noqa: PTH119
    size = 0
    for name, at in _files(messages):
        size += at + sum(part for _, part in _files(f"{parts}/{name.removesuffix('.json')}"))
    return size


def _files(folder: str) -> list[tuple[str, int]]:
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.stat().st_size) for entry in entries if entry.name.endswith(".json")]
    except OSError:
        return []  # a session without messages, a message without parts; the reader reports what it cannot read


def _mtime(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 - no pathlib in the walk
    except OSError:
        return 0


def _session(folder: str, name: str, file: FoundFile, seen: "Session", *, in_database: bool = False) -> FoundSession:
    return FoundSession(
        folder,
        name,
        [file],
        side=bool(seen.parent),
        dialect="opencode",
        cwd=seen.directory,
        kind=seen.kind,
        source="archived" if seen.is_archived else "",
        in_database=in_database,
    )


_STATISTICS = ("additions", "deletions", "files")
# columns of opencode's table of sessions
_COLUMNS = ("share_url", "cost", "tokens_input", "tokens_output", "tokens_cache_read", "time_archived")


def _of_opencode_rows(database: Path) -> Mapping[str, Mapping[str, Any]]:
    from slowwave.formats.database import by_column, opened_read_only  # noqa: PLC0415 - few stores are databases

    with opened_read_only(database) as rows:
        found = list(by_column(rows.execute("SELECT * FROM session")))
    return {text_in(fields, "id"): _of_opencode(fields) for fields in found}


def _of_opencode(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    given = object_in(fields, "summary")
    counts: dict[str, Any] = {name: given.get(name, fields.get(f"summary_{name}")) for name in _STATISTICS}
    told: dict[str, Any] = {name: value for name in _COLUMNS if (value := fields.get(name)) is not None}
    if any(value is not None for value in counts.values()):
        told["summary"] = counts
    permission = fields.get("permission")
    if isinstance(permission, str):
        permission = whole(b'{"rules":' + permission.encode("utf-8", "replace") + b"}").get("rules")
    return told | ({"permission": permission} if permission else {})


CLIENT = Opencode()
