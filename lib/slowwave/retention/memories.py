"""A memory folder, and other files of slowwave's own, in an erasure."""

from pathlib import Path

from slowwave.memory.guard import OWN_FOLDER
from slowwave.memory.ledger import VERSION, Event
from slowwave.memory.model import iso
from slowwave.memory.transaction import recover
from slowwave.retention.beside import remove_leftovers
from slowwave.retention.delivered import erase_from_delivered
from slowwave.retention.eraser import Eraser
from slowwave.retention.own import OwnFile, apply_own, plan_own, with_event


def erase_memory(project: str, memory: Path, eraser: Eraser, hashes: dict[str, str]) -> None:
    """Deal with a memory folder: what must go from it, and the hashes of what changed in transcripts."""
    if memory.is_dir():
        _erase_memory(project, memory, eraser, hashes)
    erase_from_delivered(memory, eraser)


def _erase_memory(project: str, memory: Path, eraser: Eraser, hashes: dict[str, str]) -> None:
    if not eraser.dry_run:
        recover(memory)  # what a killed transaction left are further names of the same files
        remove_leftovers(memory / OWN_FOLDER, below=True)
    gone = eraser.gone_from(memory)
    changed = plan_own(memory, eraser.what, hashes, gone=gone)
    # as a whole or not at all: without the ledger nobody would know the other lines that are to go
    if eraser.linked(project, *(one.path for one in changed if one.new != one.old)):
        return
    if any(one.new != one.old for one in changed):
        places = sum(len(one.places) for one in changed)
        reason = f"{eraser.what.noun} taken out: {places} places here, {len(hashes)} hashes of transcripts renewed"
        event = Event(v=VERSION, event="erase", dream="", at=iso(eraser.now), reason=reason, run=eraser.report.run_id)
        changed = with_event(memory, changed, event)
    write_own(project, memory, changed, eraser)
    if changed:
        eraser.forgot(project, gone)


def write_own(project: str, folder: Path, changed: list[OwnFile], eraser: Eraser) -> None:
    """Write files of slowwave's own, unless it is a dry run, and note what was in them."""
    moved: list[str] = []
    if changed and not eraser.dry_run:
        with eraser.rewriting(*(one.path for one in changed if one.new != one.old)) as before:
            moved = apply_own(folder, changed, is_memory=(folder / OWN_FOLDER).is_dir())
            for path in moved:
                del before[Path(path)]
        for path in moved:
            eraser.refuse(project, path, "somebody wrote to it meanwhile; run it again")
    for one in changed:
        if str(one.path) in moved:
            continue
        eraser.found(project, str(one.path), one.places)
        for reason in one.refused:
            eraser.refuse(project, str(one.path), reason)
