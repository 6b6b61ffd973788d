"""Where slowwave's files lie, and the few ways in which it changes files, each of which survives a kill at any moment.

Every system call that matters is announced to ``fault_hook`` first, so that tests can stop the process exactly there.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from slowwave.errors import MovedError, UnreadableError

# How the empty folder is called in which a model's command is asked: sessions in such a folder are slowwave's own.
ASKING = "slowwave-asks-"
# the report of the nights in the state folder: every run writes it anew, and it tells what was said
REPORT = "report.html"
# what waits for a person in each memory folder, in the state folder: found out again where it is missing
ASKS = "asks.json"


def is_for_questions(folder: str) -> bool:
    """Say whether a session that worked in a folder is one of slowwave's own questions."""
    return folder.rstrip("/").rpartition("/")[2].startswith(ASKING)


def home_folder(environ: Mapping[str, str]) -> Path:
    """Return the home folder: ``$HOME``, else what the system says."""
    return Path(environ.get("HOME") or "~").expanduser()


def from_home(path: str, environ: Mapping[str, str]) -> str:
    """Return a path as people write it: from their home folder, where it lies below that."""
    home = str(home_folder(environ))
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path


def state_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder for everything that can be rebuilt: ``$XDG_STATE_HOME/slowwave``."""
    return _own_folder(environ, "XDG_STATE_HOME", ".local/state")


def data_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder for what cannot be rebuilt: ``$XDG_DATA_HOME/slowwave``."""
    return _own_folder(environ, "XDG_DATA_HOME", ".local/share")


def archive_folder(environ: Mapping[str, str]) -> Path:
    """Return where what was archived lies."""
    return data_folder(environ) / "archive"


def config_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of the settings file: ``$XDG_CONFIG_HOME/slowwave``."""
    return _own_folder(environ, "XDG_CONFIG_HOME", ".config")


def scheduler_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of Prefect's own files: ``$PREFECT_HOME``, else one below the state folder."""
    return Path(environ.get("PREFECT_HOME") or state_folder(environ) / "prefect")


def _own_folder(environ: Mapping[str, str], variable: str, usual: str) -> Path:
    return Path(environ.get(variable) or home_folder(environ) / usual).expanduser() / "slowwave"


# client: what each sets for the commands that its agent runs, as found with the real ones
_AGENTS = {
    "CLAUDECODE": "Claude Code",
    "CODEX_THREAD_ID": "Codex",
    "CODEX_SESSION_ID": "Codex",
    "PI_CODING_AGENT": "pi",
    "OPENCODE": "opencode",
}


def agent_around(environ: Mapping[str, str]) -> str:
    """Return the client whose agent runs this process, as far as the environment tells, or ""."""
    return next((client for name, client in _AGENTS.items() if environ.get(name)), "")


TEMP_PREFIX = ".slowwave-tmp-"
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def _no_fault(_event: str, _path: str) -> None:
    """Do nothing; fault drills put their own function in ``fault_hook``."""


fault_hook: Callable[[str, str], None] = _no_fault


def at_fault_point(event: str, path: Path | str) -> None:
    """Tell the fault hook that ``event`` (write, fsync, rename, link, unlink, mkdir, swap) is about to happen."""
    fault_hook(event, os.fspath(path))


def write_all(fd: int, data: bytes | memoryview) -> None:
    """Write every byte, going on after a short write."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def private_folder(path: Path) -> None:
    """Make a folder for its owner alone, and so whatever is missing above it; one that is there keeps its mode.

    ``Path.mkdir`` gives its mode to the last folder only: those above it would be as open as the umask lets them be.
    """
    if path.is_dir():
        return
    private_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)


def file_bytes(path: Path) -> bytes:
    """Return the content of a file of our own; the errors are those of :func:`open_file`."""
    with os.fdopen(open_file(path), "rb") as file:
        return file.read()


def hash_of(path: Path, kind: str | Callable[[], hashlib.blake2b] = "sha256") -> str:
    """Return the hash of a file of any size, in hex."""
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, kind).hexdigest()


def walked(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield ``path`` and, when it is a folder, everything in it, folders before their content; no link is followed."""
    at = path.lstat()
    yield path, at
    if stat.S_ISDIR(at.st_mode):
        for child in sorted(path.iterdir()):
            yield from walked(child)


def open_file(path: Path) -> int:
    """Open a file of our own to read it; what is no file is told at once, where reading would wait for ever.

    Raises UnreadableError: it is a folder, a pipe, a device or a socket; OSError: it is not there, or may not be read.
    """
    # of a pipe nothing comes until somebody writes to it
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        require_file(path, os.fstat(fd))
    except UnreadableError:
        os.close(fd)
        raise
    return fd


def require_file(path: Path, at: os.stat_result) -> None:
    """Refuse what stands in the place of a file and is none."""
    if not stat.S_ISREG(at.st_mode):
        kind = next((name for is_one, name in _KINDS if is_one(at.st_mode)), "something else")
        raise UnreadableError(path, f"is {kind} where a file is expected", "move it away")


def fsync_folder(folder: Path) -> None:
    """Make the renames and new names in ``folder`` durable."""
    at_fault_point("fsync", folder)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _temporary(folder: Path, mode: int) -> tuple[int, Path]:
    """Create an empty file whose name no client takes for one of its own, and that no other thread can have."""
    path = folder / f"{TEMP_PREFIX}{os.getpid()}-{os.urandom(4).hex()}"
    at_fault_point("write", path)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), path


