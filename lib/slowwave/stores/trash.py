"""Removal that can be taken back: files move into the trash with a manifest, and return byte for byte.

A session goes as a whole, in an order that leaves one that can be found, or nothing, when the process dies. The trash
lies outside of every client's folder, so no client can pick anything up from it. The manifest is written before the
first file moves, and every file is at its old or its new place (or, for a moment, at both) all the time; what a killed
removal left behind is restored, or removed, by the next call.
"""

import errno
import json
import os
import secrets
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, cast

import msgspec

from slowwave.context import Clock
from slowwave.errors import CorruptStateError, MovedError, NotFoundError, RefusedError, SlowwaveError, UsageError
from slowwave.files import (
    TEMP_PREFIX,
    at_fault_point,
    atomic_write,
    data_folder,
    file_bytes,
    fsync_folder,
    hash_of,
    home_folder,
    is_leftover,
    move_file,
    private_folder,
    walked,
)
from slowwave.formats import SessionFiles
from slowwave.formats.client import Belongings
from slowwave.formats.notes import Note, any_stands, put_back, take_out
from slowwave.formats.registry import client_of
from slowwave.formats.sessions import SIDE_FOLDER, FoundSession, StoredSession, StoreProblem, part_name, session_stem
from slowwave.locks import locked_file
from slowwave.stores.roots import read_head

MANIFEST = "manifest.json"
_TRANSCRIPT = ".jsonl"


class TrashedFile(msgspec.Struct, frozen=True):
    """One thing in the trash: where it was, where in the item it is now, and what it was like."""

    path: str
    stored: str
    kind: Literal["file", "folder", "link"]
    mode: int
    mtime_ns: int
    size: int
    sha256: str


class TrashItem(msgspec.Struct, frozen=True):
    """One removal; a line of ``slowwave sessions restore``."""

    id: str
    session: str
    dialect: str
    reason: str
    at: str
    files: tuple[TrashedFile, ...]
    notes: tuple[Note, ...] = ()


def trash_folder(environ: Mapping[str, str]) -> Path:
    """Return where the trash of this user lies."""
    return data_folder(environ) / "trash"


def throw_away(
    paths: Sequence[Path],
    trash: Path,
    *,
    item_id: str,
    session: str,
    dialect: str,
    reason: str,
    at: datetime,
    notes: tuple[Note, ...] = (),
) -> TrashItem:
    """Move files and folders into the trash, in the given order, and return what went there.

    Args:
        paths: what to remove; what the client needs most comes last, so that a killed removal leaves a session that
            still loads and can be removed again.
        trash: the trash folder.
        item_id: name of the new item; it must not exist yet.
        session: id of the session, for restoring it by name.
        dialect: its dialect.
        reason: why it was removed.
        at: the current time.
        notes: entries in indexes of the client that go with it, before the first file moves: a client that finds an
            entry without its transcript would begin a new session under it.

    Raises MovedError: the client changed a note since it was looked at; nothing moved, and nothing is in the trash;
    LockHeldError: the client held the lock of its index all the time; as above; OSError: something cannot be read or
    moved; what moved before that can be restored.
    """
    files: list[TrashedFile] = []
    for path in paths:
        files += [_described(*one) for one in enumerate(walked(path), len(files))]
    item = TrashItem(item_id, session, dialect, reason, at.isoformat(), tuple(files), notes)
    folder = trash / item_id
    private_folder(trash)
    folder.mkdir(mode=0o700)
    # the standard library writes names that are not UTF-8 as escapes and reads them back
    manifest = json.dumps(msgspec.to_builtins(item), indent=1).encode("ascii")
    atomic_write(folder / MANIFEST, manifest, mode=0o600)
    fsync_folder(trash)
    _take_out(notes, folder)
    for file in files:
        if file.kind != "folder":
            move_file(Path(file.path), folder / file.stored)
    for file in reversed(files):
        if file.kind == "folder":
            _remove_empty(Path(file.path))
    for parent in {path.parent for path in paths}:
        fsync_folder(parent)
    return item


def trash_items(trash: Path) -> list[TrashItem]:
    """Return everything in the trash, oldest first. Raises CorruptStateError: a manifest does not parse."""
    if not trash.is_dir():
        return []
    folders = [folder for folder in sorted(trash.iterdir()) if (folder / MANIFEST).is_file()]
    items = [item for folder in folders if (item := _read_manifest(folder)) is not None]
    return sorted(items, key=lambda item: (item.at, item.id))


def ids_in(item: TrashItem) -> set[str]:
    """Return the ids of the session of an item and of its sub-agents, which name their files."""
    names = (os.path.basename(file.path) for file in item.files)  # noqa: PTH119 - names of any bytes
    return {item.session, *(name.removesuffix(_TRANSCRIPT) for name in names if name.endswith(_TRANSCRIPT))}


