"""List every session of the stores from the catalogue: the rows behind ``slowwave sessions list``."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter

import msgspec

from slowwave.errors import UnknownDialectError
from slowwave.records.bulk import relaxed_collector
from slowwave.settings import Settings
from slowwave.stores.catalogue import Catalogue, Page
from slowwave.stores.discovery import REMEDY, home_of, spelling_key
from slowwave.stores.model import StoreProblem, StoreProblemKind
from slowwave.stores.roots import Root, store_folders
from slowwave.stores.rows import SessionRow, StoredRow, resolve
from slowwave.stores.walk import Walk


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
    walk = Walk[StoredRow](listing.problems)
    with relaxed_collector():
        roots = store_folders(settings, environ, listing.problems)
        known = [0] * len(roots)
        strangers = [0] * len(roots)
        for members in _projects(roots).values():
            # one project at a time: its pages are let go as soon as its rows are taken
            pages = [catalogue.read_folder(folder, walk) for _, folder in members]
            _settle(pages, catalogue)
            for (number, _), page in zip(members, pages, strict=True):
                shown, odd = _shown(page)
                listing.rows += shown
                listing.problems += odd
                strangers[number] += len(odd)
                known[number] += len(shown)
        for number, root in enumerate(roots):
            if strangers[number] and not known[number] and not root.has_memory():
                text = f"no transcript of a known dialect in it ({strangers[number]} seen)"
                raise UnknownDialectError(root.path, text, REMEDY)
        listing.rows.sort(key=attrgetter("last_activity"), reverse=True)
    return listing


def _projects(roots: list[Root]) -> dict[tuple[str, str], list[tuple[int, str]]]:
    """Return the folders of each project, each with the number of its root."""
    projects: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for number, root in enumerate(roots):
        for folder in root.folders:
            parent, _, name = folder.rpartition("/")
            projects.setdefault((parent, spelling_key(name)), []).append((number, folder))
    return projects


def _settle(pages: list[Page], catalogue: Catalogue) -> None:
    """Give the rows of one project what follows from all of its sessions, and keep what is new."""
    # what the sessions of one folder tell of each other was settled when the page was saved
    if len(pages) > 1 or pages[0].is_changed:
        resolve(stored for page in pages for stored in page.rows)
    for page in pages:
        if page.is_changed:
            catalogue.save(page)
    project = os.path.basename(home_of([page.folder for page in pages]))  # noqa: PTH119 - a name as it is on disk
    for page in pages:
        for stored in page.rows:
            stored.row.project = project


def _shown(page: Page) -> tuple[list[SessionRow], list[StoreProblem]]:
    odd = [_problem(stored) for stored in page.rows if stored.problem]
    if odd:
        return [stored.row for stored in page.rows if not stored.problem], odd
    return [stored.row for stored in page.rows], odd


def _problem(stored: StoredRow) -> StoreProblem:
    kind, _, detail = stored.problem.partition(": ")
    return StoreProblem(msgspec.convert(kind, StoreProblemKind), stored.row.path, detail)
