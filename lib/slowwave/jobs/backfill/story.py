"""The story of a backfill without a scheduler: begin, read every shard, let it land, end. The flow tells it again.

It changes memory folders only by what lands, and every landing can be taken back. A second run over a range that was
read finds nothing to do and says so.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from slowwave.errors import SlowwaveError, UsageError, told
from slowwave.jobs.backfill.folder import Folder, backfills_folder
from slowwave.jobs.backfill.history import note_speed
from slowwave.jobs.backfill.landing import land
from slowwave.jobs.backfill.model import Pace, Plan, Shard, Wanted
from slowwave.jobs.backfill.parameters import BackfillParameters
from slowwave.jobs.backfill.planning import plan_backfill
from slowwave.jobs.backfill.record import read_record
from slowwave.jobs.backfill.rollback import roll_back
from slowwave.jobs.batch_price import fetch_answers, hand_over_questions, is_batched
from slowwave.jobs.model import journal_of, note_account
from slowwave.jobs.parameters import run_of
from slowwave.report import Item, Report
from slowwave.retention.beside import remove_leftovers
from slowwave.secrets.key import redactor_of
from slowwave.secrets.redactor import NAMELESS


class Begun(msgspec.Struct, frozen=True):
    """A run that is there and may go on.

    Attributes:
        folder: of the run.
        shards: how many there are; 0 when there is nothing to do.
        report: what there is to say before anything is read.
    """

    folder: Path
    shards: int
    report: Report


def begin(given: BackfillParameters, environ: Mapping[str, str]) -> Begun:
    """Plan a backfill, or take up one that is there.

    Raises:
        SettingsError: any setting is wrong.
        UnreadableError: a store cannot be read at all.
        NotFoundError: no project, session or backfill is the one that is asked for.
        UsageError: what is asked for does not go together.
        OSError: the state folder cannot be written.
    """
    if given.action == "resume":
        return _taken_up(given, environ)
    run = run_of(given, environ)
    folder = Folder(backfills_folder(environ) / run.id)
    if (folder.path / "plan.json").exists():
        raise UsageError(f"there is a backfill {run.id} already; go on with it by --resume {run.id}")
    plan, shards = plan_backfill(run, wanted_of(given), Pace(given.sessions_per_second, given.mb_per_second))
    report = first_words(plan)
    if is_batched(run.settings):
        fetch_answers(report, run.settings, environ, plan.now)
    if not plan.sessions:
        report.warnings.append("nothing of the range is left to read; --coverage says what was read by which version")
        return Begun(folder.path, 0, report)
    folder.write(plan, shards)
    return Begun(folder.path, plan.shards, report)


def _taken_up(given: BackfillParameters, environ: Mapping[str, str]) -> Begun:
    folder = Folder.of(given.backfill, environ)
    plan = folder.plan()
    if folder.standing == "rolled-back":
        raise UsageError(f"backfill {plan.run_id} was taken back; start a new one")
    report = Report("backfill", plan.run_id)
    if folder.standing == "done":
        report.warnings.append(f"backfill {plan.run_id} is done; a new one reads what has changed since")
        return Begun(folder.path, 0, report)
    folder.unpause()
    return Begun(folder.path, plan.shards, first_words(plan))


def wanted_of(given: BackfillParameters) -> Wanted:
    """Return the range that parameters mean."""
    return Wanted(
        since=given.since,
        until=given.until,
        projects=tuple(given.projects),
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
    text = f"{plan.sessions:,} sessions, {plan.bytes:,} bytes, in {plan.pieces:,} pieces of {plan.shards:,} shards"
    report.items.append(Item(plan.run_id, "backfill", text))
    return report


def land_shard(folder: Path, number: int, environ: Mapping[str, str]) -> Report:
    """Let a shard land that was read as a whole; what goes wrong stays within its project.

    Raises:
        CorruptStateError: the run's files are damaged.
        OSError: the run's folder cannot be written.
    """
    run = Folder(folder)
    plan, shard = run.plan(), run.shard(number)
    report = Report("backfill", plan.run_id)
    if not all(run.has(piece.number) for piece in shard.pieces):
        return report
    for index in dict.fromkeys(piece.project for piece in shard.pieces):
        project = plan.projects[index]
        try:
            _land(run, plan, shard, index, environ, report)
        except SlowwaveError as error:
            report.failures.append(NAMELESS(f"{project.key}: backfill: {error}"))
        except OSError as error:
            report.failures.append(NAMELESS(f"{project.key}: backfill: {told(error, project.memory)}"))
    return report


def _land(run: Folder, plan: Plan, shard: Shard, index: int, environ: Mapping[str, str], report: Report) -> None:
    pieces = [piece for piece in shard.pieces if piece.project == index]
    results = [run.result(piece.number) for piece in pieces]
    outcomes = [(piece.seed, result) for piece, result in zip(pieces, results, strict=True)]
    redact = redactor_of(plan.settings, environ, create=True)
    folder = run.landed(name_of(shard.number, index))
    counts, warnings = land(folder, plan.projects[index], plan, outcomes, redact, _previous(run, shard.number, index))
    for of_result in (*(_without_candidates(result.counts) for result in results), counts):
        for name, value in of_result.items():
            report.count(name, value)
    for result in results:
        report.absorb(Report("backfill", plan.run_id, unknown_types=result.unknown_types))
    report.failures += [line for result in results for line in result.failed]
    report.warnings += [NAMELESS(line) for line in (*warnings, *(w for result in results for w in result.warnings))]


def _without_candidates(counts: Mapping[str, int]) -> dict[str, int]:
    """Leave out how many candidates a piece gave: how many of them are new shows when they land."""
    return {name: value for name, value in counts.items() if name != "candidates"}


def _previous(run: Folder, shard: int, project: int) -> Mapping[str, str | None] | None:
    """Return the renewed files as the run's last landing in a memory folder left them."""
    for number in range(shard - 1, -1, -1):
        folder = run.landed(name_of(number, project))
        if (folder / "record.json").exists():
            return read_record(folder).after
    return None


