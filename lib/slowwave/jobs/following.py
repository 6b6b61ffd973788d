"""A run is followed from its first moment: a note says that it is at work, and it tells of runs that were stopped."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from slowwave.errors import SlowwaveError, told
from slowwave.jobs.concluding import Began
from slowwave.observability.at_work import Noting, begun, end_note, note_path, settle, write_note
from slowwave.observability.progress import watched_by, watcher
from slowwave.secrets.logs import logger_of
from slowwave.secrets.redactor import NAMELESS

log = logger_of(__name__)


def begin_note(job: str, began: Began, environ: Mapping[str, str]) -> list[str]:
    """Note that a run begins; return what there is to say of it and of runs before it that were stopped.

    That something of this cannot be done is no reason not to run.
    """
    said: list[str] = []
    try:
        found = settle(environ, began.run_id)
        said += [f"{night.at[:16].replace('T', ' ')}: {night.failures[0]}" for night in found]
        write_note(environ, begun(job, began.run_id, began.at.isoformat(), partial=began.partial))
    except SlowwaveError as error:
        said.append(NAMELESS(str(error)))
    except OSError as error:
        said.append(NAMELESS(f"{told(error, note_path(environ, began.run_id))}; if this run is stopped, nobody knows"))
        # the first thing that a run writes: a full disk is told before hours of reading that nothing can be kept of
        log.warning("%s", said[-1])
    return said


def drop_note(began: Began, environ: Mapping[str, str]) -> None:
    """Take the note of a run away that was none: what it was asked for does not exist."""
    note_path(environ, began.run_id).unlink(missing_ok=True)


@contextmanager
def followed(run_id: str, environ: Mapping[str, str], *, dry_run: bool = False) -> Generator[None]:
    """Note how far the run inside is, and why it ended if it ends before its report is concluded.

    A dry run leaves nothing behind, so nothing of it is noted.
    """
    if dry_run:
        yield
        return
    path = note_path(environ, run_id)
    with watched_by(Noting(path, watcher())):
        try:
            yield
        except BaseException as error:
            # a cancellation is a BaseException, too
            is_asked = isinstance(error, KeyboardInterrupt)
            why = "somebody interrupted it" if is_asked else f"{type(error).__name__}: {error}".removesuffix(": ")
            end_note(path, why)
            raise
