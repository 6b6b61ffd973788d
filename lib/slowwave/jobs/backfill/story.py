"""The story of a backfill without a scheduler: begin, read every shard, let it land, end. The flow tells it again.

It changes memory folders only by what lands, and every landing can be taken back. A second run over a range that was
read finds nothing to do and says so.
"""

from collections.abc import Mapping
from pathlib import Path
from time import perf_counter

import msgspec

from slowwave.errors import NotFoundError, SlowwaveError, UsageError
from slowwave.extraction.selection import EXTRACTOR
from slowwave.jobs.backfill.folder import Folder, Pace, Plan, Shard, Wanted, backfills_folder
from slowwave.jobs.backfill.plan import plan_backfill
from slowwave.jobs.backfill.rollback import roll_back
from slowwave.jobs.conclusion import Around, Began, conclude_broken, title_of
from slowwave.jobs.model import fetch_answers, is_batched
from slowwave.jobs.parameters import AS_SET, BackfillParameters, run_of
from slowwave.jobs.run import Run, clock_of, require_places
from slowwave.jobs.story import began_of
from slowwave.report import Item, Report, counted, readable
from slowwave.secrets.redactor import NAMELESS
from slowwave.settings import Settings


class Begun(msgspec.Struct, frozen=True):
    """A run that is there and may go on.

    Attributes:
        folder: of the run.
        shards: how many there are; 0 when there is nothing to do.
        report: what there is to say before anything is read.
        runner: who reads: threads, dask or ray.
        began: when it was begun, or taken up, this time.
        title: what people call the run.
    """

    folder: Path
    shards: int
    report: Report
    runner: str
    began: Began
    title: str = ""


def begin(given: BackfillParameters, environ: Mapping[str, str]) -> Begun:
    """Plan a backfill, or take up one that is there.

    Raises:
        SettingsError: any setting is wrong.
        UnreadableError: a store cannot be read at all.
        NotFoundError: no project, session or backfill is the one that is asked for.
        UsageError: what is asked for does not go together.
        UnwritableError: there is no home, or no room for what a run keeps.
        OSError: the state folder cannot be written.
    """
    if given.action == "resume":
        return _taken_up(given, environ)
    run = run_of(given, environ)
    require_places(run.settings, environ, dry_run=False)
    began, runner = began_of(run), _runner(given, run.settings)
    folder = Folder(backfills_folder(environ) / run.id)
    if (folder.path / "plan.json").exists():
        raise UsageError(f"there is a backfill {run.id} already; continue it with --resume {run.id}")
    plan, shards = _planned(run, given, began)
    report = first_words(plan)
    if is_batched(run.settings):
        fetch_answers(report, run.settings, environ, plan.now)
    if not plan.sessions:
        return Begun(folder.path, 0, report, runner, began)
    folder.write(plan, shards)
    return Begun(folder.path, plan.shards, report, runner, began, _title(began, plan))


def _nothing_of(plan: Plan) -> str:
    """Say why a plan has no session."""
    if not plan.counts.get("sessions"):
        return "the range holds no session; slowwave sessions list shows what there is, and when it was"
    if plan.wanted.retry_failed:
        return "no session of the range is left to try again: each could be read, or was never tried"
    if plan.wanted.upgrade:
        return f"no session of the range is left to read again: none was read by rules older than {EXTRACTOR}"
    why = "nothing of the range is left to read: what a night or an earlier backfill has read is not read twice"
    why += ", and --force only lets in what is too short or in use" if plan.force else ""
    return f"{why}; to see a backfill at work, on sessions that come with slowwave: slowwave run backfill --sample DIR"


def _planned(run: Run, given: BackfillParameters, began: Began) -> tuple[Plan, list[Shard]]:
    """Return the plan of a run; one that cannot begin, through no fault of its range, is recorded first."""
    try:
        return plan_backfill(run, wanted_of(given), Pace(given.sessions_per_second, given.mb_per_second))
    except (UsageError, NotFoundError):
        raise
    except SlowwaveError as error:
        conclude_broken("backfill", error, began, Around(run.settings, run.environ))
        raise