def name_of(shard: int, project: int) -> str:
    """Return the name of a landing."""
    return f"{shard:05}-{project:05}"


def end(folder: Path, environ: Mapping[str, str], report: Report) -> Report:
    """Close a run whose shards have all landed, or say what is left of it; return its report.

    Raises:
        CorruptStateError: the run's files are damaged.
        OSError: the run's folder cannot be written.
    """
    run = Folder(folder)
    plan = run.plan()
    if is_batched(plan.settings):
        hand_over_questions(report, plan.settings, environ, plan.now)
    note_account(report, journal_of(plan.run_id, environ))
    left = [piece for number in range(plan.shards) for piece in run.shard(number).pieces if not run.has(piece.number)]
    if left:
        number = sum(len(piece.sessions) for piece in left)
        how = "paused" if run.is_paused else "not done"
        report.count("left", number)
        report.warnings.append(f"{how}: {number:,} sessions are left; go on with --resume {plan.run_id}")
    elif not any(line.split(": ", 2)[1:2] == ["backfill"] for line in report.failures):
        note_speed(run, plan, environ)
        run.note("done", msgspec.json.encode(report.counts))
        run.drop_work()
        remove_leftovers(run.path, below=True)
        report.items.append(Item(plan.run_id, "done", f"take it back with --rollback {plan.run_id}"))
    return report


def pause(given: BackfillParameters, environ: Mapping[str, str]) -> Report:
    """Ask a run to stop after the sessions that its workers are reading.

    Raises:
        NotFoundError: there is no such backfill.
    """
    folder = Folder.of(given.backfill, environ)
    report = Report("backfill", given.backfill)
    if folder.standing:
        report.warnings.append(f"backfill {given.backfill} is {folder.standing} already")
        return report
    folder.pause()
    report.items.append(Item(given.backfill, "pause", f"it stops soon; go on with --resume {given.backfill}"))
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
        roll_back(folder, report)
        if not report.failures:
            folder.note("rolled-back")
            folder.drop_work()
    return report
