"""Whole sessions leave: what their clients keep of them, what lies of them in the trash, and in the archive."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from slowwave.clock import Clock
from slowwave.errors import NotFoundError, SlowwaveError
from slowwave.files import replacement, write_all
from slowwave.formats.append import locked_file
from slowwave.formats.rewrite import file_state
from slowwave.places import archive_folder
from slowwave.retention.audit import AuditLog, Entry
from slowwave.retention.facts import facts_of_item, facts_of_shelved
from slowwave.retention.holds import Facts
from slowwave.retention.job.apply import as_found
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.freeing import finish_freeing, free
from slowwave.stores.model import Project, StoredSession
from slowwave.stores.removal import plan_removal, remove
from slowwave.stores.trash import TrashItem, ids_in, trash_folder, trash_items

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