@contextmanager
def replacement(path: Path, *, mode: int | None = None, check: Callable[[], None] | None = None) -> Generator[int]:
    """Yield the descriptor of a temporary file that takes the place of ``path`` when the block ends well.

    The steps are those of :func:`atomic_write`. Mode and owner of an existing file are kept.

    Args:
        path: the file to replace or to create.
        mode: permissions of the new file; by default those of the existing one, or 0o600.
        check: called right before the rename; what it raises leaves the old content in place.

    Raises OSError: the folder is missing or not writable, or the disk is full; the old content is untouched.
    """
    old = path.stat() if path.exists() else None
    if mode is None:
        mode = stat.S_IMODE(old.st_mode) if old else 0o600
    fd, temp = _temporary(path.parent, mode)
    try:
        try:
            os.fchmod(fd, mode)
            _keep_owner(fd, old)
            yield fd
            at_fault_point("fsync", temp)
            os.fsync(fd)
        finally:
            os.close(fd)
        if check:
            check()
        at_fault_point("rename", path)
        temp.replace(path)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
    fsync_folder(path.parent)


def _keep_owner(fd: int, old: os.stat_result | None) -> None:
    """Give the new file to the owner of the old one: a job run by root must not lock its users out."""
    new = os.fstat(fd)
    if os.geteuid() == 0 and old and (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        os.fchown(fd, old.st_uid, old.st_gid)


def atomic_write(path: Path, chunks: bytes | Iterable[bytes | memoryview], *, mode: int | None = None) -> None:
    """Replace ``path`` by the given bytes: temporary file in the same folder, fsync, rename, fsync of the folder.

    A reader sees the old or the new content and nothing in between, also after a kill. The mode of an existing file
    is kept unless ``mode`` says otherwise; a new file gets 0o600, since transcripts and memories are private.

    Where the folder is missing or not writable, or the disk is full (OSError), the old content is untouched.
    """
    with replacement(path, mode=mode) as fd:
        for chunk in [chunks] if isinstance(chunks, bytes) else chunks:
            write_all(fd, chunk)


def is_leftover(name: str) -> bool:
    """Say whether a file name is a temporary one that a killed process left behind."""
    return name.startswith(TEMP_PREFIX)


# Move one file so that it is never lost and never replaces another one, also from one file system to another.

_BLOCK = 1 << 20
# File systems without hard links answer with one of these.
NO_LINKS = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS)


def move_file(source: Path, target: Path) -> None:
    """Move ``source`` to ``target``; mode and modification time stay.

    A second name is made first and the old one removed afterwards, so that a kill in between leaves both; calling it
    again then finishes the move. Raises FileExistsError: another file is at ``target``; MovedError: somebody wrote to
    it while it was copied to another file system; it stays where it is; OSError: the file cannot be read, written or
    removed.
    """
    copied: _Stamp | None = None
    at_fault_point("link", target)
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        if not os.path.samestat(source.lstat(), target.lstat()):
            raise
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        copied = _copy(source, target)
    fsync_folder(target.parent)
    at_fault_point("unlink", source)
    # a second name would have what is appended meanwhile, a copy has not
    if copied is not None and _stamp(source.lstat()) != copied:
        target.unlink()
        raise MovedError(f"{source}: somebody wrote to it while it was copied, so it stays; try again")
    source.unlink()


class _Stamp(NamedTuple):
    """What a file is known by again as long as nobody writes to it."""

    ino: int
    size: int
    mtime_ns: int


def _stamp(at: os.stat_result) -> _Stamp:
    return _Stamp(at.st_ino, at.st_size, at.st_mtime_ns)


def _copy(source: Path, target: Path) -> _Stamp:
    """Copy to a temporary name beside ``target`` that no client takes for a transcript, then give it its name."""
    # the same name on every try, so that a second one also clears away what a killed first one left
    digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()
    temp = target.with_name(f"{TEMP_PREFIX}{digest[:16]}")
    temp.unlink(missing_ok=True)
    if source.is_symlink():
        at = source.lstat()
        stamp = _stamp(at)
        temp.symlink_to(source.readlink())
        os.utime(temp, ns=(at.st_atime_ns, at.st_mtime_ns), follow_symlinks=False)
    else:
        stamp = _copy_bytes(source, temp)
    if os.path.lexists(target):
        temp.unlink()
        raise FileExistsError(errno.EEXIST, "exists already", os.fspath(target))
    at_fault_point("rename", target)
    temp.rename(target)
    return stamp


def _copy_bytes(source: Path, temp: Path) -> _Stamp:
    at_fault_point("write", temp)
    try:
        with source.open("rb", buffering=0) as reader:
            at = os.fstat(reader.fileno())
            fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                while block := reader.read(_BLOCK):
                    write_all(fd, block)
                os.fchmod(fd, at.st_mode & 0o7777)
                os.utime(fd, ns=(at.st_atime_ns, at.st_mtime_ns))
                at_fault_point("fsync", temp)
                os.fsync(fd)
            finally:
                os.close(fd)
            return _stamp(at)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