def _taken_up(given: BackfillParameters, environ: Mapping[str, str]) -> Begun:
    folder = Folder.of(given.backfill, environ)
    plan = folder.plan()
    require_places(plan.settings, environ, dry_run=False)
    began = Began(plan.run_id, clock_of(given.now).now(), perf_counter(), partial=bool(plan.wanted.projects))
    runner = _runner(given, plan.settings)
    report = Report("backfill", plan.run_id)
    if folder.standing == "rolled-back":
        raise UsageError(f"backfill {plan.run_id} was taken back; start a new one")
    if folder.standing == "rolling-back":
        raise UsageError(f"backfill {plan.run_id} is being taken back; continue with --rollback {plan.run_id}")
    if folder.standing == "done":
        report.warnings.append(f"backfill {plan.run_id} is done; a new one reads what has changed since")
        return Begun(folder.path, 0, report, runner, began)
    folder.unpause()
    return Begun(folder.path, plan.shards, first_words(plan), runner, began, _title(began, plan))


def _title(began: Began, plan: Plan) -> str:
    return NAMELESS(title_of("backfill", began.at, plan.projects))


def _runner(given: BackfillParameters, settings: Settings) -> str:
    """Return who reads: what is asked for now wins, also over what the run was begun with."""
    return settings.backfill.task_runner if given.runner == AS_SET else given.runner


def wanted_of(given: BackfillParameters) -> Wanted:
    """Return the range that parameters mean."""
    return Wanted(
        since=given.since,
        until=given.until,
        projects=tuple(filter(None, (given.project, *given.projects))),
        dialects=tuple(given.dialects),
        sessions=tuple(given.sessions),
        limit=given.limit,
        upgrade=given.upgrade,
        retry_failed=given.retry_failed,
    )


def first_words(plan: Plan) -> Report:
    """Return a report that says what a plan is about, and what of the range is not in it."""
    report = Report("backfill", plan.run_id)
    report.warnings = [NAMELESS(one) for one in plan.warnings]
    report.counts = {"projects": len(plan.projects), "in_range": plan.counts.get("sessions", 0)}
    report.counts |= {name: number for name, number in plan.counts.items() if name != "sessions" and number}
    report.memories = {project.key: str(project.memory) for project in plan.projects}
    size = f"{counted('sessions', plan.sessions)}, {readable(plan.bytes)}"
    text = f"{size}, in {plan.pieces:,} piece{'' if plan.pieces == 1 else 's'}"
    if plan.sessions:
        report.items.append(Item(plan.run_id, "backfill", text))
    else:
        report.warnings.insert(0, _nothing_of(plan))
    return report


def pause(given: BackfillParameters, environ: Mapping[str, str]) -> Report:
    """Ask a run to stop after the sessions that its workers are reading.

    Raises:
        NotFoundError: there is no such backfill.
    """
    folder = Folder.of(given.backfill, environ)
    report = Report("backfill", given.backfill)
    if folder.standing not in ("", "failed"):
        report.warnings.append(f"backfill {given.backfill} is {folder.standing} already")
        return report
    folder.pause()
    report.items.append(Item(given.backfill, "pause", f"it stops soon; continue with --resume {given.backfill}"))
    return report


def take_back(given: BackfillParameters, environ: Mapping[str, str]) -> Report:
    """Take back what a run has added to memory folders.

    Raises:
        NotFoundError: there is no such backfill.
        LockHeldError: it is being run.
        OSError: the run's folder cannot be written.
    """
    folder = Folder.of(given.backfill, environ)
    report = Report("backfill", given.backfill)
    with folder.alone():
        if folder.standing == "rolled-back":
            report.warnings.append(f"backfill {given.backfill} was taken back already")
            return report
        folder.note("rolling-back")
        roll_back(folder, report)
        if not report.failures:
            folder.note("rolled-back")
            folder.drop_work()
        if not (report.failures and report.counts.get("rolled_back")):
            folder.forget("rolling-back")
    return report
