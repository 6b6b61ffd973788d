"""The short kernel lock under which anything inside a memory folder is written or swapped.

It is held for milliseconds, is freed by the kernel when its holder dies, and is not the consolidation lock: that one
lasts as long as a dream and is honoured by other programs (:mod:`slowwave.consolidation.lock`). When a transaction
replaces the folder, the lock's file goes along as a hard link, so everybody waits at the same file.
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from slowwave.errors import LockHeldError
from slowwave.files import private_folder, require_file
from slowwave.memory.exchange import put_back
from slowwave.memory.places import siblings

OWN_FOLDER = ".slowwave"
WAIT_S = 60.0
_LOCK = "guard.lock"


@contextmanager
def guarded(memory: Path) -> Generator[None]:
    """Hold the write lock of a memory folder; the folder is made when it is missing.

    Raises:
        LockHeldError: another process held it for a minute.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 - whoever only reads never waits for its import

    if not memory.exists():
        for kind, _, path in siblings(memory):
            if kind == "aside":
                put_back(memory, path)
    own = memory / OWN_FOLDER
    private_folder(own)
    if (own / _LOCK).exists():
        require_file(own / _LOCK, (own / _LOCK).stat())
    lock = FileLock(own / _LOCK, timeout=WAIT_S, mode=0o600, fallback_to_soft=False)
    try:
        with lock:
            yield
    except Timeout as error:
        raise LockHeldError(f"{memory}: another process has been writing here for {WAIT_S:.0f} s; try again") from error


def is_bare(memory: Path) -> bool:
    """Say whether a memory folder holds nothing but the lock that was made with it."""
    own = memory / OWN_FOLDER
    return [path.name for path in memory.iterdir()] == [OWN_FOLDER] and {path.name for path in own.iterdir()} <= {_LOCK}


def remove_bare(memory: Path) -> None:
    """Remove a memory folder that holds nothing but its lock; the caller holds the guard, and made the folder.

    Raises:
        OSError: something came into it meanwhile, or it may not be removed.
    """
    (memory / OWN_FOLDER / _LOCK).unlink(missing_ok=True)
    (memory / OWN_FOLDER).rmdir()
    memory.rmdir()
