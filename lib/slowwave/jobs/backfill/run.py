"""Leading a backfill: shards are read, by whatever means, and land in the order of the plan."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import perf_counter, time

from slowwave.errors import SlowwaveError, told
from slowwave.jobs.backfill.conclusion import Ended, recorded
from slowwave.jobs.backfill.coverage import cover
from slowwave.jobs.backfill.ending import end
from slowwave.jobs.backfill.engines import Read, reading
from slowwave.jobs.backfill.folder import Folder
from slowwave.jobs.backfill.parameters import BackfillParameters, require_together
from slowwave.jobs.backfill.preview import preview
from slowwave.jobs.backfill.shards import land_shard
from slowwave.jobs.backfill.spread import Done
from slowwave.jobs.backfill.story import Begun, begin, pause, take_back, wanted_of
from slowwave.jobs.concluding import Began
from slowwave.jobs.containing import discreet
from slowwave.jobs.following import begin_note, drop_note, followed
from slowwave.jobs.parameters import run_of
from slowwave.jobs.run import clock_of
from slowwave.jobs.run_files import require_places
from slowwave.observability.logs import json_logs, log_report, log_step
from slowwave.observability.progress import watcher
from slowwave.report import Report, Span
from slowwave.retention.alone import beside_jobs
from slowwave.secrets.redactor import NAMELESS

# lets one shard land
Land = Callable[[Path, int], Report]


def run_backfill(given: BackfillParameters, environ: Mapping[str, str]) -> Report:
    """Do in this process what parameters ask for, and return its report.

    Raises:
        SlowwaveError: it cannot be begun; each kind of it names the remedy.
        OSError: the state folder cannot be written.
    """
    require_together(given)
    if given.action in ("run", "preview"):
        require_places(run_of(given, environ).settings, environ, dry_run=True)
    with beside_jobs(environ):
        answer = at_once(given, environ)
        return answer.report if answer is not None else _run(given, environ)


def _run(given: BackfillParameters, environ: Mapping[str, str]) -> Report:
    begun = begin(given, environ)
    if not begun.shards:
        return discreet(begun.report)
    with reading(begun.runner, begun.folder, begun.shards, environ) as read:
        return lead(begun, environ, read, lambda folder, number: land_shard(folder, number, environ)).report


def at_once(given: BackfillParameters, environ: Mapping[str, str]) -> Ended | None:
    """Do what needs no shard to be read, and return its report; None where shards are to be read.

    Raises:
        SlowwaveError: as :func:`run_backfill`.
        OSError: as :func:`run_backfill`.
    """
    require_together(given)
    if given.action == "pause":
        return Ended(discreet(pause(given, environ)))
    if given.action == "rollback":
        return _taken_back(given, environ)
    if given.action == "coverage":
        return Ended(discreet(cover(run_of(given, environ), wanted_of(given))[1]))
    if given.action == "preview" or given.dry_run:
        return Ended(discreet(preview(given, environ)))
    return None


def _taken_back(given: BackfillParameters, environ: Mapping[str, str]) -> Ended:
    plan = Folder.of(given.backfill, environ).plan()
    began = Began(plan.run_id, clock_of(given.now).now(), perf_counter(), partial=bool(plan.wanted.projects))
    with json_logs(plan.settings.telemetry.log_file, plan.run_id):
        drop_note(began, environ)
        report = discreet(take_back(given, environ))
        if report.failures or report.counts:
            return recorded(report, plan, began, environ, anew=True)
    return Ended(report)


def lead(begun: Begun, environ: Mapping[str, str], read: Read, land: Land) -> Ended:
    """Read every shard and let it land as soon as those before it have; record it, and return its report.

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
    report, folder = begun.report, Folder(begun.folder)
    plan = folder.plan()
    with folder.alone(), json_logs(plan.settings.telemetry.log_file, plan.run_id), followed(plan.run_id, environ):
        drop_note(begun.began, environ)  # of a part of this run that was killed: whoever goes on with it knows
        report.warnings += begin_note("backfill", begun.began, environ)
        watcher().plan("read", sum(not folder.has(number) for number in range(plan.pieces)))
        watcher().plan("land", plan.shards)
        for number, done in _read_in_order(begun, report, read):
            report.failures += done.failures
            if done.is_paused:
                break
            landed = _contained(land, begun.folder, number, report.run_id)
            report.absorb(landed)
            log_report(landed)
            watcher().done("land", f"shard {number + 1} of {plan.shards}")
        return recorded(discreet(end(begun.folder, environ, report)), plan, begun.began, environ)


def _read_in_order(begun: Begun, report: Report, read: Read) -> Iterator[tuple[int, Done]]:
    """Yield what became of each shard; one that breaks as a whole is named and does not stop the others."""
    for number in range(begun.shards):
        begin, timer = time(), perf_counter()
        try:
            done = read(begun.folder, number)
        except SlowwaveError as error:
            done = Done({}, [NAMELESS(f"shard {number}: backfill: {error}")])
        except OSError as error:
            done = Done({}, [NAMELESS(f"shard {number}: backfill: {told(error, begun.folder)}")])
        report.spans.append(Span("read", "", begin, perf_counter() - timer))
        log_step(report.spans[-1])
        yield number, done


def _contained(land: Land, folder: Path, number: int, run_id: str) -> Report:
    try:
        return land(folder, number)
    except SlowwaveError as error:
        return Report("backfill", run_id, failures=[NAMELESS(f"shard {number}: backfill: {error}")])
    except OSError as error:
        return Report("backfill", run_id, failures=[NAMELESS(f"shard {number}: backfill: {told(error, folder)}")])
