"""Who may work beside whom: jobs beside each other, an erasure of subjects beside nothing, one retention at a time.

A job that has read what goes would write it again behind an erasure, and one of retention would carry it past. So each
job holds a lock together with the others from its first look until its report is written, and an erasure holds it
alone. The kernel frees it with its holder, however that ends; nobody waits for another one while they hold it.
"""

from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from slowwave.errors import LockHeldError
from slowwave.files import private_folder
from slowwave.formats.append import locked_file
from slowwave.places import state_folder

LOCK = "retain.lock"
GATE = "erasing.lock"
WAIT_S = 600.0
# a session comes back within that, another run of retention takes longer
COMES_BACK_S = 20.0


@contextmanager
def alone(environ: Mapping[str, str], *, wait_s: float | None = None) -> Generator[None]:
    """Hold off all other runs of retention, erasures, and sessions that come back.

    Args:
        environ: the environment; the state folder is taken from here.
        wait_s: how long to wait for one that is at work; by default as long as a session takes to come back.

    Raises:
        LockHeldError: it was still at work.
        OSError: the state folder cannot be written.
    """
    path = state_folder(environ) / LOCK
    _make(path)
    with _held(path, "another run of retain or erase, or a restore, is", wait_s, COMES_BACK_S, shared=False):
        yield


@contextmanager
def beside_jobs(environ: Mapping[str, str], *, wait_s: float | None = None) -> Generator[None]:
    """Hold off erasures of subjects while something is read and written, beside any number of others that do so.

    Args:
        environ: the environment; the state folder is taken from here.
        wait_s: how long to wait for an erasure that is at work; ten minutes by default.

    Raises:
        LockHeldError: it was still at work.
        UnreadableError: the lock is no file, or may not be opened.
    """
    path = state_folder(environ) / GATE
    try:
        _make(path)
    except OSError:
        yield  # whoever cannot write there is told so by what they do, and no erasure can begin there either
        return
    with _held(path, "an erasure is", wait_s, WAIT_S, shared=True):
        yield


@contextmanager
def erasing(environ: Mapping[str, str], *, wait_s: float | None = None) -> Generator[None]:
    """Hold off every job, other erasures and retention; those at work are waited for.

    Raises:
        LockHeldError: a job was still at work; nothing was done.
        OSError: the state folder cannot be written.
    """
    path = state_folder(environ) / GATE
    _make(path)
    with _held(path, "another job is", wait_s, WAIT_S, shared=False), alone(environ):
        yield


def _make(path: Path) -> None:
    private_folder(path.parent)
    if not path.exists():
        path.touch(mode=0o600)


@contextmanager
def _held(path: Path, who: str, given_s: float | None, usual_s: float, *, shared: bool) -> Generator[None]:
    wait_s = usual_s if given_s is None else given_s
    with ExitStack() as held:
        try:
            held.enter_context(locked_file(path, shared=shared, timeout_s=0))
        except LockHeldError:
            from slowwave.secrets.logs import logger_of  # noqa: PLC0415 - mostly nobody waits

            logger_of(__name__).warning("%s at work: waiting for its end, %.0f s at most", who, wait_s)
            try:
                held.enter_context(locked_file(path, shared=shared, timeout_s=wait_s))
            except LockHeldError as error:
                text = f"{who} still at work after {wait_s:.0f} s; run it again when that has ended"
                raise LockHeldError(text) from error
        yield
