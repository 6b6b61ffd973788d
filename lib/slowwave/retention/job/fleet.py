"""All sessions of this machine as retention sees them: what is judged alone, and what goes with something else."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import msgspec

from slowwave.formats.lines import relaxed_collector
from slowwave.retention.policy import Subject
from slowwave.retention.policy.model import Source
from slowwave.stores.model import Project, StoredSession
from slowwave.stores.walk import key_in_database

# whose forks need, or name, the session that they came from
_REFERRING = ("codex", "pi", "openclaw")
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
            if one.parent and one.dialect in _REFERRING:
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
    return name if rest else session.parent if session.dialect == "claude" else ""


def paths_of(member: Member) -> list[Path]:
    """Return the files of a member's sessions."""
    return [path for session in member.sessions for path in session.files.paths]
