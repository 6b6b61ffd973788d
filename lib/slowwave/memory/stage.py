"""Building the next state of a memory folder beside it: complete, durable, and not yet seen by anybody.

Files that do not change are hard links, so they stay the same file for whoever has them open. Files that do change
are new, and their content before and after lies in ``.slowwave/undo/<id>/``.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec.structs import replace

from slowwave.errors import CorruptStateError, RefusedError
from slowwave.files import at_fault_point, fsync_folder, write_all
from slowwave.memory.folder import digest, read_or_none
from slowwave.memory.guard import OWN_FOLDER
from slowwave.memory.ledger import PATH as LEDGER
from slowwave.memory.ledger import Event, encode_events
from slowwave.memory.names import name_from_json, name_to_json

UNDO = f"{OWN_FOLDER}/undo"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Change:
    """A transaction on a memory folder.

    Attributes:
        id: of the dream or of the undo.
        at: when it was planned, ISO.
        files: new content by path within the folder, None for a file that shall not be there.
        events: what is appended to the ledger.
        seen: the hash of every file that the plan rests on; the commit is refused when one has changed.
        only_seen: also refuse when a Markdown file appeared that the plan did not see.
        extra: further files for ``.slowwave/undo/<id>/``, by path within it.
        undoable: keep what was there before; else nothing of it stays, and no record of the transaction either.
    """

    id: str
    at: str
    files: Mapping[str, bytes | None]
    events: Sequence[Event]
    seen: Mapping[str, str | None]
    only_seen: bool = True
    extra: Mapping[str, bytes] | None = None
    undoable: bool = True


class Manifest(msgspec.Struct, frozen=True):
    """What a transaction changed: ``manifest.json`` in its undo folder.

    Attributes:
        files: for each changed file its hash before and after, None where there was or is no file.
        inodes: the inode of every other file at that time, by relative path.
        undoable: whether it stays when the transaction is settled.
    """

    v: int
    id: str
    at: str
    files: dict[str, tuple[str | None, str | None]]
    inodes: dict[str, int]
    undoable: bool = True


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

    Raises:
        CorruptStateError: the manifest does not parse.
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

    Raises:
        RefusedError: a file that would change is a link.
        OSError: the disk is full, or the folder cannot be written.
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
