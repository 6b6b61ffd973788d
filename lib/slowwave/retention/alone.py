"""One at a time: a run of retention moves what an erasure looks for, and would carry it past."""

from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager

from slowwave.errors import LockHeldError, RefusedError
from slowwave.files import private_folder
from slowwave.places import state_folder
from slowwave.records.lock import locked_file

LOCK = "retain.lock"


@contextmanager
def alone(environ: Mapping[str, str]) -> Generator[None]:
    """Hold off all other runs of retention and of erasures.

    Raises:
        RefusedError: one is at work.
        OSError: the state folder cannot be written.
    """
    folder = state_folder(environ)
    private_folder(folder)
    with ExitStack() as held:
        try:
            held.enter_context(locked_file(folder / LOCK, create=True, timeout_s=0))
        except LockHeldError as error:
            raise RefusedError("another run of retain or erase is at work; run it again when that has ended") from error
        yield
