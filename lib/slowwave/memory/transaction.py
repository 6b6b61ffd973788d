"""Changing a memory folder as one transaction: a reader sees all of it or nothing of it, at any kill.

The next state is built beside the folder (:func:`build_stage`), then both are exchanged in one system call.
What other programs wrote into the old folder in the meantime is looked for afterwards: new files are carried over;
when somebody changed a file that the transaction changes as well, both are exchanged back and nothing has happened.
Whatever a killed process left behind is settled by the next one, by the same rules.
"""

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec.structs import replace

from slowwave.errors import CorruptStateError, MovedError, RefusedError, UnreadableError
from slowwave.files import (
    TEMP_PREFIX,
    at_fault_point,
    atomic_write,
    fsync_folder,
    is_leftover,
    private_folder,
    write_all,
)
from slowwave.locks import is_running
from slowwave.memory import name_from_json, name_to_json
from slowwave.memory.folder import (
    OWN_FOLDER,
    STATE_FILE,
    digest,
    exchange,
    guarded,
    moved_since,
    read_or_none,
    sibling,
    siblings,
)
from slowwave.memory.ledger import PATH as LEDGER
from slowwave.memory.ledger import Event, encode_events


@dataclass(frozen=True, slots=True)
class Change:
    """A transaction on a memory folder."""

    id: str  # of the dream or of the undo
    at: str  # when it was planned, ISO
    files: Mapping[str, bytes | None]  # new content by path within the folder, None for a file that shall not be there
    events: Sequence[Event]  # what is appended to the ledger
    # the hash of every file that the plan rests on; the commit is refused when one has changed
    seen: Mapping[str, str | None]
    only_seen: bool = True  # also refuse when a Markdown file appeared that the plan did not see
    extra: Mapping[str, bytes] | None = None  # further files for ``.slowwave/undo/<id>/``, by path within it
    # keep what was there before; else nothing of it stays, and no record of the transaction either
    undoable: bool = True


def commit(memory: Path, change: Change, *, check: Callable[[], None] = lambda: None) -> None:
    """Apply a change, or nothing of it.

    ``memory``: the memory folder; it is made when it is missing. ``change``: what to do and what it rests on.
    ``check``: called right before the exchange; it raises when the caller may no longer commit (fencing). Raises
    MovedError: a file is not as it was when the change was planned; nothing was changed; LockHeldError: another process
    kept the folder locked for too long; RefusedError: the folder is a mount point; nothing was changed; OSError: the
    disk is full, or the folder cannot be written; nothing was changed.
    """
    with guarded(memory):
        _recover(memory)
        _refuse_if_moved(memory, change)
        stage = sibling(memory, "stage", change.id)
        try:
            build_stage(memory, stage, change)
            check()
            _refuse_if_moved(memory, change)
            exchange(memory, stage, aside=sibling(memory, "aside", change.id))
        except BaseException as error:
            _recover(memory)
            if isinstance(error, FileNotFoundError) and memory.exists() and not stage.exists():
                # on storage without locks another host took this one for dead
                raise MovedError(f"{memory}: another host has cleared away what was built here") from error
            if isinstance(error, OSError) and error.errno in {errno.EXDEV, errno.EBUSY}:
                raise RefusedError(
                    f"{memory}: cannot be exchanged with a folder beside it (a mount point, or a layer of a container "
                    "image); nothing was changed; give memory.folder a place within one file system"
                ) from error
            raise
        if not _settle(memory, stage, change.id):
            raise MovedError(f"{memory}: a file was changed at the moment of the commit; nothing was changed by it")


def recover(memory: Path) -> None:
    """Settle what killed processes left behind; cheap when there is nothing.

    Raises LockHeldError: another process kept the folder locked for too long; OSError: the folder cannot be written.
    """
    if memory.parent.is_dir() and siblings(memory):
        with guarded(memory):
            _recover(memory)


