"""Remove a session as a whole: what belongs to it, whether it may go, and in which order."""

import os
import secrets
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from slowwave.clock import Clock
from slowwave.errors import MovedError, RefusedError, UsageError
from slowwave.formats.client import Belongings
from slowwave.formats.model import SessionFiles
from slowwave.formats.notes import Note
from slowwave.formats.registry import client_of
from slowwave.formats.sessions import FoundSession, StoredSession, StoreProblem, part_name, session_stem
from slowwave.formats.walk import SIDE_FOLDER
from slowwave.locks import locked_file
from slowwave.places import home_folder
from slowwave.stores.activity import claimed_by
from slowwave.stores.roots import read_head
from slowwave.stores.trash import TrashItem, restore, throw_away, written_to


@dataclass(frozen=True, slots=True)
class Removal:
    """The plan of one removal: the session as it was found, what moves, in order, the home, and what is noted of it."""

    session: FoundSession
    dialect: str
    paths: tuple[Path, ...]
    home: Path
    notes: tuple[Note, ...] = ()


def plan_removal(session: FoundSession, environ: Mapping[str, str], clock: Clock) -> Removal:
    """Return what the removal of a session would move.

    What goes together, and in which order, tells :func:`belongings_of`: a removal that was killed leaves a session that
    can be found and removed again, or nothing that its client would take for one.

    Raises:
        RefusedError: a running client has it open, or a fork needs it.
        UsageError: it is no file of its own: its client's database, or files that name each other, would break.
        UnreadableError: the index of its client cannot be read.
    """
    head = read_head(session)
    dialect = "unknown" if isinstance(head, StoreProblem) else head.dialect
    if session.in_database or not client_of(dialect).is_lines:
        raise UsageError(f"{session.id}: {session.path} belongs to {dialect} alone; remove the session in its client")
    home = home_folder(environ)
    stored = stored_session(session, dialect)
    _refuse(stored, home, clock)
    paths, notes = belongings_of(stored, home)
    return Removal(session, dialect, paths, home, notes)


def remove(plan: Removal, trash: Path, clock: Clock, *, reason: str = "removed on request") -> TrashItem:
    """Move a session into the trash, under its lock.

    Raises:
        MovedError: it changed since the plan was made; nothing was moved.
        RefusedError: a client has opened or forked it since then.
        LockHeldError: somebody has been writing to it all the time.
    """
    now = clock.now()
    item_id = f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    first = Path(plan.session.folder, plan.session.files[0].name)
    stored = stored_session(plan.session, plan.dialect)
    _refuse(stored, plan.home, clock)
    held = client_of(plan.dialect).lock(first, plan.session.id)
    with held or nullcontext(), locked_file(first):
        for file in plan.session.files:
            path = Path(plan.session.folder, file.name)
            at = path.stat()
            if (at.st_size, at.st_mtime_ns, at.st_dev, at.st_ino) != (file.size, file.mtime_ns, file.dev, file.ino):
                raise MovedError(f"{path}: changed since it was looked at, so nothing was removed; try again")
        _refuse_new_part(first, plan.session)
        if held is None:
            _refuse(stored, plan.home, clock)  # somebody may have opened it while the lock was waited for
        item = throw_away(
            plan.paths,
            trash,
            item_id=item_id,
            session=plan.session.id,
            dialect=plan.dialect,
            reason=reason,
            at=now,
            notes=plan.notes,
        )
    if path := written_to(item, trash):
        restore(item, trash)
        raise MovedError(f"{path}: somebody wrote to it at that moment, so it was put back; try again")
    return item


def _refuse(session: StoredSession, home: Path, clock: Clock) -> None:
    if reason := claimed_by(session, home, clock.now()):
        raise RefusedError(f"session {session.id} is {reason}; close it there first")
    if reason := reason_to_stay(session):
        raise RefusedError(f"session {session.id} stays: {reason}")


def _refuse_new_part(first: Path, session: FoundSession) -> None:
    """Refuse a session to which its client has begun another part: nobody would find that one alone."""
    _, number = session_stem(session.files[-1].name)
    new = first.with_name(part_name(session_stem(first.name)[0], number + 1))
    if os.path.lexists(new):
        raise MovedError(f"{new}: was begun since the session was looked at, so nothing was removed; try again")


def stored_session(found: FoundSession, dialect: str) -> StoredSession:
    """Return a session of the walk in the shape that the rules about live sessions take."""
    paths = tuple(Path(found.folder, file.name) for file in found.files)
    folder = found.folder
    at = f"{folder}/".rfind(f"/{SIDE_FOLDER}/")
    if found.side and at >= 0:
        folder = os.path.dirname(folder[:at])  # noqa: PTH120 - PROJECT/SESSION/subagents, names of any bytes
    kind = "subagent" if found.side else "main"
    files = SessionFiles(found.id, paths)
    return StoredSession(dialect, files, kind, Path(folder), found.size, found.mtime_ns, found.source)


def belongings_of(session: StoredSession, home: Path) -> Belongings:  # noqa: ARG001 - ids of all clients lead to files
    """Return what goes together with a session: every transcript of its own, and what its client keeps beside it.

    What a client has put aside (reset, deleted, a checkpoint) and every topic are sessions of their own, each under
    its own rules; none of them takes another one along.

    Args:
        session: the session; one in a database belongs to its client alone, and has no belongings.
        home: the user's home.

    Raises:
        UnreadableError: the index of its client cannot be read.
        OSError: a folder cannot be listed.
    """
    return Belongings(()) if session.in_database else client_of(session.dialect).belongings(session)


def reason_to_stay(session: StoredSession) -> str:
    """Return why a session may not go: what its client would lose, or do wrong, without it; "" for nothing.

    Raises:
        OSError: a folder in which a fork may lie cannot be listed.
    """
    client = client_of(session.dialect)
    fork = next(client.forks(session), None)
    return f"{fork} was forked from it, and needs it; remove that one first" if fork else client.need(session)
