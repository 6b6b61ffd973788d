"""List every session of the stores from the catalogue: the rows behind ``slowwave sessions list``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from slowwave.formats.lines import relaxed_collector
from slowwave.places import archive_folder
from slowwave.secrets.blocked import Blocked
from slowwave.settings import Settings
from slowwave.stores.catalogue import Catalogue
from slowwave.stores.erased import shown_of
from slowwave.stores.kinds.base import Place
from slowwave.stores.kinds.claude import FOLDER_OF_PROJECT
from slowwave.stores.kinds.registry import BY_NAME
from slowwave.stores.model import StoreProblem
from slowwave.stores.page import Page
from slowwave.stores.projects import Bundle, Roots, bundled, grouped, spelling_of
from slowwave.stores.roots import Root, store_roots
from slowwave.stores.rows import SessionRow, StoredRow, resolve
from slowwave.stores.walk import Walk


@dataclass(slots=True)
class Listing:
    """Rows, newest activity first, and everything that was left out."""

    rows: list[SessionRow] = field(default_factory=list[SessionRow])
    problems: list[StoreProblem] = field(default_factory=list[StoreProblem])


def list_sessions(
    settings: Settings, environ: Mapping[str, str], catalogue: Catalogue, *, archived: bool = True
) -> Listing:
    """Return a row for every session under the roots; only what changed since the last listing is read.

    Args:
        settings: name the roots.
        environ: the environment.
        catalogue: what is known of the sessions.
        archived: list what was archived from under the roots, too, unless it lies in its place again.

    Raises:
        UnreadableError: a named root is missing, a file, or unreadable.
        UnknownDialectError: a named root holds transcripts, and not one of them is of a known dialect.
    """
    listing = Listing()
    walk = Walk[StoredRow](listing.problems)
    bundles: list[Bundle[SessionRow]] = []
    with relaxed_collector():
        roots = store_roots(settings, environ, listing.problems)
        known = [0] * len(roots)
        strangers: list[list[StoreProblem]] = [[] for _ in roots]
        for members in _neighbours(roots).values():
            pages = [catalogue.read_place(place, walk) for _, place in members]
            _settle(pages, catalogue)
            for (number, _), page in zip(members, pages, strict=True):
                titles = BY_NAME[page.place.kind].titles(page.place)
                if titles:
                    _entitle(page.shown, titles, catalogue.blocked)
                bundles += _bundles(page)
                listing.problems += page.odd
                strangers[number] += page.odd
                known[number] += len(page.shown)
        for number, root in enumerate(roots):
            root.refuse_strangers(known[number], strangers[number])
        for group in grouped(bundles, Roots(settings, environ)):
            key = group.key
            for row in group.items:
                row.project = key
            listing.rows += group.items
        if archived and archive_folder(environ).is_dir():
            from slowwave.stores.archive.listed import archived_rows  # noqa: PLC0415 - most people archived nothing yet

            listing.rows += archived_rows(settings, environ, listing.rows, listing.problems, catalogue.blocked)
        listing.rows.sort(key=attrgetter("last_activity"), reverse=True)
    return listing


def _entitle(shown: list[SessionRow], titles: Mapping[str, str], blocked: Blocked | None) -> None:
    """Show the titles that a client keeps beside its sessions; they change without a trace in the session."""
    for row in shown:
        row.title = shown_of(titles.get(row.id, ""), blocked) or row.title


def _bundles(page: Page) -> list[Bundle[SessionRow]]:
    if page.place.kind == FOLDER_OF_PROJECT:
        return [Bundle(page.place, *page.newest, page.shown)]
    # sessions of one bundle name the same folder, so which of them is the newest is nothing to it
    return bundled(page.place, page.shown, lambda row: (row.cwd, 0))


def _neighbours(roots: list[Root]) -> dict[tuple[str, str], list[tuple[int, Place]]]:
    """Return the places whose sessions tell of each other, each with the number of its root."""
    together: dict[tuple[str, str], list[tuple[int, Place]]] = {}
    for number, root in enumerate(roots):
        for place in root.places:
            together.setdefault(spelling_of(place), []).append((number, place))
    return together


def _settle(pages: list[Page], catalogue: Catalogue) -> None:
    """Give the rows of one project what follows from all of its sessions, and keep what is new."""
    # what the sessions of one place tell of each other was settled when the page was saved
    if len(pages) > 1 or pages[0].is_changed:
        resolve(stored for page in pages for stored in page.rows)
    for page in pages:
        if page.is_changed:
            catalogue.save(page)
