"""Which memory folders a command means."""

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from slowwave.cli.options import settings_of
from slowwave.errors import NotFoundError, UnreadableError
from slowwave.jobs.choice import memory_folders
from slowwave.memory.candidates import FILE
from slowwave.memory.folder import NAME, MemoryFolder
from slowwave.memory.guard import OWN_FOLDER
from slowwave.memory.transaction import recover
from slowwave.places import archive_folder

T = TypeVar("T")


def chosen(args: argparse.Namespace) -> list[MemoryFolder]:
    """Return the memory folders that ``--memory``, ``--store`` and ``--project`` choose and that exist.

    What a killed run left behind in them is settled first.

    Raises:
        UnreadableError: the folder is missing or a store cannot be read.
        NotFoundError: no project matches.
    """
    folders = [_given(args.memory)] if args.memory else memory_folders(settings_of(args), os.environ, args.project)
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