def replace_state(memory: Path, data: bytes) -> None:
    """Replace the state of a memory folder whose guard the caller holds; no reader sees a temporary file.

    Raises OSError: the disk is full, or the folder cannot be written; the file is as before.
    """
    temp, state = memory / OWN_FOLDER / STATE_FILE, memory / STATE_FILE
    atomic_write(temp, data)
    at_fault_point("rename", state)
    temp.replace(state)
    fsync_folder(memory)


def _refuse_if_moved(memory: Path, change: Change) -> None:
    moved = moved_since(memory, change.seen, texts=change.only_seen)
    if moved:
        raise MovedError(f"{memory / moved} changed while the change was planned")


def _recover(memory: Path) -> None:
    """Under the guard nobody else is at work here: what lies around belongs to the dead."""
    for kind, transaction, path in siblings(memory):
        if kind == "trash":
            _remove(memory, transaction, path)
        elif read_manifest(memory, transaction) is not None:
            _settle(memory, path, transaction)
        elif kind == "stage":
            _discard(memory, path, transaction)
        else:
            raise UnreadableError(
                path, f"holds the memories of {memory}, which was made anew", "move one of them away by hand"
            )
    for folder in (memory, memory / OWN_FOLDER):
        for path in folder.iterdir():
            if is_leftover(path.name) and not _is_written_now(path.name):
                path.unlink(missing_ok=True)


def _is_written_now(name: str) -> bool:
    pid = name.removeprefix(TEMP_PREFIX).partition("-")[0]
    return pid.isdecimal() and int(pid) != os.getpid() and is_running(int(pid))


def _settle(memory: Path, old: Path, transaction: str) -> bool:
    """Finish an exchange that has happened; return False when it was taken back.

    ``memory`` holds the new state and ``old`` the former one, as it is now.
    """
    manifest = read_manifest(memory, transaction)
    if not old.exists():
        return manifest is not None  # another host, on storage without locks, was here first
    assert manifest is not None
    stands = all(digest(read_or_none(old / name)) == before for name, (before, _) in manifest.files.items())
    if stands:
        _carry_over(old, memory, manifest, undo_folder(memory, transaction))
    else:
        exchange(memory, old, aside=sibling(memory, "trash", transaction))
        _carry_over(old, memory, manifest, memory / OWN_FOLDER)
    _discard(memory, old, transaction)
    return stands


class Manifest(msgspec.Struct, frozen=True):
    """What a transaction changed: ``manifest.json`` in its undo folder."""

    v: int
    id: str
    at: str
    # for each changed file its hash before and after, None where there was or is no file
    files: dict[str, tuple[str | None, str | None]]
    inodes: dict[str, int]  # the inode of every other file at that time, by relative path
    undoable: bool = True  # whether it stays when the transaction is settled


def _carry_over(source: Path, target: Path, manifest: Manifest, conflicts: Path) -> None:
    """Do in ``target`` what others did in ``source`` after it was copied: new, replaced and deleted files."""
    present: set[str] = set()
    for name, info in walk(source):
        present.add(name)
        if _is_own(name) or name in manifest.files or stat.S_ISDIR(info.st_mode):
            continue
        known = manifest.inodes.get(name)
        if info.st_ino == known:
            continue
        to = target / name
        if _inode(to) not in (None, known):
            to = conflicts / "carried" / name  # changed on both sides: keep both
        private_folder(to.parent)
        at_fault_point("rename", to)
        (source / name).replace(to)
        fsync_folder(to.parent)
    for name, known in manifest.inodes.items():
        if name not in present and _inode(target / name) == known:
            at_fault_point("unlink", target / name)
            (target / name).unlink()


def _is_own(name: str) -> bool:
    return name == OWN_FOLDER or name.startswith(f"{OWN_FOLDER}/")


def _inode(path: Path) -> int | None:
    try:
        return path.lstat().st_ino
    except FileNotFoundError:
        return None


