"""Codex: ``~/.codex/sessions/YYYY/MM/DD/rollout-<local time>-<id>.jsonl`` and, flat, ``archived_sessions/``.

All days are one place: a home has thousands of their folders, and a page of the catalogue for each would cost more than
their listing. A rollout's header tells its working folder and whether it is a sub-agent's.
"""

import os
import re
from collections.abc import Container, Iterator, Mapping
from pathlib import Path

from slowwave.places import home_folder
from slowwave.stores.kinds.base import Kind, Place, is_folder
from slowwave.stores.model import StoreProblem
from slowwave.stores.walk import SUFFIXES, FoundSession, K, Walk

SESSIONS, ARCHIVED, INDEX = "sessions", "archived_sessions", "session_index.jsonl"
# Years, months and days.
_LEVELS = (re.compile(r"[0-9]{4}"), re.compile(r"[0-9]{2}"), re.compile(r"[0-9]{2}"))


class CodexHome(Kind):
    """Codex's home, or one of the two folders of rollouts in it."""

    name = "codex"

    def usual(self, environ: Mapping[str, str]) -> list[Path]:
        """Return the home: ``$CODEX_HOME``, else ``~/.codex``."""
        named = environ.get("CODEX_HOME")
        return [Path(named).expanduser() if named else home_folder(environ) / ".codex"]

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:  # noqa: ARG002
        """Return the tree of days and the archive."""
        if root.name == ARCHIVED:
            return [self._place(root)]
        if root.name == SESSIONS and _has_years(root):
            return [self._place(root)]
        found = [root / SESSIONS] if SESSIONS in names and _has_years(root / SESSIONS) else []
        found += [root / ARCHIVED] if ARCHIVED in names and (root / ARCHIVED).is_dir() else []
        if found:
            return [self._place(folder) for folder in found]
        # A home in which nobody has talked yet, or of which everything was removed.
        return [] if INDEX in names or root.name == ".codex" else None

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the rollouts of all days, or those of the archive."""
        if os.path.basename(place.path) == ARCHIVED:  # noqa: PTH119 - a name as it is on disk, any bytes
            for found in walk.sessions(place.path):
                found.source = "archived"
                yield found
            return
        for day in _below(place.path, 0, walk.problems):
            yield from walk.sessions(day)

    def titles(self, place: Place) -> Mapping[str, str]:
        """Return the names of threads that the index of the home keeps."""
        from slowwave.formats.codex.home import thread_names  # noqa: PLC0415 - only where this client is

        return thread_names(Path(place.path).parent)

    def _place(self, folder: Path) -> Place:
        return Place(self.name, os.fspath(folder))


def _has_years(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    with os.scandir(folder) as entries:
        return any(_LEVELS[0].fullmatch(entry.name) and is_folder(entry, []) for entry in entries)


def _below(folder: str, level: int, problems: list[StoreProblem]) -> Iterator[str]:
    """Yield the folders of all days in order; what lies beside them is reported."""
    try:
        with os.scandir(folder) as entries:
            # the kind of an entry comes with its name: no look at each of thousands of days
            found = sorted((entry.name, is_folder(entry, problems)) for entry in entries)
    except OSError as error:
        problems.append(StoreProblem("unreadable", folder, error.strerror or "cannot be listed"))
        return
    for name, listable in found:
        path = f"{folder}/{name}"
        if listable and _LEVELS[level].fullmatch(name):
            if level + 1 < len(_LEVELS):
                yield from _below(path, level + 1, problems)
            else:
                yield path
        elif name.endswith(SUFFIXES):
            problems.append(StoreProblem("ignored", path, "lies beside the folders of the days, not in one"))
