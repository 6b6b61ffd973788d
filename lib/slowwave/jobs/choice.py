"""Which projects and memory folders ``--project TEXT`` means: the same for every command and every job."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from slowwave.errors import NotFoundError, meant
from slowwave.memory.folder import NAME, MemoryFolder, global_folder
from slowwave.observability.lessons import short_names
from slowwave.places import archive_folder
from slowwave.settings import Settings
from slowwave.stores.discovery import known_projects
from slowwave.stores.model import Project
from slowwave.stores.roots import store_roots

T = TypeVar("T")
MOST_NAMES = 8


def chosen_by(text: str, things: Sequence[T], names: Callable[[T], tuple[str, str]]) -> list[T]:
    """Return the things whose project key or working folder contains ``text``; "" chooses all.

    Where ``text`` is the whole key, working folder or name on the screen of some, these alone are meant.

    Args:
        text: what a person gave.
        things: projects, or anything that belongs to one.
        names: returns the key and the working folder of a thing's project.

    Raises:
        NotFoundError: nothing matches; the message names what there is.
    """
    if not text:
        return list(things)
    shown = short_names(names(thing)[0] for thing in things)
    exact = [thing for thing in things if text in (*names(thing), shown.get(names(thing)[0]))]
    chosen = exact or [thing for thing in things if any(text in name for name in names(thing))]
    if not chosen:
        known = sorted(set(shown.values()))
        more = f" and {len(known) - MOST_NAMES} more" if len(known) > MOST_NAMES else ""
        near = meant(text, known)
        raise NotFoundError(
            f"no project matches {text!r}{near}; found: {', '.join(known[:MOST_NAMES]) or 'none'}{more}"
        )
    return chosen


def left_beside(text: str, things: Sequence[T], names: Callable[[T], tuple[str, str]]) -> list[T]:
    """Return what has ``text`` in its project's key or folder as well and is not chosen by it, such as worktrees.

    A hold on the same text covers them, so that whoever takes something out has to know what is left.
    """
    chosen = chosen_by(text, things, names)
    return [t for t in things if text and t not in chosen and any(text in name for name in names(t))]


def require_input(settings: Settings, environ: Mapping[str, str], project: str) -> None:
    """Refuse stores and projects that no job could work on; looking for a project takes a walk through the stores.

    Raises:
        UnreadableError: a store cannot be read at all.
        NotFoundError: no project matches ``project``.
    """
    if project:
        chosen_by(project, known_projects(settings, environ).projects, lambda p: (p.key, p.root))
    else:
        store_roots(settings, environ, [])


def memory_folders(settings: Settings, environ: Mapping[str, str], project: str = "") -> list[MemoryFolder]:
    """Return the memory folders that exist, of all projects or of the chosen ones; the global one is a project, too.

    Raises:
        UnreadableError: a store cannot be read at all.
        NotFoundError: no project matches ``project``.
    """
    projects = known_projects(settings, environ).projects
    everywhere = folders_of(projects, settings, environ)
    if project == NAME and any(folder.is_global for folder in everywhere):
        return [folder for folder in everywhere if folder.is_global]
    if not project:
        return everywhere
    return folders_of(chosen_by(project, projects, lambda p: (p.key, p.root)), settings, environ, chosen=True)


def folders_of(
    projects: Sequence[Project], settings: Settings, environ: Mapping[str, str], *, chosen: bool = False
) -> list[MemoryFolder]:
    """Return the memory folders of projects that exist, and the global one unless they are ``chosen``."""
    archive = archive_folder(environ)
    folders = [MemoryFolder(p.key, p.memory.resolve(), (*p.folders, archive)) for p in projects if p.memory.is_dir()]
    shared = global_folder(settings, environ)
    if not chosen and shared.is_dir():
        everywhere = (*(folder for p in projects for folder in p.folders), archive)
        folders.append(MemoryFolder(NAME, shared.resolve(), everywhere, is_global=True))
    return folders
