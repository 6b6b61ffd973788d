"""Which memory folders a command means."""

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from slowwave.cli.options import settings_of
from slowwave.cli.output import warn
from slowwave.errors import NotFoundError, UnreadableError
from slowwave.jobs.choice import chosen_by
from slowwave.memory.candidates import FILE
from slowwave.memory.everywhere import NAME, global_folder
from slowwave.memory.guard import OWN_FOLDER
from slowwave.memory.transaction import recover
from slowwave.places import archive_folder
from slowwave.settings import Settings
from slowwave.stores.discovery import known_projects

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MemoryFolder:
    """A memory folder, the project it belongs to, and where that project's transcripts are, archived ones, too."""

    project: str
    path: Path
    transcripts: tuple[Path, ...]
    is_global: bool = False


def chosen(args: argparse.Namespace) -> list[MemoryFolder]:
    """Return the memory folders that ``--memory``, ``--store`` and ``--project`` choose and that exist.

    What a killed run left behind in them is settled first.

    Raises:
        UnreadableError: the folder is missing or a store cannot be read.
        NotFoundError: no project matches.
    """
    folders = [_given(args.memory)] if args.memory else _of_projects(args)
    for folder in folders:
        recover(folder.path)
    return folders


def _given(path: Path) -> MemoryFolder:
    path = path.expanduser().resolve()
    if path.name != "memory" and (path / "memory").is_dir():
        path = path / "memory"
    if not path.is_dir():
        what = "is not a folder" if path.exists() else "does not exist"
        raise UnreadableError(path, what, "name a memory folder, the one with MEMORY.md in it")
    is_global = (path / OWN_FOLDER / FILE).is_file() and path.name == NAME
    archive = archive_folder(os.environ)
    return MemoryFolder(NAME if is_global else path.parent.name, path, (path.parent, archive), is_global=is_global)


def _of_projects(args: argparse.Namespace) -> list[MemoryFolder]:
    settings = settings_of(args)
    projects = known_projects(settings, os.environ).projects
    shared = global_folder(settings, os.environ)
    archive = archive_folder(os.environ)
    everywhere = [*(folder for p in projects for folder in p.folders), archive]
    others = [MemoryFolder(NAME, shared.resolve(), tuple(everywhere), is_global=True)] if shared.is_dir() else []
    if args.project == NAME and others:
        return others
    named = chosen_by(args.project, projects, lambda p: (p.key, p.root))
    folders = [MemoryFolder(p.key, p.memory.resolve(), (*p.folders, archive)) for p in named if p.memory.is_dir()]
    return folders if args.project else [*folders, *others]


def bring(folder: MemoryFolder, settings: Settings) -> None:
    """Let the files that agents read say what a memory folder says now; which of them cannot is told."""
    from slowwave.memory.delivery.deliver import REFUSED, refresh  # noqa: PLC0415 - only what changes memories

    for item in refresh(folder.path, settings, os.environ):
        if item.action == REFUSED:
            warn(f"not delivered: {item.target}: {item.reason}")


def the_one(
    folders: Sequence[MemoryFolder], name: str, has: Callable[[MemoryFolder], T | None]
) -> tuple[MemoryFolder, T]:
    """Return the folder that has something, and what it has.

    Raises:
        NotFoundError: none has it; ``name`` says what was looked for.
    """
    for folder in folders:
        found = has(folder)
        if found:
            return folder, found
    where = ", ".join(str(f.path) for f in folders[:3]) or "no memory folder"
    raise NotFoundError(f"no {name} in {where}; slowwave memory list shows what is there")