def _discard(memory: Path, folder: Path, transaction: str) -> None:
    """Remove a folder; renamed first, so that a half removed one is never taken for a whole one."""
    trash = sibling(memory, "trash", transaction)
    at_fault_point("rename", trash)
    folder.rename(trash)
    _remove(memory, transaction, trash)


def _remove(memory: Path, transaction: str, trash: Path) -> None:
    """Remove a folder that was renamed out of the way, and with it what was noted of a change that nobody shall undo.

    What was in it goes first: whatever else may not be changed, nothing of it stays. The empty folder goes last, since
    it tells the next process that the note is still to go. Before the renaming the note had to stay: without it nobody
    would know whether the exchange has happened.
    """
    at_fault_point("unlink", trash)
    _empty(trash)
    manifest = read_manifest(memory, transaction)
    if manifest is not None and not manifest.undoable:
        note = undo_folder(memory, transaction)
        at_fault_point("rename", note)
        note.rename(trash / note.name)
        fsync_folder(note.parent)
    shutil.rmtree(trash)


def _empty(folder: Path) -> None:
    """Remove what is in a folder, also what its owner made read-only."""
    folder.chmod(stat.S_IRWXU)
    for name, info in walk(folder):
        if stat.S_ISDIR(info.st_mode):
            (folder / name).chmod(stat.S_IRWXU)
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


# Building the next state of a memory folder beside it: complete, durable, and not yet seen by anybody.
#
# Files that do not change are hard links, so they stay the same file for whoever has them open. Files that do change
# are new, and their content before and after lies in ``.slowwave/undo/<id>/``.

UNDO = f"{OWN_FOLDER}/undo"
VERSION = 1


def undo_folder(memory: Path, transaction: str) -> Path:
    """Return where the record of a transaction is."""
    return memory / UNDO / transaction


def unused(name: str, memory: Path) -> str:
    """Return an id that no transaction has had: the same may be done twice in a second, with an undo in between."""
    number, found = 1, name
    while undo_folder(memory, found).exists():
        number += 1
        found = f"{name}.{number}"
    return found


def read_manifest(memory: Path, transaction: str) -> Manifest | None:
    """Return what a transaction changed, or None when it was never committed in this folder.

    Raises CorruptStateError: the manifest does not parse.
    """
    if not transaction or "/" in transaction:
        return None  # no id: what a person typed
    path = undo_folder(memory, transaction) / "manifest.json"
    data = read_or_none(path)
    if data is None:
        return None
    try:
        found = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptStateError(path, f"is not a manifest ({error})", "restore it from a backup") from error
    if found.v > VERSION:
        raise CorruptStateError(path, f"was written by a newer slowwave (form {found.v})", "update slowwave")
    files = {name_from_json(name): hashes for name, hashes in found.files.items()}
    inodes = {name_from_json(name): inode for name, inode in found.inodes.items()}
    return replace(found, files=files, inodes=inodes)


def build_stage(memory: Path, stage: Path, change: Change) -> None:
    """Build the folder ``stage`` as ``memory`` with ``change`` applied, and make it durable.

    Raises RefusedError: a file that would change is a link; OSError: the disk is full, or the folder cannot be written.
    """
    _refuse_links(memory, change)
    like = memory.stat()
    at_fault_point("mkdir", stage)
    _make_folder(stage, like)
    folders = [stage]
    inodes: dict[str, int] = {}
    for name, info in walk(memory):
        if stat.S_ISDIR(info.st_mode):
            _make_folder(stage / name, info)
            folders.append(stage / name)
        elif name not in change.files and name != LEDGER:
            at_fault_point("link", stage / name)
            os.link(memory / name, stage / name, follow_symlinks=False)
            if not name.startswith(f"{OWN_FOLDER}/"):
                inodes[name] = info.st_ino
    for name, data in change.files.items():
        if data is not None:
            _write_like(stage / name, data, memory / name, like)
    if LEDGER not in change.files:
        ledger = (read_or_none(memory / LEDGER) or b"") + encode_events(change.events)
        _write_like(stage / LEDGER, ledger, memory / LEDGER, like)
    folders += _write_record(memory, stage, change, inodes, like)
    for folder in reversed(folders):
        old = memory / folder.relative_to(stage)
        if old.is_dir():
            # only now: a folder that its owner made read-only could not have been filled
            folder.chmod(stat.S_IMODE(old.stat().st_mode))
        fsync_folder(folder)


