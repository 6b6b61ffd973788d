"""An archived session laid out as it lay in its place, in a private folder, so that every reader reads it as ever.

The folder lies in the state folder, is locked as long as it is read, and goes when reading ends; what a killed process
left is cleared away by the next one. Where sessions refer to others by their place, those are laid out beside it:
archived ones from their packs, others as links.
"""

import fcntl
import os
import secrets
import shutil
from collections.abc import Container, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from slowwave.errors import CorruptStateError
from slowwave.files import archive_folder, private_folder, state_folder, write_all
from slowwave.formats.registry import client_of
from slowwave.formats.sessions import FoundFile, FoundSession, StoreProblem
from slowwave.secrets.blocklist import Blocked
from slowwave.settings import Settings
from slowwave.stores.archive.pack import Pack, PackedFile
from slowwave.stores.archive.shelf import Shelf, Shelved, rows_of
from slowwave.stores.catalogue import PROBLEM, is_erased, shown_of
from slowwave.stores.roots import session_of_path
from slowwave.stores.summary import SessionRow
from slowwave.stores.trash import TrashItem, trash_folder

FOLDER = "opened"


@contextmanager
def laid_out(
    one: Shelved, row: SessionRow, environ: Mapping[str, str], *, around: bool = False, shelf: Shelf | None = None
) -> Generator[tuple[FoundSession, str]]:
    """Yield a session that can be read, and the folder in which its paths begin anew.

    Args:
        one: the archived session.
        row: its own row, or that of one of its sub-agents: which of its files is to be read.
        environ: names the state folder and the archive.
        around: lay out the sessions of its folder, too, archived or not.
        shelf: the archive, when some of its tables were read already.

    Raises CorruptStateError: its pack is damaged; OSError: there is no room for it.
    """
    with private_place(state_folder(environ) / FOLDER) as base:
        shelf = shelf or Shelf(archive_folder(environ))
        _lay_out(shelf, [one], base)
        # where the session's client keeps those that it may refer to
        store = client_of(row.dialect).store_of(Path(str(one.session.row.get("path") or row.path)))
        if store is not None and (around or client_of(row.dialect).refers == "id"):
            others = _archived_in(store, shelf) if around else _ancestors(row, shelf)
            _lay_out(shelf, others, base)
            _overlay(store, Path(f"{base}{store}"), client_of(row.dialect).store_names)
        at = session_of_path(Path(f"{base}{row.path}"))
        yield (
            FoundSession(
                at.folder, row.id, at.files, row.kind == "subagent", at.numbers, row.dialect, row.cwd,
                source="archived", parent=row.parent, origin=row.origin,
            ),
            str(base),
        )  # fmt: skip


@contextmanager
def laid_out_file(one: Shelved, path: Path, environ: Mapping[str, str]) -> Generator[Path]:
    """Yield where one file of a session can be read, alone.

    Raises CorruptStateError: its pack is damaged; OSError: there is no room for it.
    """
    with private_place(state_folder(environ) / FOLDER) as base, Pack(one.pack) as pack:
        for file in one.session.files:
            if file.path == str(path):
                _put(pack, file, base)
        yield Path(f"{base}{path}")


def clear_away(folder: Path) -> None:
    """Remove what killed processes left in the folder of laid-out sessions; what is being read stays.

    Raises OSError: something cannot be removed.
    """
    for path in folder.iterdir() if folder.is_dir() else ():
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            shutil.rmtree(path)
        finally:
            os.close(fd)


@contextmanager
def private_place(folder: Path) -> Generator[Path]:
    """Make a folder of one's own, and remove it in the end."""
    private_folder(folder)
    path = folder / secrets.token_hex(8)
    # nobody may clear away what was made and is not locked yet
    gate = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(gate, fcntl.LOCK_EX)
        clear_away(folder)
        path.mkdir(mode=0o700)
        own = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(own, fcntl.LOCK_EX)
    finally:
        os.close(gate)
    try:
        yield path.resolve()
    finally:
        shutil.rmtree(path)
        os.close(own)


def _lay_out(shelf: Shelf, sessions: Iterable[Shelved], base: Path) -> None:
    for one in sessions:
        with shelf.open(one.pack) as pack:
            for file in one.session.files:
                _put(pack, file, base)


def _put(pack: Pack, file: PackedFile, base: Path) -> None:
    if not file.path.startswith("/") or ".." in file.path.split("/"):
        raise CorruptStateError(pack.path, f"{file.path!r} is not a file's place", "put the pack back from a copy")
    path = Path(f"{base}{file.path}")
    folder = path if file.kind == "folder" else path.parent
    private_folder(folder)
    if file.kind == "folder" or os.path.lexists(path):
        return
    if file.kind == "link":
        path.symlink_to(file.hash)
        return
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        for block in pack.blocks(file):
            write_all(fd, block)
        os.utime(fd, ns=(file.mtime_ns, file.mtime_ns))
    finally:
        os.close(fd)


def _ancestors(row: SessionRow, shelf: Shelf) -> list[Shelved]:
    """Return the archived sessions that a fork by reference (Codex) is read together with."""
    found: dict[str, Shelved] = {}
    parent = row.parent
    while parent and parent not in found and (archived := shelf.find(parent)):
        found[parent] = archived[0]
        parent = str(archived[0].session.row.get("parent", ""))
    return list(found.values())


def _archived_in(store: Path, shelf: Shelf) -> list[Shelved]:
    return [one for one in shelf.latest() if any(file.path.startswith(f"{store}/") for file in one.session.files)]


