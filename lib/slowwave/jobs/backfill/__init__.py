"""Leading a backfill: shards are read, by whatever means, and land in the order of the plan, until it is done.

The story of a backfill without a scheduler: begin, read every shard, let it land, end. The flow tells it again.

It changes memory folders only by what lands, and every landing can be taken back. A second run over a range that was
read finds nothing to do and says so.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter, time

import msgspec

from slowwave.context import Run, clock_of
from slowwave.errors import NotFoundError, SlowwaveError, UsageError, told
from slowwave.jobs.backfill.folder import Folder, Plan, Shard, backfills_folder, left_of, note_answers, sizes_left
from slowwave.jobs.backfill.landing import land_shard, not_added, not_landed, roll_back, stood_before
from slowwave.jobs.backfill.plan import cover, first_words, plan_backfill, wanted_of
from slowwave.jobs.backfill.preview import foreseen
from slowwave.jobs.backfill.shard import Done, ShardReader, reading
from slowwave.jobs.conclusion import Began, Ended, begin_note, conclude, conclude_broken, drop_note, followed, title_of
from slowwave.jobs.parameters import AS_SET, BackfillParameters, require_together, run_of
from slowwave.jobs.run import discreet, fetch_answers, hand_over_questions, is_batched, note_account, require_places
from slowwave.jobs.story import began_of
from slowwave.locks import beside_jobs, remove_leftovers
from slowwave.models import journal_of
from slowwave.observability.night import read_nights
from slowwave.observability.progress import LOOK, watcher
from slowwave.observability.telemetry import json_logs, log_report, log_step
from slowwave.report import Item, Report, Span, counted
from slowwave.secrets import NAMELESS
from slowwave.settings import Settings


class Begun(msgspec.Struct, frozen=True):
    """A run that is there and may go on."""

    folder: Path  # of the run
    shards: int  # how many there are; 0 when there is nothing to do
    report: Report  # what there is to say before anything is read
    runner: str  # who reads: threads, dask or ray
    began: Began  # when it was begun, or taken up, this time
    title: str = ""  # what people call the run


def begin(given: BackfillParameters, environ: Mapping[str, str]) -> Begun:
    """Plan a backfill, or take up one that is there.

    Raises SettingsError: any setting is wrong; UnreadableError: a store cannot be read at all; NotFoundError: no
    project, session or backfill is the one that is asked for; UsageError: what is asked for does not go together;
    UnwritableError: there is no home, or no room for what a run keeps; OSError: the state folder cannot be written.
    """
    watcher().plan(LOOK, 1)
    begun = _taken_up(given, environ) if given.action == "resume" else _begun(given, environ)
    watcher().done(LOOK, "")
    return begun


def _begun(given: BackfillParameters, environ: Mapping[str, str]) -> Begun:
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


def _planned(run: Run, given: BackfillParameters, began: Began) -> tuple[Plan, list[Shard]]:
    """Return the plan of a run; one that cannot begin, through no fault of its range, is recorded first."""
    try:
        return plan_backfill(run, given)
    except (UsageError, NotFoundError):
        raise
    except SlowwaveError as error:
        conclude_broken("backfill", error, began, run.settings, run.environ)
        raise


def _taken_up(given: BackfillParameters, environ: Mapping[str, str]) -> Begun:
    folder = Folder.of(given.backfill, environ)
    plan = folder.plan()
    require_places(plan.settings, environ, dry_run=False)
    began = _began_anew(plan, given)
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
    report = first_words(plan)
    answered = Report("backfill", plan.run_id)
    note_account(answered, journal_of(plan.run_id, environ))
    report.before = stood_before(folder, plan) | answered.counts
    return Begun(folder.path, plan.shards, report, runner, began, _title(began, plan))


def _title(began: Began, plan: Plan) -> str:
    return NAMELESS(title_of("backfill", began.at, plan.projects))


def _runner(given: BackfillParameters, settings: Settings) -> str:
    """Return who reads: what is asked for now wins, also over what the run was begun with."""
    return settings.backfill.task_runner if given.runner == AS_SET else given.runner


def pause(given: BackfillParameters, environ: Mapping[str, str]) -> Report:
    """Ask a run to stop after the sessions that its workers are reading.

    Raises NotFoundError: there is no such backfill.
    """
    folder = Folder.of(given.backfill, environ)
    report = Report("backfill", given.backfill)
    if folder.standing not in ("", "failed"):
        report.warnings.append(f"backfill {given.backfill} is {folder.standing} already")
        return report
    folder.pause()
    report.items.append(Item(given.backfill, "pause", f"it stops soon; continue with --resume {given.backfill}"))
    return report


# lets one shard land
Land = Callable[[Path, int], Report]


def run_backfill(given: BackfillParameters, environ: Mapping[str, str]) -> Report:
    """Do in this process what parameters ask for, and return its report.

    Raises SlowwaveError: it cannot be begun; each kind of it names the remedy; OSError: the state folder cannot be
    written.
    """
    require_together(given)
    if given.action in ("run", "preview"):
        require_places(run_of(given, environ).settings, environ, dry_run=True)
    with beside_jobs(environ):
        if answer := at_once(given, environ):
            return answer.report
        begun = begin(given, environ)
        if not begun.shards:
            return discreet(begun.report)
        with reading(begun.runner, begun.folder, begun.shards, environ) as read:
            return lead(begun, environ, read, lambda folder, number: land_shard(folder, number, environ)).report


def at_once(given: BackfillParameters, environ: Mapping[str, str]) -> Ended | None:
    """Do what needs no shard to be read, and return its report; None where shards are to be read.

    Raises SlowwaveError: as :func:`run_backfill`; OSError: as :func:`run_backfill`.
    """
    require_together(given)
    if given.action == "rollback":
        return take_back(given, environ)
    if given.action == "pause":
        report = pause(given, environ)
    elif given.action == "coverage":
        report = cover(run_of(given, environ), wanted_of(given))
    elif given.action == "preview" or given.dry_run:
        report = foreseen(given, environ)
    else:
        return None
    return Ended(discreet(report))


def take_back(given: BackfillParameters, environ: Mapping[str, str]) -> Ended:
    """Take back what a run has added to memory folders.

    Raises NotFoundError: there is no such backfill; LockHeldError: it is being run; OSError: the run's folder cannot be
    written.
    """
    folder = Folder.of(given.backfill, environ)
    plan, report = folder.plan(), Report("backfill", given.backfill)
    began = _began_anew(plan, given)
    with json_logs(plan.settings.telemetry.log_file, plan.run_id):
        drop_note(began, environ)
        with folder.alone():
            if folder.standing == "rolled-back":
                report.warnings.append(f"backfill {given.backfill} was taken back already")
                return Ended(discreet(report))
            folder.note("rolling-back")
            roll_back(folder, report)
            if not report.failures:
                folder.note("rolled-back")
                folder.drop_work()
            if not (report.failures and report.counts.get("rolled_back")):
                folder.forget("rolling-back")
        report = discreet(report)
        is_news = report.failures or report.counts
        return recorded(report, plan, began, environ, anew=True) if is_news else Ended(report)


def _began_anew(plan: Plan, given: BackfillParameters) -> Began:
    """Return when a run that is there is taken up again: now."""
    return Began(plan.run_id, clock_of(given.now).now(), perf_counter(), partial=bool(plan.wanted.projects))


def lead(begun: Begun, environ: Mapping[str, str], read: ShardReader, land: Land) -> Ended:
    """Read every shard and let it land as soon as those before it have; record it, and return its report.

    Raises LockHeldError: another process leads the same run; CorruptStateError: the plan is damaged; OSError: the run's
    folder cannot be written.
    """
    report, folder = begun.report, Folder(begun.folder)
    plan = folder.plan()
    with folder.alone(), json_logs(plan.settings.telemetry.log_file, plan.run_id), followed(plan.run_id, environ):
        drop_note(begun.began, environ)  # of a part of this run that was killed: whoever goes on with it knows
        report.warnings += begin_note("backfill", begun.began, environ)
        sizes = sizes_left(folder, plan)
        watcher().plan("read", len(sizes), plan.pace.left_of(sizes))
        watcher().plan("land", plan.shards)
        for number in range(begun.shards):
            done = _read(begun, number, report, read)
            report.failures += done.failures
            if done.is_paused:
                break
            report.absorb(_land(begun, number, land))
        return recorded(discreet(end(begun.folder, environ, report)), plan, begun.began, environ)


def _read(begun: Begun, number: int, report: Report, read: ShardReader) -> Done:
    """Read one shard, and note how long it took; one that breaks as a whole is named and does not stop the others."""
    begin, timer = time(), perf_counter()
    try:
        done = read(begun.folder, number)
    except (SlowwaveError, OSError) as error:
        done = Done(failures=[_broken(number, error, begun.folder)])
    report.spans.append(Span("read", "", begin, perf_counter() - timer))
    log_step(report.spans[-1])
    return done


def _land(begun: Begun, number: int, land: Land) -> Report:
    """Let one shard land; one that breaks as a whole is named and does not stop the others."""
    try:
        report = land(begun.folder, number)
    except (SlowwaveError, OSError) as error:
        report = Report("backfill", begun.report.run_id, failures=[_broken(number, error, begun.folder)])
    log_report(report)
    watcher().done("land", "")
    return report


def _broken(number: int, error: SlowwaveError | OSError, folder: Path) -> str:
    return NAMELESS(f"shard {number}: backfill: {told(error, folder)}")


# The end of a backfill: it is done when all of it has landed; otherwise it says what is left, and how it goes on.


def end(folder: Path, environ: Mapping[str, str], report: Report) -> Report:
    """Close a run whose shards have all landed, or say what is left of it; return its report.

    Raises CorruptStateError: the run's files are damaged; OSError: the run's folder cannot be written.
    """
    run = Folder(folder)
    plan = run.plan()
    if is_batched(plan.settings):
        hand_over_questions(report, plan.settings, environ, plan.now)
    note_account(report, journal_of(plan.run_id, environ))
    if left := left_of(run, plan):
        how = "paused" if run.is_paused else "not done"
        report.count("left", left)
        report.count("not_added", not_added(run, plan))
        report.warnings.append(f"{how}: {counted('left', left)}; continue with --resume {plan.run_id}")
    elif not_landed(run, plan):
        told = "not done: what was read is not added to every project yet"
        report.warnings.append(f"{told}; continue with --resume {plan.run_id}")
    else:
        _close(run, plan, environ, report)
    if report.failures and not run.is_paused and run.standing != "done":
        run.note("failed", f"{_worst(report.failures)}\n".encode("utf-8", "backslashreplace"))
    else:
        run.forget("failed")
    return report


def _close(run: Folder, plan: Plan, environ: Mapping[str, str], report: Report) -> None:
    """Note that all of a run has landed, and remove what only its reading needed."""
    try:
        if plan.settings.model.is_set:
            note_answers(run, plan, environ)
    except (SlowwaveError, OSError) as error:
        # it only helps previews
        report.warnings.append(f"what its answers cost cannot be noted for previews: {NAMELESS(str(error))}")
    run.note("done", msgspec.json.encode(report.counts))
    run.drop_work()
    remove_leftovers(run.path, below=True)
    found = report.counts.get("candidates", 0)
    told = f"take it back with --rollback {plan.run_id}" if found else "nothing was found that was not known"
    report.items.append(Item(plan.run_id, "done", told))


def _worst(failures: Sequence[str]) -> str:
    """Return the first failure of a shard or a project; that of a session alone keeps no run from its end."""
    return next((line for line in failures if ": backfill: " in line), failures[0])


# What a backfill leaves in the history of nights: a line each time that it was led, and one when it was taken back.

# the outcome of a run of which something is left to read, because somebody paused it
UNFINISHED = "Unfinished"
# what a report says of the whole range, each time anew
_OF_RANGE = frozenset({"projects", "in_range", "left", "not_added"})


def recorded(report: Report, plan: Plan, began: Began, environ: Mapping[str, str], *, anew: bool = False) -> Ended:
    """Record what a run did since it was last recorded, and tell whoever the settings name.

    A run that is resumed reports all of its numbers again; the history has each of them once. ``report``: the report,
    without secrets; warnings are added to it. ``plan``: the run. ``began``: when this part of it began. ``environ``:
    the environment. ``anew``: the report tells of nothing that was recorded before.
    """
    counts = report.counts if anew else _since_recorded(report, environ)
    news = msgspec.structs.replace(report, counts=counts, warnings=[])
    outcome = UNFINISHED if report.counts.get("left") and not report.failures else ""
    concluded = conclude(news, began, plan.settings, environ, plan.projects, outcome=outcome, sessions=plan.sessions)
    report.warnings += news.warnings
    report.learned = news.learned
    return Ended(report, concluded)


def _since_recorded(report: Report, environ: Mapping[str, str]) -> dict[str, int]:
    try:
        before = [night for night in read_nights(environ)[0] if night.run_id == report.run_id]
    except OSError:
        return report.counts  # conclude says what is wrong with the history
    known = {name: sum(night.counts.get(name, 0) for night in before) for name in report.counts}
    new = {name: number - (0 if name in _OF_RANGE else known[name]) for name, number in report.counts.items()}
    return {name: number for name, number in new.items() if number > 0}
