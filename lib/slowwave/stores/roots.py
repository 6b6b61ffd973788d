"""Which places of which roots hold sessions: homes of the clients, a person's home, or plain folders of transcripts."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from slowwave.errors import UnknownDialectError, UnreadableError
from slowwave.settings import Settings
from slowwave.stores.head import DIALECTS
from slowwave.stores.kinds.base import Place
from slowwave.stores.kinds.registry import BY_NAME, HOMES, PLAIN
from slowwave.stores.model import StoreProblem
from slowwave.stores.walk import MEMORY, FoundSession, K, Walk

REMEDY = f"name a client's home or a folder of transcripts of {DIALECTS} with --store or store.roots"


@dataclass(frozen=True, slots=True)
class Root:
    """One root, its places, and whether the settings name it."""

    path: Path
    places: tuple[Place, ...]
    is_named: bool

    def has_memory(self) -> bool:
        """Say whether some project in it has a memory folder: such a root is a store, whatever else is in it."""
        return any(os.path.isdir(f"{place.path}/{MEMORY}") for place in self.places)  # noqa: PTH112

    def refuse_strangers(self, known: int, strangers: Sequence[StoreProblem]) -> None:
        """Refuse a root that somebody named, and that holds nothing but what is no session.

        Args:
            known: how many sessions were found in it.
            strangers: what else looked like transcripts.

        Raises:
            UnknownDialectError: it is such a root.
        """
        strangers = [stranger for stranger in strangers if stranger.kind != "blocked"]
        if self.is_named and strangers and not known and not self.has_memory():
            text = f"no transcript of a known dialect in it ({len(strangers)} seen, {strangers[-1].kind})"
            raise UnknownDialectError(self.path, text, REMEDY)


def store_roots(settings: Settings, environ: Mapping[str, str], problems: list[StoreProblem]) -> list[Root]:
    """Return the roots that the settings name, or the homes of all clients when they name none.

    Raises:
        UnreadableError: a named root is missing, a file, unreadable, or holds nothing that could be a store.
    """
    every = _roots(settings, environ, problems)
    if settings.store.follow_links:
        return every
    return [
        replace(root, places=tuple(place._replace(store=_store_of(root, place)) for place in root.places))
        for root in every
    ]


def _store_of(root: Root, place: Place) -> str:
    """Return the real path of the root of a place; a home of clients stands for that of the one whose place it is."""
    return os.path.realpath(place.store or root.path)


def _roots(settings: Settings, environ: Mapping[str, str], problems: list[StoreProblem]) -> list[Root]:
    named = [path.expanduser().absolute() for path in dict.fromkeys(settings.store.roots)]
    if named:
        return _once([Root(path, tuple(_places(path, problems)), is_named=True) for path in named], problems)
    found = _once(list(_usual(environ, problems)), problems)
    if not found:
        homes = ", ".join(os.fspath(path) for kind in HOMES for path in kind.usual(environ)[:1])
        problems.append(StoreProblem("ignored", homes, "not one exists, so there is no store; name one with --store"))
    return found


def _once(roots: list[Root], problems: list[StoreProblem]) -> list[Root]:
    """Leave out places that lie in two roots, or in one under two names; the walk itself enters no folder twice."""
    met: set[tuple[int, int]] = set()

    def is_new(place: Place) -> bool:
        if BY_NAME[place.kind].is_flat:
            return True
        try:
            at = os.stat(place.path)  # noqa: PTH116 - a name as it is on disk, any bytes
        except OSError:
            return True  # reported by those who list it
        identity = (at.st_dev, at.st_ino)
        if identity in met:
            problems.append(StoreProblem("duplicate", place.path, "lies in another root, too, or has another name"))
            return False
        met.add(identity)
        return True

    return [replace(root, places=tuple(filter(is_new, root.places))) for root in roots]


def sessions_of(place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
    """Yield the sessions of a place as its kind lists them, except those that are known and have not changed."""
    walk.store = place.store
    return BY_NAME[place.kind].sessions(place, walk)


def _usual(environ: Mapping[str, str], problems: list[StoreProblem]) -> Iterator[Root]:
    """Yield the homes of all clients that exist; one that cannot be read does not stop the others."""
    for kind in HOMES:
        for path in kind.usual(environ):
            if path.exists():
                try:
                    places = kind.places(path, _names(path), problems) or []
                except (OSError, UnreadableError) as error:
                    reason = error.reason if isinstance(error, UnreadableError) else error.strerror
                    problems.append(StoreProblem("unreadable", os.fspath(path), reason or "cannot be listed"))
                else:
                    yield Root(path, tuple(places), is_named=False)


def is_persons_home(path: Path) -> bool:
    """Say whether clients keep their own homes in a folder, as in the home of somebody who uses them."""
    usual = (home for kind in HOMES for home in kind.usual({"HOME": os.fspath(path)}))
    return any(path in home.parents and home.exists() for home in usual)


def _places(path: Path, problems: list[StoreProblem]) -> list[Place]:
    names = _names(path)
    try:
        if is_persons_home(path):
            whole = [
                place._replace(store=os.fspath(root.path))
                for root in _usual({"HOME": os.fspath(path)}, problems)
                for place in root.places
            ]
            if whole:
                return whole
        for kind in (*HOMES, PLAIN):
            places = kind.places(path, names, problems)
            if places is not None:
                return places
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be listed", REMEDY) from error
    raise UnreadableError(path, "no transcripts in it", REMEDY)


def _names(path: Path) -> set[str]:
    try:
        return set(os.listdir(path))  # noqa: PTH208 - names only
    except FileNotFoundError:
        raise UnreadableError(path, "does not exist", REMEDY) from None
    except NotADirectoryError:
        raise UnreadableError(path, "is a file, not a folder", REMEDY) from None
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be listed", REMEDY) from error
