"""crabtalk: ``~/.crabtalk/sessions/{agent}_{sender}_{seq}[_{title}].jsonl``, early versions in a folder for each day.

A session is known by agent, sender and number: a title renames its file. Where the agent ends in a name says the
first line of the file, which is read for new and changed files only.
"""

import os
import re
from collections.abc import Container, Iterator, Mapping
from pathlib import Path

from slowwave.errors import UnreadableError
from slowwave.places import home_folder
from slowwave.stores.kinds.base import Kind, Place, is_folder
from slowwave.stores.model import StoreProblem
from slowwave.stores.walk import SUFFIX, FoundSession, K, Walk

HOME = ".crabtalk"
SESSIONS = "sessions"
# Slugs hold no underscore; the sender's may be empty.
_NAME = re.compile(r"[^.].*?_[^_]*_[0-9]+(_[^_]*)*\.jsonl\Z", re.DOTALL)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
# One damaged file must not hide what the folder is; past this many it is no folder of crabtalk's.
_MOST_LOOKS = 8


class Crabtalk(Kind):
    """crabtalk's home, its ``sessions`` folder, or a folder of such files."""

    name = "crabtalk"

    def usual(self, environ: Mapping[str, str]) -> list[Path]:
        """Return crabtalk's home; it has no variable for it."""
        return [home_folder(environ) / HOME]

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:
        """Return the folder of sessions, and those of single days in it."""
        for folder in (root / SESSIONS, root) if SESSIONS in names else (root,):
            if folder.is_dir() and (found := _folders(folder, problems, is_home=root.name == HOME)):
                return [Place(self.name, path) for path in found]
        return [] if root.name == HOME else None

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the sessions of a folder; files that are none of crabtalk's keep their names as their ids."""
        from slowwave.formats.crabtalk import (  # noqa: PLC0415
            id_of,
            meta_line_of,
        )

        try:
            names = sorted(_transcripts(place.path))
        except OSError as error:
            walk.problems.append(StoreProblem("unreadable", place.path, error.strerror or "cannot be listed"))
            return
        for name in names:
            file = walk.look(place.path, name)
            if file is None:
                continue
            path = Path(place.path, name)
            try:
                line = meta_line_of(path)
            except UnreadableError as error:
                walk.problems.append(StoreProblem("unreadable", f"{place.path}/{name}", error.reason))
                continue
            meta = None if line is None else line.meta
            dialect = "" if meta is None else self.name
            yield FoundSession(place.path, id_of(name, meta), [file], side=False, dialect=dialect)


def _folders(folder: Path, problems: list[StoreProblem], *, is_home: bool) -> list[str]:
    with os.scandir(folder) as entries:
        days = [entry.path for entry in entries if _DAY.match(entry.name) and is_folder(entry, problems)]
    return [path for path in (os.fspath(folder), *sorted(days)) if _is_one(path, is_home=is_home)]


def _is_one(folder: str, *, is_home: bool) -> bool:
    """Say whether crabtalk keeps sessions in a folder: all names are of its form, and some file begins as its do.

    In its own home every folder with transcripts counts, so that damaged ones are reported, not passed over.
    """
    names = _transcripts(folder)
    if is_home:
        return bool(names)
    if not all(_NAME.match(name) for name in names):
        return False
    return any(_is_session(Path(folder, name)) for name in names[:_MOST_LOOKS])


def _is_session(path: Path) -> bool:
    from slowwave.formats.crabtalk import meta_line_of  # noqa: PLC0415 - only where this client is

    try:
        return meta_line_of(path) is not None
    except UnreadableError:
        return False  # reported when the folder is read, if another file shows what it is


def _transcripts(folder: str) -> list[str]:
    return [name for name in os.listdir(folder) if name.endswith(SUFFIX) and name[0] != "."]  # noqa: PTH208 - names only
