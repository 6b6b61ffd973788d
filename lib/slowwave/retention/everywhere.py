"""All other files in the homes of clients: those that clients write of what was said, and those that nobody knows."""

import os
from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from pathlib import Path

from slowwave.formats.database import HEADER
from slowwave.retention.git_store import OBJECTS, is_git_store
from slowwave.stores.kinds.registry import HOMES
from slowwave.stores.roots import is_persons_home

# what clients keep beside transcripts: Claude Code, Codex, pi, OpenClaw, opencode (clients.md 6, formats.md); not
# "agents", where Claude Code has what a person wrote for their sub-agents, and OpenClaw has "sessions" below it
_FOLDERS = frozenset(
    {
        *("projects", "sessions", "archived_sessions", "todos", "tasks", "file-history", "paste-cache"),
        *("shell-snapshots", "shell_snapshots", "session-env", "plans", "debug", "log", "logs", "cron"),
        *("storage", "tool-output"),
    }
)
# what clients note of all sessions, a line each
INDEXES = frozenset({"history.jsonl", "session_index.jsonl"})
_FILES = INDEXES | {"sessions.json"}


class Sort(Enum):
    """What a file is to an erasure."""

    KNOWN = "written by a client of what was said"
    UNKNOWN = "not known: look at it yourself"
    DATABASE = "a database"
    GIT = "a git store"
    LINK = "a link to what is no client's, so nobody followed it"


def homes(roots: Collection[Path], environ: Mapping[str, str]) -> list[Path]:
    """Return the homes of clients: those that they use, and those that lie in roots that somebody named."""
    found: list[Path] = []
    for root in roots or [Path()]:
        if not roots:
            found += [home for kind in HOMES for home in kind.usual(environ)]
        elif is_persons_home(root):
            found += [home for kind in HOMES for home in kind.usual({"HOME": os.fspath(root)})]
        else:
            found.append(root)
    return [home for home in dict.fromkeys(found) if home.is_dir()]


def other_files(
    folders: Collection[Path], seen: Collection[Path], memories: Collection[Path]
) -> Iterator[tuple[Path, Sort]]:
    """Yield every file below the folders that was not seen yet and is in no memory folder, with what it is.

    Of a git store (opencode's snapshots of working folders) its folder stands for all of its objects.
    """
    for home in folders:
        for folder, inner, names, links in walk_home(home):
            yield from ((Path(folder, name), Sort.LINK) for name in links)
            inner[:] = sorted(name for name in inner if Path(folder, name) not in memories)
            if is_git_store(inner, names):
                inner.remove(OBJECTS)
                yield Path(folder), Sort.GIT
            for name in sorted(names):
                path = Path(folder, name)
                if path in seen or not path.is_file() or _is_of_database(path):
                    continue
                if path.is_symlink():
                    if not path.resolve().is_relative_to(home.resolve()):
                        yield path, Sort.LINK
                    continue
                yield path, _sort(home, path)


def walk_home(home: Path) -> Iterator[tuple[str, list[str], list[str], list[str]]]:
    """Walk through a home as :func:`os.walk` does, and yield the links to folders that are not followed, too.

    A client's own folder, or that of a project in it, may lie elsewhere behind a link; it is followed once. Whatever
    else a link leads to is somebody's own.
    """
    followed: set[Path] = set()
    for folder, inner, names in os.walk(home, followlinks=True):
        here = Path(folder)
        links: list[str] = []
        for name in [name for name in inner if (here / name).is_symlink()]:
            target = (here / name).resolve()
            is_theirs = name in _FOLDERS or here.name in _FOLDERS
            if is_theirs and target not in followed and not here.resolve().is_relative_to(target):
                followed.add(target)
            else:
                inner.remove(name)
                links.append(name)
        yield folder, inner, names, sorted(links)


def _sort(home: Path, path: Path) -> Sort:
    with path.open("rb") as file:
        if file.read(len(HEADER)) == HEADER:
            return Sort.DATABASE
    inside = path.relative_to(home).parts
    is_known = path.name in _FILES or not _FOLDERS.isdisjoint(inside[:-1]) or not _FOLDERS.isdisjoint(home.parts)
    return Sort.KNOWN if is_known else Sort.UNKNOWN


def _is_of_database(path: Path) -> bool:
    """Say whether a file holds the last writes of a database beside it, which is looked into together with it."""
    name, dash, end = path.name.rpartition("-")
    return bool(dash) and end in ("wal", "shm", "journal") and path.with_name(name).is_file()
