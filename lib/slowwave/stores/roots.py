"""Which folders of which roots hold sessions: a Claude home, a projects folder, or one folder of transcripts."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from slowwave.errors import UnreadableError
from slowwave.settings import Settings
from slowwave.stores.model import StoreProblem
from slowwave.stores.walk import MEMORY, SUFFIX

_REMEDY = "name a Claude home, its projects folder or a folder of .jsonl transcripts with --store or store.roots"


@dataclass(frozen=True, slots=True)
class Root:
    """One root and its project folders, sorted by name."""

    path: Path
    folders: tuple[str, ...]

    def has_memory(self) -> bool:
        """Say whether some project in it has a memory folder: such a root is a store, whatever else is in it."""
        return any(os.path.isdir(f"{folder}/{MEMORY}") for folder in self.folders)  # noqa: PTH112


def store_folders(settings: Settings, environ: Mapping[str, str], problems: list[StoreProblem]) -> list[Root]:
    """Return the roots that the settings name, or Claude's own home when they name none.

    Raises:
        UnreadableError: a root is missing, a file, unreadable, or holds nothing that could be a store.
    """
    named = settings.store.roots
    if named:
        return [_root(path.expanduser().absolute(), problems) for path in dict.fromkeys(named)]
    home = environ.get("HOME", "")
    usual = Path(home or "~").expanduser() / ".claude"
    if not usual.exists():
        problems.append(
            StoreProblem("ignored", str(usual), "does not exist, so there is no store; name one with --store")
        )
        return []
    return [_root(usual, problems)]


def _root(path: Path, problems: list[StoreProblem]) -> Root:
    entries = _entries(path)
    if "projects" in entries and entries["projects"].is_dir():
        return _projects(path, _entries(path / "projects"), problems, is_home=True)
    transcripts = [name for name in entries if name.endswith(SUFFIX) and name[0] != "."]
    if transcripts and path.name != "projects":
        return Root(path, (os.fspath(path),))
    return _projects(path, entries, problems, is_home=path.name == "projects")


def _projects(root: Path, entries: dict[str, os.DirEntry[str]], problems: list[StoreProblem], *, is_home: bool) -> Root:
    """Take every folder that holds transcripts or memories; a Claude home may be empty, another folder may not."""
    folders: list[str] = []
    for name, entry in sorted(entries.items()):
        if name[0] == ".":
            continue
        if not entry.is_dir():
            if name.endswith(SUFFIX):
                problems.append(StoreProblem("ignored", entry.path, "lies beside the project folders, not in one"))
        # in a Claude home every folder is a project's; a session folder without its transcript still has sub-agents
        elif is_home or _holds_sessions(entry.path, problems):
            folders.append(entry.path)
    if not folders and not is_home:
        raise UnreadableError(root, "no transcripts in it", _REMEDY)
    return Root(root, tuple(folders))


def _holds_sessions(folder: str, problems: list[StoreProblem]) -> bool:
    try:
        # the first transcript decides, so the rest of a large folder is listed only once, by the walk
        with os.scandir(folder) as inside:
            return any(entry.name.endswith(SUFFIX) or entry.name == MEMORY for entry in inside)
    except OSError as error:
        problems.append(StoreProblem("unreadable", folder, error.strerror or "cannot be listed"))
        return False


def _entries(path: Path) -> dict[str, os.DirEntry[str]]:
    try:
        with os.scandir(path) as found:
            return {entry.name: entry for entry in found}
    except FileNotFoundError:
        raise UnreadableError(path, "does not exist", _REMEDY) from None
    except NotADirectoryError:
        raise UnreadableError(path, "is a file, not a folder", _REMEDY) from None
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be listed", _REMEDY) from error
