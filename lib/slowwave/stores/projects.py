"""What a project is: all sessions of one repository, whichever client they are of, and what people call it.

Claude Code and Cersei keep the sessions of a project in a folder named after it; the other clients only note the
working folder. A worktree counts as its repository, a folder that was moved as the one that the settings name.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from slowwave.errors import NotFoundError, SettingsError, UnreadableError, meant
from slowwave.files import data_folder, home_folder
from slowwave.formats.claude import FOLDER_OF_PROJECT
from slowwave.formats.registry import Seen
from slowwave.formats.sessions import SUFFIX, Place, StoredSession, StoreProblem
from slowwave.settings import Settings

T = TypeVar("T")


class Project(msgspec.Struct, frozen=True):
    """A repository or folder that agents worked in, with all its sessions."""

    key: str  # what people call it by on the command line, the name of its folder
    root: str  # the working folder that its records name (the git root when there is one), or "" when they name none
    folders: tuple[Path, ...]  # the folders and databases of the stores that its sessions lie in
    memory: Path  # its memory folder (it may not exist yet)
    sessions: tuple[StoredSession, ...]  # all sessions, oldest modification first
    versions: dict[str, Seen] = {}  # the version of each client that counts, whatever project it was seen in


class Discovery(msgspec.Struct):
    """Everything found under the roots."""

    projects: list[Project] = msgspec.field(default_factory=list[Project])  # by key, each with its sessions
    # everything that was left out, and why
    problems: list[StoreProblem] = msgspec.field(default_factory=list[StoreProblem])


@dataclass(slots=True)
class Bundle(Generic[T]):
    """Things of one place that surely belong together."""

    place: Place  # where they lie
    cwd: str  # the working folder of the newest of them that names one, or ""
    mtime_ns: int  # when that one changed
    items: list[T]  # the things


@dataclass(slots=True)
class Group(Generic[T]):
    """The things of one project: its root, its own folders in the stores, all of its places, and the things."""

    root: str
    folders: list[str] = field(default_factory=list[str])
    places: list[str] = field(default_factory=list[str])
    items: list[T] = field(default_factory=list[T])

    @property
    def home(self) -> str:
        """Which of its folders keeps its memory and gives its name, or "" when it has none."""
        return home_of(self.folders, self.root) if self.folders else ""

    @property
    def key(self) -> str:
        """What people call the project by."""
        return os.path.basename(self.home) if self.folders else spelled(self.root or self.places[0])  # noqa: PTH119


class Roots:
    """Tells the project root of a working folder; each folder is looked at once.

    ``settings``: which folders were moved. ``environ``: the process environment, for ``HOME``.
    """

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self._moved = sorted(settings.store.moved.items(), key=lambda item: len(item[0]), reverse=True)
        self._home = os.fspath(home_folder(environ))
        self._known: dict[str, str] = {"": ""}
        self._worked_in: set[str] = set()

    def note(self, folders: Iterable[str]) -> None:
        """Take note of all working folders, before any is asked about: of a lost worktree one may be the repository."""
        self._worked_in |= {self._today(folder).rstrip("/") for folder in folders}

    def root_of(self, cwd: str) -> str:
        """Return the repository, else the folder itself, of a working folder as it is called today."""
        known = self._known.get(cwd)
        if known is None:
            today = self._today(cwd)
            root = repository_of(today, self._home)
            known = self._known[cwd] = self._without_worktree(root) if root == today else root
        return known

    def _without_worktree(self, folder: str) -> str:
        """Return the repository of a worktree that is gone with it, by its name; else the folder itself.

        The clients' own places for worktrees lie in the repository. ``worktrees`` alone may be any folder: it counts
        where somebody worked in the folder above it.
        """
        # on Windows either sign parts folders, elsewhere a name may have this one in it
        slashed = folder.replace("\\", "/") if _ON_WINDOWS.match(folder) else folder
        for place in (*_OWN_WORKTREES, _WORKTREES):
            before, found, tree = slashed.partition(place)
            above = folder[: len(before)]
            is_repository = found and tree.strip("/") and above != self._home and not _SOMEBODYS_HOME.match(before)
            if is_repository and (place in _OWN_WORKTREES or above in self._worked_in):
                return self._without_worktree(above)
        return folder

    def _today(self, cwd: str) -> str:
        for old, new in self._moved:
            if cwd == old or cwd.startswith(old.rstrip("/") + "/"):
                return new.rstrip("/") + cwd[len(old.rstrip("/")) :]
        return cwd


def bundled(place: Place, items: Iterable[T], facts: Callable[[T], tuple[str, int]]) -> list[Bundle[T]]:
    """Return the things of one place in bundles: one of a project's own folder, else one for each working folder."""
    if place.kind == FOLDER_OF_PROJECT:
        return [_one(place, list(items), facts)]
    of: dict[str, list[T]] = {}
    for item in items:
        of.setdefault(facts(item)[0], []).append(item)
    return [_one(place, some, facts) for some in of.values()]


