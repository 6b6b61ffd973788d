"""Leading a backfill: shards are read, by whatever means, and land in the order of the plan."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from slowwave.errors import SlowwaveError, told
from slowwave.jobs.backfill.coverage import cover
from slowwave.jobs.backfill.engines import Read, reading
from slowwave.jobs.backfill.folder import Folder
from slowwave.jobs.backfill.parameters import BackfillParameters
from slowwave.jobs.backfill.preview import preview
from slowwave.jobs.backfill.spread import Done
from slowwave.jobs.backfill.story import Begun, begin, end, land_shard, pause, take_back, wanted_of
from slowwave.jobs.discreet import discreet
from slowwave.jobs.parameters import run_of
from slowwave.report import Report
from slowwave.secrets.redactor import NAMELESS

# lets one shard land
Land = Callable[[Path, int], Report]


def run_backfill(given: BackfillParameters, environ: Mapping[str, str]) -> Report:
    """Do in this process what parameters ask for, and return its report.

    Raises:
        SlowwaveError: it cannot be begun; each kind of it names the remedy.
        OSError: the state folder cannot be written.
    """
    answer = at_once(given, environ)
    if answer is not None:
        return answer
    begun = begin(given, environ)
    if not begun.shards:
        return discreet(begun.report)
    with reading(given.runner, begun.folder, begun.shards, environ) as read:
        return lead(begun, environ, read, lambda folder, number: land_shard(folder, number, environ))


def at_once(given: BackfillParameters, environ: Mapping[str, str]) -> Report | None:
    """Return the report of an action that reads no shard for good, None for one that does.

    Raises:
        SlowwaveError: as :func:`run_backfill`.
        OSError: as :func:`run_backfill`.
    """
    if given.action == "pause":
        return discreet(pause(given, environ))
    if given.action == "rollback":
        return discreet(take_back(given, environ))
    if given.action == "coverage":
        return discreet(cover(run_of(given, environ), wanted_of(given))[1])
    if given.action == "preview" or given.dry_run:
        return discreet(preview(given, environ))
    return None


def lead(begun: Begun, environ: Mapping[str, str], read: Read, land: Land) -> Report:
    """Read every shard and let it land as soon as those before it have; return the report of the run.

    Args:
        begun: the run.
        environ: the environment.
        read: reads a shard.
        land: lets a shard land.

    Raises:
        LockHeldError: another process leads the same run.
        CorruptStateError: the plan is damaged.
        OSError: the run's folder cannot be written.
    """
    report = begun.report
    with Folder(begun.folder).alone():
        for number, done in _read_in_order(begun, range(begun.shards), read):
            report.failures += done.failures
            if done.is_paused:
                break
            report.absorb(_contained(land, begun.folder, number, report.run_id))
        return discreet(end(begun.folder, environ, report))


def _read_in_order(begun: Begun, numbers: Iterable[int], read: Read) -> Iterator[tuple[int, Done]]:
    """Yield what became of each shard; one that breaks as a whole is named and does not stop the others."""
    for number in numbers:
        try:
            yield number, read(begun.folder, number)
        except SlowwaveError as error:
            yield number, Done({}, [NAMELESS(f"shard {number}: backfill: {error}")])
        except OSError as error:
            yield number, Done({}, [NAMELESS(f"shard {number}: backfill: {told(error, begun.folder)}")])


def _contained(land: Land, folder: Path, number: int, run_id: str) -> Report:
    try:
        return land(folder, number)
    except SlowwaveError as error:
        return Report("backfill", run_id, failures=[NAMELESS(f"shard {number}: backfill: {error}")])
    except OSError as error:
        return Report("backfill", run_id, failures=[NAMELESS(f"shard {number}: backfill: {told(error, folder)}")])