def _refuse_links(memory: Path, change: Change) -> None:
    """A link would be replaced by a file, and an undo could not bring it back; what it points at is not ours."""
    for name in change.files:
        if (memory / name).is_symlink():
            raise RefusedError(
                f"{memory / name}: is a link, and only files in the memory folder itself are changed; "
                "put the file itself there, or link the whole memory folder"
            )


def walk(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield everything below a folder by relative path, folders before what is in them; links are not followed."""
    pending = [""]
    while pending:
        at = pending.pop()
        with os.scandir(folder / at) as entries:
            for entry in sorted(entries, key=lambda e: e.name):
                info = entry.stat(follow_symlinks=False)
                name = f"{at}/{entry.name}" if at else entry.name
                yield name, info
                if stat.S_ISDIR(info.st_mode):
                    pending.append(name)


def _write_record(
    memory: Path, stage: Path, change: Change, inodes: dict[str, int], like: os.stat_result
) -> list[Path]:
    """Write the undo folder of the change; return the folders that were made or grew."""
    record = stage / UNDO / change.id
    before = {name: read_or_none(memory / name) for name in change.files}
    files = {name_to_json(name): (digest(before[name]), digest(change.files[name])) for name in change.files}
    others = {name_to_json(name): inode for name, inode in inodes.items()}
    manifest = Manifest(VERSION, change.id, change.at, files, others, change.undoable)
    contents: dict[str, bytes | None] = {"manifest.json": msgspec.json.format(msgspec.json.encode(manifest), indent=1)}
    if change.undoable:
        contents |= {f"before/{name}": data for name, data in before.items()}
        contents |= {f"after/{name}": data for name, data in change.files.items()}
        contents |= change.extra or {}
    made = [stage / UNDO] if (stage / UNDO).exists() else []
    for name, data in contents.items():
        if data is not None:
            made += _make_parents(record / name, stage, like)
            _write_new(record / name, data, 0o600, like)
    return list(dict.fromkeys(made))


def _make_parents(path: Path, top: Path, like: os.stat_result) -> list[Path]:
    missing = [p for p in path.parents if p.is_relative_to(top) and not p.exists()]
    for folder in reversed(missing):
        _make_folder(folder, like)
    return list(reversed(missing))


def _make_folder(path: Path, like: os.stat_result) -> None:
    path.mkdir(mode=0o700)
    _own(path, like)


def _write_like(path: Path, data: bytes, old: Path, folder: os.stat_result) -> None:
    """Write a new file with the mode and owner of the one it replaces."""
    try:
        info = old.stat()
    except FileNotFoundError:
        _write_new(path, data, 0o600, folder)
    else:
        _write_new(path, data, stat.S_IMODE(info.st_mode), info)


def _write_new(path: Path, data: bytes, mode: int, owner: os.stat_result) -> None:
    at_fault_point("write", path)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        os.fchmod(fd, mode)
        write_all(fd, data)
        at_fault_point("fsync", path)
        os.fsync(fd)
    finally:
        os.close(fd)
    _own(path, owner)


def _own(path: Path, like: os.stat_result) -> None:
    """Give a file to the owner of the one it stands for: an administrator may run the night for many people."""
    if os.geteuid() == 0 and (like.st_uid, like.st_gid) != (0, 0):
        os.chown(path, like.st_uid, like.st_gid)
