"""Removing and restoring on request: under the same holds as the job, and in the same audit log."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.clock import Clock
from slowwave.errors import NotFoundError, RefusedError, UsageError
from slowwave.formats.registry import client_of
from slowwave.locks import WAIT_S, retaining
from slowwave.places import archive_folder, home_folder
from slowwave.retention.audit import AuditLog, Entry, of_item
from slowwave.retention.holds import Facts, facts_of, held_by, read_holds, texts_in
from slowwave.settings import Settings
from slowwave.stores.removal import Removal, remove, stored_session
from slowwave.stores.trash import MANIFEST, TrashItem, restore, trash_folder

if TYPE_CHECKING:
    from slowwave.stores.archive.shelf import Shelved
    from slowwave.stores.writers import Writers


def refuse_held(plans: Sequence[Removal], settings: Settings, environ: Mapping[str, str]) -> None:
    """Refuse a removal when something in it is held.

    Raises:
        RefusedError: it is; the message says by which hold.
        CorruptStateError: the holds do not parse; nothing counts as not held.
        UnreadableError: a session cannot be read, so nobody knows whether somebody is in it.
    """
    holds = read_holds(environ)
    if not holds:
        return
    from slowwave.retention.sessions import Fleet, key_of  # noqa: PLC0415 - as above
    from slowwave.stores.discovery import known_projects  # noqa: PLC0415 - as above

    fleet = Fleet(known_projects(settings, environ).projects)
    members = {key_of(one): member for member in fleet.members.values() for one in member.sessions}
    for plan in plans:
        stored = stored_session(plan.session, plan.dialect)
        member = members.get(key_of(stored))
        # what lies outside of every store has no project that is known, so a hold of a project holds it, too
        alone = Facts({stored.id}, None, lambda: None, lambda stored=stored: texts_in(stored.files.paths))
        if held := held_by(holds, alone if member is None else facts_of(member, home_folder(environ))):
            raise RefusedError(f"session {stored.id} is held: {held}; slowwave retain release takes a hold back")


def remove_by_hand(plan: Removal, environ: Mapping[str, str], clock: Clock) -> TrashItem:
    """Move a session into the trash and write it down.

    Raises:
        MovedError, RefusedError, LockHeldError: as :func:`slowwave.stores.removal.remove`.
        CorruptStateError: the audit log is damaged; the session is in the trash.
        OSError: the audit log cannot be written; the next run of the job writes the line.
    """
    item = remove(plan, trash_folder(environ), clock)
    AuditLog(environ).append([of_item("trash", item, "")], clock.now())
    return item


def bring_back(one: "TrashItem | Shelved", environ: Mapping[str, str], clock: Clock) -> list[str]:
    """Put a session back from the trash or the archive, write it down, and return what is worth a word.

    Retention is held off meanwhile: it would free what is on its way, and take what is back for what it was before.

    Raises:
        LockHeldError: a run of retention was at work for too long.
        NotFoundError: it was freed from the trash since it was looked for.
        RefusedError: something else lies in one of the places; nothing was written.
        CorruptStateError: the pack or the audit log is damaged.
        OSError: something cannot be written; call it again.
    """
    with retaining(environ, wait_s=WAIT_S):
        return _bring_back(one, environ, clock)


def bring_back_as(
    one: "TrashItem | Shelved", new_id: str, writers: "Writers", environ: Mapping[str, str], clock: Clock
) -> list[Path]:
    """Write the transcript of a session that was put by under a new id into its old folder, and return its files.

    What lies in its place stays, and so does the copy, with what belongs to the session beside its transcript.

    Raises:
        LockHeldError: a run of retention was at work for too long.
        UsageError: its client's sessions cannot be copied, or the id is malformed or taken; nothing was written.
        CorruptStateError: the pack or the audit log is damaged.
        OSError: it left the trash meanwhile, or something cannot be written.
    """
    from slowwave.stores.archive.sessions import laid_out_copy  # noqa: PLC0415 - few sessions come back so

    with retaining(environ, wait_s=WAIT_S), laid_out_copy(one, environ) as (found, base):
        writer, target = writers.known(found)
        # a copy is a reference to the bytes of that file, which is not in its place here
        if client_of(writer.dialect).refers == "id":
            raise UsageError(
                f"{target.id}: a fork of {writer.dialect} refers to its parent, which is not in its place; move away"
                " what is there, then restore it without --as"
            )
        folder = Path(os.fspath(writer.folder(target)).removeprefix(base))
        # a copy says where the file lies that it was made from
        if client_of(writer.dialect).refers == "file":
            target = target._replace(path=Path(os.fspath(target.path).removeprefix(base)))
        paths = writer.fork(target, folder, new_id)
        item = one.id if isinstance(one, TrashItem) else Path(one.pack).name
        size = sum(path.stat().st_size for path in paths)
        entry = Entry(
            action="restore", session=new_id, dialect=writer.dialect, files=len(paths), size=size, item=item
        )  # fmt: skip
        AuditLog(environ).append([entry], clock.now())
    return paths


def _bring_back(one: "TrashItem | Shelved", environ: Mapping[str, str], clock: Clock) -> list[str]:
    if isinstance(one, TrashItem):
        if not (trash_folder(environ) / one.id / MANIFEST).is_file():
            raise NotFoundError(
                f"session {one.session} left the trash meanwhile (slowwave retain audit says how); "
                f"slowwave sessions restore {one.session} looks for it in the archive"
            )
        warnings = restore(one, trash_folder(environ))
        entry = of_item("restore", one, "")
    else:
        from slowwave.stores.archive.shelf import Shelf  # noqa: PLC0415 - few sessions are archived

        warnings = Shelf(archive_folder(environ)).restore(one)
        files, session = one.session.files, one.session
        entry = Entry(
            action="restore", session=session.id, dialect=session.dialect, files=len(files), size=session.size,
            item=Path(one.pack).name,
        )  # fmt: skip
    AuditLog(environ).append([entry], clock.now())
    return warnings
