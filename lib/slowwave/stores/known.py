"""The projects under the store roots by what the catalogue knows: only new and changed sessions are looked into."""

from collections.abc import Mapping

from slowwave.settings import Settings
from slowwave.stores.catalogue import Catalogue, catalogue_path
from slowwave.stores.discovery import find_projects
from slowwave.stores.model import Discovery, StoreProblem


def known_projects(settings: Settings, environ: Mapping[str, str]) -> Discovery:
    """Return the projects that :func:`find_projects` finds, with the help of this user's catalogue.

    What is wrong with the catalogue itself is one more problem of the discovery; it never stops a run.

    Raises:
        UnreadableError: a named root is missing, a file, unreadable, or holds nothing that could be a store.
        UnknownDialectError: a named root holds transcripts, and not one of them is of a known dialect.
        SettingsError: a template of memory folders is malformed.
    """
    path = catalogue_path(environ)
    with Catalogue(path) as catalogue:
        found = find_projects(settings, environ, catalogue)
        found.problems += [StoreProblem("catalogue", str(path), warning) for warning in catalogue.warnings]
    return found
