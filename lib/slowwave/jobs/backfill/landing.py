"""What was read lands in the memory folder: one project of one shard at a time, in the order of the plan.

Everything is worked out under the folder's guard, written down beside the run, and only then added, so that a kill at
any moment is completed by the next attempt to the same bytes. A session that somebody else has read since the plan is
left as it is, and counted.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from slowwave.files import at_fault_point, file_bytes
from slowwave.jobs.backfill.additions import Landing
from slowwave.jobs.backfill.blocks import append_rest, written
from slowwave.jobs.backfill.model import Plan, Result, Seed
from slowwave.jobs.backfill.record import Record, close_record, cut_record, read_record, write_record
from slowwave.memory.book import read_book
from slowwave.memory.extracted import bring_up_to_date, day_of
from slowwave.memory.guard import OWN_FOLDER, guarded, is_bare
from slowwave.retention.sessions import remove_leftovers
from slowwave.secrets.redactor import Redactor
from slowwave.stores.model import Project

Outcome = tuple[Seed, Result]


def land(
    folder: Path,
    project: Project,
    plan: Plan,
    outcomes: Sequence[Outcome],
    redact: Redactor,
    previous: Mapping[str, str | None] | None = None,
) -> tuple[dict[str, int], list[str]]:
    """Add to a project's memory folder what came of some pieces, once; return what it brought, and warnings.

    Args:
        folder: where the landing is noted.
        project: the project.
        plan: the run.
        outcomes: of each piece what was known before, and its result, in order.
        redact: of the run.
        previous: the hashes of the renewed files after the run's last landing in this folder.

    Raises:
        CorruptStateError: a file of the memory folder or of the run is damaged.
        LockHeldError: another process kept the memory folder locked for too long.
        OSError: a file cannot be written.
    """
    if (known := _known(folder)) and known.state not in ("open", "cut"):
        return known.counts, []
    memory = project.memory
    existed = memory.exists() and not is_bare(memory)  # it is where a run was killed that had just made it
    with guarded(memory):
        for place in (memory, memory / OWN_FOLDER):
            remove_leftovers(place)  # of a landing that was killed
        if (record := _known(folder)) and _completed(folder, record):
            return _finished(folder, record, plan)
        landing = Landing(project, plan, redact)
        for seed, result in outcomes:
            landing.take_result(seed, result)
        record, blocks = landing.record(existed=existed)
        write_record(folder, record, blocks, previous)
        _completed(folder, record)
        return _finished(folder, record, plan)


def _known(folder: Path) -> Record | None:
    """Return what an earlier attempt has noted, if it came that far."""
    return read_record(folder) if (folder / "record.json").exists() else None


def _completed(folder: Path, record: Record) -> bool:
    """Add what is missing of a record's blocks; False when somebody wrote in between, and it was cut and set aside."""
    if record.state == "open":
        own = Path(record.memory) / OWN_FOLDER
        blocks = {block.file: file_bytes(folder / block.file) for block in record.blocks}
        there = {block.file: written(own / block.file, block, blocks[block.file]) for block in record.blocks}
        if all(is_last or number == len(blocks[name]) for name, (number, is_last) in there.items()):
            for block in record.blocks:
                append_rest(own / block.file, blocks[block.file], there[block.file][0])
            return True
        cut_record(folder, record)
    number = sum(1 for _ in folder.parent.glob(f"{folder.name}.*"))
    at_fault_point("rename", folder)
    folder.rename(folder.with_name(f"{folder.name}.{number:02}"))
    return False


def _finished(folder: Path, record: Record, plan: Plan) -> tuple[dict[str, int], list[str]]:
    """Show the candidates that wait, and note that the landing is done; the caller holds the guard."""
    memory = Path(record.memory)
    wrong = ""
    if record.has_new:
        wrong = bring_up_to_date(memory, read_book(memory).done, day_of(plan.now), plan.settings.consolidation.max_loss)
    close_record(folder, record, "done")
    return record.counts, [f"{memory}: {wrong}"] if "accident" in wrong else []
