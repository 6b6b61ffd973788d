"""The lock under which Codex writes a rollout: ``thread-writer-locks/<thread>.lock`` in its home.

An empty file that the running client holds an exclusive ``flock`` on; ``.coordination.lock`` beside it is locked for
the moment in which that one is made and taken. It goes when the client ends; one that a kill left behind means nothing.
Seen with client 0.169.0 (``/proc/locks`` and its system calls); older ones lock nothing.
"""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from slowwave.errors import LockHeldError, RefusedError
from slowwave.formats.append import locked_file
from slowwave.formats.codex.home import home_of, thread_in_name

FOLDER = "thread-writer-locks"
_COORDINATION = ".coordination.lock"
_COORDINATION_S = 5.0


def lock_path(rollout: Path) -> Path | None:
    """Return where the lock of a rollout lies; None outside of a Codex home, or in one that has no locks."""
    home, thread = home_of(rollout), thread_in_name(rollout)
    if home is None or not thread or not (home / FOLDER).is_dir():
        return None
    return home / FOLDER / f"{thread}.lock"


def is_held(rollout: Path) -> bool:
    """Say whether a running Codex has the thread of a rollout open."""
    path = lock_path(rollout)
    if path is None:
        return False
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _lock(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)


@contextmanager
def writer_lock(rollout: Path, session_id: str) -> Generator[None]:
    """Hold the client's own lock while a rollout is written to, so that no Codex opens it meanwhile.

    Raises:
        RefusedError: a running Codex has the thread open.
    """
    path = lock_path(rollout)
    if path is None:
        yield
        return
    with _coordinated(path):
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        has_it = _lock(fd, fcntl.LOCK_EX)
    try:
        if not has_it:
            raise RefusedError(f"session {session_id} is open in a running Codex ({path}); close it there first")
        try:
            yield
        finally:
            with _coordinated(path):
                _remove(path, fd)
    finally:
        os.close(fd)


def _remove(path: Path, fd: int) -> None:
    """Remove our lock file, as the client does with its own, before it is let go."""
    if path.exists() and os.path.samestat(path.stat(), os.fstat(fd)):
        path.unlink()


@contextmanager
def _coordinated(path: Path) -> Generator[None]:
    try:
        with locked_file(path.with_name(_COORDINATION), create=True, timeout_s=_COORDINATION_S):
            yield
    except LockHeldError as error:
        raise RefusedError(f"{path.parent}: Codex is opening a session; try again in a moment") from error


def _lock(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
