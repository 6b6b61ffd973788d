"""A backfill in this process: every shard in turn, its pieces over the processors of this machine."""

from collections.abc import Mapping

from slowwave.jobs.backfill.coverage import cover
from slowwave.jobs.backfill.folder import Folder
from slowwave.jobs.backfill.parameters import BackfillParameters
from slowwave.jobs.backfill.preview import preview
from slowwave.jobs.backfill.spread import read_shard
from slowwave.jobs.backfill.story import begin, end, land_shard, pause, take_back, wanted_of
from slowwave.jobs.discreet import discreet
from slowwave.jobs.parameters import run_of
from slowwave.report import Report


def run_backfill(given: BackfillParameters, environ: Mapping[str, str]) -> Report:
    """Do what parameters ask for, and return its report.

    Raises:
        SlowwaveError: it cannot be begun; each kind of it names the remedy.
        OSError: the state folder cannot be written.
    """
    answer = at_once(given, environ)
    return discreet(answer if answer is not None else _run(given, environ))


def at_once(given: BackfillParameters, environ: Mapping[str, str]) -> Report | None:
    """Return the report of an action that reads no shard, None for one that does.

    Raises:
        SlowwaveError: as :func:`run_backfill`.
        OSError: as :func:`run_backfill`.
    """
    if given.action == "pause":
        return pause(given, environ)
    if given.action == "rollback":
        return take_back(given, environ)
    if given.action == "coverage":
        return cover(run_of(given, environ), wanted_of(given))[1]
    if given.action == "preview" or given.dry_run:
        return preview(given, environ)
    return None


def _run(given: BackfillParameters, environ: Mapping[str, str]) -> Report:
    begun = begin(given, environ)
    report = begun.report
    if not begun.shards:
        return report
    with Folder(begun.folder).alone():
        for number in range(begun.shards):
            done = read_shard(begun.folder, number, environ)
            report.failures += done.failures
            if done.is_paused:
                break
            report.absorb(land_shard(begun.folder, number, environ))
        return end(begun.folder, environ, report)
