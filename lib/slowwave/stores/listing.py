"""List every session of the stores from the catalogue: the rows behind ``slowwave sessions list``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from slowwave.records.bulk import relaxed_collector
from slowwave.settings import Settings
from slowwave.stores.catalogue import Catalogue, Page
from slowwave.stores.kinds.base import Place
from slowwave.stores.kinds.registry import BY_NAME
from slowwave.stores.model import StoreProblem
from slowwave.stores.projects import Bundle, Roots, bundled, grouped, spelling_of
from slowwave.stores.roots import Root, store_roots
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
        UnreadableError: a named root is missing, a file, or unreadable.
        UnknownDialectError: a named root holds transcripts, and not one of them is of a known dialect.
    """
    listing = Listing()
    walk = Walk[StoredRow](listing.problems)
    bundles: list[Bundle[StoredRow]] = []
    with relaxed_collector():
        roots = store_roots(settings, environ, listing.problems)
        known = [0] * len(roots)
        strangers: list[list[StoreProblem]] = [[] for _ in roots]
        for members in _neighbours(roots).values():
            pages = [catalogue.read_place(place, walk) for _, place in members]
            _settle(pages, catalogue)
            for (number, _), page in zip(members, pages, strict=True):
                shown, odd = _shown(page)
                titles = BY_NAME[page.place.kind].titles(page.place)
                if titles:
                    _entitle(shown, titles)
                bundles += bundled(page.place, shown, _facts)
                listing.problems += odd
                strangers[number] += odd
                known[number] += len(shown)
        for number, root in enumerate(roots):
            root.refuse_strangers(known[number], strangers[number])
        for group in grouped(bundles, Roots(settings, environ)):
            key = group.key
            for stored in group.items:
                stored.row.project = key
                listing.rows.append(stored.row)
        listing.rows.sort(key=attrgetter("last_activity"), reverse=True)
    return listing


def _entitle(shown: list[StoredRow], titles: Mapping[str, str]) -> None:
    """Show the titles that a client keeps beside its sessions; they change without a trace in the session."""
    for stored in shown:
        stored.row.title = titles.get(stored.row.id) or stored.row.title


def _facts(stored: StoredRow) -> tuple[str, int]:
    return stored.row.cwd, stored.mtime_ns


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


def _shown(page: Page) -> tuple[list[StoredRow], list[StoreProblem]]:
    odd = [stored.as_problem() for stored in page.rows if stored.problem]
    if odd:
        return [stored for stored in page.rows if not stored.problem], odd
    return page.rows, odd
