"""Before a run begins: what a killed one left is taken back or finished, and written down."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from slowwave.errors import LockHeldError, SlowwaveError, told
from slowwave.report import Report
from slowwave.retention.audit import AuditLog
from slowwave.retention.job.packing import Archive
from slowwave.retention.job.traces import BY_RUN, Told
from slowwave.stores.freeing import finish_freeing, is_whole
from slowwave.stores.openclaw.lock import STORE_LOCK, TRANSCRIPT_LOCK, held_lock, lock_path
from slowwave.stores.trash import TrashItem, restore, trash_items


def settle(trash: Path, archive: Archive, log: AuditLog, at: datetime, report: Report) -> Told:
    """Settle what is half done, and return what the log tells afterwards.

    A removal that did not come to its end is taken back, and this run decides about the session again. Freeing goes on
    to its end. What was archived or thrown away without a line in the log gets its line.

    Raises:
        CorruptStateError: the log or a manifest of the trash is damaged.
        OSError: the trash or the log cannot be written.
    """
    finish_freeing(trash)
    said = Told(log)
    whole: list[TrashItem] = []
    for item in trash_items(trash):
        if said.run_of("trash", item.id, item.session) is not None:
            whole.append(item)
        elif is_whole(item, trash):
            whole.append(item)
            _let_go(item)
        elif item.reason.startswith(BY_RUN):
            _take_back(item, trash, report)
    said.complete(archive.all(), whole, report.run_id, at)
    return said


def put_back(trash: Path, session: str, report: Report) -> None:
    """Take back what a removal that failed moved already."""
    for item in _halves(trash, session):
        _take_back(item, trash, report)


def _halves(trash: Path, session: str) -> Sequence[TrashItem]:
    items = [item for item in trash_items(trash) if item.session == session and item.reason.startswith(BY_RUN)]
    return [item for item in items if not is_whole(item, trash)]


def _let_go(item: TrashItem) -> None:
    """Remove the locks that a killed process left beside what it had moved: its client may never look there."""
    places = [(Path(file.path), TRANSCRIPT_LOCK) for file in item.files]
    places += [(Path(note.path), STORE_LOCK) for note in item.notes]
    for path, rules in places:
        if lock_path(path).exists():
            # taking over the lock of a process that is gone, and giving it back, removes it
            with suppress(LockHeldError), held_lock(path, rules, timeout_s=0):
                pass


def _take_back(item: TrashItem, trash: Path, report: Report) -> None:
    try:
        report.warnings += restore(item, trash)
    except SlowwaveError as error:
        report.warnings.append(f"session {item.session} went in part: {error}")
    except OSError as error:
        report.failures.append(f"trash: session {item.session} went in part: {told(error, trash)}")
    else:
        report.count("taken_back")
