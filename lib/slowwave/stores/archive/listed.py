"""Archived sessions among those that lie in their place: each is listed once, from under the roots that are named."""

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from slowwave.places import archive_folder
from slowwave.secrets.blocked import Blocked
from slowwave.settings import Settings
from slowwave.stores.archive.shelf import Shelf, Shelved
from slowwave.stores.erased import PROBLEM, is_erased, shown_of
from slowwave.stores.model import StoreProblem
from slowwave.stores.rows import SessionRow
from slowwave.stores.walk import FoundFile, FoundSession


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

    Args:
        settings: name the roots.
        environ: names the folder of the archive.
        present: the rows of what lies in its place.
        problems: packs that cannot be read are added, and what was erased.
        blocked: what was erased, and may be here again with an older copy of the archive.
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
