"""Forks and copies of sessions that are erased as a whole: they hold the same records, or need what they came from."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from slowwave.errors import SlowwaveError
from slowwave.retention.beside import session_files
from slowwave.retention.facts import texts_in
from slowwave.retention.holds import Facts
from slowwave.retention.job.fleet import Fleet
from slowwave.retention.sessions_gone import put_by
from slowwave.secrets.records import record_name, record_names
from slowwave.settings import Settings
from slowwave.stores.catalogue import own_catalogue
from slowwave.stores.listing import list_sessions
from slowwave.stores.model import Project, StoredSession


class Along(NamedTuple):
    """A session that goes along.

    Attributes:
        session: the session.
        project: key of its project.
        reason: what it has to do with one that was asked for.
        depth: how many forks lie between: what came from another one goes before it.
        needs: id of the session that its client looks for when it is opened, or "".
    """

    session: StoredSession
    project: str
    reason: str
    depth: int = 1
    needs: str = ""


def along(
    names: Collection[str], projects: Iterable[Project], forks: Mapping[str, str], environ: Mapping[str, str]
) -> tuple[dict[str, Along], list[str]]:
    """Return the forks and copies of sessions by their ids, and what could not be looked into.

    Args:
        names: ids of the sessions that were asked for.
        projects: all projects: a copy may lie in another one.
        forks: of each session that its client calls a fork, what it came from.
        environ: the environment: what was asked for may lie in the trash or the archive.

    Raises:
        CorruptStateError: a manifest of the trash, or a pack, is damaged.
    """
    every, problems = list(projects), list[str]()
    known = [(project.key, one) for project in every for one in project.sessions if not one.in_database]
    theirs: dict[str, set[str]] = {name: set() for name in names}
    for _, one in known:
        if one.id in theirs:
            theirs[one.id] |= _read(one, problems)
    for _, facts in put_by(environ):
        for name in theirs.keys() & set(facts.ids):
            theirs[name] |= records_put_by(name, facts, problems)
    fleet = Fleet(every)
    found = {one.session.id: one for one in _needing(names, fleet)}
    goes = [member for member in fleet.members.values() if member.session.id in names]
    inside = {id(one) for member in goes for one in member.inside}
    for project, one in known:
        if one.id in names or one.id in found or id(one) in inside:
            continue
        if forks.get(one.id) in names:
            found[one.id] = Along(one, project, f"came from session {forks[one.id]}")
            continue
        own = _read(one, problems)
        same = {name: len(own & of_it) for name, of_it in theirs.items()}
        name = max(same, key=lambda name: same[name])
        if same[name]:
            found[one.id] = Along(one, project, f"has {same[name]} of its {len(own)} records from session {name}")
    return found, problems


def forks_of(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """Return of each session that the listing calls a fork what it came from."""
    with own_catalogue(settings, environ) as catalogue:
        rows = list_sessions(settings, environ, catalogue, archived=False).rows
    return {row.id: row.parent for row in rows if row.kind == "fork" and row.parent}


def records_put_by(name: str, facts: Facts, problems: list[str]) -> set[str]:
    """Return the names of the records of a session in the trash or the archive; none when it is not whole there.

    A removal that was killed leaves such an item; what it did not move yet lies in its place.
    """
    try:
        return set(record_names(facts.texts()))
    except SlowwaveError as error:
        problems.append(f"session {name}: its copy in the trash or the archive tells nothing about others: {error}")
        return set()


def _read(session: StoredSession, problems: list[str]) -> set[str]:
    try:
        return set(records_of(session))
    except SlowwaveError as error:
        problems.append(f"session {session.id}: nobody knows whether it is a copy of what goes: {error}")
        return set()


def _needing(names: Collection[str], fleet: Fleet) -> Iterator[Along]:
    """Yield the sessions that name one of these, or one another, as what they came from."""
    projects = {id(member.session): member.project.key for member in fleet.members.values()}
    waiting = [(member.session, 1) for member in fleet.members.values() if member.session.id in names]
    seen = set(names)
    while waiting:
        session, depth = waiting.pop()
        for fork in fleet.referring_to(session):
            if fork.id not in seen:
                seen.add(fork.id)
                reason = f"came from session {session.id}, and needs it"
                yield Along(fork, projects[id(fork)], reason, depth, session.id)
                waiting.append((fork, depth + 1))


def records_of(session: StoredSession) -> Iterator[str]:
    """Yield the names of the records of a session that no other one has unless it is a copy or a fork.

    Raises:
        UnreadableError: a file cannot be read.
    """
    for path in dict.fromkeys(session_files(session)):
        yield from _records_in(path)


def _records_in(path: Path) -> Iterator[str]:
    if path.suffix == ".json":
        if name := record_name(path.read_bytes()):
            yield name
    else:
        yield from record_names(texts_in([path]))
