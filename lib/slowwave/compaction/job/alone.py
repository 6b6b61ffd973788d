"""One run at a time for one session: two that read its book at once would each forget what the other one did."""

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import TypeVar

from slowwave.compaction.job.book import file_of
from slowwave.compaction.job.run import Compacting
from slowwave.errors import LockHeldError
from slowwave.files import private_folder
from slowwave.formats.append import locked_file
from slowwave.stores.model import StoredSession

T = TypeVar("T")


@contextmanager
def alone(session: StoredSession, folder: Path, *, dry_run: bool = False) -> Generator[None]:
    """Hold the lock beside a session's book; it ends with the process, however that dies, and leaves no file behind.

    What a killed run left of it goes with the next one. Who holds the lock may remove its file: whoever opened it
    before looks the name up again, and then makes a new one.

    A dry run takes it only where something was done before, since it makes no folder.

    Raises:
        LockHeldError: another run is at this session.
        OSError: the folder cannot be made.
    """
    if dry_run and not folder.is_dir():
        yield
        return
    private_folder(folder)
    path = file_of(folder, session.files.paths[0]).with_suffix(".lock")
    with ExitStack() as held:
        try:
            held.enter_context(locked_file(path, create=True, timeout_s=0))
        except LockHeldError as error:
            raise LockHeldError(f"session {session.id}: another run is at it; nothing was changed") from error
        held.callback(path.unlink, missing_ok=True)
        yield


def one_at_a_time(work: Callable[[StoredSession, Compacting], T]) -> Callable[[StoredSession, Compacting], T]:
    """Let a piece of work begin only where no other run is at its session."""

    @wraps(work)
    def by_itself(session: StoredSession, run: Compacting) -> T:
        with alone(session, run.folder, dry_run=run.dry_run):
            return work(session, run)

    return by_itself
