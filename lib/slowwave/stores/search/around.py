"""The rows of the sessions that lie where one lies: in its project's folder, or anywhere in its client's store."""

import os
from collections.abc import Sequence
from pathlib import Path

from slowwave.stores.catalogue import Catalogue
from slowwave.stores.erased import shown_of
from slowwave.stores.kinds.base import Place
from slowwave.stores.kinds.claude import FOLDER_OF_PROJECT
from slowwave.stores.kinds.registry import BY_NAME
from slowwave.stores.model import StoreProblem
from slowwave.stores.rows import SessionRow, StoredRow, resolve
from slowwave.stores.walk import SIDE_FOLDER, Walk

# From a rollout to the folder of all years it is four folders, from a database to all agents three.
_MOST_ABOVE = 5


def rows_around(path: Path, dialect: str, catalogue: Catalogue, problems: list[StoreProblem]) -> list[SessionRow]:
    """Return a row for every session of the store that a file lies in; of Claude Code and Cersei, of its project.

    Only what changed since the catalogue saw it is read. A file that lies in no store has no sessions around it but
    those in its folder.
    """
    walk = Walk[StoredRow](problems)
    found: list[SessionRow] = []
    for place in _places(path, dialect):
        page = catalogue.read_place(place, walk)
        if page.is_changed:
            resolve(page.rows)
            catalogue.save(page)
        titles = BY_NAME[place.kind].titles(place)
        for row in (stored.row for stored in page.rows if not stored.problem):
            row.title = shown_of(titles.get(row.id, ""), catalogue.blocked) or row.title
            found.append(row)
    return found


def _places(path: Path, dialect: str) -> Sequence[Place]:
    kind = BY_NAME.get(dialect)
    if kind is not None and kind.name != FOLDER_OF_PROJECT:
        for folder in path.parents[:_MOST_ABOVE]:
            places = kind.places(folder, set(os.listdir(folder)), [])  # noqa: PTH208 - names only
            if places and any(_holds(place, path) for place in places):
                return places
    folder = path.parent
    if SIDE_FOLDER in folder.parts:
        # a sub-agent's file lies in a folder of its session, at whatever depth
        at = len(folder.parts) - 1 - folder.parts[::-1].index(SIDE_FOLDER)
        folder = Path(*folder.parts[: at - 1])
    return [Place(FOLDER_OF_PROJECT, os.fspath(folder))]


def _holds(place: Place, path: Path) -> bool:
    return path.is_relative_to(place.path)