def _overlay(there: Path, here: Path, names: Iterable[str] | None = None) -> None:
    """Link what a folder has and its double has not."""
    if not there.is_dir():
        return
    private_folder(here)
    for path in [there / name for name in names] if names is not None else list(there.iterdir()):
        double = here / path.name
        if not os.path.lexists(double) and os.path.lexists(path):
            double.symlink_to(path)
        elif double.is_dir() and not double.is_symlink() and path.is_dir():
            _overlay(path, double)


# Archived sessions among those that lie in their place: each is listed once, from under the roots that are named.


class Archived(NamedTuple):
    """A session that is archived, or a sub-agent's that went with one: where it lies, and its row."""

    shelved: Shelved
    row: SessionRow

    def as_found(self) -> FoundSession:
        """Return it as the walk found it in its place."""
        folder, _, name = self.row.path.rpartition("/")
        packed = next((file for file in self.shelved.session.files if file.path == self.row.path), None)
        file = FoundFile(name, self.row.bytes, packed.mtime_ns if packed else 0, 0, 0)
        row = self.row
        side = row.kind == "subagent"
        return FoundSession(folder, row.id, [file], side, [], row.dialect, row.cwd, source="archived")


def archived_rows(
    settings: Settings,
    environ: Mapping[str, str],
    present: Sequence[SessionRow],
    problems: list[StoreProblem],
    blocked: Blocked | None = None,
) -> list[SessionRow]:
    """Return the rows of what was archived and does not lie in its place; no frame of a pack is read.

    ``settings``: name the roots. ``environ``: names the folder of the archive. ``present``: the rows of what lies in
    its place. ``problems``: packs that cannot be read are added, and what was erased. ``blocked``: what was erased, and
    may be here again with an older copy of the archive.
    """
    moved = {_name(row) for row in present}
    there = {row.path for row in present}
    rows: list[SessionRow] = []
    for one in _absent(settings, environ, there, problems):
        if blocked is not None and is_erased(one.as_found(), blocked):
            problems.append(StoreProblem("blocked", one.row.path, PROBLEM.partition(": ")[2]))
        elif _name(one.row) not in moved:
            one.row.title = shown_of(one.row.title, blocked)
            one.row.first_prompt = shown_of(one.row.first_prompt, blocked)
            rows.append(one.row)
    return rows


def archived_sessions(
    settings: Settings, environ: Mapping[str, str], present: Iterable[FoundSession], problems: list[StoreProblem]
) -> list[Archived]:
    """Return what was archived and does not lie in its place, as :func:`archived_rows`, by names alone."""
    return list(_absent(settings, environ, {session.path for session in present}, problems))


def archived_at(path: Path, environ: Mapping[str, str]) -> Archived | None:
    """Return the session whose file lay at ``path`` before it was archived, None when there is none."""
    name = os.fspath(path)
    for shelved, row in Shelf(archive_folder(environ)).rows():
        if name == row.path or name in _parts(shelved, row):
            return Archived(shelved, row)
    return None


def _parts(shelved: Shelved, row: SessionRow) -> set[str]:
    """Return the paths of the files of a session that has several parts (Cersei)."""
    if row.parts == 1:
        return set()
    folder = row.path.rpartition("/")[0]
    return {file.path for file in shelved.session.files if file.path.rpartition("/")[0] == folder}


def _absent(
    settings: Settings, environ: Mapping[str, str], there: Container[str], problems: list[StoreProblem]
) -> Iterator[Archived]:
    shelf = Shelf(archive_folder(environ))
    roots = [f"{root}/" for path in settings.store.roots for root in _spellings(path)]
    for shelved, row in shelf.rows():
        if row.path not in there and (not roots or row.path.startswith(tuple(roots))):
            yield Archived(shelved, row)
    problems += shelf.problems


def _spellings(root: Path) -> set[str]:
    """Return a root as it is named, and where it leads."""
    path = root.expanduser().absolute()
    return {os.fspath(path), os.fspath(path.resolve())}


def _name(row: SessionRow) -> tuple[str, str, str | None]:
    """Return what tells a session from others wherever its client moved it: ids of sub-agents are short."""
    return row.dialect, row.id, row.created


# The copy of a session that lies in the trash or in the archive, laid out so that it can be read while it stays there.
#
# It is found by its own files alone: in its place the client may have made another session of the same name.


@contextmanager
def laid_out_copy(one: "TrashItem | Shelved", environ: Mapping[str, str]) -> Generator[tuple[FoundSession, str]]:
    """Yield a session that can be read, and the folder in which its paths begin anew.

    Raises CorruptStateError: its pack is damaged; UnreadableError: it has no transcript; OSError: it left the trash
    meanwhile, or there is no room for it.
    """
    if not isinstance(one, TrashItem):
        row = rows_of(*one)[0]
        with laid_out(one, row, environ) as (_, base):
            yield session_of_path(Path(f"{base}{row.path}")), base
        return
    with private_place(state_folder(environ) / FOLDER) as base:
        files = [file for file in one.files if file.kind == "file"]
        for file in files:
            path = Path(f"{base}{file.path}")
            private_folder(path.parent)
            shutil.copyfile(trash_folder(environ) / one.id / file.stored, path)
        # what the client needs most went last
        last = files[-1].path if files else os.fspath(one.id)
        yield session_of_path(Path(f"{base}{last}")), os.fspath(base)
