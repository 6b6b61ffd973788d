"""The files of runs in the state folder: room for them, manifests of killed runs, accounts of what a model was asked.

A manifest goes with its run; one that is left belongs to a run that was killed. Accounts are read at the end of their
run, and stay a month for a person who asks what was charged, as long as the server keeps its own history of runs.
"""

import errno
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryFile

from slowwave.errors import UnwritableError, told
from slowwave.files import private_folder, write_all
from slowwave.places import home_folder, state_folder
from slowwave.retention.beside import remove_leftovers
from slowwave.settings import Settings

KEPT = timedelta(days=30)
# what the records, locks and lists of a night need that has little to read
LEAST_ROOM = 1 << 20
_FILES = ("*.manifest.json", "*.model.json")


def require_places(settings: Settings, environ: Mapping[str, str], *, dry_run: bool) -> None:
    """Refuse a run whose home is missing, or that could keep nothing of what it finds in hours of reading.

    Raises:
        UnwritableError: there is no home, or the state folder cannot be written or has no room.
    """
    home, state = home_folder(environ), state_folder(environ)
    needs_home = not settings.store.roots or (state.is_relative_to(home) and not dry_run)
    if needs_home and not home.is_dir():
        remedy = "point HOME to the folder of whoever worked with the agents"
        raise UnwritableError(f"{home}: there is no such home folder, so nothing was done; {remedy}")
    if not dry_run:
        require_room(state, LEAST_ROOM)


def require_room(folder: Path, size: int) -> None:
    """Refuse a folder that is not there and cannot be made, or that cannot hold so many bytes more.

    Raises:
        UnwritableError: the system refuses it; the message says why.
    """
    try:
        private_folder(folder)
        with TemporaryFile(dir=folder) as probe:
            write_all(probe.fileno(), bytes(size))
    except OSError as error:
        # the name of the probe tells nobody anything
        where = folder if folder.is_dir() else error.filename or folder
        cause = OSError(error.errno, error.strerror)
        remedy = "; it has to be a folder: move it away" if error.errno in (errno.EEXIST, errno.ENOTDIR) else ""
        raise UnwritableError(f"{told(cause, where)}{remedy} (nothing was done)") from error


def remove_old(environ: Mapping[str, str], now: datetime, run_id: str) -> int:
    """Remove the files of other runs that last changed more than :data:`KEPT` ago; return how many.

    What a process that is gone had not written to its end goes at once, uncounted.

    Args:
        environ: the environment; the state folder is taken from here.
        now: the current time.
        run_id: the run that is at work, whose files stay whatever their time: its clock may stand somewhere else.

    Raises:
        OSError: the state folder cannot be read or written.
    """
    folder = state_folder(environ) / "runs"
    before = (now - KEPT).timestamp()
    removed = 0
    remove_leftovers(folder)
    for path in [path for name in _FILES for path in sorted(folder.glob(name))]:
        with suppress(FileNotFoundError):  # another run was faster
            if not path.name.startswith(f"{run_id}.") and path.stat().st_mtime < before:
                path.unlink()
                removed += 1
    return removed