def _one(place: Place, items: list[T], facts: Callable[[T], tuple[str, int]]) -> Bundle[T]:
    cwd, mtime_ns = newest_folder(map(facts, items))
    return Bundle(place, cwd, mtime_ns, items)


def newest_folder(facts: Iterable[tuple[str, int]]) -> tuple[str, int]:
    """Return the working folder that was named last, and when; of equals always the same one, in whichever order.

    ``facts``: working folders, or "", and when their sessions changed.
    """
    at, newest = max(((mtime_ns, cwd) for cwd, mtime_ns in facts if cwd), default=(-1, ""))
    return newest, at


def spelling_of(place: Place) -> tuple[str, str]:
    """Return what all spellings of one project's folder have in common; of a place of another kind, the place."""
    if place.kind != FOLDER_OF_PROJECT:
        return place.kind, place.path
    parent, _, name = place.path.rpartition("/")
    return parent, spelling_key(name)


def grouped(bundles: Sequence[Bundle[T]], roots: Roots) -> list[Group[T]]:
    """Return the projects that the bundles make up, each with everything of one repository."""
    spellings: dict[tuple[str, str], list[Bundle[T]]] = {}
    others: list[Bundle[T]] = []
    for bundle in bundles:
        if bundle.place.kind == FOLDER_OF_PROJECT:
            spellings.setdefault(spelling_of(bundle.place), []).append(bundle)
        else:
            others.append(bundle)
    groups: dict[str, Group[T]] = {}
    roots.note(bundle.cwd for bundle in bundles)
    for same in spellings.values():
        root = roots.root_of(max(same, key=lambda b: b.mtime_ns).cwd)
        group = groups.setdefault(root or f"{same[0].place.path}\0", Group(root))
        group.folders += [bundle.place.path for bundle in same]
        _add(group, same)
    for bundle in others:
        root = roots.root_of(bundle.cwd)
        _add(groups.setdefault(root or f"{bundle.place.path}\0", Group(root)), [bundle])
    return list(groups.values())


def _add(group: Group[T], bundles: Iterable[Bundle[T]]) -> None:
    for bundle in bundles:
        group.items += bundle.items
        if bundle.place.path not in group.places:
            group.places.append(bundle.place.path)


def home_of(folders: Sequence[str], root: str = "") -> str:
    """Return which of a project's folders keeps its memory and gives its name.

    One that has an index already before one that has none, one that is named after the project's root before others,
    one in Claude Code's spelling before others, and the first of those that are left.
    """
    name = spelled(root)

    def rank(folder: str) -> tuple[bool, bool, bool]:
        own = os.path.basename(folder)  # noqa: PTH119 - a name as it is on disk, any bytes
        has_index = os.path.isfile(f"{folder}/memory/MEMORY.md")  # noqa: PTH113
        return has_index, own == name, own.startswith("-")

    return max(folders, key=rank)  # the first of equals


def memory_folder(group: Group[T], settings: Settings, environ: Mapping[str, str]) -> Path:
    """Return the memory folder of a project; it may not exist yet.

    Raises SettingsError: a template of memory folders is malformed.
    """
    if group.folders:
        name, values = "folder", {"project": group.home, "key": group.key}
    else:
        name, values = "elsewhere", {"data": os.fspath(data_folder(environ)), "key": group.key}
    template: str = getattr(settings.memory, name)
    try:
        path = template.format(**values)
    except (KeyError, IndexError, ValueError) as error:
        known = " and ".join(f"{{{key}}}" for key in values)
        raise SettingsError(f"memory.{name}", template, f"may hold {known} only") from error
    return Path(path).expanduser().absolute()


# Where a new session of a working folder goes: the project's folder, in the spelling that exists or is set.


def new_session_folder(settings: Settings, environ: Mapping[str, str], cwd: Path) -> Path:
    """Return the folder for a new session that works in ``cwd``; it may not exist yet.

    A project that has a folder already, in whichever spelling, keeps it. A store that is one folder of transcripts
    takes the session itself. Raises UnreadableError: the store is a file.
    """
    named = settings.store.roots
    root = named[0] if named else Path(environ.get("HOME") or "~").expanduser() / ".claude"
    if root.exists() and not root.is_dir():
        raise UnreadableError(root, "is a file, not a folder", "name a folder with --store")
    names = os.listdir(root) if root.is_dir() else []  # noqa: PTH208 - names only
    if root.name != "projects" and "projects" not in names:
        if any(name.endswith(SUFFIX) for name in names):
            return root
        if not any((root / name).is_dir() for name in names):
            root = root / "projects"
    elif "projects" in names:
        root = root / "projects"
    folder = spelled(os.fspath(cwd), settings.store.write_spelling)
    if root.is_dir():
        for entry in sorted(root.iterdir()):
            if entry.is_dir() and spelling_key(entry.name) == spelling_key(folder):
                return entry
    return root / folder


