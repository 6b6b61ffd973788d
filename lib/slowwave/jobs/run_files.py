"""The files that runs leave in the state folder: manifests of killed runs, and accounts of what a model was asked.

A manifest goes with its run; one that is left belongs to a run that was killed. Accounts are read at the end of their
run, and stay a month for a person who asks what was charged, as long as the server keeps its own history of runs.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta

from slowwave.places import state_folder
from slowwave.retention.sessions import remove_leftovers

KEPT = timedelta(days=30)
_FILES = ("*.manifest.json", "*.model.json")


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
