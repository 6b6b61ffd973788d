"""Find every session under the store roots, grouped into projects; what is left out is counted and shown."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from slowwave.dialects.model import SessionFiles, SessionKind
from slowwave.errors import SettingsError, UnknownDialectError
from slowwave.records.model import Problem
from slowwave.settings import Settings
from slowwave.stores.head import DIALECTS, Head, read_head
from slowwave.stores.model import Discovery, Project, StoredSession, StoreProblem
from slowwave.stores.roots import store_folders
from slowwave.stores.walk import FoundSession, Known, Walk, changed_files
from slowwave.stores.worktree import repository_of

HeadReader = Callable[[FoundSession], Head | StoreProblem]

_NOT_ALNUM = re.compile(r"[^0-9A-Za-z]")
REMEDY = f"name a Claude home, its projects folder or a folder of .jsonl transcripts of {DIALECTS}"


def find_projects(settings: Settings, environ: Mapping[str, str], *, read_head: HeadReader = read_head) -> Discovery:
    """Return the projects under ``settings.store.roots``, or under ``$HOME/.claude`` when none are set.

    Args:
        settings: roots, the template of memory folders and the size that Cersei would refuse to load.
        environ: the process environment, for ``HOME``.
        read_head: tells the dialect of a session; a catalogue answers from what it knows already.

    Raises:
        UnreadableError: a root is missing, a file, unreadable, or holds nothing that could be a store.
        UnknownDialectError: a root holds transcripts, and not one of them is of a known dialect.
        SettingsError: the template of memory folders is malformed.
    """
    discovery = Discovery()
    walk = Walk[Known](discovery.problems)
    groups: dict[tuple[str, str], _Group] = {}
    for root in store_folders(settings, environ, discovery.problems):
        strangers = 0
        known = 0
        for folder in root.folders:
            name = os.path.basename(folder)  # noqa: PTH119 - a name as it is on disk, any bytes
            group = groups.setdefault((os.path.dirname(folder), spelling_key(name)), _Group())  # noqa: PTH120
            group.folders.append(folder)
            for found in walk.sessions(folder):
                head = read_head(found)
                if isinstance(head, StoreProblem):
                    discovery.problems.append(head)
                    strangers += 1
                else:
                    group.sessions.append((folder, found, head))
                    known += 1
        if strangers and not known and not root.has_memory():
            first = discovery.problems[-1]
            raise UnknownDialectError(
                root.path, f"no transcript of a known dialect in it ({strangers} seen, {first.kind})", REMEDY
            )
    for group in groups.values():
        if group.sessions or any(os.path.isdir(f"{folder}/memory") for folder in group.folders):  # noqa: PTH112
            discovery.projects.append(group.project(settings, discovery.problems))
    discovery.projects.sort(key=lambda project: project.key)
    return discovery


def changed_since(settings: Settings, environ: Mapping[str, str], since_ns: int) -> list[str]:
    """Return the paths of all transcripts under the roots that changed after ``since_ns`` (nanoseconds).

    Parts and sub-agents' files beside their session are in it as they are; nothing is opened.

    Raises:
        UnreadableError: a root or one of its folders cannot be read.
    """
    problems: list[StoreProblem] = []
    roots = store_folders(settings, environ, problems)
    return [path for root in roots for path in changed_files(root.folders, since_ns)]


def spelling_key(name: str) -> str:
    """Return what all spellings of one project folder have in common.

    Claude Code writes ``-Users-foo-p``, Cersei's library ``_Users_foo_p`` and its command ``Users-foo-p``.
    """
    return _NOT_ALNUM.sub("-", name).strip("-")


def home_of(folders: Sequence[str]) -> str:
    """Return which of a project's folders keeps its memory and gives its name.

    The one that has an index already, else the one in Claude Code's spelling, else the first.
    """
    for folder in folders:
        if os.path.isfile(f"{folder}/memory/MEMORY.md"):  # noqa: PTH113
            return folder
    for folder in folders:
        if os.path.basename(folder).startswith("-"):  # noqa: PTH119
            return folder
    return folders[0]


class _Group:
    """The folders of one project and what was found in them."""

    def __init__(self) -> None:
        self.folders: list[str] = []
        self.sessions: list[tuple[str, FoundSession, Head]] = []

    def project(self, settings: Settings, problems: list[StoreProblem]) -> Project:
        home = home_of(self.folders)
        key = os.path.basename(home)  # noqa: PTH119
        stored = sorted((_stored(*item, settings, problems) for item in self.sessions), key=lambda s: s.mtime_ns)
        newest = max(self.sessions, key=lambda item: (bool(item[2].cwd), item[1].mtime_ns), default=None)
        root = repository_of(newest[2].cwd) if newest else ""
        memory = _memory_folder(settings.memory.folder, home, key)
        return Project(key, root, tuple(map(Path, self.folders)), memory, tuple(stored))


def _stored(
    folder: str, found: FoundSession, head: Head, settings: Settings, problems: list[StoreProblem]
) -> StoredSession:
    paths = tuple(Path(found.folder, file.name) for file in found.files)
    notes: list[Problem] = []
    for number in found.missing_parts():
        text = "the base file is missing" if number == 1 else f"part {number} is missing"
        notes.append(Problem("gap", paths[0], 0, 0, 0, f"{text}; the later parts are read all the same"))
    size = found.size
    if head.dialect == "cersei" and size > settings.store.warn_bytes:
        limit = settings.store.warn_bytes
        notes.append(Problem("too-large", paths[0], 0, 0, size, f"{size} bytes, Cersei itself refuses over {limit}"))
    problems += [StoreProblem("gap" if n.kind == "gap" else "too-large", found.path, n.detail) for n in notes]
    kind: SessionKind = "subagent" if head.side else "main"
    files = SessionFiles(found.id, paths, tuple(notes))
    return StoredSession(head.dialect, files, kind, Path(folder), size, found.mtime_ns)


def _memory_folder(template: str, home: str, key: str) -> Path:
    try:
        path = template.format(project=home, key=key)
    except (KeyError, IndexError, ValueError) as error:
        raise SettingsError(
            "memory.folder", template, "may hold {project} (the project's folder) and {key} (its name) only"
        ) from error
    return Path(path).expanduser().absolute()
