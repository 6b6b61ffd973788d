"""The projects under the store roots by what the catalogue knows: only new and changed sessions are looked into."""

from collections.abc import Mapping

from slowwave.settings import Settings
from slowwave.stores.catalogue import catalogue_path, own_catalogue
from slowwave.stores.discovery import find_projects
from slowwave.stores.model import Discovery, StoreProblem


def known_projects(settings: Settings, environ: Mapping[str, str], *, with_erased: bool = False) -> Discovery:
    """Return the projects that :func:`find_projects` finds, with the help of this user's catalogue.

    What is wrong with the catalogue itself is one more problem of the discovery; it never stops a run.

    Args:
        settings: as :func:`find_projects` takes them, as is ``environ``.
        environ: the process environment.
        with_erased: also return the sessions that were erased and lie there again, which are problems else.

    Raises:
        UnreadableError: a named root is missing, a file, unreadable, or holds nothing that could be a store.
        UnknownDialectError: a named root holds transcripts, and not one of them is of a known dialect.
        SettingsError: a template of memory folders is malformed.
    """
    with own_catalogue(settings, environ) as catalogue:
        if with_erased and catalogue.blocked is not None:
            return find_projects(settings, environ)
        found = find_projects(settings, environ, catalogue)
        path = str(catalogue_path(environ))
        found.problems += [StoreProblem("catalogue", path, warning) for warning in catalogue.warnings]
    return found
