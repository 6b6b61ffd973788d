"""The protocol that every kind of store implements: where one client keeps its sessions and how it names them."""

import os
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from slowwave.stores.model import StoreProblem
from slowwave.stores.walk import FoundSession, K, Walk


class Place(NamedTuple):
    """One folder or database whose sessions are one page of the catalogue.

    Attributes:
        kind: name of the kind that lists it.
        path: the folder, or the database file; its sessions then have their ids as part of their key.
        store: the real path of the root that it belongs to, which links may not lead out of; "" when they may.
    """

    kind: str
    path: str
    store: str = ""


def is_folder(entry: "os.DirEntry[str]", problems: list[StoreProblem]) -> bool:
    """Say whether an entry is a folder; a link that leads in a circle or nowhere one may look is reported."""
    try:
        return entry.is_dir()
    except OSError as error:
        problems.append(StoreProblem("unreadable", entry.path, error.strerror or "cannot be looked at"))
        return False


class Kind(Protocol):
    """How one client lays out its sessions on disk; kinds inherit from it for what they leave out.

    Attributes:
        name: what places of this kind, and rows of the catalogue, call it by.
        is_flat: all transcripts lie directly in the folder of a place, so what changed is told without listing them.
    """

    name: str
    is_flat: bool = False

    def usual(self, environ: Mapping[str, str]) -> list[Path]:
        """Return the roots that the client itself uses: its own variables, then ``HOME``; they may not exist."""
        ...

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:
        """Return the places below ``root``, or None when it is not laid out like a root of this kind.

        Args:
            root: an existing folder.
            names: the names of its entries.
            problems: what is left out, and why.

        Raises:
            OSError: a folder that must be listed cannot be; the caller reports it.
        """
        ...

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the sessions of a place, except those that the walk knows and that have not changed.

        No unchanged transcript may be opened; whatever is left out goes to the problems of the walk.
        """
        ...

    def titles(self, place: Place) -> Mapping[str, str]:
        """Return titles that the client keeps beside the sessions of a place, by session id; most keep none."""
        del place
        return {}