def matching_items(trash: Path, names: Iterable[str]) -> list[TrashItem]:
    """Return the items of these session ids or item ids (also their unique beginnings).

    Raises NotFoundError: nothing in the trash is called so; RefusedError: a beginning fits more than one session.
    """
    items = trash_items(trash)
    chosen: dict[str, TrashItem] = {}
    for name in names:
        exact = [item for item in items if name in (item.session, item.id)]
        found = exact or [item for item in items if name and item.session.startswith(name)]
        if not found:
            raise NotFoundError(
                f"nothing in the trash is called {name!r}; `slowwave sessions restore` lists what is there"
            )
        sessions = sorted({item.session for item in found})
        if len(sessions) > 1:
            raise RefusedError(f"{name!r} matches {len(sessions)} sessions in the trash: {', '.join(sessions[:5])}")
        chosen.update((item.id, item) for item in found)
    return list(chosen.values())


def restore(item: TrashItem, trash: Path) -> list[str]:
    """Put everything of an item back where it was, with its mode and time, and return warnings.

    Raises RefusedError: something else lies at one of the old places; nothing was moved; OSError: something cannot be
    moved; calling it again goes on.
    """
    folder = trash / item.id
    for file in item.files:
        _check_free(file, folder)
    warnings = [said for file in item.files if (said := _put_back(file, folder))]
    for file in reversed(item.files):
        if file.kind == "folder":
            Path(file.path).chmod(file.mode)
            os.utime(file.path, ns=(file.mtime_ns, file.mtime_ns))
    for parent in {Path(file.path).parent for file in item.files}:
        fsync_folder(parent)
    warnings += put_back(item.notes)
    for left in folder.glob(f"{TEMP_PREFIX}*"):
        left.unlink()  # of a copy that was killed; the file itself is back
    (folder / MANIFEST).unlink()
    folder.rmdir()
    return warnings


def written_to(item: TrashItem, trash: Path) -> str:
    """Return the path of a file that somebody wrote to while it was moved, or ""."""
    for file in item.files:
        if file.kind == "file":
            at = (trash / item.id / file.stored).lstat()
            if (at.st_size, at.st_mtime_ns) != (file.size, file.mtime_ns):
                return file.path
    return ""


def _take_out(notes: tuple[Note, ...], folder: Path) -> None:
    """Take the notes out; when that is refused, nothing has moved, so the item is not kept either.

    All notes of a session stand in one index, which changes in one step.
    """
    try:
        take_out(notes)
    except SlowwaveError:
        (folder / MANIFEST).unlink()
        folder.rmdir()
        raise


def _put_back(file: TrashedFile, folder: Path) -> str:
    """Move one file out of the trash; return a warning when it is not what it was."""
    source, target = folder / file.stored, Path(file.path)
    if file.kind == "folder":
        private_folder(target)
        return ""
    if not os.path.lexists(source):
        return "" if os.path.lexists(target) else f"{target}: is neither in the trash nor at its place"
    is_changed = file.kind == "file" and hash_of(source) != file.sha256
    private_folder(target.parent)
    if _is_same_file(file, source, target):
        source.unlink()
    else:
        move_file(source, target)
    return f"{target}: was changed after it was thrown away; it is restored as it is now" if is_changed else ""


def _check_free(file: TrashedFile, folder: Path) -> None:
    target, source = Path(file.path), folder / file.stored
    if not os.path.lexists(target) or file.kind == "folder":
        if file.kind == "folder" and os.path.lexists(target) and not target.is_dir():
            raise RefusedError(f"{target}: something else is there now; move it away, then restore again")
        return
    if os.path.lexists(source) and not _is_same_file(file, source, target):
        raise RefusedError(
            f"{target}: exists again; move it away, then restore {folder.name} again, or restore it beside it "
            "(--as NEW-ID)"
        )


def _is_same_file(file: TrashedFile, source: Path, target: Path) -> bool:
    """Say whether a killed move left the file at both places."""
    if not os.path.lexists(target):
        return False
    if os.path.samestat(target.lstat(), source.lstat()):
        return True
    if file.kind == "link":
        return target.is_symlink() and target.readlink() == source.readlink()
    return target.is_file() and not target.is_symlink() and hash_of(target) == hash_of(source)


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError as error:
        # somebody put a new file there meanwhile; it is not ours to remove
        if error.errno != errno.ENOTEMPTY:
            raise


def _described(number: int, entry: tuple[Path, os.stat_result]) -> TrashedFile:
    path, at = entry
    kind = "link" if stat.S_ISLNK(at.st_mode) else "folder" if stat.S_ISDIR(at.st_mode) else "file"
    size, digest = (at.st_size, hash_of(path)) if kind == "file" else (0, "")
    mode = stat.S_IMODE(at.st_mode)
    return TrashedFile(os.fspath(path), f"{number:05d}", kind, mode, at.st_mtime_ns, size, digest)


