"""Changing a memory folder as one transaction: a reader sees all of it or nothing of it, at any kill.

The next state is built beside the folder (:mod:`slowwave.memory.stage`), then both are exchanged in one system call.
What other programs wrote into the old folder in the meantime is looked for afterwards: new files are carried over;
when somebody changed a file that the transaction changes as well, both are exchanged back and nothing has happened.
Whatever a killed process left behind is settled by the next one, by the same rules.
"""

import errno
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from slowwave.errors import MovedError, RefusedError, UnreadableError
from slowwave.files import TEMP_PREFIX, at_fault_point, atomic_write, fsync_folder, is_leftover, private_folder
from slowwave.memory.exchange import exchange
from slowwave.memory.folder import digest, moved_since, read_or_none
from slowwave.memory.guard import OWN_FOLDER, guarded
from slowwave.memory.places import sibling, siblings
from slowwave.memory.stage import Change, Manifest, build_stage, read_manifest, undo_folder, walk
from slowwave.processes import is_running


def commit(memory: Path, change: Change, *, check: Callable[[], None] = lambda: None) -> None:
    """Apply a change, or nothing of it.

    Args:
        memory: the memory folder; it is made when it is missing.
        change: what to do and what it rests on.
        check: called right before the exchange; it raises when the caller may no longer commit (fencing).

    Raises:
        MovedError: a file is not as it was when the change was planned; nothing was changed.
        LockHeldError: another process kept the folder locked for too long.
        RefusedError: the folder is a mount point; nothing was changed.
        OSError: the disk is full, or the folder cannot be written; nothing was changed.
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

    Raises:
        LockHeldError: another process kept the folder locked for too long.
        OSError: the folder cannot be written.
    """
    if memory.parent.is_dir() and siblings(memory):
        with guarded(memory):
            _recover(memory)


def replace_file(memory: Path, name: str, data: bytes) -> None:
    """Replace one file of a memory folder whose guard the caller holds; no reader sees a temporary file.

    Raises:
        OSError: the disk is full, or the folder cannot be written; the file is as before.
    """
    temp = memory / OWN_FOLDER / name
    atomic_write(temp, data)
    at_fault_point("rename", memory / name)
    temp.replace(memory / name)
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
