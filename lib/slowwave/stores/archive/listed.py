"""Archived sessions among those that lie in their place: each is listed once, from under the roots that are named."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowwave.places import archive_folder
from slowwave.settings import Settings
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.model import StoreProblem
from slowwave.stores.rows import SessionRow


def archived_rows(
    settings: Settings, environ: Mapping[str, str], present: Sequence[SessionRow], problems: list[StoreProblem]
) -> list[SessionRow]:
    """Return the rows of what was archived and does not lie in its place; no frame of a pack is read.

    Args:
        settings: name the roots.
        environ: names the folder of the archive.
        present: the rows of what lies in its place.
        problems: packs that cannot be read are added.
    """
    shelf = Shelf(archive_folder(environ))
    rows = [row for _, row in shelf.rows()]
    problems += shelf.problems
    if not rows:
        return rows
    there = {row.path for row in present} | {_name(row) for row in present}
    roots = [f"{os.fspath(root)}/" for path in settings.store.roots for root in _spellings(path)]
    return [
        row
        for row in rows
        if row.path not in there
        and _name(row) not in there
        and (not roots or any(row.path.startswith(root) for root in roots))
    ]


def _spellings(root: Path) -> set[Path]:
    """Return a root as it is named, and where it leads."""
    path = root.expanduser().absolute()
    return {path, path.resolve()}


def _name(row: SessionRow) -> tuple[str, str, str | None]:
    """Return what tells a session from others wherever its client moved it: ids of sub-agents are short."""
    return row.dialect, row.id, row.created