# The names that clients give to the folder of a project: the working folder, spelled in one of three ways.

_NOT_ALNUM = re.compile(r"[^0-9A-Za-z]")


def spelled(cwd: str, spelling: str = "claude") -> str:
    """Return the folder name of a working folder as Claude Code, Cersei's library or Cersei's command spells it."""
    if spelling == "cersei":
        return re.sub(r"[^\w.-]", "_", cwd)
    if spelling == "cersei-cli":
        return re.sub(r"[/\\:]", "-", cwd).strip("-")
    return _NOT_ALNUM.sub("-", cwd)


def spelling_key(name: str) -> str:
    """Return what all spellings of one project folder have in common.

    Claude Code writes ``-Users-foo-p``, Cersei's library ``_Users_foo_p`` and its command ``Users-foo-p``.
    """
    return _NOT_ALNUM.sub("-", name).strip("-")


# The repository that a working folder belongs to, where it still exists on this machine.

# The folder that holds the repository's own data; in a worktree it is a file that points there.
_GIT = ".git"
# where clients put worktrees of the repository that they work in, and what people call such a folder
_OWN_WORKTREES = ("/.claude/worktrees/", "/.worktrees/")
_WORKTREES = "/worktrees/"
# worktrees of many repositories lie there; also of a home folder of another machine
_SOMEBODYS_HOME = re.compile(r"(?:[A-Za-z]:)?(?:/|/root|/(?:home|Users)(?:/[^/]+)?)?\Z")
_ON_WINDOWS = re.compile(r"[A-Za-z]:[/\\]|\\\\")


def repository_of(cwd: str, home: str = "") -> str:
    """Return the git root above ``cwd``, for a worktree that of its repository, else ``cwd`` itself.

    ``cwd``: an absolute path; it may not exist on this machine; ``home``: the person's home folder: a repository of it
    (settings kept under version control) does not make one project of everything below it.
    """
    if not cwd.startswith("/") or "\0" in cwd:
        return cwd
    try:
        for folder in (Path(cwd), *Path(cwd).parents):
            if str(folder) == home and cwd != home:
                return cwd
            mark = folder / _GIT
            if mark.is_dir():
                return str(folder)
            if mark.is_file():
                return _main_repository(mark) or str(folder)
    except OSError:
        # a folder above it may not be read, or the name is longer than this system allows
        return cwd
    return cwd


def _main_repository(mark: Path) -> str:
    """Return the repository that a worktree's ``.git`` file names (``gitdir: REPO/.git/worktrees/NAME``), or ""."""
    text = mark.read_text(encoding="utf-8", errors="surrogateescape")[:4096].strip()
    # git writes it relative where it is asked to (worktree.useRelativePaths)
    target = Path(os.path.normpath(mark.parent / text.removeprefix("gitdir:").strip()))
    if text.startswith("gitdir:") and target.parent.name == "worktrees" and target.parent.parent.name == _GIT:
        return str(target.parent.parent.parent)
    return ""


# What people call projects, and which of them a text means: the same for every command and every job.

MOST_NAMES = 8
_HOME = re.compile(r"-(?:home|Users)-[^-]+-(?=.)")


def short_names(keys: Iterable[str]) -> dict[str, str]:
    """Return what people call projects: their keys without the home folder, where that names one project only.

    ``--project`` takes these names, too: it asks for a part of the key.
    """
    every = list(dict.fromkeys(keys))
    # a home that lies elsewhere is known by its path alone
    home = re.sub(r"[^A-Za-z0-9]", "-", os.path.expanduser("~").rstrip("/")) + "-"  # noqa: PTH111 - text, as keys are
    rest = {key: key.removeprefix(home) if len(home) > 1 else key for key in every}
    short = {
        key: (_HOME.sub("", name, count=1) if _HOME.match(name) else name).lstrip("-") or key
        for key, name in rest.items()
    }
    known = Counter(short.values())
    return {key: name if known[name] == 1 else key for key, name in short.items()}


def chosen_by(text: str, things: Sequence[T], names: Callable[[T], tuple[str, str]]) -> list[T]:
    """Return the things whose project key or working folder contains ``text``; "" chooses all.

    Where ``text`` is the whole key, working folder or name on the screen of some, these alone are meant. ``things``:
    projects, or anything that belongs to one; ``names``: returns the key and the working folder of a thing's project.
    Raises NotFoundError: nothing matches; the message names what there is.
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
