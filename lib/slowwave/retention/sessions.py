"""All sessions of this machine as retention sees them, and where else the text of each lies.

What is judged alone and what goes with something else (:class:`Fleet`); what lies in a folder of its own, beside a
session, and in the home of its client (:func:`session_files`, :func:`home_files`).
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path

import msgspec

from slowwave.formats.lines import relaxed_collector
from slowwave.formats.registry import client_of
from slowwave.formats.sessions import StoredSession, key_in_database
from slowwave.settings.model import Source, Subject
from slowwave.stores.projects import Project

_UNTYPED = ("cron", "hook", "question")
_PUT_ASIDE: dict[str, Source] = {
    "archived": "archived",
    "backup": "archived",
    "reset": "reset",
    "deleted": "deleted",
}


class Member(msgspec.Struct, frozen=True, gc=False):
    """A session that is judged, and those of sub-agents in its own folder, which go where it goes."""

    session: StoredSession
    project: Project
    inside: tuple[StoredSession, ...] = ()

    @property
    def sessions(self) -> tuple[StoredSession, ...]:
        """All of them."""
        return (self.session, *self.inside)


class Fleet:
    """The sessions of all projects.

    Attributes:
        members: by the id of their subject.
    """

    def __init__(self, projects: Iterable[Project]) -> None:
        """Sort out which sessions stand for themselves."""
        self.members: dict[str, Member] = {}
        with relaxed_collector():
            for project in projects:
                self._add(project)

    def subjects(self) -> Iterator[Subject]:
        """Yield what the rules are asked about."""
        for key, member in self.members.items():
            session = member.session
            newest, size = session.mtime_ns, session.size
            for other in member.inside:
                newest, size = max(newest, other.mtime_ns), size + other.size
            yield Subject(key, session.dialect, member.project.key, source_of(session), newest / 1e9, size)

    def referring_to(self, session: StoredSession) -> Sequence[StoredSession]:
        """Return the sessions that name one as the one that they came from."""
        return self._referring.get((session.dialect, session.id), ())

    @cached_property
    def _referring(self) -> dict[tuple[str, str], list[StoredSession]]:
        found: dict[tuple[str, str], list[StoredSession]] = defaultdict(list)
        for member in self.members.values():
            one = member.session
            if one.parent and client_of(one.dialect).refers:
                found[one.dialect, one.parent].append(one)
        return found

    def _add(self, project: Project) -> None:
        if not any(one.kind == "subagent" for one in project.sessions):
            self.members |= {key_of(one): Member(one, project) for one in project.sessions}
            return
        owners = {(os.fspath(one.folder), one.id): one for one in project.sessions if one.kind != "subagent"}
        inside: dict[int, list[StoredSession]] = defaultdict(list)
        alone: list[StoredSession] = []
        for one in project.sessions:
            owner = owners.get((os.fspath(one.folder), owner_of(one))) if one.kind == "subagent" else None
            if owner is None:
                alone.append(one)
            else:
                inside[id(owner)].append(one)
        for one in alone:
            self.members[key_of(one)] = Member(one, project, tuple(inside.get(id(one), ())))


def key_of(session: StoredSession) -> str:
    """Return what tells a session from every other one."""
    path = str(session.files.paths[0])
    return key_in_database(path, session.id) if session.in_database else path


def source_of(session: StoredSession) -> Source:
    """Return what kind of session one is; who began it counts before that nobody types into it."""
    if session.source in _PUT_ASIDE:
        return _PUT_ASIDE[session.source]
    if session.messages == 0:
        return "empty"
    if session.origin in _UNTYPED:
        return "cron"
    return "subagent" if session.kind == "subagent" else "interactive"


def owner_of(session: StoredSession) -> str:
    """Return the id of the session that a sub-agent's session goes with: in its own folder, or beside.

    Claude Code 2.0 kept them beside the sessions, and says in each which one it works for.
    """
    below = os.fspath(session.files.paths[0])[len(os.fspath(session.folder)) + 1 :]
    name, _, rest = below.partition("/")
    return name if rest else session.parent if client_of(session.dialect).owner_in_records else ""


def paths_of(member: Member) -> list[Path]:
    """Return the files of a member's sessions."""
    return [path for session in member.sessions for path in session.files.paths]


# Where else the text of a session lies: in a folder of its own, beside it, and in the home of its client.
#
# Copies of the person's own files (``file-history`` of Claude Code) are no transcripts: what is in them is in the files
# themselves, and a rewind must give them back as they were.

# from a transcript up to the home of its client: Codex has a folder for each day
_MOST_ABOVE = 5
# between a session and its sub-agent in the name of a list of tasks
_OF_AGENT = "-agent-"


def session_files(session: StoredSession) -> Iterator[Path]:
    """Yield the files of a session, and those that its client keeps beside it for this session alone."""
    for path in session.files.paths:
        yield path
        yield from client_of(session.dialect).beside(session, path)


def named_after(session: StoredSession, home: Path) -> Iterator[Path]:
    """Yield the files and folders near a session that are named after it, whatever its client keeps in them.

    Looked at are the folders above its transcript and those in them, below the user's home: lists of tasks, notes of
    errors, differences, messages each have a folder of their own in the home of their client.
    """
    first = session.files.paths[0]
    for folder in first.parents[:_MOST_ABOVE]:
        if folder in (home, folder.parent):
            break
        for one in (folder, *_folders_in(folder)):
            yield from (one / name for name in _by_token(one).get(session.id, ()))


def _folders_in(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        return sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))


def _by_token(folder: Path) -> Mapping[str, tuple[str, ...]]:
    """Return what lies in a folder by what its name begins with."""
    at = folder.stat()
    return _listed(os.fspath(folder), at.st_mtime_ns, at.st_ino)


@lru_cache(maxsize=4096)
def _listed(folder: str, mtime_ns: int, ino: int) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG001 - the key
    found: dict[str, list[str]] = {}
    for name in sorted(os.listdir(folder)):  # noqa: PTH208 - names only
        token = name.partition(".")[0]
        for one in dict.fromkeys((name, token, token.partition(_OF_AGENT)[0])):
            found.setdefault(one, []).append(name)
    return {token: tuple(names) for token, names in found.items()}


def home_files(sessions: Iterable[StoredSession]) -> list[Path]:
    """Return the files in the homes of clients that quote sessions of any project: prompts, names, indexes."""
    found: set[Path] = set()
    for session in sessions:
        found.update(client_of(session.dialect).quoting(session.files.paths[0]))
    return sorted(path for path in found if path.is_file() and not path.is_symlink())
