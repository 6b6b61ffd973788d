"""Remove a session as a whole: what belongs to it, whether it may go, and in which order."""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from slowwave.clock import Clock
from slowwave.dialects.model import SessionFiles
from slowwave.errors import MovedError, RefusedError, UsageError
from slowwave.places import home_folder
from slowwave.records.lock import locked_file
from slowwave.stores.head import read_head
from slowwave.stores.live import claimed_by
from slowwave.stores.model import StoredSession, StoreProblem
from slowwave.stores.trash import TrashItem, throw_away
from slowwave.stores.walk import SIDE_FOLDER, FoundSession

# Clients whose sessions are rows, or files that refer to each other by name.
_NOT_OURS = ("opencode",)


@dataclass(frozen=True, slots=True)
class Removal:
    """The plan of one removal: the session as it was found, what moves, in order, and where clients note theirs."""

    session: FoundSession
    dialect: str
    paths: tuple[Path, ...]
    home: Path


def plan_removal(session: FoundSession, environ: Mapping[str, str], clock: Clock) -> Removal:
    """Return what the removal of a session would move.

    The side folder (sub-agents, tool results) goes first and the base file last: a removal that was killed leaves a
    session that can be found and removed again.

    A session that has a folder of its own (the ULID specification) goes with all of it.

    Raises:
        RefusedError: a running client has it open.
        UsageError: it is no file of its own: its client's database, or files that name each other, would break.
    """
    head = read_head(session)
    dialect = "unknown" if isinstance(head, StoreProblem) else head.dialect
    if session.in_database or dialect in _NOT_OURS:
        raise UsageError(f"{session.id}: {session.path} belongs to {dialect} alone; remove the session in its client")
    paths = [Path(session.folder, file.name) for file in session.files]
    home = home_folder(environ)
    _refuse_open(session, dialect, home, clock)
    if dialect == "ulid" and os.path.basename(session.folder) == session.id:  # noqa: PTH119 - a name of any bytes
        return Removal(session, dialect, (Path(session.folder),), home)
    side = Path(session.folder, session.id)
    sides = [side] if side.is_dir() and not side.is_symlink() else []
    return Removal(session, dialect, (*sides, *reversed(paths)), home)


def remove(plan: Removal, trash: Path, clock: Clock, *, reason: str = "removed on request") -> TrashItem:
    """Move a session into the trash, under its lock.

    Raises:
        MovedError: it changed since the plan was made; nothing was moved.
        RefusedError: a client has opened it since then.
        LockHeldError: somebody has been writing to it all the time.
    """
    now = clock.now()
    item_id = f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    with locked_file(Path(plan.session.folder, plan.session.files[0].name)):
        for file in plan.session.files:
            path = Path(plan.session.folder, file.name)
            at = path.stat()
            if (at.st_size, at.st_mtime_ns, at.st_dev, at.st_ino) != (file.size, file.mtime_ns, file.dev, file.ino):
                raise MovedError(f"{path}: changed since it was looked at, so nothing was removed; try again")
        _refuse_open(plan.session, plan.dialect, plan.home, clock)
        return throw_away(
            plan.paths, trash, item_id=item_id, session=plan.session.id, dialect=plan.dialect, reason=reason, at=now
        )


def _refuse_open(session: FoundSession, dialect: str, home: Path, clock: Clock) -> None:
    reason = claimed_by(stored_session(session, dialect), home, clock.now())
    if reason:
        raise RefusedError(f"session {session.id} is {reason}; close it there first")


def stored_session(found: FoundSession, dialect: str) -> StoredSession:
    """Return a session of the walk in the shape that the rules about live sessions take."""
    paths = tuple(Path(found.folder, file.name) for file in found.files)
    folder = found.folder
    at = f"{folder}/".rfind(f"/{SIDE_FOLDER}/")
    if found.side and at >= 0:
        folder = os.path.dirname(folder[:at])  # noqa: PTH120 - PROJECT/SESSION/subagents, names of any bytes
    kind = "subagent" if found.side else "main"
    return StoredSession(dialect, SessionFiles(found.id, paths), kind, Path(folder), found.size, found.mtime_ns)
