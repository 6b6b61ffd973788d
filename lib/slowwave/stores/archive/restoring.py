"""Putting an archived session back in its place: every file with name, bytes, mode and time, and nothing replaced."""

import hashlib
import os
from pathlib import Path

from slowwave.errors import CorruptStateError, RefusedError
from slowwave.files import TEMP_PREFIX, at_fault_point, fsync_folder, private_folder, write_all
from slowwave.stores.archive.model import PackedFile, PackedSession, digest
from slowwave.stores.archive.reading import Pack
from slowwave.stores.moving import move_file

_BLOCK = 1 << 20


def put_back(pack: Pack, session: PackedSession) -> list[str]:
    """Write all files of a session, those last that its client needs most, and return what was there already.

    Raises:
        RefusedError: something else lies at one of the places; nothing was written.
        CorruptStateError: the pack is damaged; nothing was written.
        OSError: something cannot be written; calling it again goes on.
    """
    pack.check(session)
    there = {file.path for file in session.files if _is_there(file)}
    for file in session.files:
        path = Path(file.path)
        if file.kind == "folder":
            # it takes its own mode when everything is in it
            _make_folder(path)
        elif file.path not in there:
            _make_folder(path.parent)
            _put(pack, file, path)
        else:
            _temporary(path).unlink(missing_ok=True)  # of a run that was killed when the file had its name
    for file in reversed(session.files):
        if file.kind == "folder":
            Path(file.path).chmod(file.mode)
            os.utime(file.path, ns=(file.mtime_ns, file.mtime_ns))
            fsync_folder(Path(file.path).parent)
    return [f"{file.path}: is there already, as it was" for file in session.files if file.path in there]


def _make_folder(path: Path) -> None:
    if not path.is_dir():
        at_fault_point("mkdir", path)
        private_folder(path)


def _put(pack: Pack, file: PackedFile, path: Path) -> None:
    """Write one file beside its place under a name that no client takes for a transcript, then give it its own."""
    temp = _temporary(path)
    at_fault_point("write", temp)
    temp.unlink(missing_ok=True)
    try:
        if file.kind == "link":
            temp.symlink_to(file.hash)
            os.utime(temp, ns=(file.mtime_ns, file.mtime_ns), follow_symlinks=False)
        else:
            _write(pack, file, temp)
        move_file(temp, path)
    except FileExistsError as error:
        temp.unlink(missing_ok=True)
        raise RefusedError(f"{path}: somebody wrote there meanwhile; move it away, then restore again") from error
    except OSError:
        temp.unlink(missing_ok=True)
        raise


def _temporary(path: Path) -> Path:
    # the same name on every try, so that a second one also clears away what a killed first one left
    return path.with_name(f"{TEMP_PREFIX}back-{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}")


def _write(pack: Pack, file: PackedFile, temp: Path) -> None:
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        found = digest()
        for block in pack.blocks(file):
            found.update(block)
            write_all(fd, block)
        if found.hexdigest() != file.hash:
            raise CorruptStateError(pack.path, f"{file.path} is not what was packed", "put the pack back from a copy")
        os.fchmod(fd, file.mode)
        os.utime(fd, ns=(file.mtime_ns, file.mtime_ns))
        at_fault_point("fsync", temp)
        os.fsync(fd)
    finally:
        os.close(fd)


def _is_there(file: PackedFile) -> bool:
    """Say whether a file lies in its place as it was archived: restored by hand, or by a run that was killed.

    Raises:
        RefusedError: something else lies there.
    """
    path = Path(file.path)
    if file.kind == "folder":
        if os.path.lexists(path) and (path.is_symlink() or not path.is_dir()):
            raise RefusedError(f"{path}: is no folder any more; move it away, then restore again")
        return False
    if not os.path.lexists(path):
        return False
    if file.kind == "link":
        same = path.is_symlink() and os.fspath(path.readlink()) == file.hash
    else:
        same = path.is_file() and not path.is_symlink() and path.stat().st_size == file.size
        same = same and _hash(path) == file.hash
    if not same:
        raise RefusedError(
            f"{path}: something else is there now; move it away, then restore again, or restore it beside (--as NEW-ID)"
        )
    return True


def _hash(path: Path) -> str:
    found = digest()
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            found.update(block)
    return found.hexdigest()