def _read_manifest(folder: Path) -> TrashItem | None:
    """Return what an item is; None when it was freed or came back since it was seen."""
    path = folder / MANIFEST
    try:
        return msgspec.convert(cast("object", json.loads(file_bytes(path))), TrashItem)
    except FileNotFoundError:
        return None
    except (ValueError, msgspec.ValidationError) as error:
        raise CorruptStateError(
            path, f"is not a manifest: {error}", "its files lie beside it; move them by hand"
        ) from error


# The end of what was thrown away: an item of the trash goes for good, in steps that a killed process can repeat.

# an item whose manifest is called so is gone: nobody restores the rest of it
_FREED = "freed.json"


def free(item: TrashItem, trash: Path) -> None:
    """Remove an item and all of its files for good.

    Raises OSError: something cannot be removed; the item is no longer restored, and ``finish_freeing`` goes on.
    """
    folder = trash / item.id
    at_fault_point("rename", folder / MANIFEST)
    (folder / MANIFEST).rename(folder / _FREED)
    fsync_folder(folder)
    _clear(folder, [folder / file.stored for file in item.files if file.kind != "folder"])


def finish_freeing(trash: Path) -> None:
    """Remove what a killed process left of items that were freed, or that never came to have a manifest.

    Raises OSError: something cannot be removed.
    """
    for folder in sorted(trash.iterdir()) if trash.is_dir() else ():
        if not folder.is_dir() or (folder / MANIFEST).exists():
            continue
        names = list(folder.iterdir())
        if (folder / _FREED).exists():
            _clear(folder, [path for path in names if path.name != _FREED])
        elif all(is_leftover(path.name) for path in names):
            _clear(folder, names)


def trash_size(items: list[TrashItem]) -> int:
    """Return how many bytes lie in the trash."""
    return sum(file.size for item in items for file in item.files)


def is_whole(item: TrashItem, trash: Path) -> bool:
    """Say whether all of an item lies in the trash and nothing of it in its old place: its removal came to its end."""
    if not item.files:
        return not any_stands(item.notes)  # entries of an index alone: they went, or they did not
    return not any(_is_left(file, trash / item.id / file.stored) for file in item.files)


def _is_left(file: TrashedFile, stored: Path) -> bool:
    place = Path(file.path)
    if file.kind == "folder":
        # one in which somebody made something new belongs to him
        return place.is_dir() and not place.is_symlink() and not any(place.iterdir())
    if not os.path.lexists(stored):
        return True
    if not os.path.lexists(place):
        return False
    at = place.lstat()
    # to another file system it was copied, and what was written to since is no longer the one that was to go
    is_unchanged = at.st_mtime_ns == file.mtime_ns and (file.kind == "link" or at.st_size == file.size)
    return is_unchanged or os.path.samestat(at, stored.lstat())


def _clear(folder: Path, paths: list[Path]) -> None:
    for path in paths:
        at_fault_point("unlink", path)
        path.unlink(missing_ok=True)
    at_fault_point("unlink", folder)
    (folder / _FREED).unlink(missing_ok=True)
    folder.rmdir()
    fsync_folder(folder.parent)


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
    can be found and removed again, or nothing that its client would take for one. Raises RefusedError: a running client
    has it open, or a fork needs it; UsageError: it is no file of its own: its client's database, or files that name
    each other, would break; UnreadableError: the index of its client cannot be read.
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

    Raises MovedError: it changed since the plan was made; nothing was moved; RefusedError: a client has opened or
    forked it since then; LockHeldError: somebody has been writing to it all the time.
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
    # whoever forked it until it went has read it; nobody can fork what is gone
    if fork := _fork_of(stored):
        restore(item, trash)
        raise RefusedError(f"session {plan.session.id} was put back: {fork}")
    return item


def _refuse(session: StoredSession, home: Path, clock: Clock) -> None:
    if reason := client_of(session.dialect).claimed_by(session, home, clock.now()):
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

    What a client has put aside (reset, deleted, a checkpoint) and every topic are sessions of their own, each under its
    own rules; none of them takes another one along. ``session``: the session; one in a database belongs to its client
    alone, and has no belongings. Raises UnreadableError: the index of its client cannot be read; OSError: a folder
    cannot be listed.
    """
    return Belongings(()) if session.in_database else client_of(session.dialect).belongings(session)


def reason_to_stay(session: StoredSession) -> str:
    """Return why a session may not go: what its client would lose, or do wrong, without it; "" for nothing.

    Raises OSError: a folder in which a fork may lie cannot be listed.
    """
    return _fork_of(session) or client_of(session.dialect).need(session)


def _fork_of(session: StoredSession) -> str:
    fork = next(client_of(session.dialect).forks(session), None)
    return f"{fork} was forked from it, and needs it; remove that one first" if fork else ""
