"""The mark of a run at work: where it is found by the next one, that one clears away what the first left behind.

Temporary files beside transcripts, indexes, memories and our own state hold copies of what people said. Looking for
them in every folder costs as much as a walk, so it is done after a run that did not come to its end.
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from slowwave.files import at_fault_point
from slowwave.formats.codex.home import home_of
from slowwave.memory.guard import OWN_FOLDER
from slowwave.memory.transaction import recover
from slowwave.places import data_folder, state_folder
from slowwave.report import Report
from slowwave.retention.beside import remove_leftovers
from slowwave.retention.job.context import Context
from slowwave.retention.job.fleet import paths_of
from slowwave.retention.purging.moves import FOLDER as PURGE

_MARK = "retain.working"


@contextmanager
def at_work(state: Path, report: Report, *, dry_run: bool) -> Generator[bool]:
    """Mark a run in the state folder as long as it works; yield whether one before it did not come to its end.

    Raises:
        OSError: the folder cannot be written.
    """
    mark = state / _MARK
    was_left = mark.exists()
    if not dry_run:
        remove_leftovers(state)  # one folder; what other jobs left there goes, too
        mark.touch(mode=0o600)
    yield was_left and not dry_run
    # an error leaves the mark as a kill does: the machine may have refused to clear something away, too
    if not dry_run and not report.failures:
        at_fault_point("unlink", mark)
        mark.unlink()


def clear_leftovers(run: Context) -> None:
    """Remove temporary files of processes that are gone wherever a run writes; settle what they changed in memories.

    Raises:
        LockHeldError: another process kept a memory folder locked for too long.
        OSError: one of them cannot be removed.
    """
    state, data = state_folder(run.environ), data_folder(run.environ)
    folders = {state, state / PURGE, data}
    for memory in sorted({member.project.memory for member in run.fleet.members.values()}):
        recover(memory)
    for member in run.fleet.members.values():
        for path in paths_of(member):
            folders |= {path.parent, home_of(path) or path.parent}
        folders |= {member.project.memory, member.project.memory / OWN_FOLDER}
    for folder in sorted(folders):
        if folder.is_dir():
            remove_leftovers(folder)
