"""Whole sessions leave: from their clients, the trash and the archive, with the forks and copies of them.

What a fork shares with the session it came from is the same record, or needs it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from slowwave.clock import Clock
from slowwave.errors import NotFoundError, SlowwaveError
from slowwave.files import replacement, write_all
from slowwave.formats.changes import file_state
from slowwave.formats.registry import by_name
from slowwave.formats.sessions import StoredSession
from slowwave.locks import locked_file
from slowwave.places import archive_folder
from slowwave.retention.audit import AuditLog, Entry
from slowwave.retention.holds import Facts, facts_of_item, facts_of_shelved, texts_in
from slowwave.retention.removal import as_found
from slowwave.retention.sessions import Fleet, session_files
from slowwave.secrets.blocklist import moment_name, record_name, record_names
from slowwave.settings import Settings
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.catalogue import own_catalogue
from slowwave.stores.discovery import list_sessions
from slowwave.stores.model import Project
from slowwave.stores.removal import plan_removal, remove
from slowwave.stores.trash import TrashItem, finish_freeing, free, ids_in, trash_folder, trash_items

REASON = "erased"


def remove_for_good(session: StoredSession, environ: Mapping[str, str], clock: Clock, run: str) -> TrashItem:
    """Remove a session with all that its client keeps of it, and return what went.

    It passes through the trash, which survives a kill; the next run frees what is left there.

    Raises:
        RefusedError: a client has it open, a fork needs it, or it changed.
        UsageError: only its client can remove it.
        OSError: something cannot be moved.
    """
    trash = trash_folder(environ)
    item = remove(plan_removal(as_found(session), environ, clock), trash, clock, reason=REASON)
    _note(item, environ, clock, run)
    free(item, trash)
    return item


def unknown(names: Iterable[str], projects: Iterable[Project], environ: Mapping[str, str]) -> list[str]:
    """Return which of some ids no session has, in its place, in the trash or in the archive.

    Raises:
        CorruptStateError: a manifest of the trash does not parse.
    """
    left = set(names) - {session.id for project in projects for session in project.sessions}
    if left:
        left -= {name for item in trash_items(trash_folder(environ)) for name in ids_in(item)}
    shelf = Shelf(archive_folder(environ))
    return [name for name in sorted(left) if not shelf.find(name)]


def in_trash(sessions: Collection[str], environ: Mapping[str, str]) -> list[TrashItem]:
    """Return what lies in the trash of these sessions.

    Raises:
        CorruptStateError: a manifest does not parse.
    """
    return [item for item in trash_items(trash_folder(environ)) if item.session in sessions]


def put_by(environ: Mapping[str, str]) -> Iterator[tuple[Path, Facts]]:
    """Yield every copy of a session in the trash and in the archive: where it lies, and what a hold is asked about it.

    Raises:
        CorruptStateError: a manifest does not parse.
    """
    trash, shelf = trash_folder(environ), Shelf(archive_folder(environ))
    archived = {one.session.id: one.session for one in shelf.sessions()}
    for item in trash_items(trash):
        yield trash / item.id, facts_of_item(item, trash, archived.get(item.session))
    for one in shelf.sessions():
        yield one.pack, facts_of_shelved(one)


def free_from_trash(sessions: Collection[str], environ: Mapping[str, str], clock: Clock, run: str) -> None:
    """Free what lies in the trash of these sessions, whatever its grace period.

    Raises:
        CorruptStateError: a manifest does not parse.
        OSError: something cannot be removed.
    """
    for item in in_trash(sessions, environ):
        _note(item, environ, clock, run)
        free(item, trash_folder(environ))
    finish_freeing(trash_folder(environ))


def in_archive(sessions: Collection[str], environ: Mapping[str, str]) -> list[str]:
    """Return the ids of these sessions that some pack holds."""
    shelf = Shelf(archive_folder(environ))
    return [name for name in sorted(sessions) if shelf.find(name)]


def leave_archive(sessions: Collection[str], environ: Mapping[str, str]) -> None:
    """Take these sessions out of all packs.

    Raises:
        CorruptStateError: a pack is damaged.
        OSError: a pack cannot be written.
    """
    with suppress(NotFoundError):
        Shelf(archive_folder(environ)).without(sessions)


def lines_of(path: Path, sessions: Collection[str]) -> int:
    """Return how many lines of an index of prompts are of these sessions."""
    marks = _marks(sessions)
    return sum(any(mark in line for mark in marks) for line in path.read_bytes().splitlines()) if marks else 0


def drop_lines(path: Path, sessions: Collection[str]) -> None:
    """Take the lines of these sessions out of an index of prompts.

    Raises:
        SlowwaveError: somebody wrote to it meanwhile, or keeps it locked; it is untouched.
        OSError: it cannot be written.
    """
    marks = _marks(sessions)
    with locked_file(path) as old:
        state = file_state(path)

        def check() -> None:
            if file_state(path) != state:
                raise SlowwaveError(f"{path}: somebody wrote to it meanwhile; run it again")

        with replacement(path, check=check) as new, open(old, "rb", closefd=False) as file:
            for line in file:
                if not any(mark in line for mark in marks):
                    write_all(new, line)


def _marks(sessions: Collection[str]) -> list[bytes]:
    return [f'"{name}"'.encode() for name in sorted(sessions)]


def _note(item: TrashItem, environ: Mapping[str, str], clock: Clock, run: str) -> None:
    size = sum(file.size for file in item.files)
    entry = Entry(
        action="erase",
        run=run,
        session=item.session,
        dialect=item.dialect,
        files=len(item.files),
        size=size,
        item=item.id,
    )
    AuditLog(environ).append([entry], clock.now())


# Forks and copies of sessions that are erased as a whole: they hold the same records, or need what they came from.

# so many bytes of a model's own words are not said twice by chance
_OWN_WORDS = 200


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


class Kin(NamedTuple):
    """What goes along with some sessions.

    Attributes:
        stored: forks and copies in the stores by their ids.
        put_by: those in the trash or the archive by their ids, each with what it has to do with a session that goes.
        problems: what could not be looked into.
    """

    stored: dict[str, Along]
    put_by: dict[str, str]
    problems: list[str]


class _Line(msgspec.Struct, gc=False):
    """A line of crabtalk: its header, or a message without an id."""

    agent: object = None
    created_by: object = None
    role: object = None
    content: object = None
    compact: object = None


_line = msgspec.json.Decoder(_Line)


def along(
    names: Collection[str], projects: Iterable[Project], forks: Mapping[str, str], environ: Mapping[str, str]
) -> Kin:
    """Return the forks and copies of sessions, and what could not be looked into.

    Args:
        names: ids of the sessions that were asked for.
        projects: all projects: a copy may lie in another one.
        forks: of each session that its client calls a fork, what it came from.
        environ: the environment: what was asked for may lie in the trash or the archive.

    Raises:
        CorruptStateError: a manifest of the trash, or a pack, is damaged.
    """
    every, problems, away = list(projects), list[str](), list(put_by(environ))
    sessions = [(project.key, one) for project in every for one in project.sessions]
    # of what lies in databases only opencode's forks can be told, by what is read of them
    read = {one.dialect for _, one in sessions if one.id in names} & {"opencode"}
    known = [(key, one) for key, one in sessions if not one.in_database or one.dialect in read]
    theirs: dict[str, set[str]] = {name: set() for name in names}
    for _, one in known:
        if one.id in theirs:
            theirs[one.id] |= _read(one, problems)
    for _, facts in away:
        for name in theirs.keys() & set(facts.ids):
            theirs[name] |= _put_by(name, facts, problems)
    fleet = Fleet(every)
    found = {one.session.id: one for one in _needing(names, fleet)}
    goes = [member for member in fleet.members.values() if member.session.id in names]
    inside = {id(one) for member in goes for one in member.inside}
    for project, one in known:
        if one.id in names or one.id in found or id(one) in inside:
            continue
        if forks.get(one.id) in names:
            found[one.id] = Along(one, project, f"came from session {forks[one.id]}")
        elif reason := _shared(_read(one, problems), theirs):
            found[one.id] = Along(one, project, reason)
    # what lies in its place as well is dealt with by its name
    left = [facts for _, facts in away if not (theirs.keys() | found.keys()) & set(facts.ids)]
    return Kin(found, _away(left, theirs, problems), problems)


def _away(left: Iterable[Facts], theirs: Mapping[str, set[str]], problems: list[str]) -> dict[str, str]:
    """Return the ids of what shares records with sessions that go, and why."""
    found: dict[str, str] = {}
    for facts in left:
        if reason := _shared(_put_by(min(facts.ids), facts, problems), theirs):
            found |= dict.fromkeys(facts.ids, reason)
    return found


def _shared(own: Collection[str], theirs: Mapping[str, set[str]]) -> str:
    """Return what a session has to do with the one that it shares most records with, or ""."""
    same = {name: len(of_it.intersection(own)) for name, of_it in theirs.items()}
    name = max(same, key=lambda name: same[name])
    return f"has {same[name]} of its {len(own)} records from session {name}" if same[name] else ""


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


def _put_by(name: str, facts: Facts, problems: list[str]) -> set[str]:
    """Return what a session in the trash or the archive is known by beside others."""
    found = records_put_by(name, facts, problems)
    return found | set(_beginnings(facts.texts())) if found else found


def _beginnings(texts: Iterable[bytes]) -> Iterator[str]:
    """Yield a name for each message of crabtalk, which has neither an id nor a time: all of the session up to there.

    A copy begins with the same messages, whatever became of its header. It is one where enough of them are a model's.
    """
    so_far, said = sha256(), 0
    for raw in (line.strip() for text in texts for line in text.split(b"\n")):
        try:
            line = _line.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if isinstance(line.agent, str) and isinstance(line.created_by, str):
            so_far, said = sha256(f"{line.agent}\n{line.created_by}".encode("utf-8", "surrogatepass")), 0
        elif isinstance(line.role, str) or isinstance(line.compact, str):
            so_far.update(raw + b"\n")
            if line.role == "assistant" and isinstance(line.content, str):
                said += len(line.content)
            if said >= _OWN_WORDS:
                yield so_far.hexdigest()


def _moments(session: StoredSession) -> Iterator[str]:
    """Yield a name for each message of opencode: a fork gives it a new id, and keeps its time and words."""
    for message in by_name(session.dialect).read(session.files).messages:
        if name := moment_name(message.role, message.timestamp, message.text):
            yield name


def _read(session: StoredSession, problems: list[str]) -> set[str]:
    found: set[str] = set()
    try:
        found |= set(records_of(session))
        if session.dialect == "crabtalk":
            found |= set(_beginnings(texts_in(session.files.paths)))
    except SlowwaveError as error:
        problems.append(f"session {session.id}: nobody knows whether it is a copy of what goes: {error}")
    return found


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
    if session.dialect == "opencode":
        yield from _moments(session)
    if not session.in_database:
        for path in dict.fromkeys(session_files(session)):
            yield from _records_in(path)


def _records_in(path: Path) -> Iterator[str]:
    if path.suffix == ".json":
        if name := record_name(path.read_bytes()):
            yield name
    else:
        yield from record_names(texts_in([path]))
